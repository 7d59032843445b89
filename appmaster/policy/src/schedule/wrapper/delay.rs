//! Delay scheduling: a task waits a while for a slot where its input is.
//!
//! Source: M. Zaharia et al., "Delay Scheduling", EuroSys 2010, Algorithm 2. Differences: waiting is
//! counted in time since the stage was first passed over at this node, not in scheduling opportunities, and begins
//! anew only when one of its tasks has found its input here: where one node has all input, the others stand idle
//! once and not as long as it finds tasks. A reduce, whose input is complete where it was gathered and can be fetched
//! anywhere, waits no longer than [`GATHERED`] for that node, however patient maps are. And only the first few jobs in line are passed over at a time: behind
//! them the first that has its input here starts.
//!
//! Cost: what a few decisions of the policy inside cost, however many jobs wait.

use std::collections::BTreeMap;

use crate::schedule::{
    Decision, Event, JobIx, Level, Nanos, NodeIx, Saved, Scheduler, Session, Stage, assign_task,
};

/// How many jobs are passed over, in the order of the policy inside, before the next one that has its
/// input at the node is taken.
const LOOKS: usize = 4;

/// So long a reduce waits at the most for a slot where its input was gathered.
pub const GATHERED: Nanos = Nanos::from_secs(3);

/// Starts whose input is elsewhere are put off.
#[derive(Debug)]
pub struct Delay {
    /// How long a stage waits for a slot on a node that has its input.
    pub node: Nanos,
    /// How much longer it then waits for one in such a rack.
    pub rack: Nanos,
    /// The policy inside, which chooses tasks.
    pub inner: Box<dyn Scheduler>,
    /// Since when a stage is passed over at a node.
    pub passed: BTreeMap<(JobIx, Stage, NodeIx), Nanos>,
}

impl Delay {
    /// The rule around the policy `inner`.
    #[must_use]
    pub const fn new(node: Nanos, rack: Nanos, inner: Box<dyn Scheduler>) -> Self {
        Self {
            node,
            rack,
            inner,
            passed: BTreeMap::new(),
        }
    }

    /// When a stage that is passed over since `since` takes a slot at `level`.
    fn due(&self, stage: Stage, since: Nanos, level: Level) -> Nanos {
        let due = match level {
            Level::Node => since,
            Level::Rack => since.plus(self.node),
            Level::Any => since.plus(self.node).plus(self.rack),
        };
        match stage {
            Stage::Reduce => due.min(since.plus(GATHERED)),
            Stage::Map | Stage::Gang => due,
        }
    }
}

impl Scheduler for Delay {
    fn inner(&self) -> Option<&dyn Scheduler> {
        Some(&*self.inner)
    }

    fn inner_mut(&mut self) -> Option<&mut dyn Scheduler> {
        Some(&mut *self.inner)
    }

    fn hear(&mut self, now: Nanos, session: &Session, event: &Event) {
        if let Event::Left(job) = event {
            self.passed.retain(|(other, ..), _| other != job);
        }
        self.inner.hear(now, session, event);
    }

    fn saved(&self) -> Option<Saved> {
        Some(Saved::Delay {
            node: self.node,
            rack: self.rack,
            passed: self.passed.clone(),
            inner: Box::new(self.inner.saved()?),
        })
    }

    fn next(&mut self, now: Nanos, session: &Session, node: Option<NodeIx>) -> Option<Decision> {
        let Some(at) = node else {
            return self.inner.next(now, session, node);
        };
        let mut seen = session.clone();
        for _ in 0..LOOKS {
            let decision = self.inner.next(now, &seen, node)?;
            let Decision::Start { job, stage, .. } = &decision else {
                return Some(decision);
            };
            let level =
                assign_task(session, *job, *stage, at).map_or(Level::Any, |(_, level)| level);
            if level == Level::Node {
                // It found its place: patience begins anew.
                self.passed.remove(&(*job, *stage, at));
                return Some(decision);
            }
            let since = *self.passed.entry((*job, *stage, at)).or_insert(now);
            if self.due(*stage, since, level) <= now {
                return Some(decision);
            }
            seen = seen.without(*job);
        }
        let decision = self.inner.next(now, &seen.near(at), node)?;
        let Decision::Start { job, stage, .. } = &decision else {
            return Some(decision);
        };
        let level = assign_task(session, *job, *stage, at).map(|(_, level)| level);
        (level == Some(Level::Node)).then(|| {
            self.passed.remove(&(*job, *stage, at));
            decision.clone()
        })
    }

    fn wakes_at(&self, asked: Nanos) -> Option<Nanos> {
        let levels = [Level::Rack, Level::Any];
        let due = self
            .passed
            .iter()
            .flat_map(|((_, stage, _), since)| levels.map(|level| self.due(*stage, *since, level)));
        // What was due when it was last asked waits for a slot.
        let due = due.filter(|due| *due > asked);
        due.chain(self.inner.wakes_at(asked)).min()
    }
}
