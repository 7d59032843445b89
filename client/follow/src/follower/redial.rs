//! The link to a session has broken: whether its ApplicationMaster is well, and has the job.
//!
//! An ApplicationMaster ends the job of a client that it does not hear (`job::transport::LEASE`). To that client it
//! looks as if the ApplicationMaster were lost; dialled once more, it answers.

use std::time::Duration;

use job::exit::Exit;
use job::wire;
use tokio::time::{Instant, sleep, timeout};

use super::LATER;
use crate::dial::dial;
use crate::ended::Ended;
use crate::keys::ClientKeys;

/// For an ApplicationMaster that is well to be dialled and to answer.
const ANSWER: Duration = Duration::from_secs(15);
/// For it to end the job: its processes have a second for it, its launchers some more.
const ENDS: Duration = Duration::from_secs(30);

/// A job whose link has broken.
pub(super) struct Unheard<'a> {
    /// Where the ApplicationMaster was, `host:port`.
    pub address: &'a str,
    pub keys: &'a ClientKeys,
    /// The session's name.
    pub name: &'a str,
    pub job: u32,
    /// It is a MapReduce job.
    pub has_tasks: bool,
    /// Why the link broke.
    pub why: &'a str,
}

impl Unheard<'_> {
    /// How the job ended, by an ApplicationMaster that is well; `None`: it does not answer.
    pub(super) async fn ask(&self) -> Option<Ended> {
        let until = Instant::now() + ENDS;
        loop {
            let has_it = timeout(ANSWER, self.has_it()).await.ok()??;
            if !has_it || Instant::now() > until {
                return Some(self.ended(has_it));
            }
            sleep(LATER).await;
        }
    }

    async fn has_it(&self) -> Option<bool> {
        let mut dialled = dial(self.address, self.keys).await.ok()?;
        let status = dialled.client.status(wire::StatusRequest::default()).await;
        let jobs = status.ok()?.into_inner().jobs;
        Some(jobs.iter().any(|of| of.job == self.job))
    }

    fn ended(&self, has_it: bool) -> Ended {
        let Self {
            name,
            job,
            has_tasks,
            why,
            ..
        } = self;
        let became = match has_it {
            true => format!(
                "is being ended, as the job of a client that is not heard; gerbil session status {name} shows whether it \
                 is gone"
            ),
            false => "is over: it had come to its end before, or was ended, as the job of a client that is not heard"
                .to_owned(),
        };
        let output = match has_tasks {
            true => "; its output is whole where it has _SUCCESS",
            false => "",
        };
        Ended {
            code: Exit::Lost.code(),
            sentence: format!(
                "the connection to session {name} broke ({why}), and job {job} {became}{output}; the session goes on"
            ),
            verdict: None,
        }
    }
}
