//! An attempt has ended: what it left, or why there is nothing.

use gerbil_task::{Counters, FromTask, Partition};
use job::wire;
use job::wire::task_event;
use policy::ContainerId;
use policy::mapreduce::{Digest, Event};
use policy::schedule::{AttemptIx, End, Stage, Why};

use super::attempts::Attempt;
use super::orders::Orders;
use super::{MapOutput, MapReduce, Wanted, sentences};

/// How an attempt has ended.
enum Ended {
    /// Its result is there; of a map with reduces, what it has left for them.
    Well(Counters, Vec<Partition>),
    /// It failed, and why.
    Badly(String),
}

impl MapReduce {
    pub(super) fn task_said(&mut self, container: &ContainerId, event: task_event::Event) {
        match event {
            task_event::Event::Seen(seen) => {
                for task in seen.tasks {
                    if let Some(attempt) = self.attempts.get_mut(AttemptIx(task.process))
                        && attempt.container == *container
                        && attempt.stage == Stage::Map
                    {
                        attempt.bytes = task.done;
                    }
                }
            }
            task_event::Event::Ended(ended) => {
                let ix = AttemptIx(ended.process);
                let attempt = self.attempts.get(ix).cloned();
                if let Some(attempt) = attempt.filter(|of| of.container == *container) {
                    self.attempt_ended(ix, &attempt, ended);
                }
            }
        }
    }

    fn attempt_ended(&mut self, ix: AttemptIx, attempt: &Attempt, ended: wire::TaskEnded) {
        let has_result = ended.committed || !ended.beaten_by.is_empty();
        match said(ended) {
            // Another attempt's result is there, or nobody wants one.
            Ended::Well(..) | Ended::Badly(_) if attempt.is_stopped => self.over(ix, End::Killed),
            Ended::Well(counters, partitions) => {
                if has_result {
                    self.commits(attempt);
                }
                self.done_well(ix, attempt, counters, partitions);
            }
            Ended::Badly(sentence) => self.failed(ix, attempt, sentence),
        }
    }

    /// The result of its task is files of the output.
    fn commits(&mut self, attempt: &Attempt) {
        let number = match attempt.stage {
            Stage::Map => Some(attempt.task.0),
            Stage::Reduce | Stage::Gang => self.machine.partition(attempt.task),
        };
        if let Some(number) = number {
            self.results.insert((attempt.stage, number));
        }
    }

    fn done_well(
        &mut self,
        ix: AttemptIx,
        attempt: &Attempt,
        counters: Counters,
        partitions: Vec<Partition>,
    ) {
        let task = attempt.task;
        let is_first = self.ever_done.insert((attempt.stage, task));
        if is_first {
            self.count(counters);
        }
        match attempt.stage {
            Stage::Map => {
                let digest = digest(&partitions);
                if self.description.reduces > 0 {
                    let output = MapOutput {
                        attempt: ix,
                        container: attempt.container.clone(),
                        place: attempt.place,
                        partitions,
                    };
                    self.outputs.entry(task).or_insert(output);
                }
                self.maps_done = self.maps_done.saturating_add(1);
                let read = Orders::length(&self.description, task);
                self.attempts.remove(ix, read);
                self.end_of_attempt(ix, End::Done);
                self.step_machine(Event::Mapped {
                    attempt: ix,
                    digest,
                });
            }
            Stage::Reduce | Stage::Gang => {
                self.reduces_done = self.reduces_done.saturating_add(1);
                self.attempts.remove(ix, 0);
                self.end_of_attempt(ix, End::Done);
                self.step_machine(Event::Reduced(ix));
            }
        }
        self.stop_twins(attempt);
        self.unpark();
    }

    /// Other attempts at the task are of no use any more.
    fn stop_twins(&mut self, attempt: &Attempt) {
        for twin in self.attempts.at(attempt.stage, attempt.task) {
            self.stop(twin, Why::TwinWon);
        }
    }

    pub(super) fn failed(&mut self, ix: AttemptIx, attempt: &Attempt, sentence: String) {
        let title = sentences::title(attempt.stage, attempt.task, &self.machine);
        let words = format!("{title}, attempt {}: {sentence}", attempt.number);
        tracing::warn!("{words}");
        self.notice(words);
        if attempt.stage == Stage::Reduce && self.outputs.len() < self.description.splits.len() {
            // What it reads was lost while it read: no fault of its own.
            return self.over(ix, End::Lost);
        }
        self.failed_attempts = self.failed_attempts.saturating_add(1);
        self.failures
            .insert((attempt.stage, attempt.task), sentence);
        self.over(ix, End::Failed);
    }

    /// An attempt is over without a result.
    pub(super) fn over(&mut self, ix: AttemptIx, how: End) {
        self.attempts.remove(ix, 0);
        self.step_machine(Event::Ended { attempt: ix, how });
        self.end_of_attempt(ix, how);
    }

    fn end_of_attempt(&mut self, ix: AttemptIx, how: End) {
        self.tasks_ended = Some(self.now);
        self.want(Wanted::Over { attempt: ix, how });
    }
}

/// What a process said last.
fn said(ended: wire::TaskEnded) -> Ended {
    if !ended.trouble.is_empty() {
        return Ended::Badly(ended.trouble);
    }
    match serde_json::from_str(&ended.said) {
        Ok(FromTask::MapDone {
            counters,
            partitions,
        }) => Ended::Well(counters, partitions),
        Ok(FromTask::ReduceDone { counters }) => Ended::Well(counters, Vec::new()),
        Ok(FromTask::Failed { sentence }) => Ended::Badly(sentence),
        Ok(other) => Ended::Badly(format!("it ended with {other:?}")),
        Err(error) => Ended::Badly(format!("what it said last makes no sense: {error}")),
    }
}

/// Of all records that a map has left, whatever their order within a partition.
fn digest(partitions: &[Partition]) -> Digest {
    const ODD: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
    let digest = partitions.iter().fold(0_u128, |digest, partition| {
        let one = u128::from(partition.records_digest) << 64 | u128::from(partition.records);
        (digest ^ one).wrapping_mul(ODD).rotate_left(29)
    });
    Digest(digest)
}
