//! The main job, and what else has to hold on every release of Hadoop: the wire of proto-hadoop, RPC that
//! is protected, MapReduce and sessions, GPUs and a site's own resource types that YARN counts.

mod cases;
mod countable;
mod gpus;
mod mapreduce;
mod wire;

use std::io::Write as _;
use std::process::ExitCode;

use it::settings::File;
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
        let cluster = Cluster::builder().nodes(NODES);
        let cluster = cluster.set(File::Core, "hadoop.rpc.protection", protection);
        // They need a `/dev` of their own.
        let (cluster, gpus) = match is_root {
            true => (cluster.gpus(GPUS), gpus::CASES),
            false => (cluster, &[][..]),
        };
        let on_all = &[
            cases::CASES,
            countable::CASES,
            wire::CASES,
            mapreduce::CASES,
            gpus,
        ];
        Group::new(countable::counting(cluster), on_all).on(version)
    };
    suite::run(RELEASES.map(group).into())
}
