//! Submits a job to YARN and follows it to its end.
//!
//! [`submit`] hands the application over, with the [`keys`] of this one job. A [`follower::Follower`] waits
//! for its ApplicationMaster, over whichever of its [`attempts`] there are, attaches to it ([`dial`]),
//! mirrors output ([`streams`], and [`lanes`] where it is much), input and [`terminal::signals`], and says how the
//! job [`ended`]. With `--deploy-mode client` the ApplicationMaster is a task of this process
//! ([`unmanaged`]). What was decided on the way is [`explained`], what it came to is a [`report`].
//!
//! Invariants: each wait for a peer ends within a stated time; a queue between two tasks has a stated
//! length; who reads nothing of the output stops the rank that writes, and nothing else.

pub mod attempts;
pub mod conclusion;
pub mod descriptor;
pub mod dial;
pub mod ended;
mod error;
pub mod explained;
pub mod follower;
mod hdfs_copy;
pub mod keys;
pub mod kill;
mod label;
mod lanes;
mod local_address;
mod logged;
mod logs;
mod output;
mod pace;
pub mod pattern;
pub mod progress;
mod queue_holders;
pub mod report;
pub mod streams;
pub mod submit;
mod task_log;
pub mod timeout;
pub mod timing;
pub mod unmanaged;
mod wait;

pub use error::FollowError;
pub use hdfs_copy::CopyFolder;
pub use logged::{print_task_logs, task_logs};
pub use logs::logs;
pub use output::Layout;
pub use task_log::{print_task_log, task_log};
