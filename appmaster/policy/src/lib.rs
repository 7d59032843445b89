//! Pure decisions: where the processes of a job go, and what the ApplicationMaster does next.
//!
//! A job passes through here twice. [`allocate`] turns a [`Demand`] and a [`ClusterView`] into a
//! [`Placement`], or a [`Rejection`] that says how much was missing; before that [`choose()`] picks the
//! mode where the user left it open, after that [`degraded()`] says what a grant is short of. [`lifecycle`] is the machine
//! that takes the job from its first snapshot of the cluster to its verdict, made of a [`gang`] of containers and a [`run`] in them: the ApplicationMaster
//! feeds it what happened and carries out what it answers; a simulator can do the same on virtual
//! time.
//!
//! Invariants: no I/O, no clock, no environment, no chance; everything iterated has an order and
//! every tie a written rule. The same input gives the same output, byte for byte. Nothing here can
//! wait, so nothing here can hang.

// What is counted here comes from others, and a count below zero is a job that never ends.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

pub mod allocate;
mod choose;
mod cluster;
pub mod commit;
mod degraded;
mod demand;
pub mod elements;
mod end;
mod few;
pub mod gang;
pub mod lending;
pub mod lifecycle;
pub mod mapreduce;
mod mode;
mod numbered;
mod numbering;
mod placement;
mod quantities;
mod queue;
pub mod read_order;
mod resource_types;
pub mod run;
pub mod schedule;
pub mod scratch;

pub use choose::{COMMUNICATES_MUCH, Choice, Circumstances, Outlook, Wait, choose};
pub use cluster::{ClusterView, Counted, NodeView};
pub use degraded::{Degraded, degraded};
pub use demand::{Demand, ListedHost, Near};
pub use end::End;
pub use few::Few;
pub use mode::{Mode, UnknownMode};
pub use numbered::{Number, Numbered};
pub use numbering::Numbering;
pub use placement::{LimitedBy, NodeShare, Placement, Rejection};
pub use quantities::{
    ContainerId, MiB, Millis, NodeId, Rank, Resources, Vcores, counted, in_words,
};
pub use queue::Queue;
pub use resource_types::{Counts, GPU, MOST_RESOURCE_TYPES, ResourceTypes, TypeIndex};
