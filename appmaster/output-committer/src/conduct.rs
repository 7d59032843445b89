//! A machine from its first call to its verdict.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use policy::commit::{
    CallAnswer, Inheritance, Inherited, JobCommit, JobVerdict, OUT, Op, Setup, SetupVerdict,
};
use storage::StorageError;
use tokio::time::{Instant, sleep};

use crate::OutputCommitter;

/// For how long a file system may be out of reach: a NameNode takes a minute or two to start again.
pub const PATIENCE: Duration = Duration::from_secs(300);
/// After which [`WhyRepeated::Away`](crate::WhyRepeated::Away) says so.
pub const AWAY: Duration = Duration::from_secs(10);
/// Before the first repetition; from then on as long as it has been out of reach, up to [`PAUSE_MAX`].
const PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// Why output could not be committed, or a job not given up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// The file system refuses.
    #[error("committing the output: {0}")]
    Refused(#[from] StorageError),
    /// It was out of reach for too long. What has been done so far stays, and another may go on from there.
    #[error(
        "committing the output: {url} was out of reach for {seconds} s, so that nobody knows whether {op} was done; \
         what is done stays done, and the same job may go on from there"
    )]
    OutOfReach {
        /// The output folder.
        url: String,
        /// The call.
        op: String,
        /// How long it was tried.
        seconds: u64,
    },
}

/// A machine of [`policy::commit`].
trait Machine {
    /// Numbers of the calls that may be under way at once.
    fn open(&self) -> Vec<usize>;
    fn call(&self, number: usize) -> Option<Op>;
    fn hear(&mut self, number: usize, answer: CallAnswer);
}

impl Machine for Setup {
    fn open(&self) -> Vec<usize> {
        self.next().map(|_| 0).into_iter().collect()
    }

    fn call(&self, _: usize) -> Option<Op> {
        self.next()
    }

    fn hear(&mut self, _: usize, answer: CallAnswer) {
        self.answered(answer);
    }
}

impl Machine for JobCommit {
    fn open(&self) -> Vec<usize> {
        Self::open(self)
    }

    fn call(&self, number: usize) -> Option<Op> {
        Self::call(self, number)
    }

    fn hear(&mut self, number: usize, answer: CallAnswer) {
        self.answered_to(number, answer);
    }
}

impl Machine for Inherited {
    fn open(&self) -> Vec<usize> {
        Self::open(self)
    }

    fn call(&self, number: usize) -> Option<Op> {
        Self::call(self, number)
    }

    fn hear(&mut self, number: usize, answer: CallAnswer) {
        self.answered_to(number, answer);
    }
}

impl OutputCommitter {
    /// Makes the job its owner. `alive` is asked whether the job that has signed lives, by its folder's name.
    ///
    /// # Errors
    /// As [`CommitError`] tells. What was made before a refusal is gone, as far as the file system allows that.
    pub async fn set_up<Alive: Future<Output = bool>>(
        &self,
        mut setup: Setup,
        mut alive: impl FnMut(String) -> Alive,
    ) -> Result<SetupVerdict, CommitError> {
        let mut refused: Option<CommitError> = None;
        loop {
            match self.conduct(&mut setup).await {
                Ok(()) => {}
                Err(error @ CommitError::Refused(_)) => {
                    refused.get_or_insert(error);
                    setup.abandon();
                    continue;
                }
                Err(error) => return Err(refused.unwrap_or(error)),
            }
            match (setup.verdict(), refused.take()) {
                (Some(SetupVerdict::Owner), _) => return Ok(SetupVerdict::Owner),
                (_, Some(error)) => return Err(error),
                (Some(verdict), None) => return Ok(verdict.clone()),
                (None, None) => {}
            }
            let lives = match setup.asks() {
                Some(job) => alive(job.to_owned()).await,
                None => true,
            };
            setup.alive(lives);
        }
    }

    /// Commits a job, or gives it up, from wherever an earlier one stopped.
    ///
    /// # Errors
    /// As [`CommitError`] tells.
    pub async fn finish_job(&self, mut job: JobCommit) -> Result<JobVerdict, CommitError> {
        self.conduct(&mut job).await?;
        // As above.
        Ok(job.verdict().cloned().unwrap_or(JobVerdict::Unreadable))
    }

    /// Finishes the commit of a job of an earlier ApplicationMaster, or gives that job up.
    ///
    /// # Errors
    /// As [`CommitError`] tells.
    pub async fn inherit(&self, mut job: Inherited) -> Result<Inheritance, CommitError> {
        self.conduct(&mut job).await?;
        // As above.
        Ok(job.verdict().cloned().unwrap_or(Inheritance::Unreadable))
    }

    /// Calls and answers until there is no next call. After a refusal none is begun, and those under way are waited for.
    async fn conduct(&self, machine: &mut impl Machine) -> Result<(), CommitError> {
        let mut lost: Option<Instant> = None;
        let mut refused: Option<CommitError> = None;
        let mut numbers = BTreeSet::new();
        let mut calls = FuturesUnordered::new();
        loop {
            let open = if refused.is_none() {
                machine.open()
            } else {
                Vec::new()
            };
            let pause = lost.map(|since| since.elapsed().clamp(PAUSE, PAUSE_MAX));
            for number in open {
                if numbers.contains(&number) {
                    continue;
                }
                let Some(op) = machine.call(number) else {
                    continue;
                };
                numbers.insert(number);
                calls.push(async move {
                    if let Some(pause) = pause {
                        sleep(pause).await;
                    }
                    let answer = self.carry_out(&op).await;
                    (number, op, answer)
                });
            }
            let Some((number, op, answer)) = calls.next().await else {
                return refused.map_or(Ok(()), Err);
            };
            numbers.remove(&number);
            match answer {
                Ok(CallAnswer::Lost) => {
                    let since = *lost.get_or_insert_with(Instant::now);
                    if since.elapsed() > AWAY {
                        self.is_away();
                    }
                    if since.elapsed() > self.patience {
                        refused.get_or_insert_with(|| CommitError::OutOfReach {
                            url: self.url(OUT),
                            op: format!("{op:?}"),
                            seconds: since.elapsed().as_secs(),
                        });
                    }
                    machine.hear(number, CallAnswer::Lost);
                }
                Ok(answer) => {
                    lost = None;
                    machine.hear(number, answer);
                }
                Err(error) => {
                    refused.get_or_insert_with(|| error.into());
                }
            }
        }
    }
}
