//! `--stage-out`: when every rank has returned 0, files of the containers become results.
//!
//! ```text
//! which are made already ─▶ what is there ─▶ are the names free ─▶ copied ─▶ named, one by one ─▶ over
//! ```
//!
//! The launchers tell what they have, and it is laid out ([`layout`]): where which file comes to lie.
//! They copy it into a folder that carries the attempt's number, beside the destination; when all have,
//! this ApplicationMaster alone gives it the final name ([`commit`](crate::mpi::commit)). So a result is
//! whole or not there, two attempts cannot mix theirs, and one that comes after a result was made leaves
//! it as it is.
//!
//! A copy has no deadline of its own: each of its pieces has, and so has the link to who makes it. For a
//! file system that is away each step waits ([`RESULT_PATIENCE`]): the results are nowhere else.

mod layout;

use std::collections::{BTreeMap, BTreeSet};
use std::task::Poll;

use job::StageOut;
use job::wire;
use job::wire::mpi_event::Event as Said;
use job::wire::mpi_order::Order as ToLauncher;
use policy::ContainerId;
use policy::lifecycle::{Cause, KillReason};
use storage::RESULT_PATIENCE;

use layout::{Have, lay_out};

use super::{MpiHeard, MpiJobEvent};
use crate::files::{FileWork, FilesDone, Undelivered};
use crate::mpi::Mpi;
use crate::mpi::commit::{PendingFolder, Renames};
use crate::work::{Do, JobEvent};

/// The orders of this phase; checkpoints count from 1.
const FIND: u32 = u32::MAX - 1;
const MOVE: u32 = u32::MAX;

/// Why a delivery ends early.
#[derive(Debug)]
pub(crate) enum Broken {
    /// It cannot be.
    Sentence(String),
    /// The job ends for this cause.
    Ended(Cause),
}

impl From<String> for Broken {
    fn from(sentence: String) -> Self {
        Self::Sentence(sentence)
    }
}

/// Whether results are there.
pub(crate) type Delivered = Poll<Result<(), Broken>>;

/// What there is to remove when the job is over.
#[derive(Debug, Default)]
pub(crate) struct Delivery {
    /// Of results that are there: until nobody can come any more who would make them again.
    committed: Vec<PendingFolder>,
    /// Of a job that was ended while launchers copied.
    abandoned: Vec<PendingFolder>,
}

impl Delivery {
    /// What is to be removed of a job that is over; `unregistered`: no other attempt comes.
    pub(crate) fn leftovers(&mut self, unregistered: bool) -> Vec<PendingFolder> {
        let Self {
            committed,
            abandoned,
        } = std::mem::take(self);
        let committed = committed.into_iter().filter(|_| unregistered);
        committed.chain(abandoned).collect()
    }
}

/// A delivery on its way.
#[derive(Debug)]
pub(crate) struct Delivering {
    /// Results to be made, each with the folder in which this attempt has its files.
    outs: Vec<(StageOut, PendingFolder)>,
    hosts: Hosts,
    step: ResultsStep,
    /// The user knows that a file system is away.
    waits: bool,
}

#[derive(Debug)]
enum ResultsStep {
    /// It is looked which results are made already.
    Looking,
    /// Launchers look what they have.
    Finding {
        waited: BTreeSet<ContainerId>,
        have: Vec<Have>,
    },
    /// Nobody may have made the destination while the job ran.
    Checking {
        copies: BTreeMap<ContainerId, Vec<wire::Copy>>,
        /// For each of the results.
        renames: Vec<Renames>,
    },
    /// Launchers copy.
    Moving {
        waited: BTreeSet<ContainerId>,
        renames: Vec<Renames>,
    },
    /// The result of this index is given its names.
    Committing { index: usize, renames: Vec<Renames> },
}

/// By container: its host, and its place among the nodes of the job.
type Hosts = BTreeMap<ContainerId, (String, usize)>;

impl Delivering {
    /// Of a job that runs in these containers. The first work is [`FileWork::Undelivered`].
    pub(crate) fn new(hosts: Hosts) -> Self {
        Self {
            outs: Vec::new(),
            hosts,
            step: ResultsStep::Looking,
            waits: false,
        }
    }

    fn lost_before(&self, lost: &ContainerId) -> Broken {
        let host = self.hosts.get(lost);
        let host = host.map_or("a node", |(host, _)| host.as_str());
        format!("the launcher on {host} was lost before it had handed over its files").into()
    }

    /// Why there are no results, and where what was copied is.
    fn left(&self, sentence: &str) -> Broken {
        let left: Vec<String> = self.outs.iter().map(|(_, own)| own.url()).collect();
        Broken::Sentence(format!(
            "{sentence}; not all of it has its final name, and what was copied lies in {}",
            left.join(", ")
        ))
    }

    /// Of trouble in the middle of a copy.
    fn cut_short(&self, broken: Broken) -> Broken {
        match (&self.step, broken) {
            (
                ResultsStep::Moving { .. } | ResultsStep::Committing { .. },
                Broken::Sentence(sentence),
            ) => self.left(&sentence),
            (_, broken) => broken,
        }
    }
}

impl Mpi {
    /// Begins to make results of the files of a job that has succeeded.
    pub(crate) fn deliver(&mut self) -> Delivering {
        self.todo.push(Do::Files(FileWork::Undelivered {
            wanted: self.description.stage_out.clone(),
            attempt: self.attempt,
        }));
        let seats = self.seats.all().iter().zip(0..);
        Delivering::new(
            seats
                .map(|(seat, node)| (seat.container.clone(), (seat.host.clone(), node)))
                .collect(),
        )
    }

    /// One piece of news for a delivery. What ends the job ends it, and any launcher's trouble.
    pub(crate) fn delivering(&mut self, delivering: &mut Delivering, heard: MpiHeard) -> Delivered {
        if let Some(cause) = ending(&heard) {
            if let ResultsStep::Moving { .. } = delivering.step {
                let outs = std::mem::take(&mut delivering.outs);
                self.delivery.abandoned = outs.into_iter().map(|(_, own)| own).collect();
            }
            self.todo.push(Do::DropFiles);
            self.hear_late(heard);
            return Poll::Ready(Err(Broken::Ended(cause)));
        }
        let outcome = match heard {
            MpiHeard::Own(MpiJobEvent::Files(done)) => self.files_done(delivering, done),
            MpiHeard::Own(MpiJobEvent::Said { container, event }) => {
                self.launcher_has(delivering, container, event)
            }
            MpiHeard::Own(MpiJobEvent::Lost(container)) => {
                self.links.remove(&container);
                match &delivering.step {
                    ResultsStep::Finding { waited, .. } | ResultsStep::Moving { waited, .. }
                        if waited.contains(&container) =>
                    {
                        Poll::Ready(Err(delivering.lost_before(&container)))
                    }
                    ResultsStep::Looking
                    | ResultsStep::Finding { .. }
                    | ResultsStep::Checking { .. }
                    | ResultsStep::Moving { .. }
                    | ResultsStep::Committing { .. } => Poll::Pending,
                }
            }
            heard @ (MpiHeard::Every(_) | MpiHeard::Own(_)) => {
                self.hear_late(heard);
                Poll::Pending
            }
        };
        outcome.map_err(|broken| delivering.cut_short(broken))
    }

    fn files_done(&mut self, delivering: &mut Delivering, done: FilesDone) -> Delivered {
        match (&mut delivering.step, done) {
            (_, FilesDone::Away(why)) => self.results_wait(delivering, &why),
            (ResultsStep::Looking, FilesDone::Undelivered(found)) => match found {
                Ok(found) => self.find(delivering, found),
                Err(sentence) => Poll::Ready(Err(sentence.into())),
            },
            (ResultsStep::Checking { copies, renames }, FilesDone::AreFree(free)) => {
                if let Err(sentence) = free {
                    return Poll::Ready(Err(sentence.into()));
                }
                let (copies, renames) = (std::mem::take(copies), std::mem::take(renames));
                self.copy(delivering, copies, renames)
            }
            (ResultsStep::Committing { index, renames }, FilesDone::Committed(committed)) => {
                if let Err(sentence) = committed {
                    return Poll::Ready(Err(sentence.into()));
                }
                let (index, renames) = (*index, std::mem::take(renames));
                if let Some((_, own)) = delivering.outs.get(index) {
                    self.delivery.committed.push(own.clone());
                }
                self.commit(delivering, index + 1, renames)
            }
            _ => Poll::Pending,
        }
    }

    /// The user is told once that the file system is away.
    fn results_wait(&mut self, delivering: &mut Delivering, why: &str) -> Delivered {
        if !std::mem::replace(&mut delivering.waits, true) {
            let options = options(&self.description.stage_out);
            let notice = format!("{options}: the results wait for the file system: {why}");
            self.story.outbox.notice(notice);
        }
        Poll::Pending
    }

    /// It is known which results are to be made: the launchers say what they have.
    fn find(&mut self, delivering: &mut Delivering, found: Undelivered) -> Delivered {
        self.delivery.committed.extend(found.made);
        for notice in found.notices {
            self.story.outbox.notice(notice);
        }
        delivering.outs = found.outs;
        if delivering.outs.is_empty() {
            return Poll::Ready(Ok(()));
        }
        let paths = delivering.outs.iter().map(|(out, _)| out.local.clone());
        let order = ToLauncher::Find(wire::Find {
            id: FIND,
            paths: paths.collect(),
        });
        let all: BTreeSet<ContainerId> = sort::set(delivering.hosts.keys().cloned());
        for container in &all {
            self.order(container, order.clone());
        }
        let lost = self.first_lost(&all);
        delivering.step = ResultsStep::Finding {
            waited: all,
            have: Vec::new(),
        };
        match lost {
            Some(lost) => Poll::Ready(Err(delivering.lost_before(&lost))),
            None => Poll::Pending,
        }
    }

    /// One that was lost before it is waited for will not say so again.
    fn first_lost(&self, waited: &BTreeSet<ContainerId>) -> Option<ContainerId> {
        let mut waited = waited.iter();
        waited.find(|one| !self.links.contains_key(*one)).cloned()
    }

    /// A launcher says what it has, or that it has copied it.
    fn launcher_has(
        &mut self,
        delivering: &mut Delivering,
        container: ContainerId,
        event: Said,
    ) -> Delivered {
        match (&mut delivering.step, event) {
            (ResultsStep::Finding { waited, have }, Said::Found(found)) if found.id == FIND => {
                if !found.trouble.is_empty() {
                    return Poll::Ready(Err(found.trouble.into()));
                }
                if waited.remove(&container)
                    && let Some((host, node)) = delivering.hosts.get(&container)
                {
                    have.push(Have {
                        host: host.clone(),
                        node: *node,
                        container,
                        paths: found.paths,
                    });
                }
                match waited.is_empty() {
                    true => {
                        let have = std::mem::take(have);
                        self.check(delivering, have)
                    }
                    false => Poll::Pending,
                }
            }
            (ResultsStep::Moving { waited, renames }, Said::Moved(moved)) if moved.id == MOVE => {
                if moved.waits {
                    return self.results_wait(delivering, &moved.trouble);
                }
                if !moved.trouble.is_empty() {
                    return Poll::Ready(Err(moved.trouble.into()));
                }
                waited.remove(&container);
                match waited.is_empty() {
                    true => {
                        let renames = std::mem::take(renames);
                        self.commit(delivering, 0, renames)
                    }
                    false => Poll::Pending,
                }
            }
            _ => Poll::Pending,
        }
    }

    /// All have said what they have: it is laid out.
    fn check(&mut self, delivering: &mut Delivering, mut have: Vec<Have>) -> Delivered {
        sort::by_key(&mut have, |node| node.node);
        let layout = match lay_out(&delivering.outs, &have) {
            Ok(layout) => layout,
            Err(sentence) => return Poll::Ready(Err(sentence.into())),
        };
        let places = delivering.outs.iter().zip(&layout.renames);
        let places = places.map(|((out, _), renames)| {
            let names = renames.iter().map(|(_, to)| to.clone());
            (out.address.clone(), names.collect())
        });
        self.todo
            .push(Do::Files(FileWork::AreFree(places.collect())));
        delivering.step = ResultsStep::Checking {
            copies: layout.copies,
            renames: layout.renames,
        };
        Poll::Pending
    }

    /// All names are free: whoever has something copies it.
    fn copy(
        &mut self,
        delivering: &mut Delivering,
        copies: BTreeMap<ContainerId, Vec<wire::Copy>>,
        renames: Vec<Renames>,
    ) -> Delivered {
        let addresses = delivering.outs.iter();
        let addresses = addresses.map(|(out, _)| serde_json::to_string(&out.address));
        let addresses: Vec<String> = match addresses.collect() {
            Ok(addresses) => addresses,
            Err(error) => {
                let error: serde_json::Error = error;
                return Poll::Ready(Err(error.to_string().into()));
            }
        };
        let movers: BTreeSet<ContainerId> = sort::set(copies.keys().cloned());
        for (container, copies) in copies {
            let order = ToLauncher::Move(wire::Move {
                id: MOVE,
                out: true,
                addresses: addresses.clone(),
                copies,
                patience_s: RESULT_PATIENCE.as_secs().try_into().unwrap_or(u32::MAX),
            });
            self.order(&container, order);
        }
        let lost = self.first_lost(&movers);
        let nobody = movers.is_empty();
        delivering.step = ResultsStep::Moving {
            waited: movers,
            renames: renames.clone(),
        };
        match lost {
            Some(lost) => Poll::Ready(Err(delivering.lost_before(&lost))),
            None if nobody => self.commit(delivering, 0, renames),
            None => Poll::Pending,
        }
    }

    /// All is copied: the result of this index gets its names; after the last it is over.
    fn commit(
        &mut self,
        delivering: &mut Delivering,
        index: usize,
        renames: Vec<Renames>,
    ) -> Delivered {
        let result = delivering.outs.get(index).zip(renames.get(index));
        let Some(((_, own), names)) = result else {
            return Poll::Ready(Ok(()));
        };
        self.todo.push(Do::Files(FileWork::Commit {
            own: own.clone(),
            renames: names.clone(),
        }));
        delivering.step = ResultsStep::Committing { index, renames };
        Poll::Pending
    }
}

/// The options that asked for these results.
pub(crate) fn options(wanted: &[StageOut]) -> String {
    let options: BTreeSet<&str> = sort::set(wanted.iter().map(|out| out.option.as_str()));
    Vec::from_iter(options).join(", ")
}

/// What ends a job that delivers its results.
fn ending(heard: &MpiHeard) -> Option<Cause> {
    let MpiHeard::Every(event) = heard else {
        return None;
    };
    match event {
        JobEvent::ClientKill(reason) | JobEvent::Killed(reason) => Some(Cause::Killed(*reason)),
        JobEvent::ClientLeft => Some(Cause::Killed(KillReason::ClientLost)),
        JobEvent::ResourceManagerLost { silent } => {
            Some(Cause::ResourceManagerLost { silent: *silent })
        }
        JobEvent::ClientAttached
        | JobEvent::ClientDeaf
        | JobEvent::Finished(_)
        | JobEvent::Tick => None,
    }
}
