//! What a session holds and runs, for whoever asks.

use job::wire;
use policy::gang::Phase;
use policy::lending::{Line, Wants};
use tonic::Status;

use crate::loan::Loan;
use crate::session::{Entry, JobId, Session};
use crate::sharing::{Sharing, Stage};

impl Sharing {
    /// The jobs that wait; holders of slots are called by the numbers that their users know.
    fn line(&self) -> Line<'_> {
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
            is_stopping: sharing.stage != Stage::Open,
            kept: self.detached.ended(),
            told: sharing.deciding.told,
            deciding_us: u64::try_from(sharing.deciding.took.as_micros()).unwrap_or(u64::MAX),
        })
    }

    fn row(&self, job: JobId, entry: &Entry, line: &mut Line<'_>) -> Option<wire::SessionJob> {
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
            user: loan.wish.user.clone(),
            priority: loan.wish.priority,
            state: state.into(),
            slots: self.slots(loan),
            age_ms: self.now().0.saturating_sub(loan.submitted.0),
            waits: waits.unwrap_or_default(),
            detached: self.detached.get(job).is_some(),
            queue: loan.wish.queue.clone(),
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
        match (&loan.wish.wants, loan.number, &self.sharing) {
            (Wants::Gang(processes), ..) => *processes,
            (Wants::Tasks { .. }, Some(number), Some(sharing)) => sharing.lending.held(number),
            (Wants::Tasks { .. }, ..) => 0,
        }
    }

    /// Why a job has no slots, a sentence; `None`: it has, or needs none.
    fn waits(&self, loan: &Loan, line: &mut Line<'_>) -> Option<String> {
        let sharing = self.sharing.as_ref()?;
        match loan.number {
            Some(number) => {
                let waits = line.waits(number)?;
                if let Some(lack) = sharing.lack(number) {
                    return Some(sentences::waits_for_element(&lack));
                }
                let missing = sharing.pool.missing();
                Some(sentences::waits_for_slots(&waits, missing))
            }
            None if loan.lent.is_none() && !loan.is_done => {
                Some(sentences::waits_for_turn(sharing.running()))
            }
            None => None,
        }
    }

    /// Why the session does not hold all containers that it wants.
    fn why_not_more(&self) -> Option<String> {
        let sharing = self.sharing.as_ref()?;
        if let Some(words) = &sharing.refused {
            return Some(format!("the ResourceManager refuses: {words}"));
        }
        if sharing.pool.is_everywhere() {
            let words =
                "each node that there is has a container of the session, or has lost one of late";
            return Some(words.into());
        }
        let types = &self.holding.cluster().limits().types;
        match sharing.pool.phase()? {
            Phase::WaitingForRoom(why) => Some(sentences::no_room(why, types)),
            Phase::LetGo(let_go) => Some(sentences::let_go(let_go)),
            Phase::WaitingForNodes { silent, .. } => Some(sentences::silent(silent)),
            Phase::WaitingForContainers { .. } => None,
        }
    }

    /// Says to the clients of jobs that wait what they wait for.
    pub(crate) fn show_waiting(&self) {
        let Some(sharing) = &self.sharing else {
            return;
        };
        let mut line = sharing.line();
        for (job, entry) in &self.jobs {
            let Some(loan) = &entry.loan else {
                continue;
            };
            let kept = match &entry.client {
                Some(_) => None,
                // Of one that is detached and only waits whoever watches it hears.
                None => match self.detached.get(*job).filter(|kept| kept.is_watched()) {
                    None => continue,
                    watched => watched,
                },
            };
            if let Some(note) = self.waits(loan, &mut line) {
                let phase = wire::Phase {
                    kind: wire::phase::Kind::WaitingForRoom.into(),
                    note,
                    ..wire::Phase::default()
                };
                let event = wire::job_event::Event::Phase(phase);
                if let Some(client) = &entry.client {
                    let event = Some(event);
                    let _shown = client.try_send(Ok(wire::JobEvent { event })).is_ok();
                } else if let Some(kept) = kept {
                    kept.hear(event);
                }
            }
        }
    }
}
