//! Jobs that each need what the others hold, on a small cluster whose heartbeats, delays, losses and
//! favours come from a seed.
//!
//! The cluster is as YARN's CapacityScheduler in what matters here: a node serves requests at its own
//! heartbeats, one container an application and request, in an order that is by age or by chance;
//! where a request does not fit it may reserve the node, which keeps everybody else off. What an
//! application orders, and what it is told, each takes effect in order and some time later. A look at
//! the nodes is answered with the state of some moment between question and answer, and does not
//! show who has reserved what.
//!
//! Beside nodes, containers are lost one by one (preempted, or cut off from their ApplicationMaster
//! while their ranks run on for as long as a launcher's lease), and so are ApplicationMasters, whose
//! next attempt begins anew. No rank may run beside those of an earlier run.
//!
//! What a job may never do ends the duel with an error that says so: see [`Duel::fight`] and
//! [`tournament`].

pub mod allocators;
mod jobs;
mod losses;
mod resource_manager;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::ops::Range;

use anyhow::{Context as _, Result, bail, ensure};
use policy::gang::{Allocator, Chance, GangLimits};
use policy::lifecycle::{
    Cause, Grant, LifecycleAction, LifecycleEvent, LifecycleLimits, MpiMachine, PmiStage, Unused,
};
use policy::run::RunLimits;
use policy::schedule::Nanos;
use policy::{
    ClusterView, ContainerId, Counted, Demand, End, MiB, Millis, NodeId, NodeView, Rank, Resources,
};

use crate::clock::Clock;

/// How one duel is set up; all from its seed.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Of one container each.
    pub nodes: usize,
    /// Each of which needs more than half of the nodes.
    pub jobs: usize,
    /// Full nodes are reserved for whoever asks first.
    pub reserving: bool,
    /// Applications are served by age, else by chance at each heartbeat.
    pub by_age: bool,
    /// Nodes are lost, and come back, this many times.
    pub losses: u64,
    /// The ResourceManager is restarted once.
    pub restarts: bool,
    /// A container of a running job is preempted, this many times.
    pub preemptions: u64,
    /// A launcher is cut off from its ApplicationMaster, this many times.
    pub cuts: u64,
    /// An ApplicationMaster is killed, this many times.
    pub kills: u64,
    /// Of all jobs.
    pub limits: LifecycleLimits,
}

#[derive(Debug)]
enum Happening {
    NodeBeats(usize),
    /// The ResourceManager hears of what the job ordered.
    Ordered(usize, LifecycleAction),
    /// The job hears something.
    Told(usize, LifecycleEvent),
    /// The ResourceManager reads its nodes to answer the job's look.
    Reads(usize),
    /// The machine may have asked to be woken.
    Wake(usize),
    /// The ranks of this run of the job have done their work.
    Done(usize, u32),
    Preempt,
    Cut,
    /// The ranks of a container end: they were stopped, or their launcher has missed its master.
    RanksEnd(ContainerId),
    /// The launcher of a container, its link and its ranks are gone.
    LauncherEnds(ContainerId),
    MasterKilled(usize),
    NodeLost(usize),
    NodeBack(usize),
    Restart,
}

#[derive(Debug)]
struct DuelContainer {
    job: usize,
    node: usize,
}

/// A launcher that runs.
#[derive(Debug)]
struct DuelLauncher {
    job: usize,
    /// Its master can be told something.
    is_linked: bool,
    /// Those that run.
    ranks: Vec<Rank>,
}

#[derive(Debug)]
struct DuelNode {
    up: bool,
    /// Whose request waits at the head.
    reserved: Option<usize>,
}

/// One application as the ResourceManager and the network see it.
#[derive(Debug, Default)]
struct DuelApplication {
    /// Node and the round of the request for it.
    requests: BTreeMap<usize, u32>,
    /// Words do not overtake each other, in either direction.
    orders_until: u64,
    told_until: u64,
}

/// What became of all jobs of one duel.
#[derive(Clone, Copy, Debug, Default)]
pub struct DuelResult {
    /// When the last was over, ms.
    pub finished_ms: u64,
    /// Jobs whose ranks all returned 0.
    pub succeeded: usize,
    /// Askings of all jobs.
    pub askings: usize,
    /// Most askings of one job within one minute.
    pub most_a_minute: usize,
    /// Gangs that were let go.
    pub let_go: u32,
    /// What happened, all in all.
    pub events: usize,
    /// Containers that came too late, and went back at once.
    pub unwanted: usize,
    /// Containers that went back with their gang.
    pub incomplete: usize,
    /// Runs after the first of an attempt.
    pub repeated: usize,
    /// Attempts after the first of a job.
    pub attempts: usize,
}

/// One duel.
#[derive(Debug)]
pub struct Duel {
    setup: Setup,
    chance: Chance,
    now: u64,
    agenda: Clock<Happening>,
    nodes: Vec<DuelNode>,
    containers: BTreeMap<ContainerId, DuelContainer>,
    granted: u64,
    jobs: Vec<MpiMachine>,
    applications: Vec<DuelApplication>,
    started: Vec<BTreeSet<ContainerId>>,
    launchers: BTreeMap<ContainerId, DuelLauncher>,
    seeds: Vec<u64>,
    place: Allocator,
    askings: Vec<Vec<u64>>,
    outcome: DuelResult,
}

/// One node's memory: a request takes it all.
const WHOLE: Resources = Resources::new(4096, 1);

impl Duel {
    /// The duel of `seed`, of jobs placed by `place`, that `wants` has told what they want beside their
    /// number of processes.
    ///
    /// # Errors
    ///
    /// The world contradicts itself.
    pub fn new(seed: u64, place: Allocator, wants: impl Fn(&mut Demand)) -> Result<Self> {
        let mut chance = Chance::new(seed);
        let mut draw = |least: u64, most: u64| chance.between(Millis(least), Millis(most)).0;
        let nodes = usize::try_from(draw(2, 6))?;
        let setup = Setup {
            nodes,
            jobs: usize::try_from(draw(2, 3))?,
            reserving: draw(0, 1) == 1,
            by_age: draw(0, 1) == 1,
            losses: draw(0, 3),
            restarts: draw(0, 3) == 0,
            preemptions: draw(0, 3).saturating_sub(1),
            cuts: draw(0, 2).saturating_sub(1),
            kills: draw(0, 2).saturating_sub(1),
            limits: LifecycleLimits {
                run: RunLimits {
                    restarts: u32::try_from(draw(0, 3))?,
                    ..RunLimits::default()
                },
                gang: GangLimits {
                    reissue: Millis(draw(1_000, 5_000)),
                    gather: Millis(draw(5_000, 60_000)),
                    ..GangLimits::default()
                },
            },
        };
        // Every job needs more than half of the cluster: no two fit beside each other.
        let half = u64::try_from(nodes / 2 + 1)?;
        let all = u64::try_from(nodes)?;
        let (mut jobs, mut seeds) = (Vec::new(), Vec::new());
        for _ in 0..setup.jobs {
            let processes = NonZeroU32::new(u32::try_from(draw(half, all))?);
            let processes = processes.context("a job of no process")?;
            let mut demand = Demand::anywhere(processes, WHOLE);
            wants(&mut demand);
            let seed = draw(0, u64::MAX - 1);
            jobs.push(MpiMachine::new(demand, setup.limits, seed).placed_by(place));
            seeds.push(seed);
        }
        let mut duel = Self {
            now: 0,
            agenda: Clock::default(),
            nodes: Vec::new(),
            containers: BTreeMap::new(),
            granted: 0,
            applications: jobs.iter().map(|_| DuelApplication::default()).collect(),
            started: vec![BTreeSet::new(); jobs.len()],
            launchers: BTreeMap::new(),
            seeds,
            place,
            askings: vec![Vec::new(); jobs.len()],
            jobs,
            outcome: DuelResult::default(),
            chance,
            setup,
        };
        duel.fill_the_agenda()?;
        Ok(duel)
    }

    /// How it is set up.
    #[must_use]
    pub const fn setup(&self) -> &Setup {
        &self.setup
    }

    fn fill_the_agenda(&mut self) -> Result<()> {
        for node in 0..self.setup.nodes {
            self.nodes.push(DuelNode {
                up: true,
                reserved: None,
            });
            let phase = self.draw(0, 999);
            self.at(phase, Happening::NodeBeats(node));
        }
        for job in 0..self.setup.jobs {
            let begins = self.draw(0, 1_500);
            self.at(begins, Happening::Told(job, LifecycleEvent::Registered));
        }
        if self.setup.restarts {
            let at = self.draw(0, 90_000);
            self.at(at, Happening::Restart);
        }
        for _ in 0..self.setup.losses {
            let (at, node) = (self.draw(0, 90_000), self.draw(1, self.setup.nodes as u64));
            let node = usize::try_from(node - 1)?;
            self.at(at, Happening::NodeLost(node));
        }
        for _ in 0..self.setup.preemptions {
            let at = self.draw(0, 90_000);
            self.at(at, Happening::Preempt);
        }
        for _ in 0..self.setup.cuts {
            let at = self.draw(0, 90_000);
            self.at(at, Happening::Cut);
        }
        for _ in 0..self.setup.kills {
            let (at, job) = (self.draw(0, 90_000), self.draw(1, self.setup.jobs as u64));
            let job = usize::try_from(job - 1)?;
            self.at(at, Happening::MasterKilled(job));
        }
        Ok(())
    }

    fn draw(&mut self, least: u64, most: u64) -> u64 {
        self.chance.between(Millis(least), Millis(most)).0
    }

    fn at(&mut self, at: u64, what: Happening) {
        self.agenda.at(Nanos::from_millis(at.max(self.now)), what);
    }

    /// Tells the job after what it was told before: within one beat of its ApplicationMaster.
    fn tell(&mut self, job: usize, event: LifecycleEvent) {
        let at = self.now + self.draw(1, 260);
        let at = at.max(self.applications[job].told_until);
        self.applications[job].told_until = at;
        self.at(at, Happening::Told(job, event));
    }

    /// Tells the job over a launcher's own link, after that launcher's hello.
    fn tell_by_link(&mut self, job: usize, soonest: u64, latest: u64, event: LifecycleEvent) {
        let at = self.now + self.draw(soonest.max(300), latest.max(300));
        self.at(at, Happening::Told(job, event));
    }

    /// Fights it to its end.
    ///
    /// # Errors
    ///
    /// A job does what no job may: it keeps what it does not use, asks too often, runs ranks beside those
    /// of an earlier run, fails without a loss, or never ends.
    pub fn fight(mut self) -> Result<DuelResult> {
        while !self.jobs.iter().all(MpiMachine::is_over) {
            let (at, what) = self.agenda.next().context("nothing happens any more")?;
            self.now = at.0 / 1_000_000;
            self.outcome.events += 1;
            // A day is far beyond what any of these can need.
            ensure!(self.now < 86_400_000, "not over: {:?}", self.jobs);
            self.happen(what)?;
        }
        self.outcome.finished_ms = self.now;
        for times in &self.askings {
            self.outcome.askings += times.len();
            for (i, from) in times.iter().enumerate() {
                let within = times[i..].iter().take_while(|at| *at - from < 60_000);
                self.outcome.most_a_minute = self.outcome.most_a_minute.max(within.count());
            }
            let distance = self.setup.limits.gang.reissue.0;
            ensure!(
                self.setup.kills > 0 || times.windows(2).all(|t| t[1] - t[0] >= distance),
                "asked at {times:?}"
            );
        }
        let jobs = self.jobs.iter();
        self.outcome.let_go = jobs.map(|job| job.gang().times_let_go()).sum();
        Ok(self.outcome)
    }

    fn happen(&mut self, what: Happening) -> Result<()> {
        match what {
            Happening::NodeBeats(node) => return self.beat(node),
            Happening::Ordered(job, order) => return self.obey(job, order),
            Happening::Told(job, event) => return self.hear(job, event),
            Happening::Wake(job) => {
                if self.jobs[job].wakes_at().is_some_and(|at| at.0 <= self.now) {
                    return self.hear(job, LifecycleEvent::Tick);
                }
            }
            Happening::Reads(job) => {
                let view = self.view();
                let answered = self.now + self.draw(1, 400);
                // Not in order with the allocate stream: it is another call.
                self.at(
                    answered,
                    Happening::Told(job, LifecycleEvent::Snapshot(view)),
                );
            }
            Happening::Done(job, run) => return self.done(job, run),
            Happening::Preempt => self.preempt(),
            Happening::Cut => self.cut(),
            Happening::RanksEnd(container) => return self.ranks_end(&container),
            Happening::LauncherEnds(container) => {
                self.launchers.remove(&container);
            }
            Happening::MasterKilled(job) => self.kill_master(job),
            Happening::NodeLost(node) => self.lose(node),
            Happening::NodeBack(node) => self.nodes[node].up = true,
            Happening::Restart => self.restart(),
        }
        Ok(())
    }
}

/// The duels of all `seeds`, one after the other: their sums, and the largest of `finished_ms` and of
/// `most_a_minute`.
///
/// # Errors
///
/// In one of them a job does what no job may ([`Duel::fight`]), fails though nothing was lost, or asks more
/// often than its limits allow.
pub fn tournament(
    seeds: Range<u64>,
    place: Allocator,
    wants: impl Fn(&mut Demand),
) -> Result<DuelResult> {
    let mut sum = DuelResult::default();
    for seed in seeds {
        let duel = Duel::new(seed, place, &wants)?;
        let setup = *duel.setup();
        let outcome = duel.fight().with_context(|| format!("seed {seed}"))?;
        let calm = setup.losses == 0 && !setup.restarts && setup.preemptions + setup.cuts == 0;
        // A job ends without success only when a node or the ResourceManager takes it down.
        ensure!(
            !calm || outcome.succeeded == setup.jobs,
            "seed {seed}: {outcome:?}"
        );
        let bound = 60_000 / setup.limits.gang.reissue.0.max(1) + 1;
        ensure!(
            u64::try_from(outcome.most_a_minute)? <= bound,
            "seed {seed}: {outcome:?}"
        );
        sum.add(&outcome);
    }
    Ok(sum)
}

impl DuelResult {
    fn add(&mut self, other: &Self) {
        self.finished_ms = self.finished_ms.max(other.finished_ms);
        self.most_a_minute = self.most_a_minute.max(other.most_a_minute);
        self.succeeded += other.succeeded;
        self.askings += other.askings;
        self.let_go += other.let_go;
        self.events += other.events;
        self.unwanted += other.unwanted;
        self.incomplete += other.incomplete;
        self.repeated += other.repeated;
        self.attempts += other.attempts;
    }
}

/// The number of the node `n3:1`, from 0.
fn index(node: &NodeId) -> Result<usize> {
    let number = node.0.trim_start_matches('n').trim_end_matches(":1");
    let number = number.parse::<usize>();
    let number = number.with_context(|| format!("{node} is no node of this cluster"))?;
    number.checked_sub(1).context("nodes are counted from 1")
}

/// So many nodes of this size.
fn cluster(nodes: usize) -> ClusterView {
    let node = |number: usize| NodeView {
        id: NodeId(format!("n{number}:1")),
        host: format!("n{number}"),
        rack: "/default-rack".into(),
        capability: Resources::new(WHOLE.memory.0, 8),
        ..NodeView::default()
    };
    ClusterView {
        nodes: (1..=nodes).map(node).collect(),
        maximum: Resources::new(2 * WHOLE.memory.0, 4),
        step: MiB(1024),
        counted: Counted::Memory,
        ..ClusterView::default()
    }
}

fn ended(rank: u32, end: End, stage: PmiStage) -> LifecycleEvent {
    LifecycleEvent::RankEnded {
        rank: Rank(rank),
        end,
        stage,
    }
}
