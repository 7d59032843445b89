//! Jobs of a higher priority go first.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::schedule::can_run::would_run;
use crate::schedule::fifo::ONE_BY_ONE;
use crate::schedule::{
    Decision, Event, JobIx, Nanos, NodeIx, Saved, Scheduler, Session, Stage, TaskIx, Why,
};

/// The policy inside chooses among the jobs of the highest priority that have something for the node,
/// then among those of the next.
#[derive(Debug)]
pub struct Priority {
    /// Whether attempts of a lower priority are ended for jobs that find no slot.
    pub preempt: bool,
    /// The policy inside, which chooses tasks.
    pub inner: Box<dyn Scheduler>,
    /// Tasks that lost an attempt already.
    pub ended: BTreeSet<(JobIx, Stage, TaskIx)>,
}

impl Scheduler for Priority {
    fn inner(&self) -> Option<&dyn Scheduler> {
        Some(&*self.inner)
    }

    fn inner_mut(&mut self) -> Option<&mut dyn Scheduler> {
        Some(&mut *self.inner)
    }

    fn hear(&mut self, now: Nanos, session: &Session, event: &Event) {
        if let Event::Left(job) = event {
            self.ended.retain(|(other, ..)| other != job);
        }
        self.inner.hear(now, session, event);
    }

    fn saved(&self) -> Option<Saved> {
        Some(Saved::Priority {
            preempt: self.preempt,
            ended: self.ended.clone(),
            inner: Box::new(self.inner.saved()?),
        })
    }

    fn next(&mut self, now: Nanos, session: &Session, node: Option<NodeIx>) -> Option<Decision> {
        for priority in session.priorities() {
            let decision = self.inner.next(now, &session.only_priority(priority), node);
            if decision.is_some() {
                return decision;
            }
        }
        // With nothing pending there are copies and moves to decide.
        let decision = self.inner.next(now, session, node);
        if decision.is_none() && node.is_none() && self.preempt {
            return self.preempted(session);
        }
        decision
    }
}

impl Priority {
    /// The rule around the policy `inner`.
    #[must_use]
    pub const fn new(preempt: bool, inner: Box<dyn Scheduler>) -> Self {
        Self {
            preempt,
            inner,
            ended: BTreeSet::new(),
        }
    }

    /// The attempt that ends for a pending task of the highest priority that could take its place: of the
    /// lowest priority, and there the youngest, whose work is the least loss. As many end as tasks of
    /// that priority wait, and no task twice: the policy inside may leave the slot to it again.
    fn preempted(&mut self, session: &Session) -> Option<Decision> {
        let priority = *session.priorities().first()?;
        let wanting = session.only_priority(priority);
        let classes = |stage| session.classes(stage).map(move |class| (stage, class));
        let classes: Vec<_> = ONE_BY_ONE.into_iter().flat_map(classes).collect();
        let mut pending = 0_usize;
        let mut needs = Vec::new();
        for (stage, class) in classes {
            let jobs = wanting.runnable(stage, class);
            let states = jobs.filter_map(|job| session.stage(job, stage));
            let count = states.fold(0_usize, |sum, state| {
                sum.saturating_add(state.pending as usize)
            });
            if count > 0 {
                pending = pending.saturating_add(count);
                needs.push((stage, session.need(class)?));
            }
        }
        let stopping = session
            .attempts()
            .filter(|(_, attempt)| attempt.stopping)
            .count();
        if stopping >= pending {
            return None;
        }
        let of_lower = session.attempts().filter_map(|(ix, attempt)| {
            let own = session.job(attempt.job)?.priority;
            let task = (attempt.job, attempt.stage, attempt.task);
            let settled = !attempt.stopping && attempt.to.is_none() && attempt.stage != Stage::Gang;
            if own >= priority || !settled || self.ended.contains(&task) {
                return None;
            }
            let freed = &session.need(attempt.class?)?.bundle;
            let takes = needs
                .iter()
                .any(|(stage, need)| would_run(session, need, *stage, attempt.slot, freed));
            takes.then_some((own, Reverse(attempt.ordered), Reverse(ix), task))
        });
        let (_, _, Reverse(attempt), task) = of_lower.min()?;
        if !session.has_left(task.0) {
            self.ended.insert(task);
        }
        Some(Decision::Stop {
            attempt,
            why: Why::Preempted,
        })
    }
}
