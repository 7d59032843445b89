//! Walks through every order of steps of a few actors on one NameNode.

use std::collections::BTreeSet;
use std::io::Write as _;

use policy::commit::{CallAnswer, Inherited, JobCommit, Op, Setup};
use sim::NameNode;

/// One of the machines.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Actor {
    Setup(Setup),
    Job(JobCommit),
    Next(Inherited),
    /// Killed.
    Dead,
}

impl Actor {
    /// The calls that may be carried out next, in any order.
    fn calls(&self) -> Vec<(usize, Op)> {
        let one = |op: Option<Op>| op.map(|op| (0, op)).into_iter().collect();
        match self {
            Self::Setup(setup) => one(setup.next()),
            Self::Job(job) => {
                let open = job.open().into_iter();
                open.map(|number| (number, job.call(number).unwrap()))
                    .collect()
            }
            Self::Next(next) => {
                let open = next.open().into_iter();
                open.map(|number| (number, next.call(number).unwrap()))
                    .collect()
            }
            Self::Dead => Vec::new(),
        }
    }

    fn answered(&mut self, number: usize, answer: CallAnswer) {
        match self {
            Self::Setup(setup) => setup.answered(answer),
            Self::Job(job) => job.answered_to(number, answer),
            Self::Next(next) => next.answered_to(number, answer),
            Self::Dead => {}
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct World {
    pub(super) name_node: NameNode,
    pub(super) actors: Vec<Actor>,
    /// How many answers may yet be lost, and how many actors killed.
    pub(super) losses: u32,
    pub(super) kills: u32,
    /// How many calls may yet take effect later than it was given up to wait for them.
    pub(super) delays: u32,
    /// Those that have not yet taken effect. Nobody hears what they come to.
    pub(super) late: Vec<Op>,
}

/// What was walked through.
#[derive(Debug, Default)]
pub(super) struct Walk {
    seen: BTreeSet<World>,
    pub(super) ends: usize,
    /// Steps from one state to another, those to states that were there already included.
    pub(super) transitions: usize,
}

impl Walk {
    /// Everything that can come of `world`. `holds` is asked in each state, with whether nobody can go on;
    /// `alive` says which jobs live, where a setup asks.
    pub(super) fn through(
        world: World,
        alive: &dyn Fn(&World, &str) -> bool,
        holds: &dyn Fn(&World, bool),
    ) -> Self {
        let mut walk = Self::default();
        walk.visit(world, &mut BTreeSet::new(), alive, holds);
        walk
    }

    pub(super) fn states(&self) -> usize {
        self.seen.len()
    }

    /// Prints how much was walked through, which must be so much at the least: a walk that is cut short proves less.
    pub(super) fn covers(&self, what: &str, states: usize, transitions: usize) {
        drop(writeln!(
            std::io::stderr(),
            "{what}: {} states, {} transitions, {} ends",
            self.states(),
            self.transitions,
            self.ends
        ));
        let enough = self.states() >= states && self.transitions >= transitions && self.ends > 0;
        assert!(
            enough,
            "{what}: {} states, {} transitions",
            self.states(),
            self.transitions
        );
    }

    fn visit(
        &mut self,
        mut world: World,
        path: &mut BTreeSet<World>,
        alive: &dyn Fn(&World, &str) -> bool,
        holds: &dyn Fn(&World, bool),
    ) {
        for number in 0..world.actors.len() {
            let Actor::Setup(setup) = &world.actors[number] else {
                continue;
            };
            if let Some(job) = setup.asks() {
                let lives = alive(&world, job);
                let Actor::Setup(setup) = &mut world.actors[number] else {
                    continue;
                };
                setup.alive(lives);
            }
        }
        assert!(!path.contains(&world), "goes round in circles: {world:#?}");
        if !self.seen.insert(world.clone()) {
            return;
        }
        let idle = world.actors.iter().all(|actor| actor.calls().is_empty());
        let over = idle && world.late.is_empty();
        holds(&world, over);
        self.ends += usize::from(over);
        path.insert(world.clone());
        for number in 0..world.late.len() {
            let mut arrived = world.clone();
            let op = arrived.late.remove(number);
            drop(arrived.name_node.carry_out(&op));
            self.transitions += 1;
            self.visit(arrived, path, alive, holds);
        }
        for (number, actor) in world.actors.iter().enumerate() {
            let mut next = Vec::new();
            for (call, op) in actor.calls() {
                let mut done = world.clone();
                let answer = done.name_node.carry_out(&op);
                let unheard = done.clone();
                done.actors[number].answered(call, answer);
                next.push(done);
                if world.losses > 0 {
                    for mut lost in [unheard, world.clone()] {
                        lost.losses -= 1;
                        lost.actors[number].answered(call, CallAnswer::Lost);
                        next.push(lost);
                    }
                }
                if world.delays > 0 {
                    let mut late = world.clone();
                    late.delays -= 1;
                    late.late.push(op);
                    late.late.sort();
                    late.actors[number].answered(call, CallAnswer::Lost);
                    next.push(late);
                }
            }
            if world.kills > 0 && !next.is_empty() {
                let mut killed = world.clone();
                killed.kills -= 1;
                killed.actors[number] = Actor::Dead;
                next.push(killed);
            }
            self.transitions += next.len();
            for world in next {
                self.visit(world, path, alive, holds);
            }
        }
        path.remove(&world);
    }
}
