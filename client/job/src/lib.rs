//! The words that client, ApplicationMaster and launcher share.
//!
//! A job travels so: the client writes a [`Description`] and the keys of a throw-away certificate
//! authority into the credentials of the ApplicationMaster's container ([`secrets`]); the
//! ApplicationMaster (AM) reads them there, and gives each launcher a [`LauncherContext`] in the same way.
//! From then on they speak [`wire`] to each other over connections set up as [`transport`] says. How the
//! job ended becomes an [`exit`] code.
//!
//! Invariants: nothing secret is ever in an environment or on a command line; the three processes
//! are one build ([`BUILD`]) and refuse another.

pub mod allocator;
mod blocks;
pub mod codec;
pub mod container_exit;
pub mod data;
mod description;
pub mod element;
pub mod exit;
pub mod explain;
mod fence;
mod given_cores;
pub mod history;
pub mod interface;
mod job_id;
pub mod lane;
mod large_reads;
mod launcher_context;
mod mapreduce;
mod mapreduce_report;
mod mpi;
pub mod pass;
mod progress;
pub mod recovered;
pub mod report;
pub mod resumable;
pub mod role;
pub mod secrets;
pub mod sequence;
mod session;
mod staged;
pub mod tls;
pub mod transport;
pub mod wire;

pub use blocks::{BlockAt, BlockPlaces};
pub use data::{Checkpoints, StageOut};
pub use description::{Application, ApplicationWork, Description};
pub use job_id::JobId;
pub use large_reads::LargeReads;
pub use launcher_context::LauncherContext;
pub use mapreduce::{FileAt, MapReduceJob, Split, StageTerms, TasksReport};
pub use mapreduce_report::{MapReduceJobReport, MapReduceReport, StageNeed};
pub use mpi::{BindUnit, Binding, InPlace, MpiJob, MpiProgram, Terminal, Universe, Yielding};
pub use role::Role;
pub use session::{RecordFile, SessionPlan, StagingFolder};
pub use staged::{Staged, StagedKind};

/// Names this build: the version and a digest of the wire schema.
pub const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("GERBIL_WIRE"));

/// What YARN's lists call the type of these applications.
pub const APPLICATION_TYPE: &str = "GERBIL";

/// Longest piece of output or input in one message, bytes: what a pipe holds. Lines up to this length
/// stay whole.
pub const CHUNK_MAX: usize = 64 * 1024;
