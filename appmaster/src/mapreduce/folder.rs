//! The output folder of a job: made, filled, or given up. Each is a task whose end is heard.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use output_committer::{OutputCommitter, PATIENCE, WhyRepeated};
use policy::commit::{
    Inheritance, Inherited, JobCommit, JobVerdict, OWNER, Setup, SetupVerdict, TaskResult,
    job_folder,
};
use proto_hadoop::{AppAttemptId, ApplicationClient, ApplicationId};
use storage::Address;

use crate::ledger::Storages;

/// A job that has failed has something to tell, and nothing to lose: what is left over can be removed by hand.
const TO_GIVE_UP: Duration = Duration::from_secs(60);

/// An output folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Folder {
    /// Its file system.
    pub(crate) address: Address,
    /// Absolute.
    pub(crate) path: String,
    /// The job's text, by which its own folder is called.
    pub(crate) job: String,
}

/// What a job wants done with its output folder.
#[derive(Debug)]
pub(crate) enum FolderWork {
    /// It is made, and the job's alone.
    SetUp {
        /// Nothing had its name a moment ago.
        is_new: bool,
    },
    /// What an attempt of each task has written becomes the output.
    Commit(Vec<TaskResult>),
    /// Nothing of the job is left there.
    GiveUp,
}

/// What it came to, or why it came to nothing, a sentence.
#[derive(Debug)]
pub(crate) enum FolderDone {
    /// The job may write there.
    SetUp(Result<(), String>),
    /// The output is there.
    Committed(Result<(), String>),
    /// Nothing is left, as far as that could be done.
    GivenUp(Result<(), String>),
}

/// Whom an output folder may belong to.
pub(crate) struct Others {
    /// Asked whether another application lives.
    pub(crate) cluster: Arc<ApplicationClient>,
    /// This AM.
    pub(crate) own: AppAttemptId,
    /// The numbers of its jobs.
    pub(crate) jobs: BTreeSet<u32>,
}

impl FolderWork {
    /// For how long the file system may be out of reach.
    const fn patience(&self) -> Duration {
        match self {
            Self::SetUp { .. } | Self::Commit(_) => PATIENCE,
            Self::GiveUp => TO_GIVE_UP,
        }
    }

    /// That it is done, or why not.
    const fn done(&self, done: Result<(), String>) -> FolderDone {
        match self {
            Self::SetUp { .. } => FolderDone::SetUp(done),
            Self::Commit(_) => FolderDone::Committed(done),
            Self::GiveUp => FolderDone::GivenUp(done),
        }
    }
}

impl Folder {
    /// The text by which a job is called: no other has it, and another AM calls it the same.
    pub(crate) fn job(application: ApplicationId, job: u32) -> String {
        format!("{application}_{job}")
    }

    pub(crate) fn url(&self) -> String {
        self.address.url(&self.path)
    }

    /// Does it. `waits` hears a sentence where that takes longer because the file system takes no files for now.
    pub(crate) async fn carry_out(
        self,
        work: FolderWork,
        others: Others,
        storages: Storages,
        waits: impl AsyncFnOnce(String),
    ) -> FolderDone {
        let patience = work.patience();
        let output = match self.output(&storages) {
            Ok(output) => output.patient_for(patience),
            Err(sentence) => return work.done(Err(sentence)),
        };
        let mut waiting = output.waits();
        let mut doing = pin!(async {
            let done = match &work {
                FolderWork::SetUp { is_new } => self.set_up(&output, *is_new, &others).await,
                FolderWork::Commit(results) => {
                    let commit = JobCommit::commit(&self.job, others.attempt(), results);
                    self.finish(&output, commit).await
                }
                FolderWork::GiveUp => {
                    let give_up = JobCommit::give_up(&self.job, others.attempt());
                    self.finish(&output, give_up).await
                }
            };
            work.done(done)
        });
        let sentence = tokio::select! {
            done = &mut doing => return done,
            Ok(wait) = waiting.wait_for(Option::is_some) => wait.as_ref().map(|wait| self.has_to_wait(wait, &work)),
        };
        if let Some(sentence) = sentence {
            waits(sentence).await;
        }
        doing.await
    }

    fn has_to_wait(&self, wait: &WhyRepeated, work: &FolderWork) -> String {
        let (url, seconds) = (self.url(), work.patience().as_secs());
        match (wait, work) {
            (WhyRepeated::SafeMode, _) => format!(
                "the output folder {url} has to wait: HDFS is in safe mode and takes no files (hdfs dfsadmin -safemode \
                 get); the job goes on when HDFS has left it, and is given up after {seconds} s"
            ),
            (WhyRepeated::Away(why), FolderWork::GiveUp) => format!(
                "what the job has left in the output folder {url} has to wait to be removed: {why}; the job ends when it \
                 is, or after {seconds} s"
            ),
            (WhyRepeated::Away(why), FolderWork::SetUp { .. } | FolderWork::Commit(_)) => format!(
                "the output folder {url} has to wait: {why}; the job goes on when that has passed, and is given up \
                 after {seconds} s"
            ),
        }
    }

    /// Finishes what an ApplicationMaster before `own` has begun to commit, or gives it up.
    ///
    /// # Errors
    ///
    /// Why neither could be done, a sentence.
    pub(crate) async fn inherit(self, own: AppAttemptId) -> Result<Inheritance, String> {
        let attempt = u32::try_from(own.attempt).unwrap_or(0);
        let inherited = Inherited::new(&self.job, attempt);
        let output = self.output(&Storages::default())?;
        match output.inherit(inherited).await {
            Ok(Inheritance::Taken { whole }) => Ok(Inheritance::Taken {
                whole: output.url(&whole),
            }),
            became => became.map_err(|error| error.to_string()),
        }
    }

    fn output(&self, storages: &Storages) -> Result<OutputCommitter, String> {
        let storage = storages.of(&self.address);
        let storage = storage.map_err(|error| error.to_string())?;
        Ok(OutputCommitter::new(storage, &self.path))
    }

    async fn set_up(
        &self,
        output: &OutputCommitter,
        is_new: bool,
        others: &Others,
    ) -> Result<(), String> {
        let setup = match is_new {
            true => Setup::new(&self.job).where_nothing_was(),
            false => Setup::new(&self.job),
        };
        let verdict = output.set_up(setup, |job| others.live(job));
        let url = self.url();
        match verdict.await.map_err(|error| error.to_string())? {
            SetupVerdict::Owner => Ok(()),
            SetupVerdict::OutputExists => Err(format!(
                "the output folder {url} exists already; name another one"
            )),
            SetupVerdict::Taken { by } => Err(format!(
                "the output folder {url} is being written by {by}; name another one, or wait for its end"
            )),
            SetupVerdict::Orphaned { by } => Err(format!(
                "{} names {by}, which is over, and whose folder is gone: remove it, or name another \
                 output folder",
                output.url(OWNER)
            )),
            SetupVerdict::NoParent => Err(format!(
                "the output folder {url} cannot be made: something above it is a file"
            )),
            SetupVerdict::Abandoned => Err(format!("the output folder {url} cannot be made")),
        }
    }

    async fn finish(&self, output: &OutputCommitter, machine: JobCommit) -> Result<(), String> {
        let done = output.finish_job(machine).await;
        let url = self.url();
        match done.map_err(|error| error.to_string())? {
            JobVerdict::Committed | JobVerdict::GivenUp => Ok(()),
            JobVerdict::Missing(file) => Err(format!(
                "{file} of the output {url} is gone: somebody else has removed it before the job committed it"
            )),
            JobVerdict::Taken { whole } => Err(format!(
                "{url} is there: somebody else has made it while the job ran; the output is whole, in {}: \
                 give it another name before a job writes to {url} again",
                output.url(&whole)
            )),
            JobVerdict::Unreadable => Err(format!(
                "the manifest in {} is not what this job has written",
                output.url(&job_folder(&self.job))
            )),
        }
    }
}

impl Others {
    /// Numbers this AM among those of the application.
    fn attempt(&self) -> u32 {
        u32::try_from(self.own.attempt).unwrap_or(0)
    }

    /// Whether the job of this text lives, as far as is known: one that cannot be asked for does.
    async fn live(&self, job: String) -> bool {
        let Some((application, number)) = parts(&job) else {
            return true;
        };
        if application == self.own.application {
            return self.jobs.contains(&number);
        }
        match self.cluster.report(&application).await {
            Ok(report) => !report.state.is_final(),
            // The ResourceManager forgets those that are over.
            Err(error) => !error.is("ApplicationNotFoundException"),
        }
    }
}

/// The application and the number of a job.
fn parts(job: &str) -> Option<(ApplicationId, u32)> {
    let (application, number) = job.rsplit_once('_')?;
    Some((application.parse().ok()?, number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_s_text_leads_back_to_its_application() {
        let application = ApplicationId {
            cluster_timestamp: 1_700_000_000_000,
            id: 42,
        };
        let text = Folder::job(application, 7);
        assert_eq!(text, "application_1700000000000_0042_7");
        assert_eq!(parts(&text), Some((application, 7)));
        assert_eq!(parts("application_1700000000000_0042"), None);
        assert_eq!(parts("0"), None);
    }
}
