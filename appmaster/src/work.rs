//! A job of the session: what it hears, and what it wants done.
//!
//! The loop gives a job what has happened, with the time, carries out what the job answers in that
//! order, and comes back when the job asks to be woken. The job itself waits for nothing and touches nothing.

use std::collections::{BTreeMap, BTreeSet};

use holding::{Asking, Finished};
use job::wire;
use job::wire::mpi_order::Order as ToLauncher;
use policy::lifecycle::KillReason;
use policy::{ContainerId, Millis};
use proto_hadoop::yarn::FinalApplicationStatus;

use crate::client_events::Outbox;
use crate::files::FileWork;
use crate::lent_events::LentEvent;
use crate::mapreduce::{MapReduce, MapReduceEffect, MapReduceEvent, MapReduceHeard};
use crate::mpi::{Mpi, MpiHeard, MpiJobEvent};
use crate::queued::Queued;

/// One job, of one kind.
pub(crate) enum JobWork {
    /// An MPI job of a session that has had no slots, and no client that follows it.
    Queued(Box<Queued>),
    /// Ranks of an MPI program, all at once.
    Mpi(Box<Mpi>),
    /// Tasks of a MapReduce program, as slots come free.
    MapReduce(Box<MapReduce>),
}

impl JobWork {
    /// A job that has only waited is what it is to be for the rest of its life.
    fn wake(&mut self) {
        if let Self::Queued(queued) = self {
            *self = Self::Mpi(Box::new(queued.wake()));
        }
    }

    /// The application is registered: the job's life begins.
    pub(crate) fn begin(&mut self, now: Millis) -> Vec<Do> {
        match self {
            // What any MPI job begins with.
            Self::Queued(_) => vec![Do::TakeSnapshot],
            Self::Mpi(mpi) => mpi.begin(now),
            Self::MapReduce(mapreduce) => mapreduce.begin(now),
        }
    }

    /// Takes in what has happened by `now`, milliseconds since the job began; what is to be done about
    /// it, in order.
    pub(crate) fn hear(&mut self, now: Millis, heard: WorkEvent) -> Vec<Do> {
        self.wake();
        match self {
            Self::Queued(_) => Vec::new(),
            Self::Mpi(mpi) => match heard {
                WorkEvent::Every(heard) => mpi.hear(now, MpiHeard::Every(heard)),
                // It is in lent containers as in its own.
                WorkEvent::Lent(heard) => mpi.hear(now, MpiHeard::Own(heard.of_own())),
                WorkEvent::Mpi(heard) => mpi.hear(now, MpiHeard::Own(heard)),
                WorkEvent::MapReduce(_) => Vec::new(),
            },
            Self::MapReduce(mapreduce) => match heard {
                WorkEvent::Every(heard) => mapreduce.hear(now, MapReduceHeard::Every(heard)),
                WorkEvent::Lent(heard) => mapreduce.hear(now, MapReduceHeard::Container(heard)),
                WorkEvent::MapReduce(heard) => mapreduce.hear(now, MapReduceHeard::Own(heard)),
                // Its containers are the session's, and its tasks have no terminal.
                WorkEvent::Mpi(_) => Vec::new(),
            },
        }
    }

    /// When [`JobEvent::Tick`] is due, if nothing else happens before.
    pub(crate) fn wakes_at(&self) -> Option<Millis> {
        match self {
            Self::Queued(_) => None,
            Self::Mpi(mpi) => mpi.wakes_at(),
            Self::MapReduce(mapreduce) => mapreduce.wakes_at(),
        }
    }

    /// Whether there is an event for the client that may be told now.
    pub(crate) fn has_an_event(&self) -> bool {
        match self {
            Self::Queued(_) => false,
            Self::Mpi(mpi) => mpi.has_an_event(),
            Self::MapReduce(mapreduce) => mapreduce.has_an_event(),
        }
    }

    /// What the client is told beside the phases; `None`: the job has nothing to tell yet.
    pub(crate) fn outbox(&mut self) -> Option<&mut Outbox> {
        match self {
            Self::Queued(_) => None,
            Self::Mpi(mpi) => Some(mpi.outbox()),
            Self::MapReduce(mapreduce) => Some(mapreduce.outbox()),
        }
    }

    /// Its verdict is out.
    pub(crate) fn is_ending(&self) -> bool {
        match self {
            Self::Queued(_) => false,
            Self::Mpi(mpi) => mpi.is_ending(),
            Self::MapReduce(mapreduce) => mapreduce.is_ending(),
        }
    }

    /// Nothing more comes of it, and YARN and its client know.
    pub(crate) fn is_over(&self) -> bool {
        match self {
            Self::Queued(_) => false,
            Self::Mpi(mpi) => mpi.is_over(),
            Self::MapReduce(mapreduce) => mapreduce.is_over(),
        }
    }
}

/// Something that a job hears.
#[derive(Debug)]
pub(crate) enum WorkEvent {
    /// Of every job.
    Every(JobEvent),
    /// Of a container that is lent to it, and of the job there.
    Lent(LentEvent),
    /// Of an MPI job.
    Mpi(MpiJobEvent),
    /// Of a MapReduce job.
    MapReduce(MapReduceEvent),
}

/// What jobs of every kind hear: one that knows no answer to one of these does not compile.
#[derive(Debug)]
pub(crate) enum JobEvent {
    /// A client wants to follow the job: [`Do::Admit`] says whether it may.
    ClientAttached,
    /// It wants the job ended.
    ClientKill(KillReason),
    /// The link of the client that follows broke or ended.
    ClientLeft,
    /// Events do not reach the client any more.
    ClientDeaf,
    /// YARN, or a signal, ends this process.
    Killed(KillReason),
    /// No ResourceManager answers any more.
    ResourceManagerLost {
        /// For so long.
        silent: Millis,
    },
    /// The answer to [`Do::Unregister`].
    Finished(Finished),
    /// Nothing happened, but time passed: see [`JobWork::wakes_at`].
    Tick,
}

/// How far the ranks' output is on its way to the client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OutputSeen {
    /// Every launcher has ended as many streams as it has begun.
    pub all_ended: bool,
    /// No more is taken, and what was brought has been taken over.
    pub is_closed: bool,
    /// Some waits for its taker.
    pub is_backed_up: bool,
    /// The last byte has left this process, or never will.
    pub is_drained: bool,
}

/// Something that is to be done for a job.
#[derive(Debug)]
pub(crate) enum Do {
    /// Read the nodes: a snapshot is heard, or why there is none, after the next answer of the
    /// ResourceManager.
    TakeSnapshot,
    /// Look who holds what the job waits for. `enough`: as soon as for each of these nodes, `host:port`, an application
    /// is known that holds it; `None`: all applications.
    LookAround { enough: Option<BTreeSet<String>> },
    /// The same, for the last sentence of a job that is over.
    LastLook,
    /// Look for jobs that wait as well. `holds`: this one has containers.
    LookForRivals {
        /// Whether it does.
        holds: bool,
    },
    /// Ask the ResourceManager for containers.
    Ask(Asking),
    /// Give these back; launchers there are to leave.
    Release(Vec<ContainerId>),
    /// Start a launcher in this one.
    Start(ContainerId),
    /// Ask its node whether it is still being localized.
    Probe(ContainerId),
    /// Something is about to be heard of YARN: ask more often.
    Hurry,
    /// What YARN is told of the job's progress, in thousandths.
    Progress(u16),
    /// What a job of tasks wants done about them.
    ForTasks(MapReduceEffect),
    /// Order a launcher something.
    Tell {
        /// Its container.
        to: ContainerId,
        /// The order; the job's number is added on the way.
        order: Box<ToLauncher>,
    },
    /// The launcher there, if there is one, is to leave with all that it runs; none is let in any more.
    Dismiss(ContainerId),
    /// The launcher there is to leave, and it is heard when it has.
    Leave(ContainerId),
    /// Lets the client that has just come follow the job, or says why not.
    Admit(Result<(), &'static str>),
    /// Shows the client a phase; one that does not keep up misses some.
    Show(wire::Phase),
    /// No client takes the output: it goes to the log of this process.
    LogOutput,
    /// Take no more output.
    CloseOutput,
    /// See how far the output of this run is, where each launcher has begun so many streams.
    LookAtOutput {
        /// The run's number, from 1: starts of the program, counted.
        run: u32,
        /// Streams, by container.
        streams: BTreeMap<ContainerId, u64>,
    },
    /// Input begins again, for another run.
    RenewInput,
    /// No client gives input: a rank that reads it sees its end.
    EndInput,
    /// Work on a file system.
    Files(FileWork),
    /// The job waits for such work no more, as far as it may be dropped.
    DropFiles,
    /// See what this process uses.
    Measure,
    /// Unregister the application with this verdict.
    Unregister {
        /// How it ended, as YARN records it.
        status: FinalApplicationStatus,
        /// A sentence for YARN's pages.
        diagnostics: String,
    },
}
