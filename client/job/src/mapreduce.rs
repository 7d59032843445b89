//! A MapReduce job: what its tasks run and read, and where its output goes.

use std::collections::BTreeMap;

use gerbil_task::{Counters, Piece};
use policy::Resources;
use policy::elements::ElementNeed;
use serde::{Deserialize, Serialize};
use storage::Address;

use crate::MpiProgram;
use crate::blocks::{BlockAt, BlockPlaces};
use crate::history::HistoryFolder;

/// One MapReduce job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MapReduceJob {
    /// What each task runs.
    pub program: MpiProgram,
    /// Digest of the program's plan, hexadecimal: a task whose program has another is refused.
    pub plan: String,
    /// The job's name among those that the program registers.
    pub job: String,
    /// All settings, by Hadoop's names where Hadoop has them.
    pub settings: BTreeMap<String, String>,
    /// What the driver gave along, for tasks.
    pub params: serde_json::Value,
    /// The file systems of input and output.
    pub addresses: Vec<Address>,
    /// The maps, in the order of their numbers.
    pub splits: Vec<Split>,
    /// What the splits' blocks have in common.
    #[serde(default)]
    pub block_places: BlockPlaces,
    /// Partitions; 0: maps write the output.
    pub reduces: u32,
    /// The output folder.
    pub output: FileAt,
    /// Nothing had its name when the job was submitted.
    #[serde(default)]
    pub output_is_new: bool,
    /// What holds for maps.
    pub map: StageTerms,
    /// What holds for reduces.
    pub reduce: StageTerms,
    /// Where what became of it is kept; `None`: nowhere.
    pub history: Option<HistoryFolder>,
    /// After so many failed attempts on one node no further one is started there, while there is another node; 0:
    /// nodes are not avoided.
    pub node_failures: u32,
    /// Records that each map may leave out because the job's code failed on them; 0: none.
    pub skip_max: u32,
    /// Groups that each reduce may leave out for the same reason; 0: none.
    pub skip_groups: u32,
    /// Every placement and end of an attempt is told.
    pub explain: bool,
    /// Where no node has what a stage needs, it waits for one that has.
    #[serde(default)]
    pub wait_for_nodes: bool,
}

/// What holds for every task of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageTerms {
    /// What it takes of its container, beside a slot; memory 0: a slot's.
    pub unit: Resources,
    /// Elements that its node must have: `gpu`, `fpga`, or so many of a type of the cluster's, each once; empty: none.
    #[serde(default)]
    pub needs: Vec<ElementNeed>,
    /// Attempts of one task that may fail; the last of them ends the job. At least 1.
    pub attempts: u32,
    /// Whether one that takes much longer than others may be tried a second time beside the first.
    pub speculative: bool,
}

/// What one map reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// In this order.
    pub pieces: Vec<Piece>,
    /// Where the pieces are, one for each; empty where they are no files.
    pub files: Vec<FileAt>,
    /// Hosts that have most of it, best first: each by its name and, where that is another word, by its address.
    pub hosts: Vec<String>,
    /// Of each piece the blocks that are known, in the order of the file; empty: nothing is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<Vec<BlockAt>>,
}

/// A file or folder of one of a job's file systems.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileAt {
    /// Place of its file system among the job's.
    pub address: u32,
    /// Absolute.
    pub path: String,
    /// Of a file that was listed with its blocks, ms since 1970; 0: not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub modified_ms: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What a MapReduce job came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TasksReport {
    /// Of all tasks that ended well.
    pub counters: Counters,
    /// How many maps there were.
    pub maps: u32,
    /// How many reduces there were.
    pub reduces: u32,
    /// Attempts that failed.
    pub failed_attempts: u32,
    /// Attempts that found no device, and were queued again as ones that need it.
    #[serde(default)]
    pub no_device_attempts: u32,
    /// What stages turned out to need, by their names.
    #[serde(default)]
    pub found_needs: BTreeMap<String, Vec<String>>,
    /// From the start of its first task to the end of its last one, ms.
    pub tasks_ms: u64,
    /// From then on until the output was there, ms.
    pub commit_ms: u64,
}
