//! What a user can ask for, on real clusters: each option as the ResourceManager and the program see it,
//! the streams, the terminal, waiting, ends of many kinds, and staging without HDFS.

mod ends;
mod flags;
mod memory;
mod queues;
mod shared_folder;
mod streams;
mod waiting;

use std::process::ExitCode;

use it::Cluster;
use it::settings::File;
use it::suite::{self, Group};

fn groups() -> Vec<Group> {
    let scheduler = |name: &str| format!("yarn.scheduler.capacity.{name}");
    let queues = Cluster::builder()
        .nodes(4)
        .queue("other", 20)
        .queue(waiting::NARROW, 5)
        .queue(queues::SMALL, 10)
        .set(
            File::CapacityScheduler,
            &scheduler(&format!("root.{}.maximum-capacity", queues::SMALL)),
            "25",
        )
        .set(
            File::CapacityScheduler,
            &scheduler(&format!("root.{}.user-limit-factor", queues::SMALL)),
            "10",
        )
        .set(
            File::CapacityScheduler,
            &scheduler(&format!(
                "root.{}.maximum-am-resource-percent",
                queues::SMALL
            )),
            "0.5",
        )
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
        .set(File::Yarn, "yarn.cluster.max-application-priority", "10")
        // By Hadoop's default control groups are to do it, even where there are none, and then the
        // NodeManager looks at nothing.
        .set(
            File::Yarn,
            "yarn.nodemanager.resource.memory.enforced",
            "false",
        );
    vec![
        Group::new(
            queues,
            &[
                flags::CASES,
                streams::CASES,
                ends::CASES,
                waiting::CASES,
                queues::CASES,
                memory::CASES,
            ],
        ),
        // Jobs of all others are staged in HDFS.
        Group::new(
            Cluster::builder().nodes(2).without_hdfs(),
            &[shared_folder::CASES],
        ),
    ]
}

fn main() -> ExitCode {
    suite::run(groups())
}
