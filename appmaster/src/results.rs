//! `--stage-out`: when every rank has returned 0, files of the containers become results.
//!
//! The launchers tell what they have, and it is laid out ([`layout`]): where which file comes to lie.
//! They copy it into a folder that carries the attempt's number, beside the destination; when all have,
//! this ApplicationMaster alone gives it the final name ([`commit`](crate::commit)). So a result is
//! whole or not there, two attempts cannot mix theirs, and one that comes after a result was made leaves
//! it as it is.

mod layout;

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::time::Duration;

use holding::Heard;
use job::StageOut;
use job::wire;
use job::wire::launcher_event::Event as Said;
use job::wire::launcher_order::Order as ToLauncher;
use policy::ContainerId;
use policy::lifecycle::{Cause, Event, KillReason, Verdict};
use proto_hadoop::AppAttemptId;
use storage::{Address, Storage};
use tokio::sync::mpsc;
use tokio::time::timeout;

use layout::{Have, lay_out};

use crate::commit::Own;
use crate::follow::Appmaster;
use crate::news::News;

/// The orders of this phase; checkpoints count from 1.
const FIND: u32 = u32::MAX - 1;
const MOVE: u32 = u32::MAX;
/// To remove what is not needed at the end of the job.
const LAST: Duration = Duration::from_secs(15);

/// Why a delivery ends early.
enum Broken {
    Sentence(String),
    Ended(Cause),
}

impl From<String> for Broken {
    fn from(sentence: String) -> Self {
        Self::Sentence(sentence)
    }
}

/// What there is to remove when the job is over.
#[derive(Debug, Default)]
pub(crate) struct Delivery {
    /// Of results that are there: until nobody can come any more who would make them again.
    committed: Vec<Own>,
    /// Of a job that was ended while launchers copied.
    abandoned: Vec<Own>,
}

impl Appmaster {
    /// Makes results of the files of a job that has succeeded; the verdict that comes of it.
    pub(crate) async fn deliver(
        &mut self,
        verdict: Verdict,
        inbox: &mut mpsc::Receiver<News>,
    ) -> Verdict {
        if verdict.cause.is_some() || self.seat.description.job.stage_out.is_empty() {
            return verdict;
        }
        let cause = match Box::pin(self.delivered(inbox)).await {
            Ok(()) => return verdict,
            Err(Broken::Sentence(sentence)) => Cause::Results {
                sentence: format!(
                    "{}: {sentence}",
                    options(&self.seat.description.job.stage_out)
                ),
            },
            Err(Broken::Ended(cause)) => cause,
        };
        Verdict { cause: Some(cause) }
    }

    /// Nothing else is to be done; `unregistered`: nor will another attempt come.
    pub(crate) async fn delivery_over(&mut self, unregistered: bool) {
        let delivery = std::mem::take(&mut self.delivery);
        let committed = delivery.committed.iter().filter(|_| unregistered);
        let forget = async {
            for own in committed.chain(&delivery.abandoned) {
                if let Err(error) = own.forget().await {
                    tracing::warn!("left behind: {error}");
                }
            }
        };
        let _in_time = timeout(LAST, forget).await.is_ok();
    }

    async fn delivered(&mut self, inbox: &mut mpsc::Receiver<News>) -> Result<(), Broken> {
        let (wanted, attempt) = (
            self.seat.description.job.stage_out.clone(),
            self.seat.attempt,
        );
        let found = self.hearing(undelivered(wanted, attempt), inbox).await??;
        self.delivery.committed.extend(found.made);
        for notice in found.notices {
            self.story.outbox.notice(notice);
        }
        let outs = found.outs;
        if outs.is_empty() {
            return Ok(());
        }
        let hosts: Hosts = {
            let seats = self.seats.all().iter().zip(0..);
            seats
                .map(|(seat, node)| (seat.container.clone(), (seat.host.clone(), node)))
                .collect()
        };
        let all: BTreeSet<ContainerId> = hosts.keys().cloned().collect();
        let paths = outs.iter().map(|(out, _)| out.local.clone()).collect();
        let order = ToLauncher::Find(wire::Find { id: FIND, paths });
        for container in &all {
            self.order(container, order.clone());
        }
        let mut have = Vec::with_capacity(all.len());
        let answers = self.await_all(&all, &hosts, inbox).await?;
        for (container, said) in answers {
            if let (Said::Found(found), Some((host, node))) = (said, hosts.get(&container)) {
                have.push(Have {
                    host: host.clone(),
                    node: *node,
                    container,
                    paths: found.paths,
                });
            }
        }
        have.sort_by_key(|node| node.node);
        let layout = lay_out(&outs, &have)?;

        let addresses = outs
            .iter()
            .map(|(out, _)| serde_json::to_string(&out.address));
        let addresses: Result<Vec<String>, _> = addresses.collect();
        let addresses = addresses.map_err(|error| error.to_string())?;
        // Nobody may have made the destination while the job ran.
        let all_free = async {
            for ((out, _), renames) in outs.iter().zip(&layout.renames) {
                let store = Storage::open(&out.address).map_err(|error| error.to_string())?;
                for (_, to) in renames {
                    free(&store, &out.address, to).await?;
                }
            }
            Ok::<(), String>(())
        };
        self.hearing(all_free, inbox).await??;
        let movers: BTreeSet<ContainerId> = layout.copies.keys().cloned().collect();
        for (container, copies) in layout.copies {
            let order = ToLauncher::Move(wire::Move {
                id: MOVE,
                out: true,
                addresses: addresses.clone(),
                copies,
            });
            self.order(&container, order);
        }
        if let Err(broken) = self.await_all(&movers, &hosts, inbox).await {
            return Err(match broken {
                Broken::Sentence(sentence) => left(&sentence, &outs),
                Broken::Ended(cause) => {
                    self.delivery.abandoned = outs.into_iter().map(|(_, own)| own).collect();
                    Broken::Ended(cause)
                }
            });
        }
        for ((_, own), renames) in outs.iter().zip(&layout.renames) {
            if let Err(sentence) = self.hearing(Box::pin(own.commit(renames)), inbox).await? {
                return Err(left(&sentence, &outs));
            }
            self.delivery.committed.push(own.clone());
        }
        Ok(())
    }

    /// Does `work` on a file system, which may hang for ever, and hears meanwhile what ends the job.
    async fn hearing<T>(
        &mut self,
        work: impl Future<Output = T>,
        inbox: &mut mpsc::Receiver<News>,
    ) -> Result<T, Broken> {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return Ok(done),
                news = inbox.recv() => {
                    let end = ending(news.as_ref());
                    self.hear_late(news).await;
                    if let Some(cause) = end {
                        return Err(Broken::Ended(cause));
                    }
                }
            }
        }
    }

    /// Waits until each of `waited` has answered. A copy has no deadline of its own: each of its pieces
    /// has, and so has the link to who makes it.
    async fn await_all(
        &mut self,
        waited: &BTreeSet<ContainerId>,
        hosts: &Hosts,
        inbox: &mut mpsc::Receiver<News>,
    ) -> Result<Vec<(ContainerId, Said)>, Broken> {
        let mut waited = waited.clone();
        let mut answers = Vec::with_capacity(waited.len());
        // One that was lost before this began will not say so again.
        if let Some(lost) = waited.iter().find(|one| self.holding.link(one).is_none()) {
            return Err(lost_before(hosts, lost));
        }
        while !waited.is_empty() {
            match inbox.recv().await {
                Some(News::Holding(Heard::Said { container, event })) => {
                    let trouble = match &event {
                        Said::Found(found) if found.id == FIND => &found.trouble,
                        Said::Moved(moved) if moved.id == MOVE => &moved.trouble,
                        _ => continue,
                    };
                    if !trouble.is_empty() {
                        return Err(trouble.clone().into());
                    }
                    if waited.remove(&container) {
                        answers.push((container, event));
                    }
                }
                Some(News::Holding(Heard::Lost(container))) => {
                    self.holding.let_go(&container);
                    if waited.contains(&container) {
                        return Err(lost_before(hosts, &container));
                    }
                }
                news => {
                    let end = ending(news.as_ref());
                    self.hear_late(news).await;
                    if let Some(cause) = end {
                        return Err(Broken::Ended(cause));
                    }
                }
            }
        }
        Ok(answers)
    }
}

/// The options that asked for these results.
fn options(wanted: &[StageOut]) -> String {
    let options: BTreeSet<&str> = wanted.iter().map(|out| out.option.as_str()).collect();
    Vec::from_iter(options).join(", ")
}

/// What ends a job that delivers its results.
fn ending(news: Option<&News>) -> Option<Cause> {
    match news? {
        News::ClientKill(reason) | News::Machine(Event::KillRequested(reason)) => {
            Some(Cause::Killed(*reason))
        }
        News::ClientLeft => Some(Cause::Killed(KillReason::ClientLost)),
        News::Holding(Heard::Killed) => Some(Cause::Killed(KillReason::Terminated)),
        News::Holding(Heard::ResourceManagerLost { silent }) => {
            Some(Cause::ResourceManagerLost { silent: *silent })
        }
        _ => None,
    }
}

/// What is to become results, and what is already.
struct Undelivered {
    /// Results to be made, each with the folder in which this attempt has its files.
    outs: Vec<(StageOut, Own)>,
    /// What earlier attempts have made.
    made: Vec<Own>,
    /// Sentences about these.
    notices: Vec<String>,
}

/// Which of the results `wanted` no attempt before `attempt` has made. What others have left of them is
/// gone.
async fn undelivered(wanted: Vec<StageOut>, attempt: AppAttemptId) -> Result<Undelivered, String> {
    let mut found = Undelivered {
        outs: Vec::new(),
        made: Vec::new(),
        notices: Vec::new(),
    };
    for (index, out) in wanted.into_iter().enumerate() {
        let mut made_by = None;
        for earlier in 1..attempt.attempt {
            let of = AppAttemptId {
                attempt: earlier,
                ..attempt
            };
            let own = Own::of(&out, index, &of);
            if own.finish().await? {
                made_by = Some(earlier);
                found.made.push(own);
            }
        }
        match made_by {
            Some(earlier) => found.notices.push(format!(
                "{}: {} was made by attempt {earlier} before it was lost, and stays as it is",
                out.option,
                out.address.url(&out.path)
            )),
            None => {
                let own = Own::of(&out, index, &attempt);
                found.outs.push((out, own));
            }
        }
    }
    Ok(found)
}

/// By container: its host, and its place among the nodes of the job.
type Hosts = BTreeMap<ContainerId, (String, usize)>;

/// Why there are no results, and where what was copied is.
fn left(sentence: &str, outs: &[(StageOut, Own)]) -> Broken {
    let left: Vec<String> = outs.iter().map(|(_, own)| own.url()).collect();
    Broken::Sentence(format!(
        "{sentence}; not all of it has its final name, and the rest lies in {}",
        left.join(", ")
    ))
}

fn lost_before(hosts: &Hosts, lost: &ContainerId) -> Broken {
    let host = hosts.get(lost).map_or("a node", |(host, _)| host.as_str());
    format!("the launcher on {host} was lost before it had handed over its files").into()
}

async fn free(store: &Storage, address: &Address, to: &str) -> Result<(), String> {
    match store.stat(to).await {
        Ok(None) => Ok(()),
        Ok(Some(_)) => Err(format!("{} exists already", address.url(to))),
        Err(error) => Err(error.to_string()),
    }
}
