//! The client of a MapReduce program: what stands between the program on this machine and the cluster that runs
//! its jobs.
//!
//! # The life of one run
//!
//! The program is asked what it has to offer ([`mod@plan`]), then started in its role `drive` ([`driver`], a thread
//! that owns the [`process`](mod@process)), with the user's own words. [`serve`](mod@serve) answers it: which files inputs name
//! ([`input`], on the [`places`] that Hadoop's settings lead to), where an output is open for reading ([`open`]),
//! what became of a job. A submission is checked and completed ([`order`]: [`settings`], [`splits`] with the hosts
//! that have their [`blocks`]), its program staged once, given to the session, and followed until its verdict
//! ([`jobs`]). Where the user has no session, the first job is what an [`application`] of the run's own is submitted
//! for. A program without a driver is driven from here.
//!
//! What its stages need of their nodes is known before anything is submitted ([`needs`]), and splits are cut so that
//! they fit the devices of these ([`device_split`]).
//!
//! Where an output is to take the place of an old one, that happens when it is complete ([`overwrite`]).
//! What has become of jobs that are over is read by [`mod@history`], and told as words or as a page.
//!
//! # Invariants
//!
//! - Each message of a driver has one answer, in order; one is under way at a time.
//! - Nothing is staged or submitted before input and output were looked at.
//! - A driver ends with this process: it is the child of a thread that does not outlive it, and asks the kernel to be
//!   killed with that. Jobs under way are ended when their driver is lost.
//! - Each wait for a process, a file system or a session ends within a stated time; a driver alone may think as long
//!   as it lives.
//!
//! # Caveats
//!
//! A program is started here as it is on the nodes: it must be built for this machine, too. What a driver reads of
//! HDFS comes through a pipe of this process.

pub mod application;
pub mod blocks;
pub mod brought;
pub mod cluster;
pub mod device_split;
pub mod driver;
mod dry_run;
mod error;
pub mod history;
pub mod input;
pub mod jobs;
mod located;
pub mod mappers;
pub mod needs;
pub mod open;
pub mod order;
pub mod output;
mod overwrite;
pub mod places;
pub mod plan;
pub mod process;
pub mod serve;
pub mod settings;
pub mod splits;
pub mod trash;

pub use cluster::Cluster;
pub use error::MapReduceError;
pub use serve::{RunEnd, Show, serve};
