//! A job comes to a session.

use std::sync::Arc;

use holding::same_build;
use job::wire::submission::Kind;
use job::{MpiJob, wire};
use policy::lending::{Wants, Wish};
use policy::lifecycle::Job;
use policy::{Demand, Millis, Mode, Resources};
use tonic::Status;

use crate::console::Console;
use crate::loan::{Given, Loan};
use crate::mpi::checkpoints::Checkpoints;
use crate::mpi::explain::Story;
use crate::mpi::{Beginning, Mpi};
use crate::run::now_us;
use crate::session::{Entry, JobId, Session};
use crate::sharing::Stage;
use crate::work::Work;

/// For the client of a job to follow it.
const ATTACH: Millis = Millis(30_000);
/// Jobs that may be there at the same time: each costs some kilobytes here.
const JOBS_MAX: usize = 20_000;
/// Letters of a job's name.
const NAME_MAX: usize = 256;

impl Session {
    /// Takes a job; its number, or why not.
    pub(crate) fn submit(&mut self, submission: wire::Submission) -> Result<u32, Status> {
        same_build(&submission.build)?;
        let now = self.now();
        let refused = |why: String| Status::failed_precondition(why);
        let Some(sharing) = &mut self.sharing else {
            return Err(refused(
                "this application was started for one job and takes no other".into(),
            ));
        };
        if sharing.stage != Stage::Open {
            return Err(refused(
                "it is being stopped and takes no further job".into(),
            ));
        }
        if self.jobs.len() >= JOBS_MAX {
            return Err(Status::resource_exhausted(format!(
                "it has {JOBS_MAX} jobs, and takes the next when one of them is over"
            )));
        }
        let Some(Kind::Mpi(mpi)) = submission.kind else {
            return Err(refused("it runs MPI jobs".into()));
        };
        let mut mpi: MpiJob = serde_json::from_slice(&mpi).map_err(|error| {
            Status::invalid_argument(format!("a job that makes no sense: {error}"))
        })?;
        if mpi.checkpoints.is_some() || !mpi.stage_out.is_empty() {
            return Err(refused(
                "jobs of a session have neither checkpoints nor results that are staged out".into(),
            ));
        }
        let plan = &sharing.plan;
        let unit = Resources {
            memory: match mpi.demand.memory_is_explicit {
                true => mpi.demand.unit.memory,
                false => plan.slot.memory,
            },
            ..plan.slot
        };
        let (processes, container) = (mpi.processes(), plan.slot.times(plan.slots.get()));
        let slots = plan.slots.get().saturating_mul(plan.containers.get());
        if unit.memory > container.memory {
            return Err(refused(format!(
                "a process of {} does not fit into one of its containers, which have {}",
                unit.memory, container.memory
            )));
        }
        let by_memory = container.memory.0 / unit.memory.0.max(1);
        let by_memory = u32::try_from(by_memory).unwrap_or(u32::MAX);
        let most = by_memory
            .min(plan.slots.get())
            .saturating_mul(plan.containers.get());
        if processes > most {
            return Err(refused(format!(
                "{processes} processes of {} want as many slots at once, and of its {slots} slots \
                 {most} can be such; start a larger one (--containers, --slots-per-container, \
                 --memory)",
                unit.memory
            )));
        }
        let demand = Demand {
            memory_is_explicit: true,
            oversubscribe: false,
            ..Demand::anywhere(mpi.demand.processes, unit)
        };
        mpi.demand = Demand {
            mode: Mode::All,
            numbering: mpi.demand.numbering.clone(),
            ..demand
        };
        // The slots that it has are those that there are.
        mpi.limits.run.restarts = 0;
        mpi.limits.run.replacements = 0;
        let job = JobId(sharing.next_job);
        sharing.next_job = sharing.next_job.saturating_add(1);
        let given = Given {
            name: submission.name.chars().take(NAME_MAX).collect(),
            addresses: submission.addresses,
            files: submission.files,
            wish: Wish {
                wants: Wants::Gang(processes),
                unit,
                user: submission.user,
                queue: "default".into(),
                priority: submission.priority,
            },
        };
        let loan = Loan::new(job, now, now.plus(ATTACH), given);
        self.is_busy();
        let entry = self.entry(job, now, mpi, loan);
        self.consoles.insert(job, Arc::clone(&entry.console));
        self.jobs.insert(job, entry);
        self.begin(job);
        Ok(job.0)
    }

    fn entry(&self, job: JobId, now: Millis, mpi: MpiJob, loan: Loan) -> Entry {
        let limits = self.holding.cluster().limits().clone();
        let demand = mpi.demand.clone();
        let began_us = now_us();
        let mpi = Mpi::new(Beginning {
            attempt: self.attempt,
            name: format!("{}_{}", self.attempt, job.0),
            limits,
            candidates: None,
            story: Story::new(demand.clone(), mpi.explain),
            job: Job::new(demand, mpi.limits, rand::random()),
            checkpoints: Checkpoints::default(),
            timing: wire::Timing {
                appmaster_started_us: began_us,
                registered_us: began_us,
                ..wire::Timing::default()
            },
            began_us,
            description: mpi,
        });
        let console = Arc::new(Console::new());
        Entry {
            began: now,
            loan: Some(loan),
            ..Entry::new(Work::Mpi(Box::new(mpi)), console)
        }
    }
}
