//! What a user can ask for, on real clusters: each option as the ResourceManager and the program see it,
//! the streams, the terminal, waiting, ends of many kinds, staging without HDFS, and protected RPC.

mod bed;
mod ends;
mod flags;
mod protection;
mod shared_folder;
mod sizes;
mod streams;
mod waiting;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use it::settings::File;
use it::{Cluster, Shared, Version};
use libtest_mimic::{Arguments, Failed, Trial};

use bed::{Case, Given};

/// A cluster and what is tried on it.
struct Group {
    shared: Shared,
    cases: Vec<(&'static str, Case)>,
}

fn groups() -> Vec<Group> {
    let group = |builder, cases: &[&[(&'static str, Case)]]| Group {
        shared: Shared::new(builder),
        cases: cases.concat(),
    };
    let scheduler = |name: &str| format!("yarn.scheduler.capacity.{name}");
    let queues = Cluster::builder()
        .nodes(4)
        .queue("other", 20)
        .queue(waiting::NARROW, 5)
        // One user may fill the cluster.
        .set(
            File::CapacityScheduler,
            &scheduler("root.default.user-limit-factor"),
            "10",
        )
        // Room for the smallest ApplicationMaster, and no second.
        .set(
            File::CapacityScheduler,
            &scheduler(&format!(
                "root.{}.maximum-am-resource-percent",
                waiting::NARROW
            )),
            "0.01",
        )
        // Hadoop's default lets all priorities be 0.
        .set(File::Yarn, "yarn.cluster.max-application-priority", "10");
    let counting_cores = Cluster::builder().nodes(2).set(
        File::CapacityScheduler,
        &scheduler("resource-calculator"),
        "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
    );
    let protected = |level: &str| {
        Cluster::builder()
            .nodes(2)
            .set(File::Core, "hadoop.rpc.protection", level)
    };
    vec![
        group(
            queues,
            &[flags::CASES, streams::CASES, ends::CASES, waiting::CASES],
        ),
        group(counting_cores, &[sizes::CASES]),
        group(
            Cluster::builder().nodes(2).without_hdfs(),
            &[shared_folder::CASES],
        ),
        group(protected("integrity"), &[protection::INTEGRITY]),
        group(protected("privacy"), &[protection::PRIVACY]),
    ]
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // The cases share clusters, and each looks whether anything is left on it.
    arguments.test_threads = Some(1);
    let Ok(folder) = bed::folder() else {
        return ExitCode::FAILURE;
    };
    let groups = Arc::new(groups());
    let mut trials = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        for (name, case) in &group.cases {
            let (groups, folder, case) = (Arc::clone(&groups), folder.path().to_owned(), *case);
            trials.push(Trial::test(*name, move || {
                run(&groups, number, &folder, case)
            }));
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    match groups.iter().try_for_each(|group| group.shared.end()) {
        Ok(()) => conclusion.exit_code(),
        Err(_) => ExitCode::FAILURE,
    }
}

fn run(groups: &[Group], number: usize, folder: &Path, case: Case) -> Result<(), Failed> {
    let tried = || {
        // At most one cluster holds memory.
        for (other, group) in groups.iter().enumerate() {
            if other != number {
                group.shared.end()?;
            }
        }
        let given = Given {
            cluster: groups[number].shared.cluster(Version::V3_4_2)?,
            folder: folder.to_owned(),
        };
        given.run(case)
    };
    tried().map_err(|error: anyhow::Error| format!("{error:?}").into())
}
