//! A job that has waited for too long goes first.

use crate::schedule::can_run::fits;
use crate::schedule::element::needs_element;
use crate::schedule::fifo::{ONE_BY_ONE, start};
use crate::schedule::{Decision, JobIx, Nanos, NodeIx, Saved, Scheduler, Session, SlotIx, Stage};

/// Before the policy inside is asked, the job that has waited longest for a slot such as this one is looked at.
///
/// Cost: O(classes of need) a decision, beside the policy's.
#[derive(Debug)]
pub struct Age {
    /// How long a stage may wait with nothing of it running; 0: for ever.
    pub limit: Nanos,
    /// Only stages whose tasks need no element are looked at: those that [`Hpe`](crate::schedule::Hpe) passes over.
    pub plain: bool,
    /// The policy inside, asked where nobody has waited for too long.
    pub inner: Box<dyn Scheduler>,
    /// When somebody will have waited for too long: the policy may leave a slot empty until then.
    pub due: Option<Nanos>,
}

impl Age {
    /// The rule around the policy `inner`.
    #[must_use]
    pub const fn new(limit: Nanos, plain: bool, inner: Box<dyn Scheduler>) -> Self {
        Self {
            limit,
            plain,
            inner,
            due: None,
        }
    }

    /// When the first of those who have not waited for too long will have. Behind one that has, and still waits,
    /// none of its class finds a slot either.
    fn next_due(&self, now: Nanos, session: &Session) -> Option<Nanos> {
        let stages = ONE_BY_ONE.into_iter();
        let classes =
            stages.flat_map(|stage| session.classes(stage).map(move |class| (stage, class)));
        let due = classes.filter_map(|(stage, class)| {
            let (since, _) = session.waiting(stage, class).next()?;
            let looked_at = !self.plain || !needs_element(session.need(class)?);
            let due = since.plus(self.limit);
            (looked_at && due > now).then_some(due)
        });
        due.min()
    }

    /// The stage that has waited longest of those that `slot` can run, if it has for too long.
    fn overdue(&self, now: Nanos, session: &Session, slot: SlotIx) -> Option<(Stage, JobIx)> {
        let stages = ONE_BY_ONE.into_iter();
        let classes =
            stages.flat_map(|stage| session.classes(stage).map(move |class| (stage, class)));
        let longest = classes.filter_map(|(stage, class)| {
            let (since, job) = session.waiting(stage, class).next()?;
            let overdue = now.since(since) >= self.limit;
            let need = session.need(class)?;
            if self.plain && needs_element(need) {
                return None;
            }
            (overdue && fits(session, need, stage, slot).is_ok()).then_some((since, job, stage))
        });
        longest.min().map(|(_, job, stage)| (stage, job))
    }
}

impl Scheduler for Age {
    fn inner(&self) -> Option<&dyn Scheduler> {
        Some(&*self.inner)
    }

    fn inner_mut(&mut self) -> Option<&mut dyn Scheduler> {
        Some(&mut *self.inner)
    }

    fn saved(&self) -> Option<Saved> {
        Some(Saved::Age {
            limit: self.limit,
            plain: self.plain,
            due: self.due,
            inner: Box::new(self.inner.saved()?),
        })
    }

    fn next(&mut self, now: Nanos, session: &Session, node: Option<NodeIx>) -> Option<Decision> {
        match node {
            _ if self.limit == Nanos(0) => {}
            Some(node) => {
                let started = session.open_slots(node).find_map(|slot| {
                    let (stage, job) = self.overdue(now, session, slot)?;
                    start(session, job, stage, slot, node)
                });
                if started.is_some() {
                    return started;
                }
            }
            None => self.due = self.next_due(now, session),
        }
        self.inner.next(now, session, node)
    }

    fn wakes_at(&self, asked: Nanos) -> Option<Nanos> {
        let due = self.due.filter(|due| *due > asked);
        self.inner.wakes_at(asked).into_iter().chain(due).min()
    }
}
