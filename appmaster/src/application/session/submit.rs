//! A job comes to a session.

mod mapreduce;
mod mpi;

use holding::same_build;
use job::wire;
use job::wire::submission::Kind;
use policy::lending::{SlotRequest, Wants};
use policy::{Millis, Resources};
use tonic::Status;

use super::Session;
use crate::jobs::JobEntry;
use crate::slots::LoanTerms;
use crate::work::JobWork;

/// For the client of a job to follow it.
const ATTACH: Millis = Millis(30_000);
/// Jobs that may be there at the same time: each costs some kilobytes here.
const JOBS_MAX: usize = 20_000;
/// Where jobs wait that name no queue.
const DEFAULT_QUEUE: &str = "default";
/// Letters of a job's name.
const NAME_MAX: usize = 256;

/// A job that is taken.
struct TakenJob {
    work: JobWork,
    wants: Wants,
    /// What a process of it takes of its container.
    unit: Resources,
    /// Its client wants to be told every reason.
    explain: bool,
}

impl Session {
    /// Takes a job; its number, or why not.
    pub(super) fn submit(&mut self, submission: wire::Submission) -> Result<u32, Status> {
        same_build(&submission.build)?;
        let now = self.now();
        if !self.life.is_open() {
            return Err(refused(
                "it is being stopped and takes no further job".into(),
            ));
        }
        if self.jobs.len() >= JOBS_MAX {
            return Err(Status::resource_exhausted(format!(
                "it has {JOBS_MAX} jobs, and takes the next when one of them is over"
            )));
        }
        let queue = match submission.queue.as_str() {
            "" => DEFAULT_QUEUE,
            named => named,
        };
        if let Some(queues) = self.slots.queues()
            && !queues.contains(&queue)
        {
            return Err(refused(unknown_queue(queue, &self.plan.policy, &queues)));
        }
        let queue = queue.to_owned();
        let job = self.jobs.next_number();
        let taken = match submission.kind {
            Some(Kind::Mpi(mpi)) => self.mpi(job, &mpi)?,
            Some(Kind::Mapreduce(mapreduce)) => self.mapreduce(job, &mapreduce)?,
            None => return Err(Status::invalid_argument("a job of no kind")),
        };
        let given = LoanTerms {
            name: submission.name.chars().take(NAME_MAX).collect(),
            addresses: submission.addresses,
            files: submission.files,
            request: SlotRequest {
                wants: taken.wants,
                unit: taken.unit,
                user: submission.user,
                queue,
                priority: submission.priority,
            },
            explain: taken.explain,
        };
        self.slots.submitted(now, job, given);
        self.life.job_came();
        let console = self.edge.consoles.begin(job);
        let entry = JobEntry::of_session(taken.work, console, now, now.plus(ATTACH));
        self.jobs.insert(job, entry);
        self.begin(job);
        if submission.detached {
            self.detach(job);
        }
        Ok(job.0)
    }
}

fn unknown_queue(queue: &str, policy: &str, queues: &[&str]) -> String {
    format!(
        "its policy {policy} has no queue {queue}; there {} {}",
        if queues.len() == 1 { "is" } else { "are" },
        queues.join(", ")
    )
}

fn refused(why: String) -> Status {
    Status::failed_precondition(why)
}

fn senseless(error: impl std::fmt::Display) -> Status {
    Status::invalid_argument(format!("a job that makes no sense: {error}"))
}

/// One process has to fit into a container of the session.
fn fits(unit: Resources, container: Resources) -> Result<(), Status> {
    match unit.memory > container.memory {
        true => Err(refused(format!(
            "a process of {} does not fit into one of its containers, which have {}",
            unit.memory, container.memory
        ))),
        false => Ok(()),
    }
}
