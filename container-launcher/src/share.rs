//! A container's share of one job.

use job::wire::RankUsage;

use crate::container::OwnContainer;
use crate::disks::Suspect;
use crate::memory_limit::OverLimit;
use crate::mpi::{self, Mpi};
use crate::nursery::ReapedProcess;
use crate::process::Id;
use crate::tasks::{self, Tasks};

/// What the container runs of a job, by the job's kind. There are two kinds.
pub(crate) enum Share {
    Mpi(Box<Mpi>),
    Tasks(Box<Tasks>),
}

/// What a share waited for.
pub(crate) enum Happened {
    Mpi(mpi::Happened),
    Tasks(tasks::Happened),
}

impl Share {
    /// Until something is to be done. May be dropped and called again.
    pub(crate) async fn next(&mut self) -> Happened {
        match self {
            Self::Mpi(mpi) => Happened::Mpi(mpi.next().await),
            Self::Tasks(tasks) => Happened::Tasks(tasks.next().await),
        }
    }

    /// Does what is to be done.
    pub(crate) async fn on(&mut self, happened: Happened, container: &mut OwnContainer<'_>) {
        match (self, happened) {
            (Self::Mpi(mpi), Happened::Mpi(happened)) => mpi.on(happened, container).await,
            (Self::Tasks(tasks), Happened::Tasks(happened)) => tasks.on(happened, container).await,
            // A share waits for what is its kind's.
            (Self::Mpi(_), Happened::Tasks(_)) | (Self::Tasks(_), Happened::Mpi(_)) => {}
        }
    }

    /// Processes of this share were reaped.
    pub(crate) async fn on_ended(
        &mut self,
        ended: &[ReapedProcess],
        container: &mut OwnContainer<'_>,
    ) {
        match self {
            Self::Mpi(mpi) => mpi.on_ended(ended, container).await,
            Self::Tasks(tasks) => tasks.on_ended(ended, container),
        }
    }

    /// What a look at its processes has found.
    pub(crate) fn sampled(&mut self, usages: Vec<RankUsage>) {
        match self {
            Self::Mpi(mpi) => mpi.sampled(usages),
            // Nobody asks for it yet.
            Self::Tasks(_) => {}
        }
    }

    /// Of the container's memory, for one of its processes, MiB; 0: none was told.
    pub(crate) fn memory_mib(&self, number: u32) -> u64 {
        match self {
            Self::Mpi(mpi) => mpi.memory_mib(),
            Self::Tasks(tasks) => tasks.memory_mib(number),
        }
    }

    /// One of its processes is to end: the container is about to have too much memory.
    pub(crate) async fn over_share(&mut self, over: &OverLimit, container: &mut OwnContainer<'_>) {
        match self {
            Self::Mpi(mpi) => mpi.over_share(over.id.number),
            Self::Tasks(tasks) => tasks.over_share(over),
        }
        container.nursery.kill(over.id).await;
    }

    /// What may have filled a disk without having said so.
    pub(crate) fn suspect(&self) -> Option<Suspect> {
        match self {
            Self::Mpi(mpi) => mpi.suspect(),
            // Tasks are watched by what they say.
            Self::Tasks(_) => None,
        }
    }

    /// One of its processes has filled a disk: it is to end.
    pub(crate) async fn fills_disk(
        &mut self,
        id: Id,
        sentence: String,
        container: &mut OwnContainer<'_>,
    ) {
        match self {
            Self::Mpi(mpi) => mpi.fills_disk(id, sentence, container).await,
            Self::Tasks(_) => {}
        }
    }

    /// It was ended for that, and is still there.
    pub(crate) fn has_filled_disk(&self) -> bool {
        match self {
            Self::Mpi(mpi) => mpi.has_filled_disk(),
            Self::Tasks(_) => false,
        }
    }

    /// The job is over, and no process of it is left.
    pub(crate) fn end(self, container: &OwnContainer<'_>) {
        match self {
            Self::Mpi(mpi) => mpi.end(container),
            // What goes on of it ends when it is dropped.
            Self::Tasks(tasks) => tasks.end(container),
        }
    }

    /// No process of it runs.
    pub(crate) fn all_ended(&self) -> bool {
        match self {
            Self::Mpi(mpi) => mpi.all_ended(),
            Self::Tasks(tasks) => tasks.all_ended(),
        }
    }
}
