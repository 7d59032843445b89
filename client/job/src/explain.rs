//! What `--dry-run` prints and `--explain` follows: one JSON object a line, each with an `event`.
//!
//! The ApplicationMaster and the client make these from the same policy's answers; `--json` prints
//! them as they are, otherwise the client puts them into words. Amounts of memory are MiB, times ms
//! since the ApplicationMaster began, of tasks since their job did (0 in a dry run). Fields may be added; none changes its meaning.

mod amount;
mod decided;
mod slots;
mod task;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use amount::Amount;
pub use decided::RANKS_APART;
pub use slots::{HOLDERS, SlotHolder, WaitsForSlots};
pub use task::{HomeMoved, Locality, TaskEnded, TaskPlaced, WhyMoved};

/// One thing that was decided or seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Explained {
    /// YARN has taken the job.
    Submitted(Submitted),
    /// The process manager that serves the ranks of a program.
    ProcessManager(ChosenManager),
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
    /// A partition is gathered elsewhere.
    HomeMoved(HomeMoved),
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

/// The process manager that serves the ranks of one program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChosenManager {
    /// 0: before the ApplicationMaster.
    pub at_ms: u64,
    /// The program, as it was given.
    pub program: String,
    /// `pmi` or `pmix`.
    pub manager: String,
    /// Out of which library the launchers serve PMIx; absent with `pmi`.
    pub libpmix: Option<Libpmix>,
}

/// A `libpmix.so.2`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Libpmix {
    /// Where it lies on the client's machine.
    pub path: String,
    /// Its release, such as `5.0.11`; absent where the file does not tell.
    pub release: Option<String>,
    /// Whether `--pmix` named it, and not the program's own libraries.
    pub named: bool,
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
    pub nodes: Vec<SnapshotNode>,
    /// Usable nodes that are not in `nodes`, because there are too many.
    #[serde(default)]
    pub left_out: u32,
}

/// One usable node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SnapshotNode {
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
