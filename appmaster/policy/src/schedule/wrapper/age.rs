//! A job that has waited for too long goes first.

use crate::schedule::fifo::{first, start};
use crate::schedule::{Decision, Event, JobIx, Nanos, NodeIx, Scheduler, Session};

/// Before the policy inside is asked, the job whose stage has waited longest is looked at.
#[derive(Debug)]
pub struct Age {
    /// How long a stage may wait with nothing of it running; 0: for ever.
    pub limit: Nanos,
    /// The policy.
    pub inner: Box<dyn Scheduler>,
}

impl Scheduler for Age {
    fn hear(&mut self, now: Nanos, session: &Session, event: &Event) {
        self.inner.hear(now, session, event);
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

    fn home(
        &mut self,
        now: Nanos,
        session: &Session,
        job: JobIx,
        partition: u32,
        bytes: u64,
    ) -> Option<NodeIx> {
        self.inner.home(now, session, job, partition, bytes)
    }

    fn wakes_at(&self) -> Option<Nanos> {
        self.inner.wakes_at()
    }
}
