//! An attempt has ended: what it left, or why there is nothing.

use std::time::Duration;

use gerbil_task::{Counters, FromTask, TaskPhase, check_counters, own_counters_max};
use holding::joined;
use job::history::AttemptEnd;
use job::wire;
use job::wire::task_event;
use policy::ContainerId;
use policy::commit::TaskResult;
use policy::mapreduce::{Digest, Event};
use policy::schedule::{AttemptIx, AttemptOutcome, AttemptPhase, Nanos, Stage, TaskIx, Why};

use super::attempts::{Far, PlacedAttempt};
use super::by_speed;
use super::orders::Orders;
use super::{MapOutput, MapReduce, MapReduceEffect, sentences};

/// Attempts of one reduce that could not read everything; the last of them ends the job.
const UNREAD: u32 = 8;

/// How an attempt has ended.
enum Ended {
    /// Its result is there.
    Well(Counters),
    /// It failed, and why.
    Badly(String),
}

impl MapReduce {
    pub(super) fn task_said(&mut self, container: &ContainerId, event: task_event::Event) {
        match event {
            task_event::Event::Seen(seen) => {
                for task in seen.tasks {
                    self.seen(container, &task);
                }
            }
            task_event::Event::Gathered(gathered) => self.gathered_ahead(container, &gathered),
            task_event::Event::Ended(ended) => {
                let ix = AttemptIx(ended.process);
                let attempt = self.attempts.get(ix).cloned();
                if let Some(attempt) = attempt.filter(|of| of.container == *container) {
                    self.past.hear(ix, &ended);
                    self.attempt_ended(ix, &attempt, ended);
                }
            }
            task_event::Event::Moved(moved) => self.moved(container, moved),
            // It was the session that has asked.
            task_event::Event::Log(_) => {}
        }
    }

    /// How far an attempt is.
    fn seen(&mut self, container: &ContainerId, task: &wire::TaskSeen) {
        let ix = AttemptIx(task.process);
        let Some(attempt) = self.attempts.get_mut(ix) else {
            return;
        };
        if attempt.container != *container {
            return;
        }
        if task.pid == 0 && !task.status.is_empty() {
            let attempt = attempt.clone();
            return self.stands_in_line(&attempt, &task.status);
        }
        attempt.pid = task.pid;
        let far = Far {
            done: task.done,
            of: task.wanted,
        };
        if attempt.far != far {
            attempt.far = far;
            // Of a reduce that still fetches nothing is known.
            if far.of > 0 {
                self.want(MapReduceEffect::Progress {
                    attempt: ix,
                    done: far.done,
                    of: far.of,
                });
            }
        }
    }

    fn attempt_ended(&mut self, ix: AttemptIx, attempt: &PlacedAttempt, ended: wire::TaskEnded) {
        match said(&ended) {
            // An order to end it has come too late: its result is as good as any.
            Ended::Well(counters) if self.machine.counts(ix) => {
                self.done_well(ix, attempt, counters, &ended);
            }
            Ended::Well(_) => self.done_in_vain(ix, attempt, &ended),
            Ended::Badly(_) if attempt.is_stopped => self.over(ix, AttemptOutcome::Killed),
            Ended::Badly(sentence) if !ended.unfetched.is_empty() => {
                self.not_read(ix, attempt, &sentence, &ended.unfetched);
            }
            Ended::Badly(sentence) if ended.device_gone => {
                self.lost_device(ix, attempt, ended.how.is_some(), sentence);
            }
            Ended::Badly(sentence) if ended.no_device && !attempt.has_needs => {
                self.found_no_device(ix, attempt, &ended.missing_device, sentence);
            }
            Ended::Badly(sentence) if ended.no_room => {
                // Before the task is queued again.
                self.want(MapReduceEffect::NoRoom(attempt.container.clone()));
                self.failed(ix, attempt, sentence);
            }
            Ended::Badly(sentence) => match ended.record.filter(|_| self.may_skip(attempt)) {
                Some(record) => self.failed_on(ix, attempt, record, sentence),
                None => self.failed(ix, attempt, sentence),
            },
        }
    }

    /// The files of this attempt are those of its task, and no other's are. Of an attempt that is not the first it is
    /// said that it has none, too: then those of the first are not.
    fn has_written(&mut self, attempt: &PlacedAttempt, ended: &wire::TaskEnded) {
        let number = match attempt.stage {
            Stage::Map => Some(attempt.task.0),
            Stage::Reduce | Stage::Gang => self.machine.partition(attempt.task),
        };
        let Some(number) = number else { return };
        let of_task = (attempt.stage, number);
        if !ended.has_files && attempt.number == 0 {
            self.results.remove(&of_task);
            return;
        }
        let is_untold = ended.has_files && ended.files.is_empty();
        let result = TaskResult {
            attempt: super::orders::attempt_name(attempt.stage, number, attempt.number),
            names: (!is_untold).then(|| ended.files.clone()),
        };
        self.results.insert(of_task, result);
    }

    /// The result of an attempt is its task's: what it has left, written and counted is kept, and no other attempt is
    /// wanted.
    fn done_well(
        &mut self,
        ix: AttemptIx,
        attempt: &PlacedAttempt,
        counters: Counters,
        ended: &wire::TaskEnded,
    ) {
        let task = attempt.task;
        let phases = phases_of(&counters);
        if !self.ever_done.contains(&(attempt.stage, task)) {
            let own = own_counters_max(&self.description.settings);
            if let Err(error) = check_counters(&self.counters, &counters, own) {
                return self.failed(ix, attempt, error.to_string());
            }
            self.ever_done.insert((attempt.stage, task));
            if let Some(of_speed) = by_speed::counted(attempt.speed, &counters) {
                self.count(of_speed);
            }
            self.count(counters);
        }
        self.has_written(attempt, ended);
        self.remember(attempt, AttemptEnd::Succeeded, ended.output_bytes);
        match attempt.stage {
            Stage::Map => {
                if self.description.reduces > 0 {
                    // A launcher says one that it has.
                    let port = u16::try_from(ended.fetch_port).unwrap_or_default();
                    let host = match ended.fetch_host.as_str() {
                        "" => &attempt.host,
                        named => named,
                    };
                    self.outputs_made = self.outputs_made.saturating_add(1);
                    let output = MapOutput {
                        attempt: ix,
                        container: attempt.container.clone(),
                        place: attempt.place,
                        address: joined(host, port),
                        number: self.outputs_made,
                    };
                    self.outputs.insert(task, output);
                    self.has_left(ended.output_bytes);
                }
                self.maps_done = self.maps_done.saturating_add(1);
                let read = Orders::length(&self.description, task);
                self.attempts.remove(ix, read);
                self.end_of_attempt(ix, AttemptOutcome::Done, phases);
                self.step_machine(Event::Mapped {
                    attempt: ix,
                    digest: digest(ended),
                });
            }
            Stage::Reduce | Stage::Gang => {
                self.count_own("GATHERED_AHEAD_READ_BYTES", ended.gathered_bytes);
                self.reduces_done = self.reduces_done.saturating_add(1);
                self.attempts.remove(ix, 0);
                self.end_of_attempt(ix, AttemptOutcome::Done, phases);
                let home = attempt.place;
                self.step_machine(Event::Fetched { home });
                self.step_machine(Event::Reduced(ix));
            }
        }
        self.stop_twins(attempt);
        self.unpark();
    }

    /// The result of an attempt is nobody's: nothing of it is kept. What a map has left is compared with what counts.
    fn done_in_vain(&mut self, ix: AttemptIx, attempt: &PlacedAttempt, ended: &wire::TaskEnded) {
        if attempt.stage == Stage::Map {
            self.step_machine(Event::Mapped {
                attempt: ix,
                digest: digest(ended),
            });
        }
        self.over(ix, AttemptOutcome::Killed);
    }

    /// Other attempts at the task are of no use any more.
    fn stop_twins(&mut self, attempt: &PlacedAttempt) {
        for twin in self.attempts.at(attempt.stage, attempt.task) {
            self.stop(twin, Why::TwinWon);
        }
    }

    pub(super) fn failed(&mut self, ix: AttemptIx, attempt: &PlacedAttempt, sentence: String) {
        let title = sentences::title(attempt.stage, attempt.task, &self.machine);
        let words = format!("{title}, attempt {}: {sentence}", attempt.number);
        tracing::warn!("{words}");
        self.notice(words);
        self.failed_attempts = self.failed_attempts.saturating_add(1);
        self.failures
            .insert((attempt.stage, attempt.task), sentence);
        let here = self.failed_on.entry(attempt.host.clone()).or_default();
        *here = here.saturating_add(1);
        if *here == self.description.node_failures {
            self.notice(format!(
                "{} is avoided while there is another node: {} attempts have failed there",
                attempt.host, self.description.node_failures
            ));
        }
        self.over(ix, AttemptOutcome::Failed);
    }

    const fn may_skip(&self, attempt: &PlacedAttempt) -> bool {
        self.most_skipped(attempt) > 0
    }

    /// Records that a map may leave out, groups that a reduce may.
    const fn most_skipped(&self, attempt: &PlacedAttempt) -> u32 {
        match attempt.stage {
            Stage::Map => self.description.skip_max,
            Stage::Reduce => self.description.skip_groups,
            Stage::Gang => 0,
        }
    }

    /// A task failed over a record, or a group, which later attempts may leave out.
    fn failed_on(&mut self, ix: AttemptIx, attempt: &PlacedAttempt, record: u64, sentence: String) {
        let (stage, task) = (attempt.stage, attempt.task);
        let knew = attempt.skips.binary_search(&record).is_ok();
        if knew || !self.machine.may_skip(stage, task, record) {
            return self.failed(ix, attempt, sentence);
        }
        let title = sentences::title(stage, task, &self.machine);
        tracing::warn!("{title}, attempt {}: {sentence}", attempt.number);
        let left_out = self.machine.skips(stage, task);
        if !left_out.contains(&record) {
            let what = match stage {
                Stage::Map => format!("record {record} of its split"),
                Stage::Reduce | Stage::Gang => format!("group {record} of its partition"),
            };
            self.notice(format!(
                "{title} leaves out {what}, {} of at most {}: {sentence}",
                left_out.len().saturating_add(1),
                self.most_skipped(attempt)
            ));
        }
        self.failed_attempts = self.failed_attempts.saturating_add(1);
        self.failures.insert((stage, task), sentence);
        self.attempts.remove(ix, 0);
        self.remember(attempt, AttemptEnd::Failed, 0);
        self.step_machine(Event::FailedOn {
            attempt: ix,
            record,
        });
        // The record is to blame, not the node.
        self.end_of_attempt(ix, AttemptOutcome::Killed, Vec::new());
    }

    /// A reduce could not read what these maps have left, which is no fault of its own.
    fn not_read(&mut self, ix: AttemptIx, attempt: &PlacedAttempt, sentence: &str, maps: &[u32]) {
        let title = sentences::title(attempt.stage, attempt.task, &self.machine);
        tracing::warn!("{title}, attempt {}: {sentence}", attempt.number);
        let times = self.unread.entry(attempt.task).or_default();
        *times = times.saturating_add(1);
        if *times >= UNREAD {
            // Maps that run again help nobody where launchers do not reach each other.
            self.fail(format!(
                "{title} could not read what maps have left, {UNREAD} times, the last time: {sentence}; \
                 nodes have to reach each other's ports"
            ));
            return self.over(ix, AttemptOutcome::Lost);
        }
        // One that was made again meanwhile is not what it has tried to read.
        let tried = maps.iter().map(|map| TaskIx(*map)).filter(|map| {
            let output = self.outputs.get(map);
            output.is_some_and(|output| output.number <= attempt.reads_until)
        });
        let tried: Vec<TaskIx> = tried.collect();
        self.accuse(ix, (attempt.place, attempt.reads_until), &tried);
    }

    /// An attempt is over without a result.
    pub(super) fn over(&mut self, ix: AttemptIx, how: AttemptOutcome) {
        self.over_by(ix, how, how);
    }

    /// The same, where it is one thing for its task and another for its node.
    pub(super) fn over_by(&mut self, ix: AttemptIx, how: AttemptOutcome, for_node: AttemptOutcome) {
        if let Some(attempt) = self.attempts.remove(ix, 0) {
            let end = match how {
                AttemptOutcome::Done => AttemptEnd::Succeeded,
                AttemptOutcome::Failed => AttemptEnd::Failed,
                AttemptOutcome::Lost => AttemptEnd::Lost,
                AttemptOutcome::Killed => AttemptEnd::Killed,
                AttemptOutcome::NoDevice => AttemptEnd::NoDevice,
            };
            self.remember(&attempt, end, 0);
        }
        self.step_machine(Event::Ended { attempt: ix, how });
        self.end_of_attempt(ix, for_node, Vec::new());
    }

    fn end_of_attempt(
        &mut self,
        attempt: AttemptIx,
        how: AttemptOutcome,
        phases: Vec<(AttemptPhase, Nanos)>,
    ) {
        self.want(MapReduceEffect::Over {
            attempt,
            how,
            phases,
        });
    }
}

/// How long an attempt was in each phase that it has counted.
fn phases_of(counters: &Counters) -> Vec<(AttemptPhase, Nanos)> {
    let phase = |phase| match phase {
        TaskPhase::Read => Some(AttemptPhase::Read),
        TaskPhase::Map => Some(AttemptPhase::Map),
        TaskPhase::Collect => Some(AttemptPhase::Collect),
        TaskPhase::Spill => Some(AttemptPhase::Spill),
        TaskPhase::Merge => Some(AttemptPhase::Merge),
        TaskPhase::Shuffle => Some(AttemptPhase::Shuffle),
        TaskPhase::Sort => Some(AttemptPhase::Sort),
        TaskPhase::Reduce => Some(AttemptPhase::Reduce),
        TaskPhase::Write => Some(AttemptPhase::Write),
        // Of a protocol that is newer than this.
        _ => None,
    };
    let nanos = |took: Duration| Nanos(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    gerbil_task::phases(counters)
        .filter_map(|(of, took)| Some((phase(of)?, nanos(took))))
        .collect()
}

/// Of the records that a map has left for reduces; of one that left none nothing.
fn digest(ended: &wire::TaskEnded) -> Digest {
    let digest = ended.digest.as_slice().try_into();
    Digest(digest.map_or(0, u128::from_le_bytes))
}

/// What a process said last.
fn said(ended: &wire::TaskEnded) -> Ended {
    if !ended.trouble.is_empty() {
        return Ended::Badly(ended.trouble.clone());
    }
    match serde_json::from_str(&ended.said) {
        Ok(FromTask::MapDone { counters, .. } | FromTask::ReduceDone { counters }) => {
            Ended::Well(counters)
        }
        Ok(FromTask::Failed { sentence, .. }) => Ended::Badly(sentence),
        Ok(other) => Ended::Badly(format!("it ended with {other:?}")),
        Err(error) => Ended::Badly(format!("what it said last makes no sense: {error}")),
    }
}
