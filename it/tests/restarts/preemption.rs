//! A queue that wants its share back.

use anyhow::Result;
use it::Builder;
use it::bed::{Case, Given};
use it::settings::File;

use it::booked::{StartedJob, said};

pub const CASES: &[(&str, Case)] = &[(
    "preemption: a container that another queue takes is named, and replaced",
    preempted,
)];

/// Two queues with half of the nodes each, and a scheduler that takes back what a queue has lent.
pub fn lends(builder: Builder) -> Builder {
    let preemption =
        |name: &str| format!("yarn.resourcemanager.monitor.capacity.preemption.{name}");
    builder
        .queue("urgent", 50)
        .set(
            File::Yarn,
            "yarn.resourcemanager.scheduler.monitor.enable",
            "true",
        )
        .set(File::Yarn, &preemption("monitoring_interval"), "500")
        .set(File::Yarn, &preemption("max_wait_before_kill"), "1000")
        .set(File::Yarn, &preemption("total_preemption_per_round"), "1.0")
        .set(File::Yarn, &preemption("natural_termination_factor"), "1.0")
}

fn preempted(given: &Given) -> Result<()> {
    // With the ApplicationMaster 10 of 12 GiB, where 6 are its queue's.
    let lent = ["--mem-per-proc", "3g", "-o", "false"];
    let job = StartedJob::running(given, "lent", 3, &lent)?;
    let urgent = ["--queue", "urgent", "--mem-per-proc", "2g", "-o", "false"];
    let urgent = StartedJob::start(given, "urgent", 1, &urgent)?;
    urgent.wait_for_runs(1)?;
    urgent.let_go(1)?;
    job.wait_for_runs(2)?;
    let finished = job.let_go(2)?;
    said(&finished, &["run 2 of 2: ", "preempted"])?;
    given.is_clean()
}
