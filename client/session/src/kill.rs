//! Ends one job of a session.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use job::wire;
use proto_hadoop::ApplicationId;
use tokio::time::{Instant, sleep};

use crate::error::SessionError;
use crate::reach::{Reached, answer};
use crate::record::SessionRecord;

/// Between two looks whether it is over.
const LOOK: Duration = Duration::from_millis(100);
/// For a job to end: its processes have a second for it, its launchers some more.
const ENDS: Duration = Duration::from_secs(60);

/// A job of a session, as lists call it: `s42.7`, or `application_1700000000000_0042.7`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobName {
    /// Of the application; `None`: any of that number.
    timestamp: Option<i64>,
    /// The application's number.
    application: i32,
    /// The job's number in it.
    pub job: u32,
}

/// No name of a job in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("that is no job of a session, as s42.7 is")]
pub struct NoJobName;

impl FromStr for JobName {
    type Err = NoJobName;

    fn from_str(text: &str) -> Result<Self, NoJobName> {
        let (application, job) = text.rsplit_once('.').ok_or(NoJobName)?;
        let job = job.parse().map_err(|_other| NoJobName)?;
        if let Some(number) = application.strip_prefix('s') {
            return Ok(Self {
                timestamp: None,
                application: number.parse().map_err(|_other| NoJobName)?,
                job,
            });
        }
        let id: ApplicationId = application.parse().map_err(|_other| NoJobName)?;
        Ok(Self {
            timestamp: Some(id.cluster_timestamp),
            application: id.id,
            job,
        })
    }
}

impl fmt::Display for JobName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}.{}", self.application, self.job)
    }
}

impl JobName {
    /// Whether it means job `number` of `application`.
    #[must_use]
    pub fn is(self, application: ApplicationId, number: u32) -> bool {
        self.is_of(application) && self.job == number
    }

    /// Whether it means a job of `application`.
    #[must_use]
    pub fn is_of(self, application: ApplicationId) -> bool {
        let timestamp = self.timestamp.unwrap_or(application.cluster_timestamp);
        (timestamp, self.application) == (application.cluster_timestamp, application.id)
    }
}

impl Reached {
    /// Ends a job, and waits until nothing of it is left.
    ///
    /// # Errors
    ///
    /// There is no such job, it does not end, or the session does not answer.
    pub async fn kill(&mut self, kept: &SessionRecord, job: u32) -> Result<(), SessionError> {
        let kill = wire::JobKill { job };
        answer(&kept.name, self.client.kill_job(kill)).await?;
        let since = Instant::now();
        while self.status(kept).await?.jobs.iter().any(|of| of.job == job) {
            if since.elapsed() > ENDS {
                return Err(SessionError::Refused {
                    name: kept.name.clone(),
                    code: tonic::Code::DeadlineExceeded,
                    why: format!("job {job} has not ended within {} s", ENDS.as_secs()),
                });
            }
            sleep(LOOK).await;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_called_by_its_application_and_its_number() {
        let job: JobName = "s42.7".parse().unwrap();
        assert_eq!((job.job, job.to_string().as_str()), (7, "s42.7"));
        let own: ApplicationId = "application_1700000000000_0042".parse().unwrap();
        let other: ApplicationId = "application_1800000000000_0042".parse().unwrap();
        assert!(job.is_of(own) && job.is_of(other));
        let job: JobName = "application_1700000000000_0042.7".parse().unwrap();
        assert!(job.is_of(own) && !job.is_of(other));
        for none in [
            "application_1700000000000_0042",
            "s42",
            "42.7",
            "s.7",
            "s42.x",
        ] {
            assert_eq!(none.parse::<JobName>(), Err(NoJobName), "{none}");
        }
    }
}
