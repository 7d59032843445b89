//! Hollow nodes: NodeManagers without containers, by the hundred and thousand in one process, under
//! the real ResourceManager of a real cluster.
//!
//! Each has an address, a name, a port and a connection of its own, registers, heartbeats and takes
//! calls as the stock daemon does ([`mini::node_manager`]). What is started on it is one of three
//! things. An ApplicationMaster, known by the token in its credentials, is run as a process, for a
//! job without one is none. A launcher of this project is stood in for by a task that speaks its part
//! to the ApplicationMaster over the job's own TLS and runs its ranks as nothing ([`launcher`]).
//! Anything else is taken for a process that sleeps until it is stopped.
//!
//! Caveats: a node holds two open files and a launcher's link one, so that nodes beyond this process's
//! limit are put into others ([`annex`]). Nothing is measured of memory or time that real processes would
//! take.

pub mod annex;
mod fleet;
pub mod job;
pub mod launcher;
mod lot;
pub mod one_by_one;

pub use fleet::{Account, Fleet, FleetPlan};
pub use lot::Phases;
