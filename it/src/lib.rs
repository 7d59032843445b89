//! Guards of real Hadoop clusters and MPI libraries, and the tests and benchmarks that run on them.
//!
//! # The life of one cluster
//!
//! [`Cluster::builder`] takes the Hadoop release, the nodes and their sizes. `start` brings the
//! release's jars from Maven Central into the cache ([`hadoop`]) unless they are there, claims a
//! loopback network of its own ([`loopback`]), writes one configuration folder for clients and one
//! per daemon ([`settings`]), formats the NameNode and starts ResourceManager, NameNode, DataNode and
//! NodeManagers as plain children ([`process`]), none of them as root unless the caller is root. It
//! returns when the ResourceManager counts every node and the NameNode has left safe mode, or fails
//! with the ends of the daemons' logs. Dropping the [`Cluster`] ends the daemons, then every process
//! that their containers left ([`sweep`]), then removes the folder.
//!
//! Test programs are C files, compiled at test time against a stock MPICH ([`mpi`]); the binary under
//! test is found by [`gerbil`], run with a deadline by [`command`]; what a test kills of a job, and which
//! nodes, [`victims`] finds.
//!
//! [`hollow`] puts nodes that run nothing, by the hundred and thousand, under a real ResourceManager.
//!
//! # Invariants
//!
//! - A daemon never outlives the process that started it: it is killed by the kernel when that
//!   process ends ([`process`]). The containers of a NodeManager are no children of ours; a small
//!   shell process, the [`warden`], sees our end and sweeps them, so a test killed with `-9` leaves
//!   nothing either.
//! - What the cache shows is whole: a release or library is made beside its place and renamed.
//! - What makes daemons start sooner ([`archives`]) may be missing, or of no use, and changes nothing else.
//! - The settings are Hadoop's defaults except for addresses, folders, how full a disk may be, and
//!   what the builder was asked for: virtual memory check on, heartbeats of a second (a fifth of it in
//!   the suites, which wait for them), CapacityScheduler, 1024 MiB minimum.
//! - Nothing is skipped in silence: what is missing is an error that says how to get it.
//!
//! # Caveats
//!
//! All nodes share one host name, one process table and one `/dev/shm`. Containers run under
//! DefaultContainerExecutor, without cgroups. A container process that changes its folder, clears its
//! environment and hides its command line is not found by the sweep. If the test process and the
//! warden are killed together, the daemons end and their containers stay.

pub mod accelerators;
pub mod archives;
pub mod bed;
pub mod booked;
pub mod cache;
pub mod calls;
pub mod cargo;
pub mod chaos;
pub mod cluster;
pub mod command;
pub mod cores;
pub mod daemon;
pub mod expect;
pub mod flow;
pub mod gerbil;
pub mod hadoop;
pub mod hdfs;
pub mod hollow;
pub mod ignored;
pub mod initialized;
pub mod java;
pub mod load;
pub mod loopback;
pub mod mapreduce;
pub mod mapreduce_kills;
pub mod memory;
pub mod mpi;
pub mod mpich_suite;
pub mod ports;
pub mod process;
pub mod queue;
pub mod readme;
pub mod reported;
pub mod resource_manager;
pub mod results;
#[cfg(test)]
mod second_times;
pub mod session;
pub mod settings;
pub mod shared_cluster;
pub mod slice;
pub mod spark;
pub mod suite;
pub mod sweep;
pub mod victims;
pub mod wait;
pub mod warden;

pub use cluster::{Builder, Cluster, NodeManager};
pub use command::{Finished, Run};
pub use daemon::Daemon;
pub use hadoop::Version;
pub use mpi::{IntelMpi, Mpi4py, Mpich, OpenMpi};
pub use shared_cluster::SharedCluster;
