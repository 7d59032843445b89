//! The launcher's half: answers the ranks of one node.
//!
//! A value is seen by the ranks of its own node at once and by all others after the next barrier;
//! PMI promises no more than the latter. A key that is put again takes the newer value.

mod version_two;

use std::collections::BTreeMap;

use thiserror::Error;

use self::version_two::Asker;
use crate::spawn::{Incoming, SpawnRequest, Step};
use crate::text::{Command, shown, write};
use crate::{EXCHANGE_MAX, KEY_MAX, KVS_NAME_MAX, LINE_MAX, Pair, SPACE_MAX, VALUE_MAX};

/// What the ranks of one node need to know about the job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// Which of the job's programs a rank runs, counted from 0; a rank that is not here runs the
    /// first.
    pub appnums: BTreeMap<u32, u32>,
    /// What the key-value space begins with.
    pub preputs: Vec<Pair>,
    /// Other ranks have spawned these.
    pub spawned: bool,
    /// How many processes the job may become, spawned ones included; `None`: unknown.
    pub universe: Option<u32>,
}

/// What a rank asks of the job's name service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameRequest {
    /// Make a port known under a name.
    Publish {
        /// The name.
        service: String,
        /// The port.
        port: String,
    },
    /// Which port has this name?
    Lookup(String),
    /// Forget a name.
    Unpublish(String),
}

impl NameRequest {
    const fn answer(&self) -> &'static str {
        match self {
            Self::Publish { .. } => "publish_result",
            Self::Lookup(_) => "lookup_result",
            Self::Unpublish(_) => "unpublish_result",
        }
    }
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

/// Name of the answer to a request to spawn.
const SPAWN_RESULT: &str = "spawn_result";

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
    /// The rank asks the name service; [`NodeServer::name_answer`] answers.
    Name {
        /// Who.
        rank: u32,
        /// What.
        request: NameRequest,
    },
    /// The rank wants new processes; [`NodeServer::spawn_answer`] answers.
    Spawn {
        /// Who.
        rank: u32,
        /// Which.
        request: SpawnRequest,
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
    /// The rank does not speak PMI as it should and is not answered any more: end it.
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
    /// It speaks PMI-2.
    second: bool,
    /// The request to spawn that is being received.
    incoming: Option<Incoming>,
    /// What the job is asked on its behalf.
    asked: Option<Asked>,
    /// Who entered the barrier; of PMI-2.
    fence: Option<Asker>,
    /// Attributes of the node that it waits for.
    waits: Vec<(String, Asker)>,
}

/// Who waits for an answer of the job.
#[derive(Clone, Debug)]
enum Asked {
    /// In the words of PMI-1, by the name of the answer.
    One(&'static str),
    /// In those of PMI-2.
    Two(Asker),
}

/// The process manager of one node, as the ranks see it.
#[derive(Debug)]
pub struct NodeServer {
    size: u32,
    kvs_name: String,
    ranks: BTreeMap<u32, Rank>,
    /// All values known on this node.
    space: BTreeMap<String, String>,
    /// Those put here since the last barrier.
    puts: BTreeMap<String, String>,
    puts_bytes: usize,
    /// Of `space`, keys and values.
    space_bytes: usize,
    /// What the ranks of this node tell each other, by PMI-2.
    attributes: BTreeMap<String, String>,
    attributes_bytes: usize,
    fence_open: bool,
    appnums: BTreeMap<u32, u32>,
    spawned: bool,
    universe: Option<u32>,
}

impl NodeServer {
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
            appnums,
            preputs,
            spawned,
            universe,
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
        let mut space: BTreeMap<String, String> = preputs.into_iter().collect();
        if !process_mapping.is_empty() && process_mapping.len() < VALUE_MAX {
            space.insert("PMI_process_mapping".to_owned(), process_mapping);
        }
        let space_bytes = space.iter().map(|(key, value)| key.len() + value.len());
        Ok(Self {
            space_bytes: space_bytes.sum(),
            appnums,
            size,
            kvs_name,
            ranks,
            space,
            puts: BTreeMap::new(),
            puts_bytes: 0,
            attributes: BTreeMap::new(),
            attributes_bytes: 0,
            fence_open: false,
            spawned,
            universe,
        })
    }

    /// How far a rank of this node got.
    #[must_use]
    pub fn stage(&self, rank: u32) -> Stage {
        self.ranks
            .get(&rank)
            .map_or(Stage::Silent, |rank| rank.stage)
    }

    /// Takes one line of a rank, without its newline, or one message, without its length. Lines of ranks that are not of this node, or
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
        if state.second {
            return self.on_message(rank, line);
        }
        if state.incoming.is_some() || line.starts_with(b"mcmd=") {
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
        for (key, value) in puts {
            if key.len() <= KEY_MAX && value.len() <= VALUE_MAX {
                self.insert(key, value);
            }
        }
        if self.space_bytes > SPACE_MAX {
            let rank = self.ranks.keys().next().copied().unwrap_or(0);
            return self.broken(
                rank,
                format!("all ranks together put more than {SPACE_MAX} bytes of keys and values"),
            );
        }
        let mut effects = Vec::with_capacity(self.ranks.len());
        for (&rank, state) in &mut self.ranks {
            state.in_barrier = false;
            effects.push(match state.fence.take() {
                None => reply(rank, "barrier_out", &[("rc", "0")]),
                Some(asker) => asker.tell(&[("rc", "0")]),
            });
        }
        effects
    }

    fn insert(&mut self, key: String, value: String) {
        self.space_bytes = self
            .space_bytes
            .saturating_add(key.len())
            .saturating_add(value.len());
        let key_bytes = key.len();
        if let Some(old) = self.space.insert(key, value) {
            self.space_bytes = self.space_bytes.saturating_sub(key_bytes + old.len());
        }
    }

    /// The name service's answer to [`Effect::Name`]: the port of a look-up, nothing of others, or why
    /// not.
    #[must_use]
    pub fn name_answer(&mut self, rank: u32, answer: Result<&str, &str>) -> Vec<Effect> {
        let asked = match self.take_asked(rank) {
            None => return Vec::new(),
            Some(Asked::Two(asker)) => return vec![version_two::name_answer(&asker, answer)],
            Some(Asked::One(asked)) => asked,
        };
        let line = match answer {
            Ok("") => reply(rank, asked, &[("rc", "0"), ("msg", "success")]),
            Ok(port) => reply(
                rank,
                asked,
                &[("rc", "0"), ("msg", "success"), ("port", port)],
            ),
            // Greater than 0, as MPICH's own process manager has it.
            Err(why) => reply(rank, asked, &[("rc", "1"), ("msg", why)]),
        };
        vec![line]
    }

    /// The job's answer to [`Effect::Spawn`]: all processes run, or why not.
    #[must_use]
    pub fn spawn_answer(&mut self, rank: u32, answer: Result<(), &str>) -> Vec<Effect> {
        let asked = match self.take_asked(rank) {
            None => return Vec::new(),
            Some(Asked::Two(asker)) => return vec![version_two::spawn_answer(&asker, answer)],
            Some(Asked::One(asked)) => asked,
        };
        // Without `errcodes` they are all 0. With one that is not, MPICH would give the program a
        // communicator that cannot be used, and wait for ever where the program ignores the codes.
        vec![match answer {
            Ok(()) => reply(rank, asked, &[("rc", "0")]),
            Err(why) => refused(rank, asked, why),
        }]
    }

    fn take_asked(&mut self, rank: u32) -> Option<Asked> {
        self.ranks.get_mut(&rank)?.asked.take()
    }

    /// Notes that the rank waits for an answer of the job.
    fn ask(&mut self, rank: u32, asked: Asked, effect: Effect) -> Vec<Effect> {
        match self.ranks.get_mut(&rank) {
            Some(state) if state.asked.is_none() => {
                state.asked = Some(asked);
                vec![effect]
            }
            _ => self.broken(rank, "it asked again before it was answered".to_owned()),
        }
    }

    fn name(&mut self, rank: u32, command: &Command) -> Vec<Effect> {
        let service = command.value("service").map(str::to_owned);
        let request = match (command.name(), service, command.value("port")) {
            ("publish_name", Some(service), Some(port)) => NameRequest::Publish {
                service,
                port: port.to_owned(),
            },
            ("lookup_name", Some(service), _) => NameRequest::Lookup(service),
            ("unpublish_name", Some(service), _) => NameRequest::Unpublish(service),
            (name, ..) => {
                let answer = name.replace("_name", "_result");
                return vec![refused(rank, &answer, "service_or_port_is_missing")];
            }
        };
        let asked = Asked::One(request.answer());
        self.ask(rank, asked, Effect::Name { rank, request })
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
                let size = self
                    .universe
                    .map_or("-1".to_owned(), |size| size.to_string());
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
            "publish_name" | "lookup_name" | "unpublish_name" => self.name(rank, command),
            "spawn" => vec![refused(rank, "spawn_result", "a_spawn_has_several_lines")],
            unknown => vec![refused(rank, unknown, "unknown_command")],
        }
    }

    fn init(&mut self, rank: u32, command: &Command) -> Vec<Effect> {
        let (second, minor) = match command.number("pmi_version") {
            Some(1) => (false, "1"),
            Some(2) => (true, "0"),
            _ => {
                let why = "PMI_1_and_2_are_offered";
                return vec![reply(
                    rank,
                    "response_to_init",
                    &[
                        ("pmi_version", "1"),
                        ("pmi_subversion", "1"),
                        ("rc", "-1"),
                        ("msg", why),
                    ],
                )];
            }
        };
        let mut effects = self.reach(rank, Stage::Initialized);
        if let Some(state) = self.ranks.get_mut(&rank) {
            state.second = second;
        }
        let major = ("pmi_version", if second { "2" } else { "1" });
        let minor = ("pmi_subversion", minor);
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
        match self.store(key, value) {
            Ok(()) => reply(rank, "put_result", &[("rc", "0"), ("msg", "success")]),
            Err(why) => put_refused(&why),
        }
    }

    /// Puts a value, or says why not.
    fn store(&mut self, key: &str, value: &str) -> Result<(), String> {
        if key.len() > KEY_MAX {
            return Err(format!("key_longer_than_{KEY_MAX}_bytes"));
        }
        if value.len() > VALUE_MAX {
            return Err(format!("value_longer_than_{VALUE_MAX}_bytes"));
        }
        let bytes = self
            .puts_bytes
            .saturating_add(key.len())
            .saturating_add(value.len());
        if bytes > EXCHANGE_MAX {
            return Err("too_many_values_before_a_barrier".to_owned());
        }
        if self.space_bytes > SPACE_MAX {
            return Err("the_key-value_space_is_full".to_owned());
        }
        self.puts_bytes = bytes;
        self.puts.insert(key.to_owned(), value.to_owned());
        self.insert(key.to_owned(), value.to_owned());
        Ok(())
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
        self.enter_barrier(rank)
    }

    fn enter_barrier(&mut self, rank: u32) -> Vec<Effect> {
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
        match state.incoming.get_or_insert_default().on_line(line) {
            Step::More => Vec::new(),
            Step::Done(request) => {
                state.incoming = None;
                let asked = Asked::One(SPAWN_RESULT);
                self.ask(rank, asked, Effect::Spawn { rank, request })
            }
            Step::Refused(why) => {
                state.incoming = None;
                vec![refused(rank, SPAWN_RESULT, why)]
            }
            Step::TooLong => {
                let sentence = format!(
                    "it sent a request of more than {LINE_MAX} bytes, at {:?}",
                    shown(line)
                );
                self.broken(rank, sentence)
            }
        }
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

#[cfg(test)]
#[path = "node_tests.rs"]
mod tests;
