//! Jobs that each need what the others hold, on a small cluster whose heartbeats, delays, losses and
//! favours come from a seed.
//!
//! The cluster is as YARN's CapacityScheduler in what matters here: a node serves requests at its own
//! heartbeats, one container an application and request, in an order that is by age or by chance;
//! where a request does not fit it may reserve the node, which keeps everybody else off. What an
//! application orders, and what it is told, each takes effect in order and some time later. A look at
//! the nodes is answered with the state of some moment between question and answer, and does not
//! show who has reserved what.

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
    /// The job's ranks have done their work.
    Done(usize),
    NodeLost(usize),
    NodeBack(usize),
    Restart,
}

struct Container {
    job: usize,
    node: usize,
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
    started: Vec<Option<BTreeSet<ContainerId>>>,
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
            limits: Limits {
                reissue: Millis(draw(1_000, 5_000)),
                gang: Millis(draw(5_000, 60_000)),
                ..Limits::default()
            },
        };
        // Every job needs more than half of the cluster: no two fit beside each other.
        let half = u64::try_from(nodes / 2 + 1).unwrap();
        let all = u64::try_from(nodes).unwrap();
        let mut jobs = Vec::new();
        for _ in 0..setup.jobs {
            let processes = u32::try_from(draw(half, all)).unwrap();
            let mut demand = Demand::anywhere(NonZeroU32::new(processes).unwrap(), WHOLE);
            wants(&mut demand);
            let mut job = Job::new(demand, setup.limits, draw(0, u64::MAX - 1));
            job.place = place;
            jobs.push(job);
        }
        let mut duel = Self {
            now: 0,
            agenda: BTreeMap::new(),
            number: 0,
            nodes: Vec::new(),
            containers: BTreeMap::new(),
            granted: 0,
            applications: jobs.iter().map(|_| Application::default()).collect(),
            started: vec![None; jobs.len()],
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
    }

    /// It forgets the containers that are not started; the requests it is told again.
    fn restart(&mut self) {
        for node in &mut self.nodes {
            node.reserved = None;
        }
        let started = &self.started;
        self.containers.retain(|id, container| {
            let of_job = started[container.job].as_ref();
            of_job.is_some_and(|started| started.contains(id))
        });
        for job in 0..self.jobs.len() {
            self.tell(job, Event::ResourceManagerRestarted);
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
                times.windows(2).all(|t| t[1] - t[0] >= distance),
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
            Happening::Done(job) => self.done(job),
            Happening::NodeLost(node) => self.lose(node),
            Happening::NodeBack(node) => self.nodes[node].up = true,
            Happening::Restart => self.restart(),
        }
    }

    fn view(&self) -> ClusterView {
        let mut view = cluster(self.setup.nodes, 0);
        for container in self.containers.values() {
            view.nodes[container.node].used = WHOLE;
        }
        let up = |node: &NodeView| self.nodes[index(&node.id)].up;
        view.nodes.retain(up);
        view
    }

    /// The node serves who asks.
    fn beat(&mut self, node: usize) {
        self.at(self.now + 1_000, Happening::NodeBeats(node));
        if !self.nodes[node].up {
            return;
        }
        let asks = |app: &Application| app.requests.contains_key(&node);
        if let Some(job) = self.nodes[node].reserved
            && !asks(&self.applications[job])
        {
            self.nodes[node].reserved = None;
        }
        let mut order: Vec<usize> = (0..self.jobs.len())
            .filter(|job| asks(&self.applications[*job]))
            .collect();
        if !self.setup.by_age && !order.is_empty() {
            let first = self.draw(0, order.len() as u64 - 1);
            order.rotate_left(usize::try_from(first).unwrap());
        }
        let Some(job) = self.nodes[node].reserved.or(order.first().copied()) else {
            return;
        };
        if self.containers.values().any(|c| c.node == node) {
            if self.setup.reserving {
                self.nodes[node].reserved = Some(job);
            }
            return;
        }
        self.nodes[node].reserved = None;
        let Some(round) = self.applications[job].requests.remove(&node) else {
            return;
        };
        self.granted += 1;
        let id = ContainerId(format!("c{}", self.granted));
        self.containers.insert(id.clone(), Container { job, node });
        let grant = Grant {
            container: id,
            node: NodeId(format!("n{}:1", node + 1)),
            resources: WHOLE,
            round,
        };
        self.tell(job, Event::Granted(grant));
    }

    /// The ResourceManager takes an order in.
    fn obey(&mut self, job: usize, order: Action) {
        match order {
            Action::Ask {
                round,
                placement,
                held,
                kept,
            } => {
                let before = std::mem::take(&mut self.applications[job].requests);
                for share in &placement.shares {
                    let node = index(&share.node);
                    let standing = before.get(&node);
                    let request = match kept.contains(&share.node) {
                        _ if held.contains(&share.node) => None,
                        // Served meanwhile, if it is not there.
                        true => standing.copied(),
                        false => Some(round),
                    };
                    if let Some(round) = request {
                        self.applications[job].requests.insert(node, round);
                    }
                }
            }
            Action::Release { containers, .. } => {
                for container in containers {
                    self.containers.remove(&container);
                }
            }
            Action::Finish(_) => {
                self.containers.retain(|_, container| container.job != job);
                self.applications[job].requests.clear();
            }
            _ => {}
        }
    }

    fn hear(&mut self, job: usize, event: Event) {
        let actions = self.jobs[job].step(Millis(self.now), event);
        if let Some(at) = self.jobs[job].wakes_at() {
            self.at(at.0, Happening::Wake(job));
        }
        for action in actions {
            self.carry_out(job, action);
        }
    }

    fn carry_out(&mut self, job: usize, action: Action) {
        match action {
            Action::TakeSnapshot => {
                // Everything of an earlier gang has had the time to go back.
                if self.started[job].is_none() && matches!(self.jobs[job].state, State::Looking) {
                    self.holds_nothing(job);
                }
                let read = self.now + self.draw(1, 400);
                self.at(read, Happening::Reads(job));
            }
            Action::Ask { .. } | Action::Release { .. } | Action::Finish(_) => {
                if let Action::Ask { placement, .. } = &action
                    && !placement.shares.is_empty()
                {
                    self.askings[job].push(self.now);
                }
                match &action {
                    Action::Release { containers, why } => match why {
                        Unused::NotWanted => self.outcome.unwanted += containers.len(),
                        Unused::Incomplete => self.outcome.incomplete += containers.len(),
                        Unused::Forgotten | Unused::JobEnds => {}
                    },
                    Action::Finish(verdict) => match &verdict.cause {
                        None => self.outcome.succeeded += 1,
                        // A node was lost under it, or is lost and it cannot do without.
                        Some(Cause::ContainerEnded { status: -100, .. } | Cause::Impossible(_))
                            if self.setup.losses > 0 => {}
                        // It was started before the job had heard of the restart.
                        Some(Cause::StartFailed { .. }) if self.setup.restarts => {}
                        Some(cause) => panic!("{cause}"),
                    },
                    _ => {}
                }
                let at = self.now + self.draw(1, 60);
                let at = at.max(self.applications[job].orders_until);
                self.applications[job].orders_until = at;
                self.at(at, Happening::Ordered(job, action));
            }
            Action::Start(seats) => {
                let containers: BTreeSet<ContainerId> =
                    seats.into_iter().map(|seat| seat.container).collect();
                for container in &containers {
                    let there = self.containers.get(container);
                    assert!(there.is_none_or(|c| c.job == job));
                    let answer = match there {
                        Some(_) => Event::Joined(container.clone()),
                        // The node, or its memory of it, is gone.
                        None => Event::StartFailed {
                            container: container.clone(),
                            why: String::new(),
                        },
                    };
                    self.tell(job, answer);
                }
                self.started[job] = Some(containers);
            }
            Action::Begin(_) => {
                let done = self.now + self.draw(3_000, 30_000);
                self.at(done, Happening::Done(job));
            }
            Action::Stop { .. } | Action::Show(_) => {}
        }
    }

    /// The ranks of the job return; by now nothing but what it runs in belongs to it.
    fn done(&mut self, job: usize) {
        let started = self.started[job].clone().unwrap_or_default();
        let of_job = self.containers.iter().filter(|(_, c)| c.job == job);
        for (id, _) in of_job {
            assert!(started.contains(id), "{id} was kept beside {started:?}");
        }
        assert!(self.applications[job].requests.is_empty());
        for rank in 0..self.jobs[job].demand.processes.get() {
            self.hear(job, ended(rank, End::Code(0), Stage::Finalized));
        }
    }

    /// Nothing belongs to the job but what is on its way to it and back.
    fn holds_nothing(&self, job: usize) {
        let on_its_way: BTreeSet<&ContainerId> = self
            .agenda
            .values()
            .flat_map(|what| match what {
                Happening::Told(to, Event::Granted(grant)) if *to == job => {
                    vec![&grant.container]
                }
                Happening::Ordered(from, Action::Release { containers, .. }) if *from == job => {
                    containers.iter().collect()
                }
                _ => Vec::new(),
            })
            .collect();
        let mut held = self.containers.iter().filter(|(_, c)| c.job == job);
        assert!(held.all(|(id, _)| on_its_way.contains(id)));
    }

    fn lose(&mut self, node: usize) {
        self.nodes[node] = Node {
            up: false,
            reserved: None,
        };
        let on_it = self.containers.iter().filter(|(_, c)| c.node == node);
        let lost: Vec<(ContainerId, usize)> = on_it.map(|(id, c)| (id.clone(), c.job)).collect();
        for (container, job) in lost {
            self.containers.remove(&container);
            let ended = Event::ContainerEnded {
                container,
                status: -100,
                diagnostics: String::new(),
            };
            self.tell(job, ended);
        }
        let back = self.now + self.draw(1_000, 60_000);
        self.at(back, Happening::NodeBack(node));
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
        let calm = duel.setup.losses == 0 && !duel.setup.restarts;
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
    }
    println!("{DUELS} duels: {sum:?}");
    // The duels are ones: gangs did get in each other's way.
    assert!(u64::from(sum.let_go) > DUELS / 10, "{sum:?}");
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
