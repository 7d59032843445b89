//! What the flags of placement mean together, before the cluster is asked: pure.
//!
//! | list | `-ppn` | `--nodes` | mode without `-r` | may also be           |
//! |------|--------|-----------|-------------------|-----------------------|
//! | yes  | any    | no        | `none`            | all but `all`         |
//! | no   | yes    | any       | `loc`             |                       |
//! | no   | no     | yes       | `loc+dist`        |                       |
//! | no   | no     | no        | `all`             |                       |
//!
//! What else is written together contradicts itself, and gets a sentence of its own.

mod contradiction;
mod numbered;
#[cfg(test)]
mod tests;

use std::num::NonZeroU32;
use std::time::Duration;

use policy::gang::GangLimits;
use policy::{Millis, Mode, Numbering};

use crate::arguments::{Placement, Relax};
use crate::hostfile::{HostList, PROCESSES_MAX, in_order, one_each_first};

pub(crate) use contradiction::Contradiction;

/// What the job is to be placed by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlacementRequest {
    pub processes: NonZeroU32,
    /// The mode; with `auto` the one that the flags name without `-r`.
    pub mode: Mode,
    /// The mode is chosen when the cluster has been looked at.
    pub auto: bool,
    /// In order of first mention, each with at least one process, in sum `processes`; empty where
    /// nothing is listed.
    pub listed: Vec<NodeProcesses>,
    /// Number of nodes in mode `loc+dist` without a list.
    pub nodes: Option<NonZeroU32>,
    /// Which ranks the processes of a node are.
    pub numbering: Numbering,
}

/// Processes that belong together on one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeProcesses {
    /// The host as the user wrote it; `None`: any.
    pub name: Option<String>,
    /// At least 1.
    pub processes: u32,
}

impl PlacementRequest {
    /// Weighs the flags against each other.
    ///
    /// # Errors
    /// They contradict each other.
    pub(crate) fn new(given: &Placement) -> Result<Self, Contradiction> {
        let auto = given.relax == Some(Relax::Auto);
        if let Some(map) = &given.rankmap {
            let mode = match given.relax {
                Some(Relax::To(mode)) => mode,
                None | Some(Relax::Auto) => Mode::None,
            };
            return numbered::by_map(given, map, mode, auto);
        }
        let mode = mode(given)?;
        check_mode(given, mode, auto)?;
        let mut wanted = match (given.list(), given.processes_per_node, given.nodes) {
            (Some(list), per_node, _) => by_list(given.processes, list, per_node, mode, auto)?,
            (None, Some(per_node), nodes) => by_number(given.processes, per_node, nodes, auto)?,
            (None, None, Some(nodes)) => {
                let processes = given.processes.unwrap_or_else(|| nodes.get());
                if processes < nodes.get() {
                    return Err(Contradiction::FewerThanNodes { processes, nodes });
                }
                Self::unlisted(processes, mode, auto, Some(nodes))?
            }
            (None, None, None) => Self::unlisted(given.processes.unwrap_or(1), mode, auto, None)?,
        };
        wanted.numbering = numbered::by_order(given.rank_by);
        Ok(wanted)
    }

    fn unlisted(
        processes: u32,
        mode: Mode,
        auto: bool,
        nodes: Option<NonZeroU32>,
    ) -> Result<Self, Contradiction> {
        Ok(Self {
            processes: number(u64::from(processes))?,
            mode,
            auto,
            listed: Vec::new(),
            nodes,
            numbering: Numbering::Slot,
        })
    }
}

fn number(processes: u64) -> Result<NonZeroU32, Contradiction> {
    u32::try_from(processes)
        .ok()
        .filter(|processes| *processes <= PROCESSES_MAX)
        .and_then(NonZeroU32::new)
        .ok_or(Contradiction::TooMany { processes })
}

/// `-r`, or what the other flags imply.
fn mode(given: &Placement) -> Result<Mode, Contradiction> {
    let list = given.list();
    let implied = match (list, given.processes_per_node, given.nodes) {
        (Some(_), _, _) => Mode::None,
        (None, Some(_), _) => Mode::Loc,
        (None, None, Some(_)) => Mode::LocDist,
        (None, None, None) => Mode::All,
    };
    let mode = match given.relax {
        None | Some(Relax::Auto) => return Ok(implied),
        Some(Relax::To(mode)) => mode,
    };
    match (mode, list) {
        (Mode::None | Mode::Dist, None) => Err(Contradiction::NoList { mode }),
        (Mode::Loc, None) if given.processes_per_node.is_none() => Err(Contradiction::NoNumbers),
        (Mode::LocDist, None) if given.nodes.is_none() => Err(Contradiction::NoNodes),
        (Mode::All, Some(list)) => Err(Contradiction::AllWithList {
            list: list.words.clone(),
        }),
        (Mode::LocDist | Mode::All, None) if given.processes_per_node.is_some() => {
            Err(Contradiction::PerNodeIsRelaxed { mode })
        }
        (Mode::All, None) if given.nodes.is_some() => Err(Contradiction::NodesAreRelaxed),
        _ => Ok(mode),
    }
}

/// Flags that this mode has no use for.
fn check_mode(given: &Placement, mode: Mode, auto: bool) -> Result<(), Contradiction> {
    let list = given.list();
    if let (Some(list), Some(nodes)) = (list, given.nodes) {
        return Err(Contradiction::NodesAndList {
            nodes,
            list: list.words.clone(),
        });
    }
    let usual = GangLimits::default();
    let or =
        |given: Option<Duration>, usual: Millis| given.unwrap_or(Duration::from_millis(usual.0));
    let reissue = or(given.reissue_after, usual.reissue);
    let gang = or(given.gang_timeout, usual.gather);
    if reissue >= gang {
        return Err(Contradiction::NeverReissued { reissue, gang });
    }
    if auto {
        // Whatever is chosen takes what it has a use for.
        return Ok(());
    }
    let nodes_are_given = matches!(mode, Mode::None | Mode::Dist);
    let useless = [
        (given.same_rack && nodes_are_given, "--same-rack"),
        (!given.near.is_empty() && nodes_are_given, "--near"),
        (
            given.sort_nodes.is_some() && nodes_are_given,
            "--sort-nodes",
        ),
        (
            given.reissue_after.is_some() && nodes_are_given,
            "--reissue-after",
        ),
    ];
    if let Some((_, flag)) = useless.into_iter().find(|(useless, _)| *useless) {
        return Err(Contradiction::NodesAreGiven { flag, mode });
    }
    if given.pack && matches!(mode, Mode::None | Mode::Loc) {
        return Err(Contradiction::NumbersAreGiven { mode });
    }
    Ok(())
}

/// Deals over the hosts of a list.
fn by_list(
    processes: Option<u32>,
    list: &HostList,
    per_node: Option<u32>,
    mode: Mode,
    auto: bool,
) -> Result<PlacementRequest, Contradiction> {
    let places: Vec<NonZeroU32> = list
        .hosts
        .iter()
        .filter_map(|host| NonZeroU32::new(per_node.unwrap_or(host.places)))
        .collect();
    let all = places.iter().map(|places| u64::from(places.get())).sum();
    let processes = number(processes.map_or(all, u64::from))?;
    let keeps_every_host = !auto && matches!(mode, Mode::Dist | Mode::LocDist);
    let dealt = if keeps_every_host {
        one_each_first(&places, processes.get()).ok_or_else(|| Contradiction::FewerThanHosts {
            processes: processes.get(),
            hosts: list.hosts.len(),
            mode,
        })?
    } else {
        in_order(&places, processes.get())
    };
    let entry = |(host, processes): (&crate::hostfile::Host, u32)| NodeProcesses {
        name: Some(host.name.clone()),
        processes,
    };
    Ok(PlacementRequest {
        processes,
        mode,
        auto,
        listed: list
            .hosts
            .iter()
            .zip(dealt)
            .filter(|(_, processes)| *processes > 0)
            .map(entry)
            .collect(),
        nodes: None,
        numbering: Numbering::Slot,
    })
}

/// So many on each node, whichever nodes these are: mode `loc` with a list without names.
fn by_number(
    processes: Option<u32>,
    per_node: u32,
    nodes: Option<NonZeroU32>,
    auto: bool,
) -> Result<PlacementRequest, Contradiction> {
    let processes = match (processes, nodes) {
        (Some(processes), _) => number(processes.into())?,
        (None, Some(nodes)) => number(u64::from(nodes.get()) * u64::from(per_node))?,
        (None, None) => return Err(Contradiction::PerNodeAlone { per_node }),
    };
    let entries = processes.get().div_ceil(per_node);
    if let Some(nodes) = nodes.filter(|nodes| nodes.get() != entries) {
        return Err(Contradiction::PerNodeAndNodes {
            processes: processes.get(),
            per_node,
            nodes,
            needed: entries,
        });
    }
    let last = processes.get() - (entries - 1) * per_node;
    let entry = |index| NodeProcesses {
        name: None,
        processes: if index + 1 == entries { last } else { per_node },
    };
    Ok(PlacementRequest {
        processes,
        mode: Mode::Loc,
        auto,
        listed: (0..entries).map(entry).collect(),
        nodes: None,
        numbering: Numbering::Slot,
    })
}
