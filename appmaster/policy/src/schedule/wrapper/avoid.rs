//! A node where attempts of a job fail gets no further one of that job.

use crate::schedule::{Decision, Nanos, NodeIx, Saved, Scheduler, Session};

/// The policy inside sees no job at a node that the job [avoids](Session::avoids).
#[derive(Debug)]
pub struct Avoid {
    /// The policy inside, which chooses tasks.
    pub inner: Box<dyn Scheduler>,
}

impl Scheduler for Avoid {
    fn inner(&self) -> Option<&dyn Scheduler> {
        Some(&*self.inner)
    }

    fn inner_mut(&mut self) -> Option<&mut dyn Scheduler> {
        Some(&mut *self.inner)
    }

    fn saved(&self) -> Option<Saved> {
        Some(Saved::Avoid {
            inner: Box::new(self.inner.saved()?),
        })
    }

    fn next(&mut self, now: Nanos, session: &Session, node: Option<NodeIx>) -> Option<Decision> {
        let hidden = node.map_or(Vec::new(), |node| session.avoiding(node));
        if hidden.is_empty() {
            return self.inner.next(now, session, node);
        }
        let seen = hidden
            .into_iter()
            .fold(session.clone(), |seen, job| seen.without(job));
        self.inner.next(now, &seen, node)
    }
}
