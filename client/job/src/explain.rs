//! What `--dry-run` prints and `--explain` follows: one JSON object a line, each with an `event`.
//!
//! The ApplicationMaster and the client make these from the same policy's answers; `--json` prints
//! them as they are, otherwise the client puts them into words. Amounts of memory are MiB, times ms
//! since the ApplicationMaster began, of tasks since their job did (0 in a dry run). Fields may be added; none changes its meaning.

mod slots;
mod task;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use policy::allocate::reasons_beside;
use policy::{
    ClusterView, Counted, Counts, Demand, MiB, Millis, NodeId, Numbering, Placement, ResourceTypes,
    Resources, Vcores,
};
use serde::{Deserialize, Serialize};

pub use slots::{HOLDERS, SlotHolder, WaitsForSlots};
pub use task::{Locality, TaskEnded, TaskPlaced};

/// Ranks of a node that are told one by one, at most.
pub const RANKS_APART: usize = 8;

/// One thing that was decided or seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Explained {
    /// YARN has taken the job.
    Submitted(Submitted),
    /// The cluster as the policy saw it.
    Snapshot(Snapshot),
    /// Where the processes go, and why.
    Placed(Placed),
    /// There is no placement now; why.
    NotPlaced(NotPlaced),
    /// The requests went out, in one allocate call.
    Asked(Asked),
    /// A container came.
    Granted(Granted),
    /// Something has not come yet.
    Missing(Missing),
    /// Containers were given back.
    Released(Released),
    /// What would become of the job; the last line of a dry run.
    DryRun(DryRun),
    /// A job of a session has no slots.
    WaitsForSlots(WaitsForSlots),
    /// A task of a MapReduce job has a slot.
    TaskPlaced(TaskPlaced),
    /// An attempt at one is over.
    TaskEnded(TaskEnded),
}

/// Memory, cores and what else the cluster counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    /// Memory, MiB.
    pub memory_mib: u64,
    /// Virtual cores, as YARN counts them.
    pub vcores: u32,
    /// GPUs, where the cluster counts them; left out where there are none.
    #[serde(default, skip_serializing_if = "no_gpus")]
    pub gpus: u64,
    /// Further countable types, by name; left out where there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub others: BTreeMap<String, u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
const fn no_gpus(gpus: &u64) -> bool {
    *gpus == 0
}

/// What the job is called from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submitted {
    /// 0: before the ApplicationMaster.
    pub at_ms: u64,
    /// YARN's id.
    pub application: String,
    /// Where it was submitted.
    pub queue: String,
}

/// The cluster at one time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// When, ms.
    pub at_ms: u64,
    /// Largest container the scheduler gives this queue.
    pub maximum: Amount,
    /// Containers are rounded up to multiples of this, MiB.
    pub step_mib: u64,
    /// Whether the scheduler counts cores beside memory.
    pub counts_vcores: bool,
    /// What the queue, the user's limit in it included, still gives this application; absent in a
    /// dry run, and until the scheduler has first said so.
    pub headroom: Option<Amount>,
    /// The usable nodes, by id.
    pub nodes: Vec<Node>,
    /// Usable nodes that are not in `nodes`, because there are too many.
    #[serde(default)]
    pub left_out: u32,
}

/// One usable node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// `host:port`.
    pub id: String,
    /// Name of the host.
    pub host: String,
    /// Its rack.
    pub rack: String,
    /// All that it offers.
    pub capability: Amount,
    /// What containers hold.
    pub used: Amount,
    /// The largest container that fits now.
    pub room: Amount,
    /// The largest container that could ever fit.
    pub ceiling: Amount,
}

/// A placement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Placed {
    /// When, ms.
    pub at_ms: u64,
    /// Counts the askings of this job, from 1.
    pub round: u32,
    /// The mode, as `-r` takes it.
    pub mode: String,
    /// Processes of the job.
    pub processes: u32,
    /// What one process wants.
    pub unit: Amount,
    /// Whether processes may share too little room.
    pub oversubscribe: bool,
    /// The nodes used, in order of ranks.
    pub nodes: Vec<PlacedNode>,
    /// The nodes not used, by id.
    pub passed_over: Vec<PassedOver>,
    /// Nodes that are in neither list, because there are too many.
    #[serde(default)]
    pub left_out: u32,
}

/// One node's part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlacedNode {
    /// `host:port`.
    pub id: String,
    /// Name of the host.
    pub host: String,
    /// Lowest rank on it.
    pub first_rank: u32,
    /// Where its ranks are not consecutive, the first [`RANKS_APART`] of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks_apart: Vec<u32>,
    /// Processes on it.
    pub processes: u32,
    /// The container that is asked for.
    pub ask: Amount,
    /// Why this node, this number and this size, in words.
    pub reason: String,
    /// Whether its container is there already.
    pub held: bool,
}

/// A node that got nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PassedOver {
    /// `host:port`.
    pub id: String,
    /// Why, in words.
    pub reason: String,
}

/// Nothing can be placed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NotPlaced {
    /// When, ms.
    pub at_ms: u64,
    /// Why, in one sentence.
    pub reason: String,
    /// Whether waiting can help.
    pub may_pass: bool,
}

/// One allocate call with requests in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// When, ms.
    pub at_ms: u64,
    /// The round of asking.
    pub round: u32,
    /// New containers asked for.
    pub containers: u32,
    /// Rows of the call, old ones that it clears included.
    pub rows: u32,
}

/// One container that came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Granted {
    /// When, ms.
    pub at_ms: u64,
    /// YARN's id of it.
    pub container: String,
    /// Its host.
    pub host: String,
    /// What was asked for.
    pub asked: Amount,
    /// What it holds.
    pub granted: Amount,
    /// Processes it is for; 0 when nobody waits for it and it goes back.
    pub processes: u32,
}

/// What is still waited for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Missing {
    /// When, ms.
    pub at_ms: u64,
    /// What the queue still gives this application.
    pub headroom: Option<Amount>,
    /// Each container that has not come; where `stand_ins` is set, the freest nodes.
    pub nodes: Vec<MissingNode>,
    /// There is no placement yet: no container is waited for, and `nodes` show what there is.
    #[serde(default)]
    pub stand_ins: bool,
    /// Such nodes that are not in `nodes`, because there are too many.
    #[serde(default)]
    pub left_out: u32,
    /// Applications that may hold something, but whose containers this user may not see, or which
    /// are too many to be asked about.
    #[serde(default)]
    pub hidden: u32,
    /// Some applications that this user may see were not asked about, or did not answer: what is
    /// `unseen` may be theirs.
    #[serde(default)]
    pub holders_are_partial: bool,
}

/// A container that has not come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MissingNode {
    /// `host:port` of the node it is asked of.
    pub id: String,
    /// Name of the host.
    pub host: String,
    /// What is asked for.
    pub ask: Amount,
    /// The largest container that fits there now; absent when the node has gone.
    pub room: Option<Amount>,
    /// Who holds the node, as far as this user may see; the largest first.
    pub holders: Vec<Holder>,
    /// What is used there beyond what `holders` hold: by applications that this user may not see,
    /// or reserved by the scheduler for one.
    #[serde(default)]
    pub unseen: Amount,
}

/// An application with containers on a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Holder {
    /// Its id.
    pub application: String,
    /// Its name.
    pub name: String,
    /// Whose it is.
    pub user: String,
    /// Its queue.
    pub queue: String,
    /// Its containers on the node.
    pub containers: u32,
    /// What they hold together.
    pub holds: Amount,
}

/// Containers that were given back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Released {
    /// When, ms.
    pub at_ms: u64,
    /// YARN's ids of them.
    pub containers: Vec<String>,
    /// Why, in words.
    pub reason: String,
}

/// The end of a dry run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DryRun {
    /// Whether the job would start.
    pub outlook: Outlook,
    /// What the ApplicationMaster's own container takes first, on a node that YARN chooses; absent
    /// where it would run in the client.
    pub appmaster: Option<Amount>,
    /// Whether the client's settings say what the scheduler counts; otherwise memory alone is
    /// assumed.
    pub counting_is_set: bool,
}

/// Whether a job would start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outlook {
    /// It would start at once.
    Starts,
    /// It would wait for room.
    Waits,
    /// The cluster can never hold it.
    Never,
}

impl Amount {
    /// Of `resources`, whose counts are named by `types`.
    #[must_use]
    pub fn of(resources: Resources, types: &ResourceTypes) -> Self {
        let mut amount = Self {
            memory_mib: resources.memory.0,
            vcores: resources.vcores.0,
            ..Self::default()
        };
        for (name, count) in types.named(resources.counts) {
            amount.add(name, count);
        }
        amount
    }

    /// So many of a countable type more.
    pub fn add(&mut self, name: &str, count: u64) {
        let all = match name {
            policy::GPU => &mut self.gpus,
            other => self.others.entry(other.to_owned()).or_default(),
        };
        *all = all.saturating_add(count);
    }

    /// This and `other` together.
    #[must_use]
    pub fn plus(mut self, other: &Self) -> Self {
        self.memory_mib = self.memory_mib.saturating_add(other.memory_mib);
        self.vcores = self.vcores.saturating_add(other.vcores);
        for (name, count) in other.named() {
            self.add(name, count);
        }
        self
    }

    /// With counts as `types` has them.
    #[must_use]
    pub fn resources(&self, types: &ResourceTypes) -> Resources {
        let count = |name: &str| match name {
            policy::GPU => Some(self.gpus),
            other => self.others.get(other).copied(),
        };
        Resources::new(self.memory_mib, self.vcores).with_counts(types.counts(count))
    }

    /// The countable types of which there are some.
    fn named(&self) -> impl Iterator<Item = (&str, u64)> {
        let gpus = (self.gpus > 0).then_some((policy::GPU, self.gpus));
        let others = self
            .others
            .iter()
            .map(|(name, count)| (name.as_str(), *count));
        gpus.into_iter().chain(others)
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&policy::in_words(
            MiB(self.memory_mib),
            Vcores(self.vcores),
            self.named(),
        ))
    }
}

impl fmt::Display for Holder {
    /// `application_1_0007 (pi, of bob in default) holds 2048 MiB and 2 vcores in 2 containers`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ({}, of {} in {}) holds {} in {} container{}",
            self.application,
            self.name,
            self.user,
            self.queue,
            self.holds,
            self.containers,
            if self.containers == 1 { "" } else { "s" },
        )
    }
}

impl Explained {
    /// The cluster as the policy sees it at `at`.
    #[must_use]
    pub fn snapshot(at: Millis, cluster: &ClusterView, headroom: Option<Resources>) -> Self {
        let amount = |resources| Amount::of(resources, &cluster.types);
        let mut nodes: Vec<Node> = cluster
            .nodes
            .iter()
            .map(|node| Node {
                id: node.id.0.clone(),
                host: node.host.clone(),
                rack: node.rack.clone(),
                capability: amount(node.capability),
                used: amount(node.used),
                room: amount(cluster.room(node)),
                ceiling: amount(cluster.ceiling(node)),
            })
            .collect();
        nodes.sort_by(|a, b| a.id.cmp(&b.id));
        // Without a limit of its own the type's maximum is more than anybody has.
        let all = cluster.nodes.iter().map(|node| node.capability.counts);
        let most = all.fold(Counts::NONE, |most, own| most.with(own, u64::max));
        let counts = cluster.maximum.counts.with(most, u64::min);
        Self::Snapshot(Snapshot {
            at_ms: at.0,
            maximum: amount(cluster.maximum.with_counts(counts)),
            step_mib: cluster.step.0,
            counts_vcores: cluster.counted == Counted::MemoryAndVcores,
            headroom: headroom.map(amount),
            nodes,
            left_out: 0,
        })
    }

    /// The `round`th answer of the policy at `at`; the containers of the nodes `held` are there.
    #[must_use]
    pub fn placed(
        at: Millis,
        round: u32,
        demand: &Demand,
        cluster: &ClusterView,
        placement: &Placement,
        held: &BTreeSet<NodeId>,
    ) -> Self {
        let reasons = reasons_beside(demand, cluster, placement, held);
        let shares = placement.ranks(&demand.numbering).zip(reasons.used);
        Self::Placed(Placed {
            at_ms: at.0,
            round,
            mode: demand.mode.to_string(),
            processes: demand.processes.get(),
            unit: Amount::of(demand.unit, &cluster.types),
            oversubscribe: demand.oversubscribe,
            nodes: shares
                .map(|((share, ranks), reason)| PlacedNode {
                    id: share.node.0.clone(),
                    host: share.host.clone(),
                    first_rank: ranks.first().map_or(0, |rank| rank.0),
                    ranks_apart: match &demand.numbering {
                        Numbering::Slot => Vec::new(),
                        Numbering::Node | Numbering::Map(_) => {
                            ranks.iter().map(|rank| rank.0).take(RANKS_APART).collect()
                        }
                    },
                    processes: share.processes,
                    ask: Amount::of(share.ask, &cluster.types),
                    reason,
                    held: held.contains(&share.node),
                })
                .collect(),
            passed_over: reasons
                .passed_over
                .into_iter()
                .map(|(node, reason)| PassedOver { id: node.0, reason })
                .collect(),
            left_out: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(memory_mib: u64, vcores: u32) -> Amount {
        Amount {
            memory_mib,
            vcores,
            ..Amount::default()
        }
    }

    fn missing() -> Missing {
        Missing {
            at_ms: 2_000,
            headroom: Some(amount(8192, 8)),
            nodes: vec![
                MissingNode {
                    id: "n2:1".into(),
                    host: "n2".into(),
                    ask: amount(4096, 4),
                    room: Some(amount(1024, 1)),
                    holders: vec![Holder {
                        application: "application_1_0007".into(),
                        name: "pi".into(),
                        user: "bob".into(),
                        queue: "default".into(),
                        containers: 2,
                        holds: amount(2048, 2),
                    }],
                    unseen: amount(1024, 1),
                },
                MissingNode {
                    id: "n3:1".into(),
                    host: "n3".into(),
                    ask: amount(4096, 4),
                    room: None,
                    holders: Vec::new(),
                    unseen: Amount::default(),
                },
            ],
            stand_ins: false,
            left_out: 3,
            hidden: 1,
            holders_are_partial: false,
        }
    }

    #[test]
    fn a_line_says_what_it_is_and_comes_back() {
        let line = serde_json::to_string(&Explained::Missing(missing())).unwrap();
        assert!(
            line.starts_with(r#"{"event":"missing","at_ms":2000"#),
            "{line}"
        );
        let back: Explained = serde_json::from_str(&line).unwrap();
        assert_eq!(back, Explained::Missing(missing()));
        // A field that came later may be absent.
        let old = r#"{"event":"missing","at_ms":1,"headroom":null,"nodes":[]}"#;
        assert!(serde_json::from_str::<Explained>(old).is_ok());
    }
}
