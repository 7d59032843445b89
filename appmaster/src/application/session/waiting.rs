//! The clients of jobs that wait hear why.

use std::collections::BTreeMap;

use job::JobId;

use super::Session;
use crate::slots::Wait;

impl Session {
    /// Says to the clients of jobs that wait what they wait for, where that has changed.
    pub(super) fn show_waiting(&mut self) {
        let now = self.now();
        let asking = self.why_not_more().unwrap_or_default();
        let waits = self.watched();
        if self.containers.missing() > 0 && waits.values().any(Option::is_some) {
            // What YARN says to that may change while nothing does here.
            self.slots.show_soon(now);
        }
        for (job, wait) in waits {
            let Some(entry) = self.jobs.get(job) else {
                continue;
            };
            let at = entry.own(now);
            let client = entry.client();
            let phase = self.slots.tell_waiting(job, at, wait, &asking, client);
            if let (Some(phase), Some(kept)) = (phase, self.edge.detached.get(job)) {
                kept.hear(phase);
            }
        }
    }

    /// The jobs that a client follows or watches, and why they have no slots.
    fn watched(&self) -> BTreeMap<JobId, Option<Wait>> {
        let mut line = self.slots.line();
        let all = self.jobs.iter().filter_map(|(job, entry)| {
            // Of one that is detached and only waits the clients that watch it hear.
            let is_watched = || {
                let kept = self.edge.detached.get(job);
                kept.is_some_and(|kept| kept.is_watched())
            };
            let has_audience = entry.client().is_some() || is_watched();
            has_audience.then(|| (job, self.slots.waits(job, &mut line, self.around())))
        });
        all.collect()
    }
}
