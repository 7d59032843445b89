//! What is lost while a job runs, on real clusters: ApplicationMasters, launchers, nodes, containers
//! that others want, ResourceManagers. The program runs again where it may, says so, and leaves nothing.

mod attempts;
mod busy;
mod failover;
mod preemption;
mod rolling;
mod runs;

use std::process::ExitCode;

use it::cluster::Size;
use it::settings::File;
use it::suite::{self, Group};
use it::{Builder, Cluster};

/// Several ApplicationMasters of one user at once, whose jobs may fill the cluster.
fn roomy(builder: Builder) -> Builder {
    let key = |name: &str| format!("yarn.scheduler.capacity.{name}");
    builder
        .set(
            File::CapacityScheduler,
            &key("root.default.user-limit-factor"),
            "10",
        )
        .set(
            File::CapacityScheduler,
            &key("maximum-am-resource-percent"),
            "0.5",
        )
}

fn groups() -> Vec<Group> {
    let small = Size {
        memory_mib: 4096,
        vcores: 8,
    };
    let losing = roomy(Cluster::builder().sizes(&[small; 3]))
        .two_resource_managers()
        .set(
            File::Yarn,
            "yarn.nm.liveness-monitor.expiry-interval-ms",
            "6000",
        );
    vec![
        Group::new(
            preemption::lends(losing),
            &[
                attempts::CASES,
                runs::CASES,
                preemption::CASES,
                failover::CASES,
            ],
        ),
        // A ResourceManager that turns others away is away for them, and a node that is away is not lost here.
        Group::new(
            busy::turns_away(rolling::comes_back(roomy(Cluster::builder().nodes(2)))),
            &[rolling::CASES, busy::CASES],
        ),
    ]
}

fn main() -> ExitCode {
    suite::run(groups())
}
