//! Gives a session a job.

use std::time::Duration;

use job::wire::submission::Kind;
use job::{MapReduceJob, MpiJob, Staged, StagedKind, wire};
use storage::Address;

use crate::error::SessionError;
use crate::reach::{Reached, answer};
use crate::record::SessionRecord;

/// A job, and what lists say of it.
#[derive(Debug)]
pub struct JobSubmission<'a> {
    /// Of its program.
    pub name: String,
    /// Whose it is.
    pub user: &'a str,
    /// Where it waits, for policies that share out between queues.
    pub queue: &'a str,
    /// Higher goes first, where the session's policy looks at it.
    pub priority: i32,
    /// So long from now it wants to be done.
    pub deadline: Option<Duration>,
    /// What an earlier run of it was like, as a line of a trace; empty: nobody says.
    pub profile: String,
    /// What runs.
    pub runs: Runs<'a>,
    /// Where its files are staged.
    pub address: &'a Address,
    /// No client follows it.
    pub detached: bool,
    /// The files: those of its programs, and what they need. `url`s begin as `address` says.
    pub staged: &'a [Staged],
}

/// What a job runs.
#[derive(Clone, Copy, Debug)]
pub enum Runs<'a> {
    /// Ranks of an MPI program.
    Mpi(&'a MpiJob),
    /// Maps and reduces.
    MapReduce(&'a MapReduceJob),
}

impl Runs<'_> {
    fn kind(self) -> Result<Kind, serde_json::Error> {
        Ok(match self {
            Self::Mpi(job) => Kind::Mpi(serde_json::to_vec(job)?),
            Self::MapReduce(job) => Kind::Mapreduce(serde_json::to_vec(job)?),
        })
    }
}

impl Reached {
    /// Submits it; the job's number in the session.
    ///
    /// # Errors
    ///
    /// What the session says against it.
    pub async fn submit(
        &mut self,
        kept: &SessionRecord,
        job: &JobSubmission<'_>,
    ) -> Result<u32, SessionError> {
        let origin = job.address.url("");
        let files = job.staged.iter().map(|staged| wire::StagedFile {
            link: staged.link.clone(),
            address: 0,
            path: staged
                .url
                .strip_prefix(&origin)
                .unwrap_or(&staged.url)
                .to_owned(),
            size: staged.size,
            unpack: staged.kind == StagedKind::Archive,
        });
        let unwritable = |error: serde_json::Error| SessionError::Refused {
            name: kept.name.clone(),
            code: tonic::Code::Internal,
            why: format!("cannot write the job's description: {error}"),
        };
        let submission = wire::Submission {
            build: job::BUILD.into(),
            name: job.name.clone(),
            user: job.user.to_owned(),
            queue: job.queue.to_owned(),
            priority: job.priority,
            kind: Some(job.runs.kind().map_err(unwritable)?),
            addresses: vec![serde_json::to_string(job.address).map_err(unwritable)?],
            files: files.collect(),
            detached: job.detached,
            // Less than a millisecond is not the same as none.
            deadline_ms: job.deadline.map_or(0, |within| {
                u64::try_from(within.as_millis()).unwrap_or(u64::MAX).max(1)
            }),
            profile: job.profile.clone(),
        };
        let submitted = answer(&kept.name, self.client.submit(submission)).await?;
        Ok(submitted.job)
    }
}
