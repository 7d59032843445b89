//! What a session holds and runs, for whoever asks.

use job::JobId;
use job::wire;
use policy::gang::GangPhase;
use policy::lending::{WaitingLine, Wants};
use policy::{MiB, Resources};
use sentences::QueueIsFull;
use tonic::Status;

use crate::loan::Loan;
use crate::session::{JobEntry, Session};
use crate::sharing::Sharing;

impl Sharing {
    /// The jobs that wait; holders of slots are called by the numbers that their users know.
    pub(crate) fn line(&self) -> WaitingLine<'_> {
        self.lending
            .line(|number| self.job_of(number).map(|job| job.0))
    }
}

impl Session {
    /// What a session holds and runs.
    pub(crate) fn status(&self) -> Result<wire::SessionStatus, Status> {
        let Some(sharing) = &self.sharing else {
            return Err(Status::failed_precondition(
                "this application was started for one job and is no session",
            ));
        };
        let mut line = sharing.line();
        let containers = sharing
            .lending
            .offers()
            .map(|(offer, lent)| wire::SessionContainer {
                container: offer.container.to_string(),
                host: offer.host.clone(),
                slots: offer.slots,
                lent,
                leaves: sharing
                    .pool
                    .leaves_for(&offer.container)
                    .unwrap_or_default()
                    .to_owned(),
            });
        Ok(wire::SessionStatus {
            name: sharing.plan.name.clone(),
            policy: sharing.plan.policy.clone(),
            containers: containers.collect(),
            jobs: self
                .jobs
                .iter()
                .filter_map(|(job, entry)| self.row(*job, entry, &mut line))
                .collect(),
            ended: sharing.ended,
            asked: sharing.pool.missing(),
            asking: self.why_not_more().unwrap_or_default(),
            is_stopping: !sharing.life.is_open(),
            kept: self.detached.ended(),
            unreached: sharing.nodes.unreached(),
            told: sharing.deciding.told,
            deciding_us: u64::try_from(sharing.deciding.took.as_micros()).unwrap_or(u64::MAX),
        })
    }

    fn row(
        &self,
        job: JobId,
        entry: &JobEntry,
        line: &mut WaitingLine<'_>,
    ) -> Option<wire::SessionJob> {
        use wire::session_job::State;
        let loan = entry.loan.as_ref()?;
        let waits = self.waits(loan, line);
        let state = match (&waits, entry.work.is_ending()) {
            (_, true) => State::Ending,
            (Some(_), false) => State::Waiting,
            (None, false) => State::Running,
        };
        Some(wire::SessionJob {
            job: job.0,
            name: loan.name.clone(),
            user: loan.request.user.clone(),
            priority: loan.request.priority,
            state: state.into(),
            slots: self.slots(loan),
            age_ms: self.now().0.saturating_sub(loan.submitted.0),
            waits: waits.map_or_else(String::new, |waits| waits.words),
            detached: self.detached.get(job).is_some(),
            queue: loan.request.queue.clone(),
            shares: self.shares(loan),
        })
    }

    /// Where a job has slots.
    fn shares(&self, loan: &Loan) -> Vec<wire::SessionShare> {
        let (Some(number), Some(sharing)) = (loan.number, &self.sharing) else {
            return Vec::new();
        };
        let shares = sharing.lending.shares(number).into_iter();
        let shares = shares.map(|(offer, slots)| wire::SessionShare {
            host: offer.host.clone(),
            slots,
        });
        shares.collect()
    }

    /// Slots that a job wants, or has where it takes them as they come.
    fn slots(&self, loan: &Loan) -> u32 {
        match (&loan.request.wants, loan.number, &self.sharing) {
            (Wants::Gang(processes), ..) => *processes,
            (Wants::Tasks { .. }, Some(number), Some(sharing)) => sharing.lending.held(number),
            (Wants::Tasks { .. }, ..) => 0,
        }
    }

    /// Why the session does not hold all containers that it wants.
    pub(crate) fn why_not_more(&self) -> Option<String> {
        let sharing = self.sharing.as_ref()?;
        if let Some(words) = sharing.pool.refusal() {
            return Some(format!("the ResourceManager refuses: {words}"));
        }
        if sharing.pool.rests() {
            return Some(sentences::OTHERS_FIRST.into());
        }
        if sharing.pool.has_no_node() {
            let words = "each node that there is has a container of the session and no room for another, or has lost \
                         one of late";
            return Some(words.into());
        }
        let types = &self.holding.cluster().limits().types;
        let phase = sharing.pool.phase()?;
        // A node that has room does not answer, and nothing comes in time, where the queue has none.
        if !matches!(phase, GangPhase::WaitingForRoom(_))
            && let Some(full) = self.queue_is_full(sharing)
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
    fn queue_is_full(&self, sharing: &Sharing) -> Option<String> {
        let (left, view) = (self.holding.headroom()?, sharing.pool.view()?);
        // Before it says anything it says that there is nothing.
        let has_said = left.memory.0 > 0 || sharing.lending.offers().next().is_some();
        // Schedulers that know no such limit name a fair share, above which they give, too.
        let maximum = view.queue.maximum.filter(|_| has_said)?;
        let container = sharing.plan.slot.times(sharing.plan.room.get());
        let container = Resources {
            memory: MiB(container.memory.0.next_multiple_of(view.step.0.max(1))),
            ..container
        };
        let types = &self.holding.cluster().limits().types;
        let full = QueueIsFull {
            queue: &view.queue.name,
            maximum,
            left,
            container,
        };
        (!view.fits(container, left)).then(|| full.sentence(types))
    }
}
