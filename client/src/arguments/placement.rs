//! Where the processes may go: GERBIL's modes and all that narrows them.

use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use clap::builder::{PathBufValueParser, TypedValueParser as _};
use job::Yielding;
use policy::{Mode, UnknownMode};

use super::ranks::{RankBy, RankMap, rank_by, rank_map};
use super::values::{Whole, gang_span, span, yes_or_no};
use crate::hostfile::{self, HostList, HostNames, PROCESSES_MAX};

pub(super) const PLACEMENT: &str = "Placement";

/// What of the list of hosts may be relaxed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relax {
    /// By this mode.
    To(Mode),
    /// By the mode that looks best when the job is submitted.
    Auto,
}

impl FromStr for Relax {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            other => other
                .parse()
                .map(Self::To)
                .map_err(|unknown: UnknownMode| format!("{unknown}, or auto to have one chosen")),
        }
    }
}

/// The flags of placement.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = PLACEMENT)]
pub(crate) struct Placement {
    /// Number of processes, at most a million; also -np [default: as many as the list of hosts or
    /// -ppn with --nodes says, otherwise 1]
    #[arg(short = 'n', long = "processes", visible_alias = "np", value_name = "N",
        value_parser = Whole::new("number of processes", 1, PROCESSES_MAX))]
    pub processes: Option<u32>,

    /// File that lists the hosts, one a line: "host", "host:4", "host slots=4" or "host 4", the
    /// number being how many processes the host takes (1 where there is none). A host that stands
    /// there again gets the sum; # begins a comment. Also -machinefile
    ///
    /// With -n smaller than the sum the first N places are used, with -n larger the list is dealt
    /// from its top again.
    #[arg(short = 'f', long, visible_alias = "machinefile", value_name = "FILE", conflicts_with = "hosts",
        value_parser = PathBufValueParser::new().try_map(|path| hostfile::read(&path)))]
    pub hostfile: Option<HostList>,

    /// The hosts themselves: a:2,b:2 is one with two processes, and another one. Of several programs each may name its own
    #[arg(short = 'H', long, visible_alias = "host", value_name = "HOST[:N],...", value_parser = hostfile::inline)]
    pub hosts: Option<HostList>,

    /// What may be relaxed for an earlier start: none, loc, dist, loc+dist, all or auto
    /// [default: none with a list of hosts, loc with -ppn, loc+dist with --nodes, otherwise all]
    ///
    /// none: the listed hosts, each with its number of processes.
    /// loc: other nodes than the listed ones, with the listed numbers.
    /// dist: the listed hosts, the processes spread over them by their room.
    /// loc+dist: as many nodes as listed or as --nodes says, any of them, the processes spread.
    /// all: any nodes, any number of them.
    /// auto: chooses one of these by the room there is, and says why.
    #[arg(short = 'r', long, value_name = "MODE", verbatim_doc_comment)]
    pub relax: Option<Relax>,

    /// Whether processes may share less memory and fewer cores than they asked for, rather than
    /// wait for room; alone it is true [default: true]
    #[arg(short = 'o', long, value_name = "BOOL", value_parser = yes_or_no)]
    pub oversubscribe: Option<bool>,

    /// Processes on each node, whatever the list says; without a list, on any nodes. Also -ppn and
    /// -perhost
    #[arg(long, visible_aliases = ["ppn", "perhost"], value_name = "N",
        value_parser = Whole::new("number of processes", 1, PROCESSES_MAX))]
    pub processes_per_node: Option<u32>,

    /// How ranks are numbered: by slot (also block), node after node, or by node (also cyclic), one on
    /// each node in turn [default: slot]
    #[arg(long, value_name = "ORDER", value_parser = rank_by)]
    pub rank_by: Option<RankBy>,

    /// The node of each rank, numbered from 0 in the order of the list of hosts, or without one in any
    /// order: 0,1,0,1, or blocks of first node, nodes and ranks on each, as in (0,2,2). It begins again
    /// when it is used up
    #[arg(long, value_name = "NODE,...", value_parser = rank_map, conflicts_with = "rank_by")]
    pub rankmap: Option<RankMap>,

    /// Number of nodes to use, instead of a list
    #[arg(long, value_name = "N", value_parser = Whole::new("number of nodes", NonZeroU32::MIN, NonZeroU32::MAX))]
    pub nodes: Option<NonZeroU32>,

    /// Hosts where no process is to run; n[1-3] stands for three, here and in lists of hosts. The job's
    /// ApplicationMaster may lie there
    #[arg(long, value_name = "HOST,...", value_parser = hostfile::names)]
    pub exclude: Vec<HostNames>,

    /// Prefer one rack that holds the whole job (loc, loc+dist and all)
    #[arg(long)]
    pub same_rack: bool,

    /// Prefer the nodes that have most of these files or folders of HDFS (loc, loc+dist and all)
    #[arg(long, value_name = "URL,...", value_delimiter = ',')]
    pub near: Vec<String>,

    /// Use the nodes with this label alone [default: the queue's own label, or nodes without one]
    #[arg(long, value_name = "LABEL")]
    pub node_label: Option<String>,

    /// Fill one node after the other instead of spreading (dist, loc+dist and all)
    #[arg(long)]
    pub pack: bool,

    /// Whether the freest nodes come first; otherwise nodes are taken in the order of their ids
    /// (loc, loc+dist and all) [default: true]
    #[arg(long, value_name = "BOOL", value_parser = yes_or_no)]
    pub sort_nodes: Option<bool>,

    /// When containers have not come for so long, ask for them elsewhere (loc, loc+dist and all);
    /// spans are 1500ms, 30 or 30s, 5m; 1s to 8m [default: 3s, three heartbeats of a NodeManager]
    #[arg(long, value_name = "SPAN", value_parser = gang_span)]
    pub reissue_after: Option<Duration>,

    /// When not all containers have come for so long, let go of those that have, and ask again after
    /// a pause; longer than --reissue-after, at most 8m [default: 5m]
    #[arg(long, value_name = "SPAN", value_parser = gang_span)]
    pub gang_timeout: Option<Duration>,

    /// Give the job up when it has not started after so long [default: wait for ever]
    #[arg(long, value_name = "SPAN", value_parser = span)]
    pub wait_timeout: Option<Duration>,

    /// Give the job up when a granted container has not started after so long; the time in which YARN
    /// copies its files does not count [default: 5m]
    #[arg(long, value_name = "SPAN", value_parser = span)]
    pub join_timeout: Option<Duration>,

    /// Whether processes give up their core while they wait for messages: auto (while the machine has
    /// more to run than cores, whoever started it), always or never
    #[arg(long = "yield", value_name = "WHEN", default_value = "auto", value_parser = yielding)]
    pub yielding: Yielding,

    /// In a session with slots on fast and on slow cores, start on slots of both as soon as enough are free; otherwise
    /// all ranks are on cores of one speed, fast ones first, where the session has enough of one
    #[arg(long)]
    pub any_speed: bool,
}

impl Placement {
    /// The list of hosts, from whichever form was used.
    pub(crate) fn list(&self) -> Option<&HostList> {
        self.hostfile.as_ref().or(self.hosts.as_ref())
    }
}

fn yielding(text: &str) -> Result<Yielding, String> {
    match text {
        "auto" => Ok(Yielding::Auto),
        "always" => Ok(Yielding::Always),
        "never" => Ok(Yielding::Never),
        _ => Err(format!("{text} is none of auto, always and never")),
    }
}
