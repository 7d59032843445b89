//! PMIx: the process manager of Open MPI's programs.
//!
//! PMIx is spoken by libraries alone, so each job has a server in a process beside the launcher ([`role`]), which opens
//! the program's own libpmix (crate `pmix`): what goes wrong in it ends no launcher. The launcher starts it before the
//! ranks, hands them the variables by which they find it, and does what they ask of it ([`server`], [`socket`]). Over the socket
//! between the two go `wire::PmixOrder` and `wire::PmixEvent`.

mod calls;
mod libfabric;
mod names;
mod places;
mod role;
mod server;
mod socket;
mod variables;

pub use role::pmix_main;
pub(super) use server::{PmixServer, Served, Wants};

/// Longest message between a launcher and its server, bytes: a fence's data, and what is around them.
const MESSAGE_MAX: usize = 65 << 20;
/// Most that all ranks together may tell each other in a fence, bytes.
const FENCE_MAX: usize = 64 << 20;
