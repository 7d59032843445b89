//! What a detached job has printed so far, and what a task has.

use std::str::FromStr;

use follow::Layout;
use job::wire;
use tonic::Status;

use crate::error::SessionError;
use crate::reach::Reached;
use crate::record::SessionRecord;
use crate::status::short;

impl Reached {
    /// Prints it, of one rank where one is named; of a job of tasks, which there are. The exit code.
    ///
    /// # Errors
    ///
    /// There is no such job, nothing is kept of it, or the session does not answer.
    pub async fn logs(
        self,
        kept: &SessionRecord,
        job: u32,
        rank: Option<u32>,
        layout: Layout,
    ) -> Result<u8, SessionError> {
        let printed = follow::logs(self.client.clone(), job, rank, layout).await;
        let status = match printed {
            Ok(code) => return Ok(code),
            Err(status) => status,
        };
        let name = short(kept.owned.application, job);
        if rank.is_none()
            && let Ok(code) = follow::task_logs(self.client, job, &name).await
        {
            return Ok(code);
        }
        Err(refused(kept, &status))
    }

    /// Prints which tasks there are of a MapReduce job of which something can be read; the exit code.
    ///
    /// # Errors
    ///
    /// There is no such job, or the session does not answer.
    pub async fn tasks(self, kept: &SessionRecord, job: u32) -> Result<u8, SessionError> {
        let name = short(kept.owned.application, job);
        let printed = follow::task_logs(self.client, job, &name).await;
        printed.map_err(|status| refused(kept, &status))
    }

    /// Prints what an attempt at a task of a MapReduce job has printed so far; the exit code.
    ///
    /// # Errors
    ///
    /// There is no such job or attempt, nothing is kept of it, or the session does not answer.
    pub async fn task_log(
        self,
        kept: &SessionRecord,
        job: u32,
        task: TaskName,
    ) -> Result<u8, SessionError> {
        let request = wire::TaskLogRequest {
            job,
            reduce: task.is_reduce,
            task: Some(task.number),
            attempt: task.attempt,
        };
        let printed = follow::task_log(self.client, request).await;
        printed.map_err(|status| refused(kept, &status))
    }
}

fn refused(kept: &SessionRecord, status: &Status) -> SessionError {
    SessionError::Refused {
        name: kept.name.clone(),
        code: status.code(),
        why: status.message().to_owned(),
    }
}

/// Of which what is printed: a rank, or an attempt at a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogOf {
    /// A rank of an MPI job.
    Rank(u32),
    /// A task of a MapReduce job.
    Task(TaskName),
}

/// An attempt at a task, as it is called on a command line: `m3`, `r0.1`, or Hadoop's `m_000003_0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskName {
    /// A reduce; else a map.
    pub is_reduce: bool,
    /// The number of the map, or of the reduce's partition.
    pub number: u32,
    /// How many attempts there were at it before; `None`: the last one is meant.
    pub attempt: Option<u32>,
}

/// Neither a rank nor a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "that is neither a rank, as 3 is, nor a task: m3 is map 3, r0.1 the second attempt at reduce 0"
)]
pub struct NoLogOf;

impl FromStr for LogOf {
    type Err = NoLogOf;

    fn from_str(text: &str) -> Result<Self, NoLogOf> {
        if let Ok(rank) = number(text) {
            return Ok(Self::Rank(rank));
        }
        let (stage, rest) = text.split_at_checked(1).ok_or(NoLogOf)?;
        let is_reduce = match stage {
            "m" => false,
            "r" => true,
            _ => return Err(NoLogOf),
        };
        let rest = rest.strip_prefix('_').unwrap_or(rest);
        let (task, attempt) = match rest.split_once(['.', '_']) {
            Some((task, attempt)) => (task, Some(number(attempt)?)),
            None => (rest, None),
        };
        Ok(Self::Task(TaskName {
            is_reduce,
            number: number(task)?,
            attempt,
        }))
    }
}

/// Digits alone.
fn number(text: &str) -> Result<u32, NoLogOf> {
    match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => text.parse().map_err(|_other| NoLogOf),
        false => Err(NoLogOf),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_tasks_are_told_apart() {
        let task = |is_reduce, number, attempt| {
            Ok(LogOf::Task(TaskName {
                is_reduce,
                number,
                attempt,
            }))
        };
        for (text, wanted) in [
            ("3", Ok(LogOf::Rank(3))),
            ("m3", task(false, 3, None)),
            ("r0.1", task(true, 0, Some(1))),
            ("m_000003", task(false, 3, None)),
            ("m_000003_0", task(false, 3, Some(0))),
            ("", Err(NoLogOf)),
            ("m", Err(NoLogOf)),
            ("x3", Err(NoLogOf)),
            ("-3", Err(NoLogOf)),
            ("m+3", Err(NoLogOf)),
            ("m3.x", Err(NoLogOf)),
            ("99999999999", Err(NoLogOf)),
            ("\u{e4}3", Err(NoLogOf)),
        ] {
            assert_eq!(text.parse(), wanted, "{text}");
        }
    }
}
