//! The two applications that an ApplicationMaster serves, and what they share.
//!
//! ```text
//! news, time, clients that take an event ─▶ Turn ─┬▶ SingleJob: all is of its one job
//!                                                 └▶ Session: to the room that it is of, and to the jobs
//!                  what jobs and rooms want done ─▶ Edge: launchers, YARN, file systems, clients
//! ```
//!
//! An application of one job ([`single_job`]) ends with it. A [`session`] has many, which share its containers.

#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod alarm;
mod edge;
mod grants;
mod session;
mod single_job;
mod turns;

pub(crate) use edge::Edge;
pub(crate) use session::Session;
pub(crate) use single_job::SingleJob;
pub(crate) use turns::Turns;

use job::JobId;
use proto_hadoop::AppAttemptId;
use tonic::Status;

/// What a client hears that asks an MPI job for what its tasks have printed.
fn ranks_and_no_tasks(of: AppAttemptId, job: JobId) -> Status {
    let name = format!("s{}.{}", of.application.id, job.0);
    Status::failed_precondition(format!(
        "{name} has ranks and no tasks: gerbil logs {name} [RANK] shows what they have printed, where the job was left \
         to the session"
    ))
}
