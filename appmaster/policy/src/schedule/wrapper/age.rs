//! A job that has waited for too long goes first.

use crate::schedule::fifo::{first, start};
use crate::schedule::{Decision, Nanos, NodeIx, Saved, Scheduler, Session};

/// Before the policy inside is asked, the job whose stage has waited longest is looked at.
#[derive(Debug)]
pub struct Age {
    /// How long a stage may wait with nothing of it running; 0: for ever.
    pub limit: Nanos,
    /// The policy.
    pub inner: Box<dyn Scheduler>,
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
            inner: Box::new(self.inner.saved()?),
        })
    }

    fn next(&mut self, now: Nanos, session: &Session, node: Option<NodeIx>) -> Option<Decision> {
        let overdue = session.longest_waiting();
        let overdue =
            overdue.filter(|(since, ..)| self.limit > Nanos(0) && now.since(*since) >= self.limit);
        if let (Some((_, job, _)), Some(node)) = (overdue, node) {
            let only = session.only(job);
            let started = session.free_slots(node).find_map(|slot| {
                let (_, stage, job) = first(&only, slot, None, |_, _| true)?;
                start(session, job, stage, slot, node)
            });
            if started.is_some() {
                return started;
            }
        }
        self.inner.next(now, session, node)
    }
}
