//! GERBIL's five modes, oversubscription and the gang on real clusters: unequal nodes, others' jobs
//! beside ours, two jobs that need the same nodes.

mod explained;
mod gang;
mod listed;
mod modes;
mod racks;
mod room;
mod silent;
mod untidy;

use std::path::Path;
use std::process::ExitCode;

use it::Cluster;
use it::cluster::Size;
use it::settings::File;
use it::suite::{self, Group};

/// Memory of the unequal nodes, in units of the smallest container (1024 MiB).
pub const UNITS: [u64; 4] = [8, 8, 4, 2];

fn groups(racks: &Path) -> Vec<Group> {
    let sizes = UNITS.map(|units| Size {
        memory_mib: units * 1024,
        vcores: 8,
    });
    let racks = racks.display().to_string();
    let mapping = "net.topology.node.switch.mapping.impl";
    let unequal = Cluster::builder()
        .sizes(&sizes)
        .set(
            File::CapacityScheduler,
            "yarn.scheduler.capacity.root.default.user-limit-factor",
            "10",
        )
        // Several ApplicationMasters at once.
        .set(
            File::CapacityScheduler,
            "yarn.scheduler.capacity.maximum-am-resource-percent",
            "0.5",
        )
        .set(
            File::Yarn,
            "yarn.resourcemanager.opportunistic-container-allocation.enabled",
            "true",
        )
        .set(File::Core, mapping, "org.apache.hadoop.net.TableMapping")
        .set(File::Core, "net.topology.table.file.name", racks);
    // One ResourceManager has one scheduler.
    let fair = Cluster::builder()
        .nodes(3)
        .fair_scheduler(untidy::ALLOCATIONS)
        .old_names()
        .set(
            File::Yarn,
            "yarn.scheduler.include-port-in-node-name",
            "true",
        )
        .set(
            File::Yarn,
            "yarn.scheduler.maximum-allocation-mb",
            untidy::LARGEST,
        )
        .set(
            File::Yarn,
            "yarn.resourcemanager.opportunistic-container-allocation.enabled",
            "true",
        );
    vec![
        Group::new(
            unequal,
            &[
                modes::CASES,
                room::CASES,
                listed::CASES,
                explained::CASES,
                racks::CASES,
                silent::CASES,
                // The last of its cases but one ends a NodeManager, and starts it again.
                gang::CASES,
            ],
        ),
        Group::new(fair, &[untidy::CASES]),
    ]
}

fn main() -> ExitCode {
    // Read by ResourceManagers as long as they run.
    match racks::table() {
        Ok(table) => suite::run(groups(table.path())),
        Err(_) => ExitCode::FAILURE,
    }
}
