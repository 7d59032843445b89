//! One MPI job: from the registration to the client's farewell.
//!
//! It hears ([`MpiHeard`]) and answers what is to be done ([`Do`]); it waits for nothing, and knows no time
//! but the one that it is told. The machine in `policy` decides when its program is started, started
//! again and ended; here is what that means for launchers, client and file systems.
//!
//! ```text
//! returning ─▶ living ────────────────────────────────────────▶ ending ─▶ over
//! (its client    (the machine decides: act carries it out)      (the verdict is out, step by step)
//!  may know better)
//! ```
//!
//! While it lives the machine places the processes; when every container is there, launchers are started
//! on all nodes at once; they join, say which files their nodes have ([`in_place`]) and get their ranks ([`act`]), whose barriers and spawns ([`spawn`])
//! and names ([`names`]) concern all nodes. [`seats`] says who runs what, [`usage`] what it uses. One that
//! is saved on its way has [`checkpoints`]; when a container is lost the program may begin again
//! ([`repeat`]). Beside all this [`explain`] keeps the story of what was decided and why, [`waiting`] looks
//! for who holds what the job waits for ([`holders`], [`missing`]), and [`standoff`] for who waits for it.
//!
//! At the end ([`ending`]) a job that has succeeded hands over its [`results`] ([`commit`] gives them their
//! names), [`verdict`] and [`report`] put what was into words and numbers.
//!
//! The value [`Mpi`] does no I/O. What it wants done on file systems and asked of the cluster stands beside
//! the states that want it, as plain functions for whoever carries it out.

#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod act;
pub(crate) mod checkpoints;
pub(crate) mod commit;
mod degraded;
mod ending;
mod exits;
pub(crate) mod explain;
mod holders;
mod in_place;
mod messages;
mod missing;
mod names;
mod pmix;
mod repeat;
mod report;
mod results;
mod said;
mod seats;
mod silence;
mod spawn;
pub(crate) mod standoff;
mod usage;
pub(crate) mod verdict;
pub(crate) mod waiting;

use std::collections::{BTreeMap, BTreeSet};

use holding::ClusterLimits;
use job::wire::mpi_order::Order as ToLauncher;
use job::{MpiJob, wire};
use policy::lifecycle::{Cause, Grant, KillReason, LifecycleAction, LifecycleEvent, MpiMachine};
use policy::{ContainerId, Millis, Rank, Resources};
use proto_hadoop::AppAttemptId;

use crate::client_events::Outbox;
use crate::mpi::act::merged;
use crate::mpi::checkpoints::Checkpoints;
use crate::mpi::ending::Ending;
use crate::mpi::exits::Exits;
use crate::mpi::explain::Story;
use crate::mpi::names::PublishedNames;
use crate::mpi::results::Delivery;
use crate::mpi::seats::RunningSeats;
use crate::mpi::spawn::Groups;
use crate::mpi::standoff::Standoff;
use crate::mpi::usage::Usages;
use crate::work::{Do, JobEvent};

pub(crate) use messages::{MpiHeard, MpiJobEvent};

/// A job that no client has attached to by then writes its output to the AM's log.
pub(crate) const ATTACH_DEADLINE: Millis = Millis(60_000);
/// For the client of an attempt that was lost to come to the next one. It may have to miss the lost one
/// first, which takes it 15 s and what it waits for YARN to say so.
const RETURN_DEADLINE: Millis = Millis(30_000);

/// Whether a client follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    /// None has come yet.
    Awaited,
    /// One is there.
    Attached,
    /// None will: the output goes to the log.
    Absent,
    /// It was there and left.
    Gone,
}

/// A launcher that has joined.
#[derive(Clone, Debug, Default)]
pub(crate) struct JoinedLauncher {
    /// What its node calls itself: `MPI_Get_processor_name`.
    pub(crate) hostname: String,
    /// Streams of output that its ranks have: so many ends are to come.
    pub(crate) streams: u64,
    /// Cores that the launcher may use; 0: not known.
    pub(crate) cores: u32,
    /// A port of its node on which nothing listened; 0: not known.
    pub(crate) free_port: u32,
}

/// How far the job's life is.
#[derive(Debug)]
enum LifeState {
    /// What a lost attempt has come to this one cannot know: perhaps the program had ended well and YARN
    /// could not be told. The client does know, and comes only where the program is to run again;
    /// without one nothing is started.
    Returning { until: Millis },
    /// The machine decides.
    Living,
    /// The verdict is out.
    Ending(Box<Ending>),
}

/// What an MPI job is made of when its life begins.
#[derive(Debug)]
pub(crate) struct Beginning {
    /// The job.
    pub(crate) description: MpiJob,
    /// What YARN counts this AM as.
    pub(crate) attempt: AppAttemptId,
    /// By which no other job is called, nor this one by another AM.
    pub(crate) name: String,
    /// What the cluster said of its limits.
    pub(crate) limits: ClusterLimits,
    /// What keeps nodes from being candidates, in words.
    pub(crate) candidates: Option<String>,
    /// The machine.
    pub(crate) job: MpiMachine,
    /// What is told of it.
    pub(crate) story: Story,
    /// Those that are there.
    pub(crate) checkpoints: Checkpoints,
    /// What has been so far.
    pub(crate) timing: wire::Timing,
    /// When the job began, microseconds since 1970.
    pub(crate) began_us: i64,
}

/// The job.
#[derive(Debug)]
pub(crate) struct Mpi {
    pub(crate) description: MpiJob,
    pub(crate) attempt: AppAttemptId,
    name: String,
    pub(crate) limits: ClusterLimits,
    /// What keeps nodes from being candidates, in words.
    pub(crate) candidates: Option<String>,
    /// Where what is to be done is put down.
    pub(crate) todo: Vec<Do>,
    /// Since the job began.
    pub(crate) now: Millis,
    began_us: i64,
    stage: LifeState,
    pub(crate) job: MpiMachine,
    /// Containers that are there and not given back.
    pub(crate) grants: BTreeSet<ContainerId>,
    pub(crate) links: BTreeMap<ContainerId, JoinedLauncher>,
    pub(crate) seats: RunningSeats,
    /// Those that its ranks are bound to, by container.
    cores: BTreeMap<ContainerId, BTreeSet<u32>>,
    /// The launchers look which files their nodes have, and the ranks wait for that.
    comparing: Option<in_place::Comparing>,
    /// The job's own ranks and those that they have spawned.
    pub(crate) groups: Groups,
    /// By the number of its rank 0, which spawned group.
    pub(crate) firsts: BTreeMap<u32, u32>,
    pub(crate) names: PublishedNames,
    pub(crate) client: Client,
    /// Where it takes lanes, once it does.
    door: Option<wire::Door>,
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
    /// What this process used at the end.
    pub(crate) memory: wire::Memory,
    /// What the queue still gives this application, as the ResourceManager last said.
    pub(crate) headroom: Option<Resources>,
    pub(crate) checkpoints: Checkpoints,
    pub(crate) delivery: Delivery,
    /// What was decided so far, and why.
    pub(crate) story: Story,
    pub(crate) standoff: Standoff,
}

impl Mpi {
    /// One whose life has not begun.
    pub(crate) fn new(beginning: Beginning) -> Self {
        let Beginning {
            description,
            attempt,
            name,
            limits,
            candidates,
            job,
            story,
            checkpoints,
            timing,
            began_us,
        } = beginning;
        Self {
            todo: Vec::new(),
            now: Millis(0),
            began_us,
            stage: LifeState::Living,
            job,
            grants: BTreeSet::new(),
            links: BTreeMap::new(),
            seats: RunningSeats::default(),
            cores: BTreeMap::new(),
            comparing: None,
            groups: Groups::default(),
            firsts: BTreeMap::new(),
            names: PublishedNames::default(),
            client: Client::Awaited,
            door: None,
            hasty: false,
            leaving: false,
            phase: wire::Phase::default(),
            reports: BTreeMap::new(),
            seen: BTreeMap::new(),
            exits: Exits::default(),
            usages: Usages::new(description.processes()),
            timing,
            memory: wire::Memory::default(),
            headroom: None,
            checkpoints,
            delivery: Delivery::default(),
            story,
            standoff: Standoff::default(),
            description,
            attempt,
            name,
            limits,
            candidates,
        }
    }

    /// The application is registered.
    pub(crate) fn begin(&mut self, now: Millis) -> Vec<Do> {
        self.now = now;
        if self.attempt.attempt > 1 {
            self.stage = LifeState::Returning {
                until: now.plus(RETURN_DEADLINE),
            };
        } else {
            let actions = self.step(LifecycleEvent::Registered);
            self.live_on(actions);
        }
        std::mem::take(&mut self.todo)
    }

    /// Takes in what has happened by `now`; what is to be done about it, in order.
    pub(crate) fn hear(&mut self, now: Millis, heard: MpiHeard) -> Vec<Do> {
        self.now = now;
        match std::mem::replace(&mut self.stage, LifeState::Living) {
            LifeState::Ending(mut ending) => {
                self.hear_ending(&mut ending, heard);
                self.stage = LifeState::Ending(ending);
            }
            LifeState::Returning { until } => {
                let mut actions = match heard {
                    MpiHeard::Every(JobEvent::Tick) if now >= until => {
                        self.client = Client::Gone;
                        self.step(LifecycleEvent::KillRequested(KillReason::ClientLost))
                    }
                    MpiHeard::Every(JobEvent::Tick) => Vec::new(),
                    heard @ (MpiHeard::Every(_) | MpiHeard::Own(_)) => self.hear_living(heard),
                };
                if actions.is_empty() && self.client == Client::Awaited {
                    self.stage = LifeState::Returning { until };
                } else {
                    if actions.is_empty() {
                        actions = self.step(LifecycleEvent::Registered);
                    }
                    self.live_on(actions);
                }
            }
            LifeState::Living => {
                let actions = match heard {
                    MpiHeard::Every(JobEvent::Tick) => self.tick(),
                    heard @ (MpiHeard::Every(_) | MpiHeard::Own(_)) => self.hear_living(heard),
                };
                self.live_on(actions);
            }
        }
        std::mem::take(&mut self.todo)
    }

    /// When [`JobEvent::Tick`] is due, if nothing else happens before.
    pub(crate) fn wakes_at(&self) -> Option<Millis> {
        match &self.stage {
            LifeState::Returning { until } => Some(*until),
            LifeState::Ending(ending) => ending.wakes_at(),
            LifeState::Living => {
                let alone = (self.client == Client::Awaited).then_some(ATTACH_DEADLINE);
                [
                    self.job.wakes_at(),
                    self.story.look_due(),
                    self.standoff.due(),
                    self.checkpoints.due(),
                    self.compared_by(),
                    alone,
                ]
                .into_iter()
                .flatten()
                .min()
            }
        }
    }

    /// Whether there is an event for the client that may be told now.
    pub(crate) fn has_an_event(&self) -> bool {
        let may_be_told = match &self.stage {
            LifeState::Returning { .. } | LifeState::Living => true,
            LifeState::Ending(ending) => ending.tells(),
        };
        may_be_told && !self.story.outbox.is_empty()
    }

    pub(crate) const fn outbox(&mut self) -> &mut Outbox {
        &mut self.story.outbox
    }

    /// The verdict is out.
    pub(crate) const fn is_ending(&self) -> bool {
        matches!(self.stage, LifeState::Ending(_))
    }

    /// Why it has not ended well, once the verdict is out.
    pub(crate) fn cause(&self) -> Option<&Cause> {
        match &self.stage {
            LifeState::Ending(ending) => ending.cause(),
            LifeState::Returning { .. } | LifeState::Living => None,
        }
    }

    /// Everybody knows the verdict, and the client has left or is not waited for.
    pub(crate) fn is_over(&self) -> bool {
        let LifeState::Ending(ending) = &self.stage else {
            return false;
        };
        let left = self.client != Client::Attached;
        ending.is_farewell() && (left || (self.leaving && self.story.outbox.is_empty()))
    }

    /// The machine hears an event; what it wants.
    pub(crate) fn step(&mut self, event: LifecycleEvent) -> Vec<LifecycleAction> {
        self.story.hear(&event);
        self.container_ended(&event);
        let actions = self.job.step(self.now, event);
        self.story.tell(self.now, self.headroom, &actions);
        actions
    }

    /// On the wall's clock, microseconds since 1970.
    pub(crate) fn wall_us(&self) -> i64 {
        let since = i64::try_from(self.now.0).unwrap_or(i64::MAX);
        self.began_us.saturating_add(since.saturating_mul(1000))
    }

    fn live_on(&mut self, actions: Vec<LifecycleAction>) {
        if let Some(verdict) = self.carry_out(actions) {
            let ending = self.finish(verdict);
            self.stage = LifeState::Ending(Box::new(ending));
        }
    }

    /// What is due by now.
    fn tick(&mut self) -> Vec<LifecycleAction> {
        let is_due = |at: Option<Millis>| at.is_some_and(|at| self.now >= at);
        let (steps, looks) = (is_due(self.job.wakes_at()), is_due(self.story.look_due()));
        let rivals = is_due(self.standoff.due());
        let compared = is_due(self.compared_by());
        if self.client == Client::Awaited && self.now >= ATTACH_DEADLINE {
            self.go_on_alone();
        }
        self.checkpoint_due();
        if looks {
            self.look_around();
        }
        if rivals {
            self.look_for_rivals();
        }
        let mut actions = match compared {
            true => self.begin_compared(),
            false => Vec::new(),
        };
        if steps {
            actions.extend(self.step(LifecycleEvent::Tick));
        }
        actions
    }

    /// One piece of news; what the machine wants done about it.
    fn hear_living(&mut self, heard: MpiHeard) -> Vec<LifecycleAction> {
        match heard {
            MpiHeard::Own(MpiJobEvent::Machine(event)) => return self.step(event),
            MpiHeard::Every(JobEvent::Killed(reason)) => {
                return self.step(LifecycleEvent::KillRequested(reason));
            }
            MpiHeard::Every(JobEvent::ResourceManagerLost { silent }) => {
                return self.step(LifecycleEvent::ResourceManagerLost { silent });
            }
            MpiHeard::Own(MpiJobEvent::Cores(cores)) => self.cores = cores,
            MpiHeard::Own(MpiJobEvent::Granted(grants)) => return self.granted(grants),
            MpiHeard::Own(MpiJobEvent::Joined { container, node }) => {
                return self.joined(container, &node);
            }
            MpiHeard::Own(MpiJobEvent::Said { container, event }) => {
                return self.launcher_said(container, event);
            }
            MpiHeard::Own(MpiJobEvent::Lost(container)) => {
                self.links.remove(&container);
                return self.step(LifecycleEvent::LinkLost(container));
            }
            MpiHeard::Own(MpiJobEvent::Headroom(headroom)) => self.on_headroom(headroom),
            MpiHeard::Own(MpiJobEvent::WantedBack(sentence)) => self.wanted_back(sentence),
            MpiHeard::Own(MpiJobEvent::Asked { containers, rows }) => {
                self.story.asked(self.now, containers, rows)
            }
            MpiHeard::Own(MpiJobEvent::Files(done)) => self.checkpoint_heard(done),
            MpiHeard::Own(MpiJobEvent::Looked(look)) => self.looked(&look),
            MpiHeard::Own(MpiJobEvent::Rivals(sight)) => return self.rivals_seen(sight),
            MpiHeard::Every(JobEvent::ClientAttached) => self.attach(),
            MpiHeard::Own(MpiJobEvent::ClientSignal(signal)) => {
                self.order_all(&ToLauncher::Signal(wire::Signal { signal }));
            }
            MpiHeard::Own(MpiJobEvent::ClientResized(size)) => {
                self.order_all(&ToLauncher::WindowSize(size))
            }
            MpiHeard::Own(MpiJobEvent::ClientDoor(door)) => {
                self.order_all(&ToLauncher::Door(door.clone()));
                self.door = Some(door);
            }
            MpiHeard::Every(JobEvent::ClientKill(reason)) => {
                return self.step(LifecycleEvent::KillRequested(reason));
            }
            MpiHeard::Every(JobEvent::ClientLeft) => {
                self.client = Client::Gone;
                return self.step(LifecycleEvent::KillRequested(KillReason::ClientLost));
            }
            // The end of the client's stream is news of its own.
            MpiHeard::Every(JobEvent::ClientDeaf) => self.story.outbox.clear(),
            MpiHeard::Every(JobEvent::Tick | JobEvent::Finished(_))
            | MpiHeard::Own(
                MpiJobEvent::OutputMoved
                | MpiJobEvent::LastLook(_)
                | MpiJobEvent::Output(_)
                | MpiJobEvent::Memory(_),
            ) => {}
        }
        Vec::new()
    }

    fn joined(&mut self, container: ContainerId, node: &wire::NodeFacts) -> Vec<LifecycleAction> {
        tracing::info!(
            glibc = node.glibc,
            cores = node.cores,
            "{container} has joined"
        );
        let link = JoinedLauncher {
            hostname: node.hostname.clone(),
            streams: 0,
            cores: node.cores,
            free_port: node.free_port,
        };
        self.links.insert(container.clone(), link);
        if let Some(door) = self.door.clone() {
            self.order(&container, ToLauncher::Door(door));
        }
        self.step(LifecycleEvent::Joined(container))
    }

    /// YARN says that a container is over. Of those that were given back nothing is kept: a job that
    /// waits for long has ever more.
    pub(crate) fn container_ended(&mut self, event: &LifecycleEvent) {
        if let LifecycleEvent::ContainerEnded {
            container, status, ..
        } = event
            && self.grants.contains(container)
        {
            self.exits.ended(container.clone(), *status);
        }
    }

    /// The containers of one answer.
    fn granted(&mut self, grants: Vec<Grant>) -> Vec<LifecycleAction> {
        for grant in &grants {
            self.grants.insert(grant.container.clone());
        }
        let mut actions = Vec::new();
        for grant in grants {
            actions.extend(self.step(LifecycleEvent::Granted(grant)));
        }
        merged(actions)
    }

    /// The first client to come, in time, follows the job.
    pub(crate) fn attach(&mut self) {
        let why_not = match self.client {
            Client::Awaited => {
                self.client = Client::Attached;
                self.todo.push(Do::Admit(Ok(())));
                self.show_phase();
                return;
            }
            Client::Attached => "another client follows this job",
            Client::Gone => "the client that followed this job is gone, and the job with it",
            Client::Absent => {
                "no client came in time, so the job's output goes to this ApplicationMaster's log"
            }
        };
        tracing::warn!("refused a client: {why_not}");
        self.todo.push(Do::Admit(Err(why_not)));
    }
}

#[cfg(test)]
mod tests;
