//! Which process an attempt at a task is, or was: what it has printed is with its launcher.

use job::history::{AttemptEnd, TaskAttempt, TaskStage};
use policy::ContainerId;
use policy::schedule::AttemptIx;

use super::MapReduce;
use super::attempts::PlacedAttempt;

/// An attempt, as those call it who want to read what it has printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) stage: TaskStage,
    /// The number of the map, or of the reduce's partition.
    pub(crate) task: u32,
    /// How many there were at its task before; `None`: the last one.
    pub(crate) attempt: Option<u32>,
}

/// Where what it has printed is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PrintedPlace {
    pub(crate) container: ContainerId,
    pub(crate) host: String,
    pub(crate) process: u32,
    pub(crate) attempt: u32,
}

/// An attempt of which something may be read, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Logged {
    pub(crate) stage: TaskStage,
    pub(crate) task: u32,
    pub(crate) place: PrintedPlace,
    /// How it ended; none: it runs.
    pub(crate) end: Option<AttemptEnd>,
}

impl MapReduce {
    /// All attempts that have begun, maps first, by task and attempt.
    pub(crate) fn logged(&self) -> Vec<Logged> {
        let running = self.attempts.all().filter(|of| of.began.is_some());
        let running = running.map(|attempt| {
            let (stage, task) = self.named(attempt);
            Logged {
                stage,
                task,
                place: running_at(attempt),
                end: None,
            }
        });
        let over = self.past.attempts().map(|(ix, attempt)| Logged {
            stage: attempt.stage,
            task: attempt.task,
            place: was_at(ix, attempt),
            end: Some(attempt.end),
        });
        let mut all: Vec<Logged> = running.chain(over).collect();
        sort::by_key(&mut all, |of| {
            (of.stage == TaskStage::Reduce, of.task, of.place.attempt)
        });
        all
    }

    /// Where what an attempt has printed is; else why there is none, a sentence.
    pub(crate) fn printed(&self, wanted: Wanted) -> Result<PrintedPlace, String> {
        let Wanted { stage, task, .. } = wanted;
        let is_meant = |number: u32| wanted.attempt.is_none_or(|meant| meant == number);
        let running = self.attempts.all().filter(|attempt| {
            attempt.began.is_some()
                && is_meant(attempt.number)
                && self.named(attempt) == (stage, task)
        });
        let running = running.map(running_at);
        let over = self.past.attempts().filter(|(_, attempt)| {
            (attempt.stage, attempt.task) == (stage, task) && is_meant(attempt.attempt)
        });
        let over = over.map(|(ix, attempt)| was_at(ix, attempt));
        let last = running.chain(over).max_by_key(|place| place.attempt);
        last.ok_or_else(|| self.not_there(wanted))
    }

    fn not_there(&self, wanted: Wanted) -> String {
        let (what, there) = match wanted.stage {
            TaskStage::Map => ("map", super::count(self.description.splits.len())),
            TaskStage::Reduce => ("reduce", self.description.reduces),
        };
        let task = wanted.task;
        match (there, wanted.attempt) {
            (0, _) => format!("the job has no {what}s"),
            (there, _) if task >= there => {
                format!("the job has no {what} {task}: it has {there}, numbered from 0")
            }
            (_, None) => format!("no attempt at {what} {task} has begun yet"),
            (_, Some(attempt)) => {
                format!("no attempt {attempt} at {what} {task} has begun; they are numbered from 0")
            }
        }
    }
}

fn running_at(attempt: &PlacedAttempt) -> PrintedPlace {
    PrintedPlace {
        container: attempt.container.clone(),
        host: attempt.host.clone(),
        process: attempt.ix.0,
        attempt: attempt.number,
    }
}

fn was_at(ix: AttemptIx, attempt: &TaskAttempt) -> PrintedPlace {
    PrintedPlace {
        container: ContainerId(attempt.container.clone()),
        host: attempt.host.clone(),
        process: ix.0,
        attempt: attempt.attempt,
    }
}
