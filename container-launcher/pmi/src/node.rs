//! The launcher's half: answers the ranks of one node.
//!
//! A value is seen by the ranks of its own node at once and by all others after the next barrier;
//! PMI promises no more than the latter. A key that is put again takes the newer value.

mod effect;
mod job;
mod version_one;
mod version_two;

use std::collections::BTreeMap;

pub use self::effect::{Effect, NameRequest, PmiStage};
pub use self::job::{JobAttributes, JobError};
use self::version_one::{refused, reply};
use self::version_two::Asker;
use crate::spawn::Incoming;
use crate::text::Command;
use crate::{EXCHANGE_MAX, KEY_MAX, KVS_NAME_MAX, LINE_MAX, Pair, SPACE_MAX, VALUE_MAX};

#[derive(Debug, Default)]
struct Rank {
    stage: PmiStage,
    in_barrier: bool,
    /// Its process is gone.
    ended: bool,
    broken: bool,
    /// It speaks PMI-2.
    second: bool,
    /// The request to spawn that is being received.
    incoming: Option<Incoming>,
    /// What the job is asked on its behalf.
    asked: Option<Waiter>,
    /// Who entered the barrier; of PMI-2.
    fence: Option<Asker>,
    /// Attributes of the node that it waits for.
    waits: Vec<(String, Asker)>,
}

/// Who waits for an answer of the job.
#[derive(Clone, Debug)]
enum Waiter {
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
    pub fn new(job: JobAttributes) -> Result<Self, JobError> {
        let JobAttributes {
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
    pub fn stage(&self, rank: u32) -> PmiStage {
        self.ranks
            .get(&rank)
            .map_or(PmiStage::Silent, |rank| rank.stage)
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

    /// Tells the ranks of this node, and no others, a value of the process manager's own. One that is too
    /// long for the protocol is not told.
    pub fn offer(&mut self, key: &str, value: &str) {
        let known = self.space.get(key).is_some_and(|known| known == value);
        if !known && key.len() <= KEY_MAX && value.len() <= VALUE_MAX {
            self.insert(key.to_owned(), value.to_owned());
        }
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
            Some(Waiter::Two(asker)) => return vec![version_two::name_answer(&asker, answer)],
            Some(Waiter::One(asked)) => asked,
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
            Some(Waiter::Two(asker)) => return vec![version_two::spawn_answer(&asker, answer)],
            Some(Waiter::One(asked)) => asked,
        };
        // Without `errcodes` they are all 0. With one that is not, MPICH would give the program a
        // communicator that cannot be used, and wait for ever where the program ignores the codes.
        vec![match answer {
            Ok(()) => reply(rank, asked, &[("rc", "0")]),
            Err(why) => refused(rank, asked, why),
        }]
    }

    fn take_asked(&mut self, rank: u32) -> Option<Waiter> {
        self.ranks.get_mut(&rank)?.asked.take()
    }

    /// Notes that the rank waits for an answer of the job.
    fn ask(&mut self, rank: u32, asked: Waiter, effect: Effect) -> Vec<Effect> {
        match self.ranks.get_mut(&rank) {
            Some(state) if state.asked.is_none() => {
                state.asked = Some(asked);
                vec![effect]
            }
            _ => self.broken(rank, "it asked again before it was answered".to_owned()),
        }
    }

    fn reach(&mut self, rank: u32, stage: PmiStage) -> Vec<Effect> {
        match self.ranks.get_mut(&rank) {
            Some(state) if state.stage != stage => {
                state.stage = stage;
                vec![Effect::Stage { rank, stage }]
            }
            _ => Vec::new(),
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
        // One that is put again takes the place of the older value.
        let before = self.puts.get(key).map(|old| key.len() + old.len());
        let others = self.puts_bytes.saturating_sub(before.unwrap_or(0));
        let bytes = others.saturating_add(key.len()).saturating_add(value.len());
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

    /// The process of a rank is gone.
    pub fn ended(&mut self, rank: u32) {
        if let Some(state) = self.ranks.get_mut(&rank) {
            state.ended = true;
        }
    }

    /// A rank of this node is gone, and all that are left wait in a barrier into which it will never come.
    #[must_use]
    pub fn is_stuck(&self) -> bool {
        let (gone, left): (Vec<&Rank>, Vec<&Rank>) =
            self.ranks.values().partition(|rank| rank.ended);
        let is_missed = gone.iter().any(|rank| !rank.in_barrier);
        is_missed && !left.is_empty() && left.iter().all(|rank| rank.in_barrier)
    }

    fn broken(&mut self, rank: u32, sentence: String) -> Vec<Effect> {
        if let Some(state) = self.ranks.get_mut(&rank) {
            state.broken = true;
        }
        vec![Effect::Broken { rank, sentence }]
    }
}

#[cfg(test)]
#[path = "node_tests.rs"]
mod tests;
