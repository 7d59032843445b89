//! A MapReduce job of a session: how far its tasks are, and its last word.
//!
//! What its tasks print stays with them on the nodes; whatever the session sends all the same goes to standard
//! error. Several of them may be followed at once.

use std::sync::Arc;
use std::time::Duration;

use job::exit::Exit;
use job::wire;
use job::wire::client_order::Order;
use job::wire::job_event::Event;
use proto_hadoop::{ApplicationClient, ApplicationId};
use terminal::write_stderr;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_stream::StreamExt as _;

use super::attach::{Attached, Coming, attach_over};
use super::mirror::{kill_order, stay_alive};
use super::order::order;
use super::recovered_commit::{Bereft, left};
use super::redial::Unheard;
use crate::conclusion::{Given, Written};
use crate::dial::Dialled;
use crate::ended::{Ended, by_verdict, chain};
use crate::keys::ClientKeys;
use crate::streams;

/// What is heard of a job before its end.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum JobNews {
    /// What the ApplicationMaster does.
    Phase(wire::Phase),
    /// How far the tasks are.
    Tasks(wire::TasksPhase),
    /// Something that the user is to see at once.
    Notice(String),
    /// What was decided or seen: one line of `job::explain`; only of a job that is to be explained.
    Explained(String),
}

/// Where news of one job go, among those of others.
#[derive(Clone, Debug)]
pub struct JobNewsSender {
    /// Those of all.
    pub to: mpsc::Sender<(u32, JobNews)>,
    /// By which its reader knows the job.
    pub job: u32,
}

impl JobNewsSender {
    /// Tells them; the reader may have gone, which is nothing to the job.
    pub async fn tell(&self, news: JobNews) {
        let _heard = self.to.send((self.job, news)).await.is_ok();
    }
}

/// How a job ended that was followed.
#[derive(Debug)]
pub struct TasksEnd {
    /// How.
    pub ended: Ended,
    /// It was lost with its ApplicationMaster, and nothing of its output is there: it may run again.
    pub is_given_up: bool,
}

impl From<Ended> for TasksEnd {
    fn from(ended: Ended) -> Self {
        Self {
            ended,
            is_given_up: false,
        }
    }
}

/// What whoever follows jobs wants of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobControl {
    /// They are to go on.
    Run,
    /// This process is about to be stopped, and will not be heard of until it wishes something else.
    Pause,
    /// They are to end, on account of this signal; 0: of none.
    End(u8),
}

/// A MapReduce job that a session has taken.
#[derive(Debug)]
pub struct TasksInSession {
    /// The ResourceManager, for the case that nobody else can be asked.
    pub rm: Arc<ApplicationClient>,
    /// The session's application.
    pub id: ApplicationId,
    /// By which its ApplicationMaster knows us, and we know it.
    pub keys: ClientKeys,
    /// By which the user calls the session; `None`: it is no more than the application of these jobs.
    pub name: Option<String>,
    /// The job's number in it.
    pub job: u32,
    /// It goes on without us: nothing is wished of it.
    pub watches: bool,
    /// For YARN to miss an ApplicationMaster that cannot be heard.
    pub missed_after: Duration,
    /// Learns what is heard.
    pub told: JobNewsSender,
    /// What is wished.
    pub wishes: watch::Receiver<JobControl>,
}

impl TasksInSession {
    /// Until the job is over. The session's ApplicationMaster has been dialled to submit it.
    pub async fn follow(self, dialled: Dialled) -> TasksEnd {
        let address = dialled.address.clone();
        match self.until_verdict(dialled).await {
            Ok((verdict, signalled)) => {
                let ended = by_verdict(verdict, signalled, Given::All, Written::All);
                // Nobody here has asked for that: YARN, or somebody by YARN, has.
                let is_told = ended.code == Exit::Killed.code() && signalled.is_none();
                match is_told && !self.watches {
                    true => {
                        self.bereft("YARN or its node ended it", Some(ended))
                            .end()
                            .await
                    }
                    false => ended.into(),
                }
            }
            // Nothing becomes of the job on our account.
            Err(why) if self.watches => Ended {
                code: Exit::Lost.code(),
                sentence: format!(
                    "it cannot be watched: {why}; where its ApplicationMaster lives it goes on"
                ),
                verdict: None,
            }
            .into(),
            Err(why) => {
                if let Some(ended) = self.unheard(&address, &why).await {
                    return ended.into();
                }
                self.bereft(&why, None).end().await
            }
        }
    }

    /// Its ApplicationMaster cannot be heard any more, for this reason, or has `said` this as its last word.
    fn bereft<'a>(&'a self, why: &'a str, said: Option<Ended>) -> Bereft<'a> {
        Bereft {
            rm: &self.rm,
            id: self.id,
            name: self.name.as_deref(),
            job: self.job,
            why,
            said,
            missed_after: self.missed_after,
            told: &self.told,
            wishes: self.wishes.clone(),
        }
    }

    /// How the job ended whose link broke, by a session that is well.
    async fn unheard(&self, address: &str, why: &str) -> Option<Ended> {
        let unheard = Unheard {
            address,
            keys: &self.keys,
            name: self.name.as_deref()?,
            job: self.job,
            has_tasks: true,
            why,
        };
        let mut wishes = self.wishes.clone();
        tokio::select! {
            asked = unheard.ask() => asked,
            () = left(&mut wishes) => None,
        }
    }

    /// The verdict, and the signal for which the end was wished.
    async fn until_verdict(&self, dialled: Dialled) -> Result<(wire::Verdict, Option<u8>), String> {
        let coming = Coming {
            job: self.job,
            watches: self.watches,
            input: false,
        };
        let attached = attach_over(dialled, &self.keys, coming, None).await;
        let Attached {
            orders,
            mut events,
            output,
            ..
        } = attached.map_err(|error| chain(&error))?;
        let mut beside = JoinSet::new();
        beside.spawn(stay_alive(orders.clone()));
        beside.spawn(drain(output));
        let mut wishes = self.wishes.clone();
        wishes.mark_changed();
        let (mut is_paused, mut asked) = (false, None);
        loop {
            tokio::select! {
                event = events.message() => {
                    let told = match event {
                        Ok(Some(wire::JobEvent { event: Some(event) })) => match event {
                            Event::Verdict(verdict) => {
                                return Ok((verdict, asked.filter(|signal| *signal > 0)));
                            }
                            Event::Phase(phase) => JobNews::Phase(phase),
                            Event::Tasks(tasks) => JobNews::Tasks(tasks),
                            Event::Notice(notice) => JobNews::Notice(notice.sentence),
                            Event::Explained(line) => JobNews::Explained(line),
                            Event::Again(_) | Event::Unregistered(_) => continue,
                        },
                        // None that this build knows.
                        Ok(Some(wire::JobEvent { event: None })) => continue,
                        Ok(None) => return Err("it closed the connection".to_owned()),
                        Err(status) => return Err(status.message().to_owned()),
                    };
                    self.told.tell(told).await;
                }
                Ok(()) = wishes.changed() => {
                    let wish = *wishes.borrow_and_update();
                    match wish {
                        JobControl::Run if is_paused => order(&orders, Order::Resume(wire::Resume {})).await,
                        JobControl::Run => {}
                        JobControl::Pause => order(&orders, Order::Pause(wire::Pause {})).await,
                        JobControl::End(signal) => {
                            if is_paused {
                                order(&orders, Order::Resume(wire::Resume {})).await;
                            }
                            if asked.replace(signal).is_none() {
                                kill_order(&orders, wire::kill::Reason::Interrupted).await;
                            }
                        }
                    }
                    is_paused = wish == JobControl::Pause;
                }
            }
        }
    }
}

/// Takes what is printed, so that nobody waits for a reader.
async fn drain(mut output: streams::OutputChunks) {
    while let Some(Ok(chunk)) = output.next().await {
        write_stderr(chunk.data);
    }
}
