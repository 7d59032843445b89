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

    /// It forgets the containers that are not started; the requests it is told again.
    fn restart(&mut self) {
        for node in &mut self.nodes {
            node.reserved = None;
        }
        let started = &self.started;
        self.containers
            .retain(|id, container| started[container.job].contains(id));
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
                    self.launchers.remove(&container);
                    self.started[job].remove(&container);
                }
            }
            Action::Finish(_) => {
                self.containers.retain(|_, container| container.job != job);
                self.launchers.retain(|_, launcher| launcher.job != job);
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
                if matches!(self.jobs[job].state, State::Looking) {
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
                        Unused::Forgotten | Unused::Lost | Unused::JobEnds => {}
                    },
                    Action::Finish(verdict) => match &verdict.cause {
                        None => self.outcome.succeeded += 1,
                        // A node is lost and it cannot do without.
                        Some(Cause::Impossible(_)) if self.setup.losses > 0 => {}
                        Some(Cause::NotRepeated { why, .. })
                            if matches!(**why, Cause::Impossible(_)) => {}
                        // One loss too many.
                        Some(cause)
                            if cause.is_loss()
                                && self.jobs[job].run > self.setup.limits.restarts => {}
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
                for seat in seats {
                    let container = seat.container;
                    let there = self.containers.get(&container);
                    assert!(there.is_none_or(|c| c.job == job));
                    let answer = match there {
                        Some(_) => {
                            let launcher = Launcher {
                                job,
                                is_linked: true,
                                ranks: Vec::new(),
                            };
                            self.launchers.insert(container.clone(), launcher);
                            Event::Joined(container.clone())
                        }
                        // The node, or its memory of it, is gone.
                        None => Event::StartFailed {
                            container: container.clone(),
                            why: String::new(),
                        },
                    };
                    self.tell(job, answer);
                    self.started[job].insert(container);
                }
            }
            Action::Repeat { run, kept, .. } => {
                assert!(run <= self.setup.limits.restarts + 1, "{run}");
                self.outcome.repeated += 1;
                for container in kept {
                    let launcher = self.launchers.get(&container);
                    assert!(launcher.is_none_or(|l| l.ranks.is_empty()), "{container}");
                }
            }
            Action::Begin(seats) => {
                let of_job = self.launchers.values().filter(|l| l.job == job);
                let beside: usize = of_job.map(|launcher| launcher.ranks.len()).sum();
                assert_eq!(beside, 0, "ranks of an earlier run");
                for seat in seats {
                    if let Some(launcher) = self.launchers.get_mut(&seat.container) {
                        launcher.ranks = seat.ranks;
                    }
                }
                let done = self.now + self.draw(3_000, 30_000);
                self.at(done, Happening::Done(job, self.jobs[job].run));
            }
            Action::Stop { .. } => {
                let of_job = self.launchers.iter().filter(|(_, l)| l.job == job);
                let linked: Vec<ContainerId> = of_job
                    .filter(|(_, launcher)| launcher.is_linked && !launcher.ranks.is_empty())
                    .map(|(container, _)| container.clone())
                    .collect();
                for container in linked {
                    // Some rank can be stuck in its kernel.
                    if self.draw(0, 20) > 0 {
                        let at = self.now + self.draw(1, 1_200);
                        self.at(at, Happening::RanksEnd(container));
                    }
                }
            }
            Action::Show(_) => {}
        }
    }

    /// The ranks of the job return, if all of them are there; by then nothing but what it runs in
    /// belongs to it.
    fn done(&mut self, job: usize, run: u32) {
        if self.jobs[job].run != run || !matches!(self.jobs[job].state, State::Running { .. }) {
            return;
        }
        let started = &self.started[job];
        let of_job = self.containers.iter().filter(|(_, c)| c.job == job);
        for (id, _) in of_job {
            assert!(started.contains(id), "{id} was kept beside {started:?}");
        }
        assert!(self.applications[job].requests.is_empty());
        let processes = self.jobs[job].demand.processes.get();
        let mut launchers = self.launchers.values_mut();
        let linked = |l: &&mut Launcher| l.job == job && l.is_linked;
        let ranks: Vec<Rank> = launchers
            .by_ref()
            .filter(linked)
            .flat_map(|launcher| std::mem::take(&mut launcher.ranks))
            .collect();
        if ranks.len() < processes as usize {
            // Those that are left wait for the others for ever; put them back where they were.
            let mut left = ranks.into_iter();
            for launcher in self.launchers.values_mut().filter(|l| l.job == job) {
                if launcher.is_linked {
                    launcher.ranks.extend(left.by_ref().take(1));
                }
            }
            return;
        }
        for rank in 0..processes {
            self.hear(job, ended(rank, End::Code(0), Stage::Finalized));
        }
    }

    /// The ranks of a container are ended, and its master is told if it can be.
    fn ranks_end(&mut self, container: &ContainerId) {
        let Some(launcher) = self.launchers.get_mut(container) else {
            return;
        };
        let (job, ranks) = (launcher.job, std::mem::take(&mut launcher.ranks));
        if launcher.is_linked {
            for rank in ranks {
                self.hear(job, ended(rank.0, End::Signal(15), Stage::Silent));
            }
        }
    }

    /// Some launcher whose ranks run.
    fn draw_busy(&mut self) -> Option<ContainerId> {
        let busy = self.launchers.iter().filter(|(_, l)| !l.ranks.is_empty());
        let mut busy: Vec<ContainerId> = busy.map(|(container, _)| container.clone()).collect();
        let last = u64::try_from(busy.len().checked_sub(1)?).unwrap();
        let chosen = usize::try_from(self.draw(0, last)).unwrap();
        Some(busy.swap_remove(chosen))
    }

    /// The launcher goes at once, with its ranks. Those of the others may fail for it before anybody
    /// else knows.
    fn preempt(&mut self) {
        let Some(container) = self.draw_busy() else {
            return;
        };
        let Some(launcher) = self.launchers.remove(&container) else {
            return;
        };
        let job = launcher.job;
        self.containers.remove(&container);
        if self.draw(0, 1) == 1 {
            let of_job = self.launchers.values_mut().filter(|l| l.job == job);
            let reset: Vec<Rank> = of_job.flat_map(|l| std::mem::take(&mut l.ranks)).collect();
            for rank in reset {
                let at = self.now + self.draw(1, 50);
                let failed = ended(rank.0, End::Code(1), Stage::Initialized);
                self.at(at, Happening::Told(job, failed));
            }
        }
        self.tell_by_link(job, 300, 350, Event::LinkLost(container.clone()));
        let taken = Event::ContainerEnded {
            container,
            status: -102,
            diagnostics: String::new(),
        };
        self.tell(job, taken);
    }

    /// A launcher and its master do not hear each other any more. Each notices within the lease; YARN
    /// may hear of the launcher's end, or not.
    fn cut(&mut self) {
        let Some(container) = self.draw_busy() else {
            return;
        };
        let Some(launcher) = self.launchers.get_mut(&container) else {
            return;
        };
        launcher.is_linked = false;
        let job = launcher.job;
        let ends = self.now + self.draw(0, 15_000);
        self.at(ends, Happening::LauncherEnds(container.clone()));
        if self.draw(0, 1) == 1 {
            let ended = Event::ContainerEnded {
                container: container.clone(),
                status: 70,
                diagnostics: String::new(),
            };
            self.at(ends + 1_000, Happening::Told(job, ended));
        }
        self.tell_by_link(job, 300, 15_000, Event::LinkLost(container));
    }

    /// All that the attempt held goes, and nothing that was on its way to or from it arrives. The
    /// next one registers a moment later.
    fn kill_master(&mut self, job: usize) {
        if self.jobs[job].is_over() {
            return;
        }
        self.outcome.attempts += 1;
        self.agenda.retain(|_, what| {
            !matches!(what, Happening::Told(of, _) | Happening::Ordered(of, _) | Happening::Reads(of)
                | Happening::Wake(of) | Happening::Done(of, _) if *of == job)
        });
        self.containers.retain(|_, container| container.job != job);
        self.launchers.retain(|_, launcher| launcher.job != job);
        self.started[job].clear();
        self.applications[job] = Application::default();
        let demand = self.jobs[job].demand.clone();
        let mut next = Job::new(demand, self.setup.limits, self.seeds[job] ^ 1);
        next.place = self.place;
        self.jobs[job] = next;
        let registers = self.now + self.draw(1_000, 3_000);
        self.at(registers, Happening::Told(job, Event::Registered));
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
        // Sometimes it is the NodeManager alone, and the launchers run on.
        let launchers_too = self.draw(0, 3) > 0;
        for (container, job) in lost {
            self.containers.remove(&container);
            if launchers_too && self.launchers.remove(&container).is_some() {
                self.tell_by_link(job, 300, 15_000, Event::LinkLost(container.clone()));
            }
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
