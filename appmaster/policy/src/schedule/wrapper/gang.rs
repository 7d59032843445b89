//! MPI jobs among tasks: all ranks start together, and slots are drained for a gang that is next.
//!
//! One gang is next: of those of the highest priority the one whose owner has least of what the policy inside
//! [means for it](Scheduler::standing), among equals the one that was submitted first. It alone starts, and it alone
//! holds, so that two never hold what the other needs; who has begun to hold stays next until that is over, however
//! much others have meanwhile. It holds when the policy inside would give a slot that it could use to a job that comes
//! after it by the same order, and only where the session has enough slots for it at all. What it holds is given up
//! after `hold`, and for as long again others may have it.
//!
//! All ranks of a gang are on slots of one speed, since the slowest sets the pace: the fastest of which the session has
//! enough slots is held for it, and where it finds its room first it starts. One that is larger than that has slots of
//! all speeds, and so has one that does not mind ([`Job::any_speed`](crate::schedule::Job::any_speed)), where no speed has
//! enough free ones.
//!
//! Cost: O(priorities · owners · classes of need · sizes) to find that gang, however many wait, and once after each
//! event O(free slots) to look for its room.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::schedule::can_run::could_run;
use crate::schedule::{
    Class, Decision, Event, JobIx, Nanos, Need, NodeIx, Saved, Scheduler, Session, Share, Slot,
    SlotIx, Speed, Stage,
};

/// The fastest first; slots whose speed is not known do not count as slow.
const SPEEDS: [Speed; 3] = [Speed::Fast, Speed::Plain, Speed::Slow];

/// Starts gangs, and holds slots for the next one.
#[derive(Debug)]
pub struct GangScheduling {
    /// For how long slots are held.
    pub hold: Nanos,
    /// The policy for everything that is no gang.
    pub inner: Box<dyn Scheduler>,
    /// Until when the slots of the present hold are kept.
    pub until: Option<Nanos>,
    /// Nothing is held before.
    pub rests: Nanos,
    /// How many slots of each speed could take a rank of each class, until slots come or go.
    all: BTreeMap<Class, BTreeMap<Speed, usize>>,
    /// A gang that has found no room since something last happened.
    without_room: Option<JobIx>,
}

impl GangScheduling {
    /// The rule around the policy `inner`.
    #[must_use]
    pub const fn new(hold: Nanos, inner: Box<dyn Scheduler>) -> Self {
        Self {
            hold,
            inner,
            until: None,
            rests: Nanos(0),
            all: BTreeMap::new(),
            without_room: None,
        }
    }

    /// The gang that is next, of those for which the session has enough slots at all.
    fn first(&mut self, session: &Session) -> Option<JobIx> {
        for class in session.classes(Stage::Gang) {
            if let Some(need) = session
                .need(class)
                .filter(|_| !self.all.contains_key(&class))
            {
                // Those of jobs that are over go when others come.
                self.all.retain(|known, _| session.need(*known).is_some());
                self.all.insert(class, all(session, need));
            }
        }
        session.first_gang(
            |class| {
                let all = self.all.get(&class).into_iter().flatten();
                all.map(|(_, count)| *count).sum()
            },
            |job| self.inner.standing(session, job),
            |job| self.inner.lets(session, job),
        )
    }

    /// The slots of the container that has just joined count, too.
    fn count_newest(&mut self, session: &Session) {
        let slots = session.slots_of(session.newest_container());
        for (class, all) in &mut self.all {
            let Some(need) = session.need(*class) else {
                continue;
            };
            let slots = slots.iter();
            for slot in slots.filter_map(|ix| Some((*ix, session.slot(*ix)?))) {
                count(session, need, slot, all);
            }
        }
    }

    /// The speed of the slots that are held for a gang: the fastest of which there are enough; of none, any.
    fn held_speed(&self, session: &Session, job: JobIx) -> Option<Speed> {
        if session.job(job)?.any_speed {
            return None;
        }
        let wanted = session.stage(job, Stage::Gang)?.pending as usize;
        let all = self.all.get(&session.class_of(job, Stage::Gang)?)?;
        let enough = |speed: &Speed| all.get(speed).is_some_and(|count| *count >= wanted);
        SPEEDS.into_iter().find(enough)
    }

    /// The time to which slots are held now; none while a hold that failed rests.
    fn hold(&mut self, now: Nanos) -> Option<Nanos> {
        if self.until.is_none() && now >= self.rests {
            self.until = Some(now.plus(self.hold));
        }
        self.until.filter(|until| *until > now)
    }

    /// The present hold is over: its time is, and it rests; or nothing is held any more, since the gang has started
    /// or left, or the slots are gone.
    fn hold_ends(&mut self, now: Nanos, session: &Session) {
        if let Some(until) = self.until.filter(|until| *until <= now) {
            self.until = None;
            self.rests = until.plus(self.hold);
        } else if session.first_hold_ends().is_none() {
            self.until = None;
        }
    }
}

/// Higher priorities first, then who has least of what is meant for it, then in order of submission.
type GangTurn = (Reverse<i32>, Share, u64);

fn turn(inner: &dyn Scheduler, session: &Session, job: JobIx) -> Option<GangTurn> {
    let known = session.job(job)?;
    let standing = inner.standing(session, job);
    Some((Reverse(known.priority), standing, known.seq))
}

/// Slots on which all ranks of a gang can start now, all of one speed, fast ones first, or of any where no speed has enough
/// at all, or the gang does not mind: its own and free ones, on as few nodes as may be.
fn room(session: &Session, job: JobIx, need: &Need, enough: Option<Speed>) -> Option<Vec<SlotIx>> {
    let speed_of = |slot: &SlotIx| session.slot(*slot).map(|slot| slot.speed);
    let held: Vec<SlotIx> = session.held(job).collect();
    let wanted = session.stage(job, Stage::Gang)?.pending as usize;
    // How many there are is known without looking at each.
    let count = |speed: Speed| {
        let own = held.iter().filter(|slot| speed_of(slot) == Some(speed));
        own.count()
            .saturating_add(session.free_count(Stage::Gang, speed))
    };
    let mut speeds = SPEEDS.into_iter().filter(|speed| count(*speed) >= wanted);
    let of_one = speeds.find_map(|speed| room_of(session, (job, need), &held, Some(speed)));
    of_one.or_else(|| {
        let all: usize = SPEEDS.into_iter().map(count).sum();
        let may_mix = enough.is_none() && all >= wanted;
        may_mix
            .then(|| room_of(session, (job, need), &held, None))
            .flatten()
    })
}

fn room_of(
    session: &Session,
    (job, need): (JobIx, &Need),
    held: &[SlotIx],
    speed: Option<Speed>,
) -> Option<Vec<SlotIx>> {
    let wanted = session.stage(job, Stage::Gang)?.pending as usize;
    let mut own: BTreeMap<NodeIx, Vec<SlotIx>> = BTreeMap::new();
    for slot in held {
        if let Some(node) = session.node_of(*slot) {
            own.entry(node).or_default().push(*slot);
        }
    }
    // There may be many more nodes, which have input and no container.
    let places: BTreeSet<NodeIx> = session.free_nodes().chain(own.keys().copied()).collect();
    let mut nodes: Vec<Vec<SlotIx>> = Vec::new();
    for node in places {
        let held = own.get(&node).into_iter().flatten().copied();
        let there = held.chain(session.free_slots(node));
        let is_of_it = |slot: &SlotIx| {
            let of = session.slot(*slot).map(|of| of.speed);
            speed.is_none() || of == speed
        };
        let mut slots: Vec<SlotIx> = there.filter(is_of_it).collect();
        slots.sort_unstable();
        let slots = together(session, need, slots);
        if !slots.is_empty() {
            nodes.push(slots);
        }
    }
    // The fullest nodes first; among equals the one of the lowest number, as sorting is stable.
    sort::by_key(&mut nodes, |slots| Reverse(slots.len()));
    let slots: Vec<SlotIx> = nodes.into_iter().flatten().take(wanted).collect();
    (slots.len() == wanted && wanted > 0).then_some(slots)
}

/// Those of `slots` that can take a rank each, all at a time, by what is free in their containers and
/// their node.
fn together(session: &Session, need: &Need, slots: Vec<SlotIx>) -> Vec<SlotIx> {
    let mut taken: BTreeMap<_, u64> = BTreeMap::new();
    let mut fitting = Vec::new();
    for ix in slots {
        let Some(slot) = session.slot(ix) else {
            continue;
        };
        let Some(container) = session.container(slot.container) else {
            continue;
        };
        let Some(node) = session.node(container.node) else {
            continue;
        };
        if !could_run(session, need, Stage::Gang, ix) {
            continue;
        }
        let fits = need.bundle.iter().all(|(name, amount)| {
            let (free, whose) = if container.pool.counts(name) {
                (&container.free, Some(slot.container))
            } else {
                (&node.free, None)
            };
            let before = taken.get(&(whose, name)).copied().unwrap_or(0);
            before.saturating_add(amount) <= free.amount(name)
        });
        if fits {
            for (name, amount) in need.bundle.iter() {
                let whose = container.pool.counts(name).then_some(slot.container);
                let sum = taken.entry((whose, name)).or_default();
                *sum = sum.saturating_add(amount);
            }
            fitting.push(ix);
        }
    }
    fitting
}

/// Slots of the session that could take such a rank, free or taken, by their speed.
fn all(session: &Session, need: &Need) -> BTreeMap<Speed, usize> {
    let mut all = BTreeMap::new();
    for (ix, slot) in session.slots() {
        count(session, need, (ix, slot), &mut all);
    }
    all
}

fn count(
    session: &Session,
    need: &Need,
    (ix, slot): (SlotIx, &Slot),
    all: &mut BTreeMap<Speed, usize>,
) {
    if could_run(session, need, Stage::Gang, ix) {
        let count = all.entry(slot.speed).or_default();
        *count = count.saturating_add(1);
    }
}

impl Scheduler for GangScheduling {
    fn inner(&self) -> Option<&dyn Scheduler> {
        Some(&*self.inner)
    }

    fn inner_mut(&mut self) -> Option<&mut dyn Scheduler> {
        Some(&mut *self.inner)
    }

    fn hear(&mut self, now: Nanos, session: &Session, event: &Event) {
        self.hold_ends(now, session);
        self.without_room = None;
        if let Event::Joined(..) = event {
            self.count_newest(session);
        } else if let Event::Slots { .. }
        | Event::Pool { .. }
        | Event::Preempt { .. }
        | Event::Lost(_) = event
        {
            self.all.clear();
        }
        self.inner.hear(now, session, event);
    }

    fn saved(&self) -> Option<Saved> {
        Some(Saved::Gang {
            hold: self.hold,
            until: self.until,
            rests: self.rests,
            inner: Box::new(self.inner.saved()?),
        })
    }

    fn next(&mut self, now: Nanos, session: &Session, node: Option<NodeIx>) -> Option<Decision> {
        let next = self.first(session).and_then(|job| {
            let need = &session.stage(job, Stage::Gang)?.need;
            Some((turn(&*self.inner, session, job)?, job, need))
        });
        let Some((first, job, need)) = next else {
            return self.inner.next(now, session, node);
        };
        // No other gang starts before the first, which might never find its room again.
        if self.without_room != Some(job) {
            if let Some(slots) = room(session, job, need, self.held_speed(session, job)) {
                return Some(Decision::Gang { job, slots });
            }
            self.without_room = Some(job);
        }
        let decision = self.inner.next(now, session, node);
        if let Some(Decision::Copy { .. }) = decision {
            // What runs already takes nothing from who waits.
            return None;
        }
        let Some(Decision::Start {
            job: other, slot, ..
        }) = &decision
        else {
            return decision;
        };
        let later = turn(&*self.inner, session, *other).is_some_and(|other| other > first);
        let is_of_use = could_run(session, need, Stage::Gang, *slot)
            && self
                .held_speed(session, job)
                .is_none_or(|speed| session.slot(*slot).is_some_and(|slot| slot.speed == speed));
        if !later || !is_of_use {
            return decision;
        }
        match self.hold(now) {
            Some(until) => Some(Decision::Hold {
                job,
                slots: vec![*slot],
                until,
            }),
            None => decision,
        }
    }

    fn wakes_at(&self, asked: Nanos) -> Option<Nanos> {
        let own = [self.until, Some(self.rests)].into_iter().flatten();
        let own = own.filter(|at| *at > asked);
        own.chain(self.inner.wakes_at(asked)).min()
    }
}
