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

mod cluster;
mod job;
mod losses;

use std::collections::{BTreeMap, BTreeSet};

use super::allocators::{full_or_not, where_there_is_room};
use super::*;
use crate::{Listed, Mode};

/// How one duel is set up; all from its seed.
#[derive(Debug)]
struct Setup {
    nodes: usize,
    jobs: usize,
    /// Full nodes are reserved for whoever asks first.
    reserving: bool,
    /// Applications are served by age, else by chance at each heartbeat.
    by_age: bool,
    /// Nodes are lost, and come back, this many times.
    losses: u64,
    /// The ResourceManager is restarted once.
    restarts: bool,
    /// A container of a running job is preempted, this many times.
    preemptions: u64,
    /// A launcher is cut off from its ApplicationMaster, this many times.
    cuts: u64,
    /// An ApplicationMaster is killed, this many times.
    kills: u64,
    limits: Limits,
}

#[derive(Debug)]
enum Happening {
    NodeBeats(usize),
    /// The ResourceManager hears of what the job ordered.
    Ordered(usize, Action),
    /// The job hears something.
    Told(usize, Event),
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

struct Container {
    job: usize,
    node: usize,
}

/// A launcher that runs.
struct Launcher {
    job: usize,
    /// Its master can be told something.
    is_linked: bool,
    /// Those that run.
    ranks: Vec<Rank>,
}

struct Node {
    up: bool,
    /// Whose request waits at the head.
    reserved: Option<usize>,
}

/// One application as the ResourceManager and the network see it.
#[derive(Default)]
struct Application {
    /// Node and the round of the request for it.
    requests: BTreeMap<usize, u32>,
    /// Words do not overtake each other, in either direction.
    orders_until: u64,
    told_until: u64,
}

#[derive(Default, Debug)]
struct Outcome {
    finished_ms: u64,
    succeeded: usize,
    askings: usize,
    /// Most askings of one job within one minute.
    most_a_minute: usize,
    let_go: u32,
    events: usize,
    /// Containers that came too late, and went back at once.
    unwanted: usize,
    /// Containers that went back with their gang.
    incomplete: usize,
    /// Runs after the first of an attempt.
    repeated: usize,
    /// Attempts after the first of a job.
    attempts: usize,
}

struct Duel {
    setup: Setup,
    chance: Chance,
    now: u64,
    agenda: BTreeMap<(u64, u64), Happening>,
    number: u64,
    nodes: Vec<Node>,
    containers: BTreeMap<ContainerId, Container>,
    granted: u64,
    jobs: Vec<Job>,
    applications: Vec<Application>,
    started: Vec<BTreeSet<ContainerId>>,
    launchers: BTreeMap<ContainerId, Launcher>,
    seeds: Vec<u64>,
    place: Place,
    askings: Vec<Vec<u64>>,
    outcome: Outcome,
}

/// One node's memory: a request takes it all.
const WHOLE: Resources = Resources::new(4096, 1);

impl Duel {
    fn new(seed: u64, place: Place, wants: fn(&mut Demand)) -> Self {
        let mut chance = Chance::new(seed);
        let mut draw = |least: u64, most: u64| chance.between(Millis(least), Millis(most)).0;
        let nodes = usize::try_from(draw(2, 6)).unwrap();
        let setup = Setup {
            nodes,
            jobs: usize::try_from(draw(2, 3)).unwrap(),
            reserving: draw(0, 1) == 1,
            by_age: draw(0, 1) == 1,
            losses: draw(0, 3),
            restarts: draw(0, 3) == 0,
            preemptions: draw(0, 3).saturating_sub(1),
            cuts: draw(0, 2).saturating_sub(1),
            kills: draw(0, 2).saturating_sub(1),
            limits: Limits {
                restarts: u32::try_from(draw(0, 3)).unwrap(),
                reissue: Millis(draw(1_000, 5_000)),
                gang: Millis(draw(5_000, 60_000)),
                ..Limits::default()
            },
        };
        // Every job needs more than half of the cluster: no two fit beside each other.
        let half = u64::try_from(nodes / 2 + 1).unwrap();
        let all = u64::try_from(nodes).unwrap();
        let (mut jobs, mut seeds) = (Vec::new(), Vec::new());
        for _ in 0..setup.jobs {
            let processes = u32::try_from(draw(half, all)).unwrap();
            let mut demand = Demand::anywhere(NonZeroU32::new(processes).unwrap(), WHOLE);
            wants(&mut demand);
            let seed = draw(0, u64::MAX - 1);
            let mut job = Job::new(demand, setup.limits, seed);
            job.place = place;
            jobs.push(job);
            seeds.push(seed);
        }
        let mut duel = Self {
            now: 0,
            agenda: BTreeMap::new(),
            number: 0,
            nodes: Vec::new(),
            containers: BTreeMap::new(),
            granted: 0,
            applications: jobs.iter().map(|_| Application::default()).collect(),
            started: vec![BTreeSet::new(); jobs.len()],
            launchers: BTreeMap::new(),
            seeds,
            place,
            askings: vec![Vec::new(); jobs.len()],
            jobs,
            outcome: Outcome::default(),
            chance,
            setup,
        };
        duel.fill_the_agenda();
        duel
    }

    fn fill_the_agenda(&mut self) {
        for node in 0..self.setup.nodes {
            self.nodes.push(Node {
                up: true,
                reserved: None,
            });
            let phase = self.draw(0, 999);
            self.at(phase, Happening::NodeBeats(node));
        }
        for job in 0..self.setup.jobs {
            let begins = self.draw(0, 1_500);
            self.at(begins, Happening::Told(job, Event::Registered));
        }
        if self.setup.restarts {
            let at = self.draw(0, 90_000);
            self.at(at, Happening::Restart);
        }
        for _ in 0..self.setup.losses {
            let (at, node) = (self.draw(0, 90_000), self.draw(1, self.setup.nodes as u64));
            let node = usize::try_from(node - 1).unwrap();
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
            let job = usize::try_from(job - 1).unwrap();
            self.at(at, Happening::MasterKilled(job));
        }
    }

    fn draw(&mut self, least: u64, most: u64) -> u64 {
        self.chance.between(Millis(least), Millis(most)).0
    }

    fn at(&mut self, at: u64, what: Happening) {
        self.number += 1;
        self.agenda.insert((at.max(self.now), self.number), what);
    }

    /// Tells the job after what it was told before: within one beat of its ApplicationMaster.
    fn tell(&mut self, job: usize, event: Event) {
        let at = self.now + self.draw(1, 260);
        let at = at.max(self.applications[job].told_until);
        self.applications[job].told_until = at;
        self.at(at, Happening::Told(job, event));
    }

    /// Tells the job over a launcher's own link, after that launcher's hello.
    fn tell_by_link(&mut self, job: usize, soonest: u64, latest: u64, event: Event) {
        let at = self.now + self.draw(soonest.max(300), latest.max(300));
        self.at(at, Happening::Told(job, event));
    }

    fn run(mut self) -> Outcome {
        while !self.jobs.iter().all(Job::is_over) {
            let ((at, _), what) = self.agenda.pop_first().unwrap();
            self.now = at;
            self.outcome.events += 1;
            // A day is far beyond what any of these can need.
            assert!(at < 86_400_000, "not over: {:?}", self.jobs);
            self.happen(what);
        }
        self.outcome.finished_ms = self.now;
        for times in &self.askings {
            self.outcome.askings += times.len();
            for (i, from) in times.iter().enumerate() {
                let within = times[i..].iter().take_while(|at| *at - from < 60_000);
                self.outcome.most_a_minute = self.outcome.most_a_minute.max(within.count());
            }
            let distance = self.setup.limits.reissue.0;
            assert!(
                self.setup.kills > 0 || times.windows(2).all(|t| t[1] - t[0] >= distance),
                "{times:?}"
            );
        }
        self.outcome.let_go = self.jobs.iter().map(|job| job.let_go).sum();
        self.outcome
    }

    fn happen(&mut self, what: Happening) {
        match what {
            Happening::NodeBeats(node) => self.beat(node),
            Happening::Ordered(job, order) => self.obey(job, order),
            Happening::Told(job, event) => self.hear(job, event),
            Happening::Wake(job) => {
                if self.jobs[job].wakes_at().is_some_and(|at| at.0 <= self.now) {
                    self.hear(job, Event::Tick);
                }
            }
            Happening::Reads(job) => {
                let view = self.view();
                let answered = self.now + self.draw(1, 400);
                // Not in order with the allocate stream: it is another call.
                self.at(answered, Happening::Told(job, Event::Snapshot(view)));
            }
            Happening::Done(job, run) => self.done(job, run),
            Happening::Preempt => self.preempt(),
            Happening::Cut => self.cut(),
            Happening::RanksEnd(container) => self.ranks_end(&container),
            Happening::LauncherEnds(container) => {
                self.launchers.remove(&container);
            }
            Happening::MasterKilled(job) => self.kill_master(job),
            Happening::NodeLost(node) => self.lose(node),
            Happening::NodeBack(node) => self.nodes[node].up = true,
            Happening::Restart => self.restart(),
        }
    }
}

fn index(node: &NodeId) -> usize {
    let number = node.0.trim_start_matches('n').trim_end_matches(":1");
    number.parse::<usize>().unwrap() - 1
}

/// Duels fought, for each allocator.
const DUELS: u64 = 2_000;

/// Duels of jobs that `wants` has told what they want beside their number of processes.
fn fight(place: Place, wants: fn(&mut Demand)) {
    let mut sum = Outcome::default();
    for seed in 0..DUELS {
        let duel = Duel::new(seed, place, wants);
        let jobs = duel.setup.jobs;
        let calm = duel.setup.losses == 0
            && !duel.setup.restarts
            && duel.setup.preemptions + duel.setup.cuts == 0;
        let reissue = duel.setup.limits.reissue.0;
        let outcome = duel.run();
        // A job ends without success only when a node or the ResourceManager takes it down.
        assert!(
            !calm || outcome.succeeded == jobs,
            "seed {seed}: {outcome:?}"
        );
        let bound = usize::try_from(60_000 / reissue).unwrap() + 1;
        assert!(outcome.most_a_minute <= bound, "seed {seed}: {outcome:?}");
        sum.finished_ms = sum.finished_ms.max(outcome.finished_ms);
        sum.succeeded += outcome.succeeded;
        sum.askings += outcome.askings;
        sum.most_a_minute = sum.most_a_minute.max(outcome.most_a_minute);
        sum.let_go += outcome.let_go;
        sum.events += outcome.events;
        sum.unwanted += outcome.unwanted;
        sum.incomplete += outcome.incomplete;
        sum.repeated += outcome.repeated;
        sum.attempts += outcome.attempts;
    }
    println!("{DUELS} duels: {sum:?}");
    // The duels are ones: gangs did get in each other's way.
    assert!(u64::from(sum.let_go) > DUELS / 10, "{sum:?}");
    assert!(sum.repeated > 100 && sum.attempts > 100, "{sum:?}");
}

#[test]
fn jobs_that_look_for_room_all_finish_and_leave_nothing_behind() {
    fight(where_there_is_room, |_| {});
}

#[test]
fn jobs_that_wait_for_full_nodes_all_finish_and_leave_nothing_behind() {
    fight(full_or_not, |_| {});
}

/// The processes of `demand`, one on each of the first hosts.
fn listed(demand: &mut Demand) {
    demand.listed = (1..=demand.processes.get())
        .map(|i| Listed {
            host: Some(format!("n{i}")),
            processes: 1,
        })
        .collect();
}

#[test]
fn in_mode_all_without_sharing_all_finish() {
    fight(allocate::place, |demand| demand.oversubscribe = false);
}

#[test]
fn in_mode_all_with_sharing_all_finish() {
    fight(allocate::place, |_| {});
}

#[test]
fn in_mode_all_with_explicit_memory_all_finish() {
    fight(allocate::place, |demand| demand.memory_is_explicit = true);
}

#[test]
fn in_mode_none_all_finish() {
    fight(allocate::place, |demand| {
        demand.mode = Mode::None;
        listed(demand);
    });
}

#[test]
fn in_mode_loc_all_finish() {
    fight(allocate::place, |demand| {
        demand.mode = Mode::Loc;
        listed(demand);
    });
}

#[test]
fn in_mode_dist_all_finish() {
    fight(allocate::place, |demand| {
        demand.mode = Mode::Dist;
        listed(demand);
    });
}

#[test]
fn in_mode_loc_dist_all_finish() {
    fight(allocate::place, |demand| {
        demand.mode = Mode::LocDist;
        demand.nodes = Some(demand.processes);
    });
}
