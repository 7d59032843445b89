//! The launcher's half: answers the ranks of one node.
//!
//! A value is seen by the ranks of its own node at once and by all others after the next barrier;
//! PMI promises no more than the latter. A key that is put again takes the newer value.

use std::collections::BTreeMap;

use thiserror::Error;

use crate::text::{Command, shown, write};
use crate::{EXCHANGE_MAX, KEY_MAX, KVS_NAME_MAX, LINE_MAX, Pair, VALUE_MAX};

/// What the ranks of one node need to know about the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Ranks in the whole job.
    pub size: u32,
    /// Those of this node.
    pub ranks: Vec<u32>,
    /// Name of the key-value space: no blanks, 1..=[`KVS_NAME_MAX`] bytes. MPICH derives the names
    /// of its shared memory segments from it, so two jobs on a node must never share one, and
    /// neither may a job and the leftovers of a killed one.
    pub kvs_name: String,
    /// Value of `PMI_process_mapping`; empty: the ranks find out themselves.
    pub process_mapping: String,
}

/// A [`Job`] that cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum JobError {
    /// Ranks are `0..size`, each once, and there is one at least.
    #[error("rank {rank} does not belong into a job of {size}, or was named twice")]
    Rank {
        /// The rank.
        rank: u32,
        /// Size of the job.
        size: u32,
    },
    /// No ranks at all.
    #[error("a node without ranks")]
    NoRanks,
    /// See [`Job::kvs_name`].
    #[error("{name:?} cannot name a key-value space (1 to {KVS_NAME_MAX} bytes, no blanks)")]
    KvsName {
        /// The name.
        name: String,
    },
}

/// How far a rank got. MPI is in use between the two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// It never said anything: not an MPI program, or not yet in `MPI_Init`.
    #[default]
    Silent,
    /// Since `MPI_Init`.
    Initialized,
    /// Since `MPI_Finalize`.
    Finalized,
}

/// What the owner of the sockets is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Send these bytes, one or more whole lines, to the rank.
    Reply {
        /// To whom.
        rank: u32,
        /// The bytes, newlines included.
        line: String,
    },
    /// Every rank of the node has entered the barrier: send these values up, and call
    /// [`NodeServer::fence_done`] with the answer.
    Fence {
        /// What was put since the last one, ordered by key.
        puts: Vec<Pair>,
    },
    /// The rank asks to end the job, as `MPI_Abort` does.
    Abort {
        /// Who.
        rank: u32,
        /// As the program gave it; not limited to 0..=255.
        exit_code: i32,
        /// Its words; may be empty.
        message: String,
    },
    /// The rank has reached another stage.
    Stage {
        /// Who.
        rank: u32,
        /// Where it is now.
        stage: Stage,
    },
    /// The rank does not speak PMI-1 as it should and is not answered any more: end it.
    Broken {
        /// Who.
        rank: u32,
        /// What it did.
        sentence: String,
    },
}

#[derive(Debug, Default)]
struct Rank {
    stage: Stage,
    in_barrier: bool,
    broken: bool,
    /// The request of several lines that is being received.
    spawn: Option<Spawn>,
}

/// What has to be remembered of a request to spawn processes. A call of MPI for several programs
/// comes as `total` requests, numbered from 1, of which only the last is answered.
#[derive(Debug, Default)]
struct Spawn {
    bytes: usize,
    total: u32,
    number: u32,
}

/// The process manager of one node, as the ranks see it.
#[derive(Debug)]
pub struct NodeServer {
    size: u32,
    kvs_name: String,
    ranks: BTreeMap<u32, Rank>,
    /// Place of a rank's program among the programs of the job, where that is not the first.
    appnums: BTreeMap<u32, u32>,
    /// All values known on this node.
    space: BTreeMap<String, String>,
    /// Those put here since the last barrier.
    puts: BTreeMap<String, String>,
    puts_bytes: usize,
    fence_open: bool,
}

impl NodeServer {
    /// With several programs in the job: the place of each rank's program among them, from 0.
    #[must_use]
    pub fn with_appnums(self, appnums: BTreeMap<u32, u32>) -> Self {
        Self { appnums, ..self }
    }

    /// Ready for the first line.
    ///
    /// # Errors
    ///
    /// See [`JobError`].
    pub fn new(job: Job) -> Result<Self, JobError> {
        let Job {
            size,
            ranks: named,
            kvs_name,
            process_mapping,
        } = job;
        let mut ranks = BTreeMap::new();
        for rank in named {
            if rank >= size || ranks.insert(rank, Rank::default()).is_some() {
                return Err(JobError::Rank { rank, size });
            }
        }
        if ranks.is_empty() {
            return Err(JobError::NoRanks);
        }
        let blank = kvs_name.contains(|c: char| c.is_whitespace() || c.is_control());
        if kvs_name.is_empty() || kvs_name.len() > KVS_NAME_MAX || blank {
            return Err(JobError::KvsName { name: kvs_name });
        }
        let mut space = BTreeMap::new();
        if !process_mapping.is_empty() && process_mapping.len() < VALUE_MAX {
            space.insert("PMI_process_mapping".to_owned(), process_mapping);
        }
        Ok(Self {
            size,
            kvs_name,
            ranks,
            appnums: BTreeMap::new(),
            space,
            puts: BTreeMap::new(),
            puts_bytes: 0,
            fence_open: false,
        })
    }

    /// How far a rank of this node got.
    #[must_use]
    pub fn stage(&self, rank: u32) -> Stage {
        self.ranks
            .get(&rank)
            .map_or(Stage::Silent, |rank| rank.stage)
    }

    /// Takes one line of a rank, without its newline. Lines of ranks that are not of this node, or
    /// are broken, have no effect.
    #[must_use]
    pub fn on_line(&mut self, rank: u32, line: &[u8]) -> Vec<Effect> {
        let Some(state) = self.ranks.get_mut(&rank).filter(|state| !state.broken) else {
            return Vec::new();
        };
        if line.len() > LINE_MAX {
            return self.broken(
                rank,
                format!("it sent a line of more than {LINE_MAX} bytes"),
            );
        }
        if state.spawn.is_some() || line.starts_with(b"mcmd=") {
            return self.on_multi_line(rank, line);
        }
        if line.is_empty() {
            return Vec::new();
        }
        match Command::parse(line) {
            Ok(command) => self.on_command(rank, &command),
            Err(error) => self.broken(rank, error.to_string()),
        }
    }

    /// The barrier that [`Effect::Fence`] announced is complete everywhere: merges the values of
    /// all nodes and lets the ranks go on. Without an open barrier nothing happens.
    #[must_use]
    pub fn fence_done(&mut self, puts: Vec<Pair>) -> Vec<Effect> {
        if !self.fence_open {
            return Vec::new();
        }
        self.fence_open = false;
        self.space.extend(
            puts.into_iter()
                .filter(|(key, value)| key.len() <= KEY_MAX && value.len() <= VALUE_MAX),
        );
        let mut effects = Vec::with_capacity(self.ranks.len());
        for (&rank, state) in &mut self.ranks {
            state.in_barrier = false;
            effects.push(reply(rank, "barrier_out", &[("rc", "0")]));
        }
        effects
    }

    fn on_command(&mut self, rank: u32, command: &Command) -> Vec<Effect> {
        let size = self.size.to_string();
        match command.name() {
            "initack" => vec![Effect::Reply {
                rank,
                line: [
                    write("initack", &[("rc", "0")]),
                    write("set", &[("size", &size)]),
                    write("set", &[("rank", &rank.to_string())]),
                    write("set", &[("debug", "0")]),
                ]
                .concat(),
            }],
            "init" => self.init(rank, command),
            "get_maxes" => vec![reply(
                rank,
                "maxes",
                &[
                    ("kvsname_max", &KVS_NAME_MAX.to_string()),
                    ("keylen_max", &KEY_MAX.to_string()),
                    ("vallen_max", &VALUE_MAX.to_string()),
                    ("rc", "0"),
                ],
            )],
            "get_appnum" => {
                let appnum = self.appnums.get(&rank).copied().unwrap_or(0).to_string();
                vec![reply(rank, "appnum", &[("appnum", &appnum), ("rc", "0")])]
            }
            "get_universe_size" => {
                vec![reply(
                    rank,
                    "universe_size",
                    &[("size", &size), ("rc", "0")],
                )]
            }
            "get_my_kvsname" => vec![reply(
                rank,
                "my_kvsname",
                &[("kvsname", &self.kvs_name), ("rc", "0")],
            )],
            "put" => vec![self.put(rank, command)],
            "get" => vec![self.get(rank, command)],
            "getbyidx" => vec![self.by_index(rank, command)],
            "barrier_in" => self.barrier_in(rank, command),
            "finalize" => {
                let mut effects = self.reach(rank, Stage::Finalized);
                effects.push(reply(rank, "finalize_ack", &[("rc", "0")]));
                effects
            }
            "abort" => vec![Effect::Abort {
                rank,
                exit_code: command.number("exitcode").unwrap_or(1),
                message: command.value("message").unwrap_or_default().to_owned(),
            }],
            "publish_name" => vec![refused(
                rank,
                "publish_result",
                "publishing_names_is_not_offered",
            )],
            "unpublish_name" => {
                vec![refused(
                    rank,
                    "unpublish_result",
                    "publishing_names_is_not_offered",
                )]
            }
            "lookup_name" => vec![refused(
                rank,
                "lookup_result",
                "publishing_names_is_not_offered",
            )],
            "spawn" => vec![refused(rank, "spawn_result", "spawning_is_not_offered")],
            unknown => vec![refused(rank, unknown, "unknown_command")],
        }
    }

    fn init(&mut self, rank: u32, command: &Command) -> Vec<Effect> {
        const VERSION: i32 = 1;
        let version = [("pmi_version", "1"), ("pmi_subversion", "1")];
        if command.number("pmi_version") != Some(VERSION) {
            let [major, minor] = version;
            return vec![reply(
                rank,
                "response_to_init",
                &[major, minor, ("rc", "-1"), ("msg", "only_PMI_1_is_offered")],
            )];
        }
        let mut effects = self.reach(rank, Stage::Initialized);
        let [major, minor] = version;
        effects.push(reply(
            rank,
            "response_to_init",
            &[major, minor, ("rc", "0")],
        ));
        effects
    }

    fn reach(&mut self, rank: u32, stage: Stage) -> Vec<Effect> {
        match self.ranks.get_mut(&rank) {
            Some(state) if state.stage != stage => {
                state.stage = stage;
                vec![Effect::Stage { rank, stage }]
            }
            _ => Vec::new(),
        }
    }

    /// The name of the space may be left out; ours is the only one.
    fn is_our_space(&self, command: &Command) -> bool {
        command
            .value("kvsname")
            .is_none_or(|name| name == self.kvs_name)
    }

    fn put(&mut self, rank: u32, command: &Command) -> Effect {
        let put_refused = |why: &str| refused(rank, "put_result", why);
        if !self.is_our_space(command) {
            return put_refused("unknown_kvsname");
        }
        let (Some(key), Some(value)) = (command.value("key"), command.value("value")) else {
            return put_refused("a_put_needs_key_and_value");
        };
        if key.len() > KEY_MAX {
            return put_refused(&format!("key_longer_than_{KEY_MAX}_bytes"));
        }
        if value.len() > VALUE_MAX {
            return put_refused(&format!("value_longer_than_{VALUE_MAX}_bytes"));
        }
        let bytes = self
            .puts_bytes
            .saturating_add(key.len())
            .saturating_add(value.len());
        if bytes > EXCHANGE_MAX {
            return put_refused("too_many_values_before_a_barrier");
        }
        self.puts_bytes = bytes;
        self.puts.insert(key.to_owned(), value.to_owned());
        self.space.insert(key.to_owned(), value.to_owned());
        reply(rank, "put_result", &[("rc", "0"), ("msg", "success")])
    }

    fn get(&self, rank: u32, command: &Command) -> Effect {
        let missing = |why: &str| {
            reply(
                rank,
                "get_result",
                &[("rc", "-1"), ("msg", why), ("value", "unknown")],
            )
        };
        if !self.is_our_space(command) {
            return missing("unknown_kvsname");
        }
        let Some(key) = command.value("key") else {
            return missing("a_get_needs_a_key");
        };
        match self.space.get(key) {
            Some(value) => reply(
                rank,
                "get_result",
                &[("rc", "0"), ("msg", "success"), ("value", value)],
            ),
            None => missing("key_not_found"),
        }
    }

    /// The values one by one, ordered by key. From MPICH's older clients.
    fn by_index(&self, rank: u32, command: &Command) -> Effect {
        const RESULT: &str = "getbyidx_results";
        if !self.is_our_space(command) {
            return refused(rank, RESULT, "unknown_kvsname");
        }
        let index = command
            .number("idx")
            .and_then(|index| usize::try_from(index).ok());
        let found = index.and_then(|index| Some((index, self.space.iter().nth(index)?)));
        match found {
            Some((index, (key, value))) => reply(
                rank,
                RESULT,
                &[
                    ("rc", "0"),
                    ("nextidx", &index.saturating_add(1).to_string()),
                    ("key", key),
                    ("val", value),
                ],
            ),
            None => reply(rank, RESULT, &[("rc", "-2"), ("reason", "no_more_keyvals")]),
        }
    }

    fn barrier_in(&mut self, rank: u32, command: &Command) -> Vec<Effect> {
        if let Some(group) = command.value("group").filter(|group| *group != "WORLD") {
            let why = format!("barrier_of_group_{group}_is_not_offered");
            return vec![refused(rank, "barrier_out", &why)];
        }
        let Some(state) = self.ranks.get_mut(&rank) else {
            return Vec::new();
        };
        if state.in_barrier {
            return self.broken(
                rank,
                "it entered a barrier in which it already was".to_owned(),
            );
        }
        state.in_barrier = true;
        if !self.ranks.values().all(|state| state.in_barrier) {
            return Vec::new();
        }
        self.fence_open = true;
        self.puts_bytes = 0;
        vec![Effect::Fence {
            puts: std::mem::take(&mut self.puts).into_iter().collect(),
        }]
    }

    /// A request of several lines, up to `endcmd`: only spawning has one.
    fn on_multi_line(&mut self, rank: u32, line: &[u8]) -> Vec<Effect> {
        let Some(state) = self.ranks.get_mut(&rank) else {
            return Vec::new();
        };
        let spawn = state.spawn.get_or_insert_default();
        spawn.bytes = spawn.bytes.saturating_add(line.len());
        if spawn.bytes > LINE_MAX {
            let sentence = format!(
                "it sent a request of more than {LINE_MAX} bytes, at {:?}",
                shown(line)
            );
            return self.broken(rank, sentence);
        }
        if line == b"endcmd" {
            let last = spawn.number >= spawn.total;
            state.spawn = None;
            return if last {
                vec![refused(rank, "spawn_result", "spawning_is_not_offered")]
            } else {
                Vec::new()
            };
        }
        if let Some(total) = line.strip_prefix(b"totspawns=") {
            spawn.total = number(total);
        } else if let Some(sofar) = line.strip_prefix(b"spawnssofar=") {
            spawn.number = number(sofar);
        }
        Vec::new()
    }

    fn broken(&mut self, rank: u32, sentence: String) -> Vec<Effect> {
        if let Some(state) = self.ranks.get_mut(&rank) {
            state.broken = true;
        }
        vec![Effect::Broken { rank, sentence }]
    }
}

fn reply(rank: u32, command: &str, arguments: &[(&str, &str)]) -> Effect {
    Effect::Reply {
        rank,
        line: write(command, arguments),
    }
}

fn refused(rank: u32, command: &str, why: &str) -> Effect {
    reply(rank, command, &[("rc", "-1"), ("msg", why)])
}

/// 0 for what is no number.
fn number(text: &[u8]) -> u32 {
    std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
#[path = "node_tests.rs"]
mod tests;
