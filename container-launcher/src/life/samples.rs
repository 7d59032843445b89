//! What is done with what processes are seen to use: it is told, and kept below what YARN has given the container.

use tokio::time::Instant;

use super::Life;
use crate::memory_limit::{self, ResidentMemory};
use crate::process::Id;
use crate::samples::{self, Look};
use crate::sampling::Sampling;
use crate::share::Share;

impl Life<'_> {
    /// Tells what has changed, or looks at the processes again.
    pub(super) async fn sample(&mut self, look: Option<Look>) {
        let over = self.jobs.values().all(Share::all_ended);
        self.container.sampling = match look {
            _ if over => Sampling::Idle,
            Some(look) => {
                let now = Instant::now();
                if self.sample_at.is_none_or(|at| at <= now) {
                    self.sample_at = Some(look.next.into());
                    self.tell_usages(&look);
                }
                self.keep_below_limit(&look).await;
                Sampling::Due(self.look_again_at(now, &look))
            }
            None => Sampling::look(self.container.nursery),
        };
    }

    fn tell_usages(&mut self, look: &Look) {
        for (&job, share) in &mut self.jobs {
            let own = look.usages.iter().filter(|(of, _)| *of == job);
            let own = own.map(|(_, usage)| *usage).collect();
            share.sampled(own);
        }
    }

    /// When the processes are looked at next: for what they use, or for what the container may have.
    fn look_again_at(&mut self, now: Instant, look: &Look) -> Instant {
        let next: Instant = look.next.into();
        let before_kib = std::mem::replace(&mut self.container_kib, look.container_kib);
        let given_kib = self.given_kib();
        let pause = memory_limit::pause(look.container_kib, before_kib, given_kib, look.took);
        let limit = now.checked_add(pause);
        limit.map_or(next, |limit| next.min(limit))
    }

    /// The process that has too much ends, and the others of the container with it only if its job wants that: YARN would
    /// end all of them, where it looks at all.
    async fn keep_below_limit(&mut self, look: &Look) {
        let now = Instant::now();
        let is_dying = |at: Instant| now.duration_since(at) < memory_limit::DYING;
        if self.killed_for_memory.is_some_and(is_dying) {
            return;
        }
        let held = look.usages.iter().map(|(job, usage)| {
            let (job, number) = (*job, usage.rank);
            let share = self.jobs.get(&job);
            let share_mib = share.map_or(0, |share| share.memory_mib(number));
            ResidentMemory {
                id: Id { job, number },
                resident_kib: usage.resident_kib,
                share_kib: share_mib.saturating_mul(1024),
            }
        });
        let over = memory_limit::over(look.container_kib, self.given_kib(), held);
        let Some(over) = over else { return };
        if !self.is_shared() && self.counts_pages_twice(now) {
            return;
        }
        if let Some(share) = self.jobs.get_mut(&over.id.job) {
            let (job, number) = (over.id.job.0, over.id.number);
            crate::say(&format!(
                "process {number} of job {job} has {}",
                over.sentence()
            ));
            self.killed_for_memory = Some(now);
            share.over_share(&over, &mut self.container).await;
        }
    }

    /// Jobs of a session are in this container.
    fn is_shared(&self) -> bool {
        self.jobs.keys().any(|job| job.is_of_session())
    }

    /// Whether the container is below its limit where pages that its processes share are counted once.
    fn counts_pages_twice(&mut self, now: Instant) -> bool {
        let was = |at: Instant| now.duration_since(at) < memory_limit::SHARED;
        if !self.shared_pages_at.is_some_and(was) {
            let own = i32::try_from(std::process::id()).unwrap_or(0);
            let found = samples::proportional_kib(own);
            let is_below = memory_limit::is_below(found, self.given_kib());
            self.shared_pages_at = is_below.then_some(now);
        }
        self.shared_pages_at.is_some()
    }

    /// The memory that YARN has given the container.
    fn given_kib(&self) -> u64 {
        self.container.context.memory.0.saturating_mul(1024)
    }
}
