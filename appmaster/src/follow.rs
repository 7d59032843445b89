//! The one loop: hears news and steps the machine until the verdict is out.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use job::wire;
use job::wire::launcher_order::Order as ToLauncher;
use policy::lifecycle::{Action, Event, Grant, Job, KillReason, Stage};
use policy::{ClusterView, ContainerId, End, Millis, NodeId, Rank, Resources};
use proto_hadoop::ApplicationClient;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::task::TaskTracker;
use tonic::Status;

use crate::act::merged;
use crate::checkpoints::Checkpoints;
use crate::console::Console;
use crate::containers::LaunchTemplate;
use crate::exits::Exits;
use crate::explain::Story;
use crate::names::Names;
use crate::news::{Granted, JobEvents, News, NewsSender};
use crate::nodes;
use crate::orders::Orders;
use crate::resource_manager::{Order, Progress};
use crate::results::Delivery;
use crate::seat::Seat;
use crate::seats::Seats;
use crate::spawn::Groups;
use crate::standoff::Standoff;
use crate::tickets::Tickets;
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

pub(crate) struct Link {
    pub(crate) orders: Orders,
    /// Streams of output that its ranks have: so many ends are to come.
    pub(crate) streams: u64,
    /// Cores that the launcher may use; 0: not known.
    pub(crate) cores: u32,
    /// A port of its node on which nothing listened; 0: not known.
    pub(crate) free_port: u32,
}

/// The job and everybody who has a part in it.
pub(crate) struct Appmaster {
    pub(crate) seat: Seat,
    pub(crate) launch: LaunchTemplate,
    pub(crate) limits: nodes::Limits,
    pub(crate) candidates: Arc<nodes::Candidates>,
    pub(crate) cluster: Arc<ApplicationClient>,
    pub(crate) job: Job,
    /// Zero of the machine's clock.
    pub(crate) began: Instant,
    pub(crate) tickets: Tickets,
    pub(crate) tasks: TaskTracker,
    pub(crate) news: NewsSender,
    pub(crate) rm: mpsc::Sender<Order>,
    /// What YARN is told of the job's.
    pub(crate) progress: Progress,
    pub(crate) console: Arc<Console>,
    pub(crate) grants: BTreeMap<ContainerId, Granted>,
    pub(crate) links: BTreeMap<ContainerId, Link>,
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
    /// What the queue still gives this application, as the ResourceManager last said.
    pub(crate) headroom: Option<Resources>,
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
        let grants = &self.grants;
        self.exits.hear(&event, |id| grants.contains_key(id));
        let actions = self.job.step(now, event);
        self.story.tell(now, self.headroom, &actions);
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
            News::Machine(Event::Snapshot(mut view)) => {
                view.queue.headroom = self.believed_headroom(&view);
                self.step(Event::Snapshot(view))
            }
            News::Machine(event) => {
                self.container_ended(&event);
                self.step(event)
            }
            News::Granted(granted) => self.granted(granted),
            News::LauncherJoined {
                container,
                orders,
                node,
            } => {
                tracing::info!(
                    glibc = node.glibc,
                    cores = node.cores,
                    "{container} has joined"
                );
                let link = Link {
                    orders,
                    streams: 0,
                    cores: node.cores,
                    free_port: node.free_port,
                };
                if let Some(door) = &self.door {
                    link.orders.say(ToLauncher::Door(door.clone()));
                }
                self.links.insert(container.clone(), link);
                if !self.grants.contains_key(&container) {
                    // Given back while it was on its way here.
                    self.dismiss(&container);
                    return Vec::new();
                }
                self.step(Event::Joined(container))
            }
            News::LauncherSaid { container, event } => self.launcher_said(container, event),
            News::LauncherCut => {
                // Most often it is dead, and YARN will soon say so.
                self.order_rm(Order::Hurry).await;
                Vec::new()
            }
            News::LauncherLost(container) => {
                self.let_go(&container);
                self.step(Event::LinkLost(container))
            }
            News::OutputHandedOver => Vec::new(),
            News::Headroom(headroom) => {
                let before = self.headroom.replace(headroom).unwrap_or_default();
                match headroom.memory > before.memory {
                    true => self.step(Event::Freed),
                    false => Vec::new(),
                }
            }
            News::WantedBack(containers) => {
                self.wanted_back(containers);
                Vec::new()
            }
            News::Asked { containers, rows } => {
                let now = self.now();
                self.story.asked(now, containers, rows);
                Vec::new()
            }
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
                self.order_all(&ToLauncher::Signal(wire::Signal { signal }));
                Vec::new()
            }
            News::ClientResized(size) => {
                self.order_all(&ToLauncher::WindowSize(size));
                Vec::new()
            }
            News::ClientDoor(door) => {
                self.order_all(&ToLauncher::Door(door.clone()));
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

    /// A launcher without a link whose container has ended does not come by another.
    pub(crate) fn container_ended(&self, event: &Event) {
        if let Event::ContainerEnded { container, .. } = event
            && let Some(link) = self.links.get(container)
        {
            link.orders.container_ended();
        }
    }

    /// Nothing more is heard of a launcher.
    pub(crate) fn let_go(&mut self, container: &ContainerId) {
        if let Some(link) = self.links.remove(container) {
            link.orders.end();
        }
        self.tickets.revoke(container);
    }

    /// What the queue still gives, where that is to be relied on: a CapacityScheduler says it, the other
    /// ones name a fair share, above which they give too. Until something was said it is zero.
    fn believed_headroom(&self, view: &ClusterView) -> Option<Resources> {
        let said = self.headroom.filter(|headroom| headroom.memory.0 > 0);
        said.filter(|_| view.queue.maximum.is_some())
    }

    /// The containers of one answer.
    fn granted(&mut self, granted: Vec<Granted>) -> Vec<Action> {
        let mut grants = Vec::with_capacity(granted.len());
        for granted in granted {
            let container = ContainerId(granted.container.id.to_string());
            grants.push(Grant {
                container: container.clone(),
                node: NodeId(granted.container.node.to_string()),
                resources: nodes::amount(&granted.container.resource, &self.limits.types),
                round: granted.round,
            });
            self.grants.insert(container, granted);
        }
        let mut actions = Vec::new();
        for grant in grants {
            actions.extend(self.step(Event::Granted(grant)));
        }
        merged(actions)
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

    fn launcher_said(
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
                if let Some(link) = self.links.get_mut(&container) {
                    link.streams = link.streams.saturating_add(started.streams.into());
                }
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
