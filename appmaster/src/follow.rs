//! The one loop: hears news and steps the machine until the verdict is out.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use holding::{Finished, Holding};
use job::wire;
use job::wire::launcher_order::Order as ToLauncher;
use policy::lifecycle::{Action, Event, Job, KillReason, Stage};
use policy::{ContainerId, End, Millis, Rank};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::task::TaskTracker;
use tonic::Status;

use crate::checkpoints::Checkpoints;
use crate::console::Console;
use crate::exits::Exits;
use crate::explain::Story;
use crate::names::Names;
use crate::news::{JobEvents, News, NewsSender};
use crate::results::Delivery;
use crate::seat::Seat;
use crate::seats::Seats;
use crate::spawn::Groups;
use crate::standoff::Standoff;
use crate::usage::Usages;

/// A job that no client has attached to by then writes its output to the container's log.
pub(crate) const ATTACH_DEADLINE: Duration = Duration::from_secs(60);
/// For the client of an attempt that was lost to come to the next one. It may have to miss the lost one
/// first, which takes it 15 s and what it waits for YARN to say so.
const RETURN_DEADLINE: Duration = Duration::from_secs(30);

/// Whether a client follows.
pub(crate) enum Client {
    /// None has come yet.
    Awaited,
    /// One is there.
    Attached(JobEvents),
    /// None will: the output goes to the log.
    Absent,
    /// It was there and left.
    Gone,
}

/// The job and everybody who has a part in it.
pub(crate) struct Appmaster {
    pub(crate) seat: Seat,
    pub(crate) holding: Holding,
    pub(crate) job: Job,
    /// Zero of the machine's clock.
    pub(crate) began: Instant,
    pub(crate) tasks: TaskTracker,
    pub(crate) news: NewsSender,
    pub(crate) console: Arc<Console>,
    /// Streams of output that the ranks of each launcher have: so many ends are to come.
    pub(crate) streams: BTreeMap<ContainerId, u64>,
    pub(crate) seats: Seats,
    /// The job's own ranks and those that they have spawned.
    pub(crate) groups: Groups,
    /// By the number of its rank 0, which spawned group.
    pub(crate) firsts: BTreeMap<u32, u32>,
    pub(crate) names: Names,
    pub(crate) client: Client,
    /// Where it takes lanes, once it does.
    pub(crate) door: Option<wire::Door>,
    /// The client would rather lose output than wait.
    pub(crate) hasty: bool,
    /// This process has been told to end: nobody is waited for.
    pub(crate) leaving: bool,
    /// The newest, for a client that attaches later.
    pub(crate) phase: wire::Phase,
    pub(crate) reports: BTreeMap<Rank, wire::RankEnded>,
    /// What launchers have told of their ranks at the end.
    pub(crate) seen: BTreeMap<ContainerId, wire::RanksSeen>,
    pub(crate) exits: Exits,
    pub(crate) usages: Usages,
    pub(crate) timing: wire::Timing,
    /// What became of the registration, once that is known.
    pub(crate) finished: Option<Finished>,
    pub(crate) checkpoints: Checkpoints,
    pub(crate) delivery: Delivery,
    /// What was decided so far, and why.
    pub(crate) story: Story,
    pub(crate) standoff: Standoff,
}

impl Appmaster {
    /// Until the verdict is out and everybody knows it.
    pub(crate) async fn follow(&mut self, mut inbox: mpsc::Receiver<News>) -> Result<()> {
        let attach_by = Instant::now() + ATTACH_DEADLINE;
        let mut todo = self.first_steps(&mut inbox).await;
        loop {
            if let Some(verdict) = self.carry_out(todo).await {
                return self.finish(verdict, &mut inbox).await;
            }
            let wake = self.job.wakes_at();
            let wake = wake.map(|at| self.at(at));
            let look = self.story.look_due().map(|at| self.at(at));
            let standoff = self.standoff.due().map(|at| self.at(at));
            let checkpoint = self.checkpoints.due();
            let awaited = matches!(self.client, Client::Awaited);
            todo = tokio::select! {
                news = inbox.recv() => match news {
                    Some(news) => self.hear(news).await,
                    None => Vec::new(),
                },
                () = until(wake) => self.step(Event::Tick),
                () = until(checkpoint) => {
                    self.checkpoint_due();
                    Vec::new()
                }
                () = until(look) => {
                    self.look_around();
                    Vec::new()
                }
                () = until(standoff) => {
                    self.look_for_rivals();
                    Vec::new()
                }
                place = self.outlet() => {
                    self.post(place);
                    Vec::new()
                }
                () = sleep_until(attach_by), if awaited => {
                    self.go_on_alone();
                    Vec::new()
                }
            };
        }
    }

    /// The first steps. What a lost attempt has come to this one cannot know: perhaps the program had
    /// ended well and YARN could not be told. The client does know, and comes only where the program is
    /// to run again; without one nothing is started.
    async fn first_steps(&mut self, inbox: &mut mpsc::Receiver<News>) -> Vec<Action> {
        let by = Instant::now() + RETURN_DEADLINE;
        while self.seat.attempt.attempt > 1 && matches!(self.client, Client::Awaited) {
            let todo = tokio::select! {
                news = inbox.recv() => match news {
                    Some(news) => self.hear(news).await,
                    None => return Vec::new(),
                },
                () = sleep_until(by) => {
                    self.client = Client::Gone;
                    self.step(Event::KillRequested(KillReason::ClientLost))
                }
            };
            if !todo.is_empty() {
                return todo;
            }
        }
        self.step(Event::Registered)
    }

    pub(crate) fn step(&mut self, event: Event) -> Vec<Action> {
        let now = self.now();
        self.story.hear(&event);
        let actions = self.job.step(now, event);
        self.story.tell(now, self.holding.headroom(), &actions);
        actions
    }

    /// On the machine's clock.
    pub(crate) fn now(&self) -> Millis {
        let elapsed = self.began.elapsed().as_millis();
        Millis(u64::try_from(elapsed).unwrap_or(u64::MAX))
    }

    fn at(&self, on_our_clock: Millis) -> Instant {
        self.began + Duration::from_millis(on_our_clock.0)
    }

    /// One piece of news; what the machine wants done about it.
    async fn hear(&mut self, news: News) -> Vec<Action> {
        match news {
            News::Machine(event) => self.step(event),
            News::Holding(heard) => self.told(heard),
            News::OutputHandedOver => Vec::new(),
            News::Checkpoint(heard) => {
                self.checkpoint_heard(heard);
                Vec::new()
            }
            News::Looked(look) => {
                self.looked(&look);
                Vec::new()
            }
            News::Rivals(sight) => self.rivals_seen(sight),
            News::ClientAttached { events, admitted } => {
                let _heard = admitted.send(self.attach(events)).is_ok();
                Vec::new()
            }
            News::ClientSignal(signal) => {
                self.holding
                    .tell_all(&ToLauncher::Signal(wire::Signal { signal }));
                Vec::new()
            }
            News::ClientResized(size) => {
                self.holding.tell_all(&ToLauncher::WindowSize(size));
                Vec::new()
            }
            News::ClientDoor(door) => {
                self.holding.tell_all(&ToLauncher::Door(door.clone()));
                self.door = Some(door);
                Vec::new()
            }
            News::ClientKill(reason) => self.step(Event::KillRequested(reason)),
            News::ClientLeft => {
                self.client = Client::Gone;
                self.step(Event::KillRequested(KillReason::ClientLost))
            }
        }
    }

    /// The first client to come, in time, follows the job.
    pub(crate) fn attach(&mut self, events: JobEvents) -> Result<(), Status> {
        let why_not = match self.client {
            Client::Awaited => {
                self.client = Client::Attached(events);
                self.show_phase();
                return Ok(());
            }
            Client::Attached(_) => "another client follows this job",
            Client::Gone => "the client that followed this job is gone, and the job with it",
            Client::Absent => {
                "no client came in time, so the job's output goes to this ApplicationMaster's log"
            }
        };
        tracing::warn!("refused a client: {why_not}");
        Err(Status::failed_precondition(why_not))
    }

    pub(crate) fn launcher_said(
        &mut self,
        container: ContainerId,
        event: wire::launcher_event::Event,
    ) -> Vec<Action> {
        use wire::launcher_event::Event as Said;
        match event {
            Said::Hello(_) => self.step(Event::Misbehaved {
                container,
                what: "said hello twice".into(),
            }),
            Said::TaskEnded(_) => self.step(Event::Misbehaved {
                container,
                what: "told the end of a task, and has none".into(),
            }),
            Said::Started(started) => {
                let streams = self.streams.entry(container.clone()).or_default();
                *streams = streams.saturating_add(started.streams.into());
                if started.group > 0 {
                    return self.on_part(&container, started.group, None);
                }
                self.timing.started_us = self.timing.started_us.max(started.at_us);
                Vec::new()
            }
            Said::Fence(fence) => self.on_fence(container, fence),
            Said::Name(request) => {
                self.on_name(&container, request);
                Vec::new()
            }
            Said::Spawn(request) => self.on_spawn(container, request),
            Said::Usages(heard) => {
                let own = |rank| self.seats.runs(&container, Rank(rank));
                let own = heard.usages.iter().filter(|usage| own(usage.rank));
                own.for_each(|usage| self.usages.hear(usage));
                Vec::new()
            }
            Said::PmiSeen(seen) => self.step(Event::PmiSeen(seen.group)),
            Said::Abort(wire::Abort { rank, .. }) | Said::Broke(wire::RankBroke { rank, .. })
                if self.has_unspawned(Rank(rank)) =>
            {
                Vec::new()
            }
            Said::Abort(wire::Abort { rank, .. }) | Said::Broke(wire::RankBroke { rank, .. })
                if !self.seats.runs(&container, Rank(rank)) =>
            {
                self.step(Event::Misbehaved {
                    container,
                    what: format!("spoke for rank {rank}, which is not its own"),
                })
            }
            Said::Seen(seen) => {
                self.seen.insert(container, seen);
                Vec::new()
            }
            Said::Found(found) => {
                self.checkpoint_found(container, found);
                Vec::new()
            }
            Said::Moved(moved) => {
                self.checkpoint_moved(&container, moved);
                Vec::new()
            }
            Said::Abort(abort) => {
                tracing::info!(rank = abort.rank, "MPI_Abort: {}", abort.message);
                self.step(Event::Aborted {
                    rank: Rank(abort.rank),
                    code: abort.exit_code,
                })
            }
            Said::Broke(broke) => self.step(Event::Broke {
                rank: Rank(broke.rank),
                what: broke.sentence,
            }),
            Said::Refusal(refusal) if refusal.group > 0 => {
                let why = Some(refusal.sentence);
                self.on_part(&container, refusal.group, why)
            }
            Said::Refusal(refusal) => self.step(Event::Refused {
                container,
                sentence: refusal.sentence,
                code: u8::try_from(refusal.exit_code).unwrap_or(u8::MAX),
            }),
            Said::Ended(ended) => {
                let rank = Rank(ended.rank);
                if self.has_unspawned(rank) {
                    return Vec::new();
                }
                if !self.seats.runs(&container, rank) {
                    return self.step(Event::Misbehaved {
                        container,
                        what: format!("reported the end of rank {rank}, which is not its own"),
                    });
                }
                let stage = match ended.pmi() {
                    wire::PmiStage::Silent => Stage::Silent,
                    wire::PmiStage::Initialized => Stage::Initialized,
                    wire::PmiStage::Finalized => Stage::Finalized,
                };
                let end = ended.how.map(End::try_from);
                self.reports.insert(rank, ended);
                match end {
                    Some(Ok(end)) => self.step(Event::RankEnded { rank, end, stage }),
                    Some(Err(_)) | None => self.step(Event::Misbehaved {
                        container,
                        what: format!("reported an end of rank {rank} that no process can have"),
                    }),
                }
            }
        }
    }
}

async fn until(wake: Option<Instant>) {
    match wake {
        Some(at) => sleep_until(at).await,
        None => pending().await,
    }
}
