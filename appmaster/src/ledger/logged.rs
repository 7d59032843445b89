//! The attempts at a job's tasks of which something may be read.

use job::history::{AttemptEnd, TaskStage};
use job::wire;

use crate::mapreduce::Logged;

/// Attempts of one answer, some hundred kilobytes.
const MOST: usize = 1_000;

/// Those that run, and those whose launchers are still there, as `is_there` tells of a place; what ended well is
/// the first to be left out where there are too many.
pub(crate) fn list(all: Vec<Logged>, is_there: impl Fn(&Logged) -> bool) -> wire::TaskLog {
    let mut all: Vec<Logged> = all.into_iter().filter(|of| is_there(of)).collect();
    let is_well = |of: &Logged| of.end == Some(AttemptEnd::Succeeded);
    let others = all.iter().filter(|of| !is_well(of)).count();
    // The last ones: of those a launcher keeps what they have printed.
    let mut spare = all.len().saturating_sub(others);
    let room = MOST.saturating_sub(others);
    let before = all.len();
    all.retain(|of| {
        if !is_well(of) {
            return true;
        }
        let is_kept = spare <= room;
        spare = spare.saturating_sub(1);
        is_kept
    });
    all.truncate(MOST);
    let left_out = before.saturating_sub(all.len());
    wire::TaskLog {
        attempts: all.into_iter().map(attempt).collect(),
        left_out: u32::try_from(left_out).unwrap_or(u32::MAX),
        ..wire::TaskLog::default()
    }
}

fn attempt(of: Logged) -> wire::LoggedAttempt {
    wire::LoggedAttempt {
        reduce: of.stage == TaskStage::Reduce,
        task: of.task,
        attempt: of.place.attempt,
        host: of.place.host,
        state: state(of.end).to_owned(),
    }
}

const fn state(end: Option<AttemptEnd>) -> &'static str {
    match end {
        None => "running",
        Some(AttemptEnd::Succeeded) => "succeeded",
        Some(AttemptEnd::Failed) => "failed",
        Some(AttemptEnd::Killed) => "killed",
        Some(AttemptEnd::Lost) => "lost",
        Some(AttemptEnd::NoDevice) => "found no device",
    }
}

#[cfg(test)]
mod tests {
    use policy::ContainerId;

    use super::*;
    use crate::mapreduce::PrintedPlace;

    fn logged(task: u32, end: Option<AttemptEnd>) -> Logged {
        Logged {
            stage: TaskStage::Map,
            task,
            place: PrintedPlace {
                container: ContainerId("c1".into()),
                host: "n1".into(),
                process: task,
                attempt: 0,
            },
            end,
        }
    }

    #[test]
    fn what_runs_or_has_failed_is_listed_before_what_ended_well() {
        let end = |task| match task {
            7 => None,
            9 => Some(AttemptEnd::Failed),
            _ => Some(AttemptEnd::Succeeded),
        };
        let all: Vec<Logged> = (0..1_200).map(|task| logged(task, end(task))).collect();
        let found = list(all, |of| of.task != 11);
        assert_eq!((found.attempts.len(), found.left_out), (MOST, 199));
        let tasks: Vec<u32> = found.attempts.iter().map(|of| of.task).collect();
        assert_eq!(tasks[..3], [7, 9, 202]);
        assert!(tasks.is_sorted() && tasks.last() == Some(&1_199));
        assert_eq!(found.attempts[0].state, "running");
        assert_eq!(found.attempts[1].state, "failed");
        let none = list(Vec::new(), |_| true);
        assert_eq!((none.attempts.len(), none.left_out), (0, 0));
    }
}
