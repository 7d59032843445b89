//! What an MPI job hears beside what every job does.

use std::collections::{BTreeMap, BTreeSet};

use job::wire;
use policy::lifecycle::{Grant, LifecycleEvent};
use policy::{ContainerId, Resources};

use super::standoff::Sight;
use super::waiting::Look;
use crate::files::FilesDone;
use crate::work::{JobEvent, OutputSeen};

/// Something that an MPI job hears.
#[derive(Debug)]
pub(crate) enum MpiHeard {
    /// What every job hears.
    Every(JobEvent),
    /// What it alone hears.
    Own(MpiJobEvent),
}

/// Something of its containers, of its ranks and of their terminal.
#[derive(Debug)]
pub(crate) enum MpiJobEvent {
    /// Of containers and of the ResourceManager, as the machine in `policy` takes it.
    Machine(LifecycleEvent),
    /// Cores that its ranks are bound to, by container: those of its slots. Of the containers that are not named they are
    /// not bound.
    Cores(BTreeMap<ContainerId, BTreeSet<u32>>),
    /// The ResourceManager has granted containers, in one answer.
    Granted(Vec<Grant>),
    /// What the queue still gives the application has changed.
    Headroom(Resources),
    /// YARN wants containers back: a sentence for the user.
    WantedBack(String),
    /// The ResourceManager has taken requests for so many new containers, in so many rows.
    Asked {
        /// Containers in all of the rows.
        containers: u32,
        /// Rows of the call.
        rows: u32,
    },
    /// The answer to [`crate::work::Do::LookAround`].
    Looked(Box<Look>),
    /// The answer to [`crate::work::Do::LastLook`].
    LastLook(Box<Look>),
    /// The answer to [`crate::work::Do::LookForRivals`].
    Rivals(Sight),
    /// The answer to a [`crate::work::Do::Files`].
    Files(FilesDone),
    /// A launcher has dialled in for the first time.
    Joined {
        /// Its container.
        container: ContainerId,
        /// What it has found on its node.
        node: wire::NodeFacts,
    },
    /// A launcher said something.
    Said {
        /// Its container.
        container: ContainerId,
        /// Its message, of the ranks there.
        event: wire::mpi_event::Event,
    },
    /// A launcher has left, or is not heard of any more.
    Lost(ContainerId),
    /// A stream of output has ended, or the last of all output was handed over.
    OutputMoved,
    /// The answer to [`crate::work::Do::LookAtOutput`].
    Output(OutputSeen),
    /// It sent a signal for the ranks.
    ClientSignal(i32),
    /// Its terminal has another size.
    ClientResized(wire::WindowSize),
    /// It takes lanes from now on.
    ClientDoor(wire::Door),
    /// The answer to [`crate::work::Do::Measure`].
    Memory(wire::Memory),
}
