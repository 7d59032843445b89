//! Flags of placement that do not go together, a sentence each.

use std::num::NonZeroU32;
use std::time::Duration;

use policy::Mode;

use crate::hostfile::PROCESSES_MAX;

/// What contradicts itself, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Contradiction {
    #[error(
        "-r {mode} keeps to the hosts of a list, and there is none; give one with -f FILE or \
         -hosts a:2,b:2"
    )]
    NoList { mode: Mode },
    #[error(
        "-r loc keeps to the number of processes on each node, and nothing says it; give a list with \
         -f FILE or -hosts a:2,b:2, or one number with -ppn N"
    )]
    NoNumbers,
    #[error(
        "-r loc+dist keeps to the number of nodes, and nothing says it; give it with --nodes N, or a \
         list with -f FILE or -hosts a,b"
    )]
    NoNodes,
    #[error(
        "-r all places processes on any nodes, so that {list} would mean nothing; leave out one of \
         the two, or choose what to relax: loc, dist or loc+dist"
    )]
    AllWithList { list: String },
    #[error(
        "-r {mode} spreads processes by the room of the nodes, so that -ppn would mean nothing; leave \
         out one of the two, or write -r loc"
    )]
    PerNodeIsRelaxed { mode: Mode },
    #[error("-r all uses any number of nodes; with --nodes write -r loc+dist, or leave -r out")]
    NodesAreRelaxed,
    #[error("{list} says already which nodes are wanted; leave out --nodes {nodes}, or the list")]
    NodesAndList { nodes: NonZeroU32, list: String },
    #[error("{flag} chooses among nodes, and in mode {mode} the list leaves no choice")]
    NodesAreGiven { flag: &'static str, mode: Mode },
    #[error(
        "--pack chooses how many processes a node gets, and in mode {mode} that is fixed; it goes \
         with the modes dist, loc+dist and all"
    )]
    NumbersAreGiven { mode: Mode },
    #[error(
        "-r {mode} starts at least one process on each of the {hosts} listed hosts, and -n \
         {processes} is fewer; ask for more processes or list fewer hosts"
    )]
    FewerThanHosts {
        processes: u32,
        hosts: usize,
        mode: Mode,
    },
    #[error(
        "{nodes} nodes want at least one process each, and -n {processes} is fewer; ask for more \
         processes or fewer nodes"
    )]
    FewerThanNodes { processes: u32, nodes: NonZeroU32 },
    #[error(
        "-ppn {per_node} says how many processes a node gets, but nothing says how many there are; \
         add -n N or --nodes N"
    )]
    PerNodeAlone { per_node: u32 },
    #[error(
        "-n {processes} with -ppn {per_node} takes {needed} nodes, not {nodes}; leave out one of \
         the three"
    )]
    PerNodeAndNodes {
        processes: u32,
        per_node: u32,
        nodes: NonZeroU32,
        needed: u32,
    },
    #[error(
        "--reissue-after ({}s) must be shorter than --gang-timeout ({}s): then everything is let go \
         and asked for again anyway",
        reissue.as_secs_f64(), gang.as_secs_f64()
    )]
    NeverReissued { reissue: Duration, gang: Duration },
    #[error(
        "-rankmap says how many processes each node has, so that it goes with -r none or loc alone; \
         leave out one of the two"
    )]
    MapIsRelaxed,
    #[error(
        "-rankmap says already how many processes each node has, and how many nodes there are; leave \
         out -ppn and --nodes, or the map"
    )]
    MapAndNumbers,
    #[error(
        "-rankmap puts a rank on node {node}, and the list has {hosts} hosts, which are numbered from 0"
    )]
    MapBeyondList { node: u32, hosts: usize },
    #[error(
        "-rankmap puts a rank on node {node}, but none on one before it; without a list nodes are \
         numbered from 0 without a gap"
    )]
    MapLeavesOut { node: u32 },
    #[error("{processes} processes are more than {PROCESSES_MAX}")]
    TooMany { processes: u64 },
}
