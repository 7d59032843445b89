//! What ranks ask that have chosen PMI-1.
//!
//! A request is one line, that for new processes several. An answer that refuses has an `rc` of -1 and
//! a word that says why.

use super::{Effect, NameRequest, NodeServer, PmiStage, Waiter};
use crate::spawn::SpawnStep;
use crate::text::{Command, shown, write};
use crate::{KEY_MAX, KVS_NAME_MAX, LINE_MAX, VALUE_MAX};

/// Name of the answer to a request to spawn.
const SPAWN_RESULT: &str = "spawn_result";

impl NameRequest {
    const fn answer(&self) -> &'static str {
        match self {
            Self::Publish { .. } => "publish_result",
            Self::Lookup(_) => "lookup_result",
            Self::Unpublish(_) => "unpublish_result",
        }
    }
}

impl NodeServer {
    /// A request of several lines, up to `endcmd`: only spawning has one.
    pub(super) fn on_multi_line(&mut self, rank: u32, line: &[u8]) -> Vec<Effect> {
        let Some(state) = self.ranks.get_mut(&rank) else {
            return Vec::new();
        };
        match state.incoming.get_or_insert_default().on_line(line) {
            SpawnStep::More => Vec::new(),
            SpawnStep::Done(request) => {
                state.incoming = None;
                let asked = Waiter::One(SPAWN_RESULT);
                self.ask(rank, asked, Effect::Spawn { rank, request })
            }
            SpawnStep::Refused(why) => {
                state.incoming = None;
                vec![refused(rank, SPAWN_RESULT, why)]
            }
            SpawnStep::TooLong => {
                let sentence = format!(
                    "it sent a request of more than {LINE_MAX} bytes, at {:?}",
                    shown(line)
                );
                self.broken(rank, sentence)
            }
        }
    }

    pub(super) fn on_command(&mut self, rank: u32, command: &Command) -> Vec<Effect> {
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
                let mut effects = self.reach(rank, PmiStage::Finalized);
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
        let mut effects = self.reach(rank, PmiStage::Initialized);
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
        let asked = Waiter::One(request.answer());
        self.ask(rank, asked, Effect::Name { rank, request })
    }
}

pub(super) fn reply(rank: u32, command: &str, arguments: &[(&str, &str)]) -> Effect {
    Effect::Reply {
        rank,
        line: write(command, arguments),
    }
}

pub(super) fn refused(rank: u32, command: &str, why: &str) -> Effect {
    reply(rank, command, &[("rc", "-1"), ("msg", why)])
}
