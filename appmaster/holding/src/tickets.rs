//! Which launchers are expected, and which of them are there.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use job::resumable::Resumable;
use job::wire;
use policy::ContainerId;
use tokio::sync::mpsc;

use crate::orders::Fresh;
use crate::streams::Bringing;

/// What one launcher brings of one job, from whichever call it is that it brings it by.
pub(crate) type LauncherOutput = Arc<tokio::sync::Mutex<Box<dyn Bringing>>>;

/// Standard input on its way to the launcher that reads it.
#[derive(Clone, Debug)]
pub(crate) struct LauncherInput {
    /// Of this run of the program.
    pub run: u32,
    pub chunks: Resumable<wire::InputChunk>,
}

/// By container, what its launcher must show. Filled before the container is started.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tickets(Arc<Mutex<BTreeMap<ContainerId, Ticket>>>);

/// One of them.
#[derive(Debug)]
struct Ticket {
    bytes: Vec<u8>,
    /// Its launcher has come.
    joined: Option<Joined>,
}

#[derive(Debug)]
struct Joined {
    /// Which launcher it is: another one that shows the same ticket is none.
    life: Vec<u8>,
    /// Where links go that it opens later.
    links: mpsc::Sender<Fresh>,
    /// By the number of the job in the application.
    outputs: BTreeMap<u32, LauncherOutput>,
    /// By the number of the job in the application.
    inputs: BTreeMap<u32, LauncherInput>,
}

/// What a ticket is good for.
pub(crate) enum Redeemed {
    /// The launcher comes for the first time.
    First,
    /// It is there, and comes by a fresh link.
    Again(mpsc::Sender<Fresh>),
}

impl Tickets {
    pub(crate) fn issue(&self, container: ContainerId, bytes: Vec<u8>) {
        let ticket = Ticket {
            bytes,
            joined: None,
        };
        self.lock().insert(container, ticket);
    }

    /// Whoever shows it now comes too late.
    pub(crate) fn revoke(&self, container: &ContainerId) {
        self.lock().remove(container);
    }

    /// A ticket is good for one launcher, the first that shows it: no other can come in its name. Where
    /// it comes for the first time, later links go to `links`.
    pub(crate) fn redeem(
        &self,
        container: &ContainerId,
        shown: &[u8],
        life: &[u8],
        links: mpsc::Sender<Fresh>,
    ) -> Option<Redeemed> {
        let mut tickets = self.lock();
        let ticket = tickets.get_mut(container).filter(|t| t.bytes == shown)?;
        match &ticket.joined {
            Some(joined) if joined.life == life => Some(Redeemed::Again(joined.links.clone())),
            Some(_) => None,
            None => {
                ticket.joined = Some(Joined {
                    life: life.to_vec(),
                    links,
                    outputs: BTreeMap::new(),
                    inputs: BTreeMap::new(),
                });
                Some(Redeemed::First)
            }
        }
    }

    /// Whether it is shown by a launcher that has joined with it.
    pub(crate) fn is_there(&self, container: &ContainerId, shown: &[u8]) -> bool {
        let tickets = self.lock();
        let ticket = tickets.get(container).filter(|t| t.bytes == shown);
        ticket.is_some_and(|ticket| ticket.joined.is_some())
    }

    /// The output of a job from a launcher that has joined: as it was when it called before, or as `open`
    /// makes it.
    pub(crate) fn output(
        &self,
        container: &ContainerId,
        job: u32,
        open: impl FnOnce() -> Option<Box<dyn Bringing>>,
    ) -> Option<LauncherOutput> {
        let mut tickets = self.lock();
        let joined = tickets.get_mut(container)?.joined.as_mut()?;
        if let Some(output) = joined.outputs.get(&job) {
            return Some(Arc::clone(output));
        }
        let output = Arc::new(tokio::sync::Mutex::new(open()?));
        joined.outputs.insert(job, Arc::clone(&output));
        Some(output)
    }

    /// Standard input of a job for a launcher that has joined: as it was when it called before in the same
    /// run, or as `begin` makes it.
    pub(crate) fn input(
        &self,
        container: &ContainerId,
        job: u32,
        run: u32,
        begin: impl FnOnce() -> Option<Resumable<wire::InputChunk>>,
    ) -> Option<LauncherInput> {
        let mut tickets = self.lock();
        let joined = tickets.get_mut(container)?.joined.as_mut()?;
        if let Some(input) = joined.inputs.get(&job).filter(|input| input.run == run) {
            return Some(input.clone());
        }
        let input = LauncherInput {
            run,
            chunks: begin()?,
        };
        joined.inputs.insert(job, input.clone());
        Some(input)
    }

    /// A job is over in a container: nothing more is brought of it, and nothing fetched.
    pub(crate) fn forget(&self, container: &ContainerId, job: u32) {
        let mut tickets = self.lock();
        let joined = tickets.get_mut(container).and_then(|t| t.joined.as_mut());
        if let Some(joined) = joined {
            joined.outputs.remove(&job);
            joined.inputs.remove(&job);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ContainerId, Ticket>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
