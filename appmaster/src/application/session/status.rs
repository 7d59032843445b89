//! What a session holds and runs, for clients that ask, and why a job waits, for its own client.

use std::collections::BTreeMap;

use job::JobId;
use job::wire;
use job::wire::job_event::Event as ToClient;
use job::wire::session_job::State;
use policy::gang::GangPhase;
use policy::lending::WaitingLine;
use policy::{MiB, Millis, Resources};
use sentences::QueueIsFull;

use super::Session;
use crate::jobs::JobEntry;
use crate::slots::{Around, WhyWaiting};
use crate::work::JobWork;

impl Session {
    /// What it holds and runs.
    pub(super) fn status(&self) -> wire::SessionStatus {
        let mut line = self.slots.line();
        let containers = self.slots.offers();
        let containers = containers.map(|(offer, lent)| wire::SessionContainer {
            container: offer.container.to_string(),
            host: offer.host.clone(),
            slots: offer.size(),
            lent,
            leaves: self
                .containers
                .leaves_for(&offer.container)
                .unwrap_or_default()
                .to_owned(),
        });
        let (told, deciding_us) = self.slots.cost();
        wire::SessionStatus {
            name: self.plan.name.clone(),
            policy: self.plan.policy.clone(),
            containers: containers.collect(),
            jobs: self
                .jobs
                .iter()
                .filter_map(|(job, entry)| self.row(job, entry, &mut line))
                .collect(),
            ended: self.jobs.ended(),
            asked: self.containers.missing(),
            asking: self.why_not_more().unwrap_or_default(),
            is_stopping: !self.life.is_open(),
            kept: self.edge.detached.ended(),
            unreached: self.nodes.unreached(),
            told,
            deciding_us,
            record_ended: self.slots.record_ended().unwrap_or_default().to_owned(),
        }
    }

    fn row(
        &self,
        job: JobId,
        entry: &JobEntry,
        line: &mut WaitingLine<'_>,
    ) -> Option<wire::SessionJob> {
        let row = self.slots.row(self.now(), job, line, self.around())?;
        Some(wire::SessionJob {
            state: match entry.work().is_ending() {
                true => State::Ending.into(),
                false => row.state,
            },
            detached: self.edge.detached.get(job).is_some(),
            tasks: match entry.work() {
                JobWork::MapReduce(mapreduce) => Some(mapreduce.phase()),
                JobWork::Queued(_) | JobWork::Mpi(_) => None,
            },
            attempts: match entry.work() {
                JobWork::MapReduce(mapreduce) => mapreduce.bound_attempts(),
                JobWork::Queued(_) | JobWork::Mpi(_) => Vec::new(),
            },
            ..row
        })
    }

    /// What the reasons of all waits depend on, beside the slots.
    pub(super) fn around(&self) -> Around<'_> {
        Around {
            nodes: &self.nodes,
            missing: self.containers.missing(),
        }
    }

    /// Why the session does not hold all containers that it wants.
    pub(super) fn why_not_more(&self) -> Option<String> {
        let pool = self.containers.pool();
        if let Some(words) = pool.refusal() {
            return Some(format!("the ResourceManager refuses: {words}"));
        }
        if pool.pauses() {
            return Some(sentences::OTHERS_FIRST.into());
        }
        if pool.has_no_node() {
            let words = "each node that there is has a container of the session and no room for another, or has lost \
                         one of late";
            return Some(words.into());
        }
        let types = &self.edge.holding.cluster().limits().types;
        let phase = pool.phase()?;
        // A node that has room does not answer, and nothing comes in time, where the queue has none.
        if !matches!(phase, GangPhase::WaitingForRoom(_))
            && let Some(full) = self.queue_is_full()
        {
            return Some(full);
        }
        match phase {
            GangPhase::WaitingForRoom(why) => Some(sentences::no_room(why, types)),
            GangPhase::LetGo(let_go) => Some(sentences::let_go(let_go)),
            GangPhase::WaitingForNodes { silent, .. } => Some(sentences::silent(silent)),
            GangPhase::WaitingForContainers { .. } => None,
        }
    }

    /// That the queue gives no container more, where its scheduler says so.
    fn queue_is_full(&self) -> Option<String> {
        let (left, view) = (
            self.edge.holding.headroom()?,
            self.containers.pool().view()?,
        );
        // Before it says anything it says that there is nothing.
        let has_said = left.memory.0 > 0 || self.slots.offers().next().is_some();
        // Schedulers that know no such limit name a fair share, above which they give, too.
        let maximum = view.queue.maximum.filter(|_| has_said)?;
        let container = self.plan.slot.times(self.plan.room.get());
        let container = Resources {
            memory: MiB(container.memory.0.next_multiple_of(view.step.0.max(1))),
            ..container
        };
        let types = &self.edge.holding.cluster().limits().types;
        let full = QueueIsFull {
            queue: &view.queue.name,
            maximum,
            left,
            container,
        };
        (!view.fits(container, left)).then(|| full.sentence(types))
    }

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
        self.tell_misses(now);
    }

    /// Says to the clients of jobs that they miss their deadlines for certain, each once.
    fn tell_misses(&mut self, now: Millis) {
        for (job, sentence) in self.slots.misses(now) {
            let notice = ToClient::Notice(wire::Notice { sentence });
            let client = self.jobs.get(job).and_then(|entry| entry.client());
            let is_told = match (client, self.edge.detached.get(job)) {
                (Some(client), _) => {
                    let event = Some(notice);
                    // A client that does not keep up hears it the next time.
                    client.try_send(Ok(wire::JobEvent { event })).is_ok()
                }
                (None, Some(kept)) => {
                    kept.hear(notice);
                    true
                }
                (None, None) => false,
            };
            if is_told {
                self.slots.knows_miss(job);
            }
        }
    }

    /// The jobs that a client follows or watches, and why they have no slots.
    fn watched(&self) -> BTreeMap<JobId, Option<WhyWaiting>> {
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
