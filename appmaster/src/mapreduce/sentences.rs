//! What is said of a job's end.

use std::collections::BTreeMap;

use gerbil_task::settings::{SKIP, SKIP_GROUPS};
use policy::Millis;
use policy::lifecycle::KillReason;
use policy::mapreduce::{JobFailure, MapReduceMachine};
use policy::schedule::{Stage, TaskIx};

/// As sentences call a task.
pub(super) fn title(stage: Stage, task: TaskIx, machine: &MapReduceMachine) -> String {
    match stage {
        Stage::Map => format!("map {}", task.0),
        Stage::Reduce | Stage::Gang => {
            format!("reduce {}", machine.partition(task).unwrap_or(task.0))
        }
    }
}

/// Why a job cannot end well.
pub(super) fn failure(
    failure: &JobFailure,
    last: &BTreeMap<(Stage, TaskIx), String>,
    machine: &MapReduceMachine,
) -> String {
    match *failure {
        JobFailure::Attempts {
            stage,
            task,
            failed,
        } => {
            let title = title(stage, task, machine);
            let why = last.get(&(stage, task)).map_or("", String::as_str);
            let sentence = match failed {
                1 => format!("{title} failed: {why}"),
                failed => format!("{title} failed {failed} times, the last time: {why}"),
            };
            let (what, most) = match stage {
                Stage::Map => ("records", SKIP),
                Stage::Reduce | Stage::Gang => ("groups", SKIP_GROUPS),
            };
            match machine.skips(stage, task).len() {
                0 => sentence,
                skipped => format!(
                    "{sentence}; {what} that were left out before: {skipped} ({most} has the most that may be)"
                ),
            }
        }
        JobFailure::Records { map, partition, .. } => format!(
            "map {} gave other records when it ran again, and reduce {partition} has committed what it \
             read of the first ones: what the mapper emits must depend on its input alone",
            map.0
        ),
    }
}

/// Why a job was ended whose ApplicationMaster does not hear the ResourceManager.
pub(super) fn cut_off(silent: Millis) -> String {
    format!(
        "no answer from the ResourceManager for {} s; the job was ended because YARN may start another \
         ApplicationMaster of its session",
        silent.0 / 1000
    )
}

/// Why a job was ended.
pub(super) const fn killed(reason: KillReason) -> &'static str {
    match reason {
        KillReason::Interrupted => "it was killed",
        KillReason::NoReader => "what reads its output has gone",
        KillReason::ClientLost => "the client that followed it is gone",
        KillReason::Terminated => "it was ended with its application",
    }
}
