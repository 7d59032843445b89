//! The main job, and what else has to hold on every release of Hadoop: the wire of proto-hadoop, RPC that
//! is protected, MapReduce and sessions, GPUs and a site's own resource types that YARN counts. On one release or two
//! what wants such a cluster, too: cores that are counted, ApplicationMasters that are missed soon. Of what differs
//! little between releases, a run tries a slice on all but one.

mod cases;
mod countable;
mod crowded;
mod deploy_mode;
mod fence;
mod gpus;
mod mapreduce;
mod sizes;
mod wire;

use std::io::Write as _;
use std::process::ExitCode;

use it::bed::Case;
use it::settings::File;
use it::slice;
use it::suite::{self, Group};
use it::{Cluster, Version};
use nix::unistd::geteuid;

/// Of each cluster.
pub const NODES: usize = 4;
/// Of each node, where there are any.
pub const GPUS: u32 = 2;

/// Each release with its `hadoop.rpc.protection`: every level, and the oldest and newest wire under one
/// that changes each byte. That it was negotiated is asserted by [`wire`].
const RELEASES: [(Version, &str); 4] = [
    (Version::V3_4_2, "privacy"),
    (Version::V2_10_2, "integrity"),
    (Version::V3_3_6, "authentication"),
    (Version::V3_5_0, "privacy"),
];

fn main() -> ExitCode {
    let is_root = geteuid().is_root();
    if !is_root {
        drop(writeln!(
            std::io::stderr(),
            "the cases with GPUs are left out: only root can try them"
        ));
    }
    let group = |(version, protection)| {
        let mut cluster = Cluster::builder()
            .nodes(NODES)
            .set(File::Core, "hadoop.rpc.protection", protection)
            .set(
                File::Yarn,
                "yarn.scheduler.maximum-allocation-mb",
                crowded::LARGEST,
            );
        let mut of_slice = Vec::new();
        let mut cases = vec![
            cases::CASES,
            wire::CASES,
            countable::CASES,
            mapreduce::CASES,
            crowded::CASES,
        ];
        // They need a `/dev` of their own.
        if is_root {
            cluster = cluster.gpus(GPUS);
            cases.push(gpus::CASES);
        }
        // The oldest line and the newest that has every test jar.
        if [Version::V2_10_2, Version::V3_4_2].contains(&version) {
            cluster = deploy_mode::expiring(cluster);
            cases.push(deploy_mode::CASES);
        }
        if version == Version::V3_4_2 {
            cases.extend([countable::FURTHER, sizes::CASES, fence::CASES]);
            cases.extend(is_root.then_some(gpus::FURTHER));
        }
        let mut left_out = 0;
        if version != Version::V3_4_2 {
            // They differ by release only where the wire does, which is tried on each.
            let further: Vec<(&str, Case)> = cases.drain(2..).flatten().copied().collect();
            (of_slice, left_out) = slice::tried(further);
        }
        cases.push(&of_slice);
        let cluster = countable::counting(cluster);
        Group::new(cluster, &cases).without(left_out).on(version)
    };
    suite::run(RELEASES.map(group).into())
}
