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

/// A job, as lists call it: `s42.7`. So it is called, too: `application_1700000000000_0042.7`, as reports have it
/// `application_1700000000000_0042_7`, and where the application has one job, or its last one is meant,
/// `application_1700000000000_0042` or `s42`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobName {
    /// Of the application; `None`: any of that number.
    timestamp: Option<i64>,
    /// The application's number.
    application: i32,
    /// The job's number in it; `None`: its only or its last one.
    pub number: Option<u32>,
}

/// No name of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "that is no job, as s42.7 is, which is application_1700000000000_0042.7 in full, nor the application of one"
)]
pub struct NoJobName;

impl FromStr for JobName {
    type Err = NoJobName;

    fn from_str(text: &str) -> Result<Self, NoJobName> {
        if let Ok(application) = of_application(text) {
            return Ok(application);
        }
        let (application, job) = text.rsplit_once(['.', '_']).ok_or(NoJobName)?;
        Ok(Self {
            number: Some(number(job)?),
            ..of_application(application)?
        })
    }
}

/// An application alone.
fn of_application(text: &str) -> Result<JobName, NoJobName> {
    if let Some(id) = text.strip_prefix('s') {
        return Ok(JobName {
            timestamp: None,
            application: number(id)?,
            number: None,
        });
    }
    let id: ApplicationId = text.parse().map_err(|_other| NoJobName)?;
    Ok(JobName::of(id))
}

/// Digits alone.
fn number<T: FromStr>(text: &str) -> Result<T, NoJobName> {
    match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => text.parse().map_err(|_other| NoJobName),
        false => Err(NoJobName),
    }
}

impl fmt::Display for JobName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.application;
        match (self.number, self.timestamp) {
            (Some(job), _) => write!(f, "s{id}.{job}"),
            (None, Some(cluster_timestamp)) => ApplicationId {
                cluster_timestamp,
                id,
            }
            .fmt(f),
            (None, None) => write!(f, "s{id}"),
        }
    }
}

impl JobName {
    /// The only job of an application, or its last one.
    #[must_use]
    pub const fn of(application: ApplicationId) -> Self {
        Self {
            timestamp: Some(application.cluster_timestamp),
            application: application.id,
            number: None,
        }
    }

    /// The application, where it is named in full.
    #[must_use]
    pub fn application(self) -> Option<ApplicationId> {
        Some(ApplicationId {
            cluster_timestamp: self.timestamp?,
            id: self.application,
        })
    }

    /// Whether it may mean job `number` of `application`.
    #[must_use]
    pub fn is(self, application: ApplicationId, number: u32) -> bool {
        self.is_of(application) && self.number.is_none_or(|job| job == number)
    }

    /// Whether it means a job of `application`.
    #[must_use]
    pub fn is_of(self, application: ApplicationId) -> bool {
        let timestamp = self.timestamp.unwrap_or(application.cluster_timestamp);
        (timestamp, self.application) == (application.cluster_timestamp, application.id)
    }

    /// It with its number.
    #[must_use]
    pub const fn numbered(self, number: u32) -> Self {
        Self {
            number: Some(number),
            ..self
        }
    }
}

impl Reached {
    /// The number of a job: where its name has none, that of the last one that runs, or that has ended and of which
    /// something is kept.
    ///
    /// # Errors
    ///
    /// No job is there, or the session does not answer.
    pub async fn number(
        &mut self,
        kept: &SessionRecord,
        job: JobName,
    ) -> Result<u32, SessionError> {
        if let Some(number) = job.number {
            return Ok(number);
        }
        let status = self.status(kept).await?;
        let running = status.jobs.last().map(|of| of.job);
        let last = running.or_else(|| status.kept.last().map(|of| of.job));
        last.ok_or(SessionError::NoJobRuns {
            application: kept.owned.application,
        })
    }

    /// The number of a job that is to be ended: where its name has none, that of the only one.
    ///
    /// # Errors
    ///
    /// There is none, or there are several; or the session does not answer.
    pub async fn only(&mut self, kept: &SessionRecord, job: JobName) -> Result<u32, SessionError> {
        if let Some(number) = job.number {
            return Ok(number);
        }
        let application = kept.owned.application;
        let jobs = self.status(kept).await?.jobs;
        match jobs.as_slice() {
            [] => Err(SessionError::NoJobRuns { application }),
            [one] => Ok(one.job),
            several => Err(SessionError::Several {
                application,
                jobs: several.iter().map(|of| of.id.clone()).collect(),
            }),
        }
    }

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
    fn one_job_has_one_name_and_every_form_of_it_is_understood() {
        let own: ApplicationId = "application_1700000000000_0042".parse().unwrap();
        let other: ApplicationId = "application_1800000000000_0042".parse().unwrap();
        for (text, is_of_other) in [
            ("s42.7", true),
            ("s42_7", true),
            ("application_1700000000000_0042.7", false),
            ("application_1700000000000_0042_7", false),
        ] {
            let job: JobName = text.parse().unwrap();
            assert_eq!(job.to_string(), "s42.7", "{text}");
            assert!(job.is(own, 7) && !job.is(own, 8), "{text}");
            assert_eq!(job.is(other, 7), is_of_other, "{text}");
        }
        let last: JobName = "application_1700000000000_0042".parse().unwrap();
        assert_eq!(last.to_string(), "application_1700000000000_0042");
        assert!(last.is(own, 1) && last.is(own, 9) && !last.is(other, 1));
        assert_eq!(last.numbered(3).to_string(), "s42.3");
        let last: JobName = "s42".parse().unwrap();
        assert!(last.is(own, 1) && last.is(other, 9));
        assert_eq!((last.number, last.to_string().as_str()), (None, "s42"));
        for none in [
            "",
            "s",
            "42.7",
            "s.7",
            "s42.x",
            "s42.",
            "s-42.7",
            "s42.+7",
            "cpi",
            "application_x_1",
        ] {
            assert_eq!(none.parse::<JobName>(), Err(NoJobName), "{none}");
        }
    }
}
