//! The ApplicationMaster's decisions on virtual time, without a cluster. There are two worlds, over one
//! clock: a session's policies under a workload, and MPI jobs that fight for a cluster ([`duel`]).
//!
//! One workload passes through here once. [`Workload`] is read from JSON: nodes and their slots, jobs and
//! what their tasks take. A [`WorkloadRun`] feeds a [`policy::schedule::SessionDriver`] with what happens, carries out
//! what it decides by the workload's own times, and notes when each attempt ran where. Of that [`gantt`] makes charts,
//! [`report`] tables, and a digest by which the same seed is seen to give the same run; [`record`] keeps it line
//! by line, and replays what it or an ApplicationMaster has kept, of which [`recorded`] makes a workload. A [`trace`] has jobs
//! alone, a line each. [`hpe`], [`dyscale`] and [`hetero`] play what the figures of
//! three papers show. [`spmario`] does the same of a fourth: a disk and GPUs, driven by [`policy::read_order`].
//!
//! Invariants: no clock, no chance but what the workload says; events of one moment are ordered by when
//! they were put in line; a decision that cannot be carried out ends the run with an error, since it is a
//! fault of the policy.
//!
//! Missing: how long data takes over the network; reading from a neighbour costs as much as from here.

mod at_once;
pub mod bench;
mod chance;
mod chart;
mod clock;
pub mod duel;
pub mod dyscale;
pub mod figure;
pub mod gantt;
pub mod hetero;
pub mod hpe;
mod interval;
mod keys;
mod name_node;
pub mod record;
pub mod recorded;
pub mod report;
mod run;
pub mod spmario;
pub mod trace;
mod workload;

pub use chance::Chance;
pub use keys::{Keys, whole};
pub use name_node::NameNode;
pub use run::{Bar, BusyTime, JobTimes, RunResult, TIMED_OF, WorkloadRun};
pub use workload::{
    AlikeNodes, AlikeTasks, CoreSpeeds, Loss, LostCore, SlotSpeed, StageSpeeds, Workload,
    WorkloadJob,
};
