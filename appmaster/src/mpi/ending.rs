//! After the verdict: everybody is told, and nothing is left behind.
//!
//! ```text
//! delivering ─▶ last look ─▶ awaiting the client ─▶ draining ─▶ dismissing ─▶ clearing ─▶ measuring
//!                                                                                             │
//!              over ◀─ farewell ◀─ forgetting ◀─ unregistering, the client is told ◀──────────┘
//! ```
//!
//! Whoever has nothing to do in a step passes through it. Each wait has a deadline, but for these: a
//! client that takes output, however slowly; launchers that copy results, which have deadlines of their
//! own; a file system that names results; and the ResourceManager's task, which gives up by itself.

use std::collections::BTreeSet;
use std::task::Poll;

use holding::Finished;
use job::exit::diagnostics;
use job::wire;
use job::wire::job_event::Event as ToClient;
use policy::Millis;
use policy::lifecycle::{Cause, KillReason, Verdict};

use super::{MpiHeard, MpiJobEvent};
use crate::files::{FileWork, FilesDone};
use crate::mpi::results::{Broken, Delivering, options};
use crate::mpi::verdict;
use crate::mpi::{ATTACH_DEADLINE, Client, Mpi};
use crate::work::{Do, JobEvent, OutputSeen};

/// How long launchers may take to hand over what their ranks have printed when no client hinders
/// them.
const DRAIN_DEADLINE: Millis = Millis(10_000);
/// The same where YARN ends the job: it kills the launchers too, and none of them comes back.
const DRAIN_AFTER_KILL: Millis = Millis(3_000);
/// Between two looks at who hinders whom.
const DRAIN_LOOK: Millis = Millis(500);
/// How long the client waits for the ResourceManager to take the verdict before it hears it itself.
const TAKEN_SOON: Millis = Millis(3_000);
/// The look of a job that has ended: somebody waits for its last sentence.
const LAST_LOOK: Millis = Millis(3_000);
/// For launchers that may still copy a checkpoint to leave.
const GONE: Millis = Millis(2_000);
/// To remove what is not needed at the end of the job.
const LAST: Millis = Millis(15_000);

/// A job whose verdict is out.
#[derive(Debug)]
pub(crate) struct Ending {
    verdict: Verdict,
    sentence: String,
    step: EndingStep,
    /// The client has been told the verdict.
    told: bool,
}

#[derive(Debug)]
enum EndingStep {
    /// Files become results.
    Delivering(Delivering),
    /// It is looked what the job has waited for.
    LastLook { by: Millis },
    /// A job can be over before its client has found us.
    AwaitingClient,
    /// Output is on its way.
    Draining {
        patience: Millis,
        by: Millis,
        look_at: Millis,
    },
    /// Launchers may still copy a checkpoint: what they copy would come back.
    Dismissing { by: Millis },
    /// Checkpoints that nobody needs are removed.
    Clearing { by: Millis },
    /// What this process uses is read.
    Measuring,
    /// The ResourceManager is told.
    Unregistering {
        /// When the client is told at the latest.
        tell_at: Millis,
    },
    /// What results have left is removed.
    Forgetting { by: Millis, unregistered: bool },
    /// The client leaves when its terminal has taken the last byte; a dead one the keep-alive ends.
    Farewell,
}

impl Ending {
    /// When something is due, if nothing else happens before.
    pub(crate) const fn wakes_at(&self) -> Option<Millis> {
        match self.step {
            EndingStep::LastLook { by }
            | EndingStep::Dismissing { by }
            | EndingStep::Clearing { by }
            | EndingStep::Forgetting { by, .. } => Some(by),
            EndingStep::AwaitingClient => Some(ATTACH_DEADLINE),
            EndingStep::Draining { look_at, .. } => Some(look_at),
            EndingStep::Unregistering { tell_at } if !self.told => Some(tell_at),
            EndingStep::Unregistering { .. }
            | EndingStep::Delivering(_)
            | EndingStep::Measuring
            | EndingStep::Farewell => None,
        }
    }

    /// Whether the client may be told what waits for it: until the verdict, it hears output only.
    pub(crate) const fn tells(&self) -> bool {
        self.told
    }

    /// Why it has not ended well.
    pub(crate) const fn cause(&self) -> Option<&Cause> {
        self.verdict.cause.as_ref()
    }

    /// Nothing is left to be done but to wait for the client to leave.
    pub(crate) const fn is_farewell(&self) -> bool {
        matches!(self.step, EndingStep::Farewell)
    }
}

impl Mpi {
    /// The verdict is out: the client, the launchers (once all output is taken), the ResourceManager and
    /// the client again are told, in this order.
    pub(crate) fn finish(&mut self, verdict: Verdict) -> Ending {
        self.timing.ended_us = self.wall_us();
        self.checkpoints.pause();
        let delivers = verdict.cause.is_none() && !self.description.stage_out.is_empty();
        let mut ending = Ending {
            verdict,
            sentence: String::new(),
            step: EndingStep::AwaitingClient,
            told: false,
        };
        match delivers {
            true => ending.step = EndingStep::Delivering(self.deliver()),
            false => self.conclude(&mut ending),
        }
        ending
    }

    /// One piece of news after the verdict.
    pub(crate) fn hear_ending(&mut self, ending: &mut Ending, heard: MpiHeard) {
        match (&mut ending.step, heard) {
            (EndingStep::Delivering(delivering), heard) => {
                let cause = match self.delivering(delivering, heard) {
                    Poll::Pending => return,
                    Poll::Ready(Ok(())) => None,
                    Poll::Ready(Err(Broken::Sentence(sentence))) => {
                        let options = options(&self.description.stage_out);
                        let sentence = format!("{options}: {sentence}");
                        Some(Cause::Results { sentence })
                    }
                    Poll::Ready(Err(Broken::Ended(cause))) => Some(cause),
                };
                ending.verdict = Verdict { cause };
                self.conclude(ending);
            }
            (EndingStep::LastLook { .. }, MpiHeard::Own(MpiJobEvent::LastLook(look))) => {
                let sentence = std::mem::take(&mut ending.sentence);
                ending.sentence = self.with_last_look(sentence, &ending.verdict, &look);
                self.await_client(ending);
            }
            (EndingStep::Draining { .. }, MpiHeard::Own(MpiJobEvent::Output(seen))) => {
                self.output_seen(ending, seen)
            }
            (
                EndingStep::Clearing { .. },
                MpiHeard::Own(MpiJobEvent::Files(FilesDone::Cleared)),
            ) => self.measure(ending),
            (EndingStep::Measuring, MpiHeard::Own(MpiJobEvent::Memory(memory))) => {
                self.memory = memory;
                self.unregister(ending);
            }
            (EndingStep::Unregistering { .. }, MpiHeard::Every(JobEvent::Finished(finished))) => {
                self.finished(ending, finished);
            }
            (
                EndingStep::Forgetting { unregistered, .. },
                MpiHeard::Own(MpiJobEvent::Files(FilesDone::Forgotten)),
            ) => {
                let unregistered = *unregistered;
                self.take_leave(ending, unregistered);
            }
            (_, other) => {
                self.hear_late(other);
                self.go_on_ending(ending);
            }
        }
    }

    /// What is due by now, or has become possible.
    fn go_on_ending(&mut self, ending: &mut Ending) {
        let now = self.now;
        match ending.step {
            EndingStep::LastLook { by } if now >= by => self.await_client(ending),
            EndingStep::AwaitingClient => {
                if matches!(self.client, Client::Awaited) && !self.leaving {
                    if now < ATTACH_DEADLINE {
                        return;
                    }
                    self.go_on_alone();
                }
                self.drain(ending);
            }
            EndingStep::Draining { .. } if self.hasty => self.dismiss_all(ending),
            EndingStep::Draining { .. } => self.look_at_output(ending),
            EndingStep::Dismissing { by } if self.links.is_empty() || now >= by => {
                self.clear_checkpoints(ending);
            }
            EndingStep::Clearing { by } if now >= by => {
                self.todo.push(Do::DropFiles);
                self.measure(ending);
            }
            EndingStep::Unregistering { tell_at } if !ending.told && now >= tell_at => {
                self.tell_verdict(ending, Finished::default());
            }
            EndingStep::Forgetting { by, unregistered } if now >= by => {
                self.todo.push(Do::DropFiles);
                self.take_leave(ending, unregistered);
            }
            // It is not due yet, or ends by what is heard alone.
            EndingStep::Delivering(_)
            | EndingStep::LastLook { .. }
            | EndingStep::Dismissing { .. }
            | EndingStep::Clearing { .. }
            | EndingStep::Measuring
            | EndingStep::Unregistering { .. }
            | EndingStep::Forgetting { .. }
            | EndingStep::Farewell => {}
        }
    }

    /// News after the verdict.
    pub(crate) fn hear_late(&mut self, heard: MpiHeard) {
        match heard {
            MpiHeard::Every(JobEvent::ClientAttached) => self.attach(),
            MpiHeard::Every(JobEvent::ClientKill(_)) => self.hasty = true,
            MpiHeard::Every(JobEvent::ClientLeft) => self.client = Client::Gone,
            MpiHeard::Every(JobEvent::ClientDeaf) => {
                self.story.outbox.clear();
                self.client = Client::Gone;
            }
            MpiHeard::Own(MpiJobEvent::Lost(container)) => {
                self.links.remove(&container);
            }
            // YARN, or a signal, ends this very process, and does not wait for terminals.
            MpiHeard::Every(JobEvent::Killed(_)) => {
                self.hasty = true;
                self.leaving = true;
            }
            MpiHeard::Own(MpiJobEvent::Machine(event)) => self.container_ended(&event),
            // What is due, and how far the output is, is looked at after each of these; the rest comes too late.
            MpiHeard::Every(
                JobEvent::Tick | JobEvent::Finished(_) | JobEvent::ResourceManagerLost { .. },
            )
            | MpiHeard::Own(
                MpiJobEvent::OutputMoved
                | MpiJobEvent::Output(_)
                | MpiJobEvent::Cores(_)
                | MpiJobEvent::Granted(_)
                | MpiJobEvent::Headroom(_)
                | MpiJobEvent::WantedBack(_)
                | MpiJobEvent::Asked { .. }
                | MpiJobEvent::Looked(_)
                | MpiJobEvent::LastLook(_)
                | MpiJobEvent::Rivals(_)
                | MpiJobEvent::Files(_)
                | MpiJobEvent::Joined { .. }
                | MpiJobEvent::Said { .. }
                | MpiJobEvent::ClientSignal(_)
                | MpiJobEvent::ClientResized(_)
                | MpiJobEvent::ClientDoor(_)
                | MpiJobEvent::Memory(_),
            ) => {}
        }
    }

    /// The verdict is final: its sentence, and why the job waited where that is asked for.
    fn conclude(&mut self, ending: &mut Ending) {
        let verdict = &ending.verdict;
        self.remark_on_silence(verdict);
        ending.sentence = verdict::sentence(verdict, self.seen(verdict), &self.limits.types);
        ending.sentence.push_str(&self.missed(verdict));
        if self.wants_last_look(verdict).is_none() {
            return self.await_client(ending);
        }
        self.todo.push(Do::LastLook);
        ending.step = EndingStep::LastLook {
            by: self.now.plus(LAST_LOOK),
        };
    }

    fn await_client(&mut self, ending: &mut Ending) {
        tracing::info!(
            "verdict: {}",
            match ending.sentence.as_str() {
                "" => "success",
                sentence => sentence,
            }
        );
        ending.step = EndingStep::AwaitingClient;
        self.go_on_ending(ending);
    }

    /// Waits until every stream of every launcher has ended, and the client has been handed all of it. As
    /// long as a client takes it, however slowly, this may last; a launcher that brings nothing more
    /// and does not end its streams is waited for no longer than for a while.
    fn drain(&mut self, ending: &mut Ending) {
        if self.hasty {
            return self.dismiss_all(ending);
        }
        let patience = match ending.verdict.cause {
            Some(Cause::Killed(KillReason::Terminated)) => DRAIN_AFTER_KILL,
            _ => DRAIN_DEADLINE,
        };
        ending.step = EndingStep::Draining {
            patience,
            by: self.now.plus(patience),
            look_at: self.now,
        };
        self.look_at_output(ending);
    }

    fn look_at_output(&mut self, ending: &mut Ending) {
        if let EndingStep::Draining { look_at, .. } = &mut ending.step {
            *look_at = self.now.plus(DRAIN_LOOK);
        }
        let links = self.links.iter();
        self.todo.push(Do::LookAtOutput {
            run: self.job.run_number(),
            streams: links.map(|(id, link)| (id.clone(), link.streams)).collect(),
        });
    }

    fn output_seen(&mut self, ending: &mut Ending, seen: OutputSeen) {
        let EndingStep::Draining { patience, by, .. } = &mut ending.step else {
            return;
        };
        if seen.is_drained {
            return self.dismiss_all(ending);
        }
        if seen.all_ended && !seen.is_closed {
            self.todo.push(Do::CloseOutput);
        }
        let followed = matches!(self.client, Client::Attached | Client::Absent);
        if followed && (seen.all_ended || seen.is_closed || seen.is_backed_up) {
            *by = self.now.plus(*patience);
        } else if !followed || self.now > *by {
            self.dismiss_all(ending);
        }
    }

    /// All launchers are to leave.
    fn dismiss_all(&mut self, ending: &mut Ending) {
        self.todo.push(Do::CloseOutput);
        for container in self.links.keys() {
            self.todo.push(Do::Leave(container.clone()));
        }
        if self.checkpoints.was_cut_off() {
            ending.step = EndingStep::Dismissing {
                by: self.now.plus(GONE),
            };
            return self.go_on_ending(ending);
        }
        self.clear_checkpoints(ending);
    }

    /// The launchers are gone, or as good as gone. Of a job that has succeeded nobody needs a checkpoint.
    fn clear_checkpoints(&mut self, ending: &mut Ending) {
        let Some((clearing, notice)) = self.checkpoints.over(ending.verdict.cause.is_none()) else {
            return self.measure(ending);
        };
        if let Some(notice) = notice {
            self.story.outbox.notice(notice);
        }
        self.todo.push(Do::Files(clearing));
        ending.step = EndingStep::Clearing {
            by: self.now.plus(LAST),
        };
    }

    fn measure(&mut self, ending: &mut Ending) {
        self.todo.push(Do::Measure);
        ending.step = EndingStep::Measuring;
    }

    fn unregister(&mut self, ending: &mut Ending) {
        let verdict = &ending.verdict;
        self.todo.push(Do::Unregister {
            status: verdict::final_status(verdict),
            diagnostics: match verdict.cause {
                None => self.summary(),
                Some(_) => diagnostics(&ending.sentence, verdict::exit_code(verdict)),
            },
        });
        ending.step = EndingStep::Unregistering {
            tell_at: self.now.plus(TAKEN_SOON),
        };
        // A ResourceManager that does not answer is given time to, and may use it to end this very
        // process: the client is told before, without the counts of the calls.
        if let Some(Cause::ResourceManagerLost { .. }) = verdict.cause {
            self.tell_verdict(ending, Finished::default());
        }
    }

    /// Tells the client how the job has ended; `counts` of calls as far as they are known.
    fn tell_verdict(&mut self, ending: &mut Ending, counts: Finished) {
        let verdict = &ending.verdict;
        let mut last = wire::Verdict {
            exit_code: i32::from(verdict::exit_code(verdict)),
            state: verdict::final_state(verdict).into(),
            sentence: ending.sentence.clone(),
            ranks: self.rank_reports(),
            timing: Some(self.timing),
            asking_allocates: counts.asking,
            allocates: counts.allocates,
            appmaster_memory: Some(self.memory),
            report: String::new(),
            left_files: self.left_files(),
            tasks: String::new(),
        };
        last.report = self.report(&last, counts);
        self.story.outbox.push_last(Some(ToClient::Verdict(last)));
        ending.told = true;
    }

    /// The ResourceManager has taken the verdict, or will not.
    fn finished(&mut self, ending: &mut Ending, finished: Finished) {
        if !ending.told {
            self.tell_verdict(ending, finished);
        }
        let unregistered = finished.unregistered;
        let leftovers = self.delivery.leftovers(unregistered);
        if leftovers.is_empty() {
            return self.take_leave(ending, unregistered);
        }
        self.todo.push(Do::Files(FileWork::Forget(leftovers)));
        ending.step = EndingStep::Forgetting {
            by: self.now.plus(LAST),
            unregistered,
        };
    }

    fn take_leave(&mut self, ending: &mut Ending, unregistered: bool) {
        // An empty event where the ResourceManager has not taken it: the client need not wait.
        let taken = ToClient::Unregistered(wire::Unregistered {});
        let taken = unregistered.then_some(taken);
        self.story.outbox.push_last(taken);
        ending.step = EndingStep::Farewell;
    }

    /// Of a success, one line for YARN's pages.
    fn summary(&self) -> String {
        let seats = self.seats.all();
        let ranks: usize = seats.iter().map(|seat| seat.ranks.len()).sum();
        let hosts: BTreeSet<&str> = sort::set(seats.iter().map(|seat| seat.host.as_str()));
        verdict::summary(
            ranks,
            hosts.len(),
            self.timing.ended_us.saturating_sub(self.timing.started_us),
        )
    }

    fn rank_reports(&self) -> Vec<wire::RankReport> {
        let seats = self.seats.all().iter();
        let mut reports: Vec<wire::RankReport> = seats
            .flat_map(|seat| {
                seat.ranks.iter().map(|rank| {
                    let (group, group_rank) = self.groups.of(&self.firsts, rank.0);
                    wire::RankReport {
                        rank: rank.0,
                        host: seat.host.clone(),
                        end: self.reports.get(rank).cloned(),
                        group,
                        group_rank,
                        container_exit: self.exits.of(&seat.container),
                    }
                })
            })
            .collect();
        sort::by_key(&mut reports, |report| report.rank);
        reports
    }
}
