//! What ranks ask that have chosen PMI-2.
//!
//! Every answer has the name of its request with `-response` behind it. What a node's ranks tell each
//! other, its attributes, stays on the node and needs no barrier: one of them may wait for another.

use super::{Effect, NameRequest, NodeServer, PmiStage, Waiter};
use crate::message::{Message, write};
use crate::spawn::{SpawnCommand, SpawnRequest};
use crate::{KEY_MAX, Pair, SPACE_MAX, VALUE_MAX};

/// Attributes that one rank may wait for at a time: one for each of its threads.
const WAITS_MAX: usize = 64;

/// Where an answer goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asker {
    rank: u32,
    /// Name of the answer.
    answer: String,
    thread: Option<String>,
}

impl Asker {
    fn new(rank: u32, message: &Message) -> Self {
        Self {
            rank,
            answer: format!("{}-response", message.name()),
            thread: message.value("thrid").map(str::to_owned),
        }
    }

    pub(super) fn tell(&self, pairs: &[(&str, &str)]) -> Effect {
        Effect::Reply {
            rank: self.rank,
            line: write(&self.answer, self.thread.as_deref(), pairs),
        }
    }

    pub(super) fn refuse(&self, why: &str) -> Effect {
        self.tell(&[("rc", "1"), ("errmsg", why)])
    }

    fn done(&self) -> Effect {
        self.tell(&[("rc", "0")])
    }

    fn found(&self, value: Option<&str>) -> Effect {
        match value.filter(|value| !value.is_empty()) {
            Some(value) => self.tell(&[("found", "TRUE"), ("value", value), ("rc", "0")]),
            None => self.tell(&[("found", "FALSE"), ("rc", "0")]),
        }
    }
}

impl NodeServer {
    pub(super) fn on_message(&mut self, rank: u32, bytes: &[u8]) -> Vec<Effect> {
        let message = match Message::parse(bytes) {
            Ok(message) => message,
            Err(error) => return self.broken(rank, error.to_string()),
        };
        let asker = Asker::new(rank, &message);
        match message.name() {
            "fullinit" => vec![self.full_init(&asker)],
            "job-getid" => vec![asker.tell(&[("jobid", &self.kvs_name), ("rc", "0")])],
            "kvs-put" => match self.put_of(&message) {
                Ok(()) => vec![asker.done()],
                Err(why) => vec![asker.refuse(&why)],
            },
            "kvs-get" => vec![self.get_of(&asker, &message)],
            "kvs-fence" => {
                if let Some(state) = self.ranks.get_mut(&rank) {
                    state.fence = Some(asker);
                }
                self.enter_barrier(rank)
            }
            "info-putnodeattr" => self.put_attribute(&asker, &message),
            "info-getnodeattr" => self.get_attribute(asker, &message),
            "info-getjobattr" => vec![self.job_attribute(&asker, &message)],
            "name-publish" | "name-lookup" | "name-unpublish" => self.name_of(asker, &message),
            "spawn" => match spawn(&message) {
                Ok(request) => self.ask(rank, Waiter::Two(asker), Effect::Spawn { rank, request }),
                Err(why) => vec![asker.refuse(why)],
            },
            "finalize" => {
                let mut effects = self.reach(rank, PmiStage::Finalized);
                effects.push(asker.done());
                effects
            }
            "abort" => {
                // Older libraries give no code, and other keys.
                let code = message.value("exitcode").and_then(|code| code.parse().ok());
                let words = message.value("message").or_else(|| message.value("msg"));
                vec![Effect::Abort {
                    rank,
                    exit_code: code.unwrap_or(1),
                    message: words.unwrap_or_default().to_owned(),
                }]
            }
            unknown => vec![asker.refuse(&format!("{unknown} is not offered"))],
        }
    }

    fn full_init(&self, asker: &Asker) -> Effect {
        let (rank, size) = (asker.rank.to_string(), self.size.to_string());
        let appnum = self.appnums.get(&asker.rank).copied().unwrap_or(0);
        let appnum = appnum.to_string();
        let mut pairs = vec![
            // Slurm's library wants to know.
            ("pmi-version", "2"),
            ("pmi-subversion", "0"),
            ("rank", rank.as_str()),
            ("size", &size),
            ("appnum", &appnum),
        ];
        if self.spawned {
            pairs.push(("spawner-jobid", &self.kvs_name));
        }
        pairs.extend([("debugged", "FALSE"), ("pmiverbose", "FALSE"), ("rc", "0")]);
        asker.tell(&pairs)
    }

    fn put_of(&mut self, message: &Message) -> Result<(), String> {
        match (message.value("key"), message.value("value")) {
            (Some(key), Some(value)) => self.store(key, value),
            _ => Err("a put needs key and value".to_owned()),
        }
    }

    fn get_of(&self, asker: &Asker, message: &Message) -> Effect {
        let own = message
            .value("jobid")
            .is_none_or(|job| job == self.kvs_name);
        match message.value("key") {
            _ if !own => asker.refuse("unknown jobid"),
            None => asker.refuse("a get needs a key"),
            Some(key) => asker.found(self.space.get(key).map(String::as_str)),
        }
    }

    fn job_attribute(&self, asker: &Asker, message: &Message) -> Effect {
        let universe = self.universe.map(|size| size.to_string());
        asker.found(match message.value("key") {
            Some("universeSize") => universe.as_deref(),
            Some(key) => self.space.get(key).map(String::as_str),
            None => None,
        })
    }

    fn put_attribute(&mut self, asker: &Asker, message: &Message) -> Vec<Effect> {
        let (Some(key), Some(value)) = (message.value("key"), message.value("value")) else {
            return vec![asker.refuse("an attribute needs key and value")];
        };
        if key.len() > KEY_MAX || value.len() > VALUE_MAX {
            let why = format!("a key is at most {KEY_MAX} bytes, a value {VALUE_MAX}");
            return vec![asker.refuse(&why)];
        }
        // One that is put again takes the place of the older value.
        let before = self.attributes.get(key).map(|old| key.len() + old.len());
        let others = self.attributes_bytes.saturating_sub(before.unwrap_or(0));
        let bytes = others.saturating_add(key.len()).saturating_add(value.len());
        if bytes > SPACE_MAX {
            return vec![asker.refuse("the node has no room for more attributes")];
        }
        self.attributes_bytes = bytes;
        self.attributes.insert(key.to_owned(), value.to_owned());
        let mut effects = vec![asker.done()];
        for state in self.ranks.values_mut() {
            let waiting = state.waits.extract_if(.., |(wanted, _)| wanted == key);
            effects.extend(waiting.map(|(_, asker)| asker.found(Some(value))));
        }
        effects
    }

    fn get_attribute(&mut self, asker: Asker, message: &Message) -> Vec<Effect> {
        let Some(key) = message.value("key") else {
            return vec![asker.refuse("an attribute needs a key")];
        };
        let found = self.attributes.get(key);
        if found.is_some() || message.value("wait") != Some("TRUE") {
            return vec![asker.found(found.map(String::as_str))];
        }
        let rank = asker.rank;
        match self.ranks.get_mut(&rank) {
            Some(state) if state.waits.len() < WAITS_MAX => {
                state.waits.push((key.to_owned(), asker));
                Vec::new()
            }
            _ => self.broken(
                rank,
                format!("it waits for more than {WAITS_MAX} attributes"),
            ),
        }
    }

    fn name_of(&mut self, asker: Asker, message: &Message) -> Vec<Effect> {
        let service = message.value("name").map(str::to_owned);
        let request = match (message.name(), service, message.value("port")) {
            ("name-publish", Some(service), Some(port)) => NameRequest::Publish {
                service,
                port: port.to_owned(),
            },
            ("name-lookup", Some(service), _) => NameRequest::Lookup(service),
            ("name-unpublish", Some(service), _) => NameRequest::Unpublish(service),
            _ => return vec![asker.refuse("name or port is missing")],
        };
        let rank = asker.rank;
        self.ask(rank, Waiter::Two(asker), Effect::Name { rank, request })
    }
}

/// The answer of the name service.
pub(super) fn name_answer(asker: &Asker, answer: Result<&str, &str>) -> Effect {
    match answer {
        Ok("") => asker.done(),
        // Older libraries read the port where other answers have their value.
        Ok(port) => asker.tell(&[
            ("found", "TRUE"),
            ("value", port),
            ("port", port),
            ("rc", "0"),
        ]),
        Err(why) => asker.tell(&[("found", "FALSE"), ("rc", "1"), ("errmsg", why)]),
    }
}

/// The answer to a spawn.
pub(super) fn spawn_answer(asker: &Asker, answer: Result<(), &str>) -> Effect {
    match answer {
        // Nobody asks for the new group by its name.
        Ok(()) => asker.tell(&[("jobid", "spawned"), ("nerrs", "0"), ("rc", "0")]),
        Err(why) => asker.refuse(why),
    }
}

/// `spawn;ncmds=1;preputcount=1;ppkey0=k;ppval0=v;subcmd=prog;maxprocs=2;argc=1;argv0=a;infokeycount=0;`
fn spawn(message: &Message) -> Result<SpawnRequest, &'static str> {
    let mut commands: Vec<SpawnCommand> = Vec::new();
    let (mut preputs, mut key_of) = (Vec::new(), None);
    for (key, value) in message.pairs() {
        let indexed = |name: &str| {
            let number = key.strip_prefix(name);
            number.is_some_and(|number| number.parse::<u32>().is_ok())
        };
        let mut pair = || -> Result<Pair, &'static str> {
            let key = key_of.take().ok_or("a value has no key")?;
            Ok((key, value.clone()))
        };
        match (key.as_str(), commands.last_mut()) {
            ("subcmd", _) => commands.push(SpawnCommand {
                program: value.clone(),
                ..SpawnCommand::default()
            }),
            ("maxprocs", Some(command)) => {
                command.processes = value
                    .parse()
                    .map_err(|_no_number| "maxprocs is no number")?;
            }
            (_, Some(command)) if indexed("argv") => command.args.push(value.clone()),
            (_, Some(command)) if indexed("infoval") => command.infos.push(pair()?),
            (_, None) if indexed("ppval") => preputs.push(pair()?),
            _ if indexed("infokey") || indexed("ppkey") => key_of = Some(value.clone()),
            _ => {}
        }
    }
    let wanted = message.value("ncmds").and_then(|count| count.parse().ok());
    if commands.is_empty() || wanted.is_some_and(|wanted: usize| wanted != commands.len()) {
        return Err("commands are missing");
    }
    Ok(SpawnRequest { commands, preputs })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{JobAttributes, PmiStage};

    fn server(size: u32, ranks: &[u32]) -> NodeServer {
        let mut node = NodeServer::new(JobAttributes {
            size,
            ranks: ranks.to_vec(),
            kvs_name: "kvs_1".to_owned(),
            process_mapping: "(vector,(0,1,2))".to_owned(),
            ..JobAttributes::default()
        })
        .unwrap();
        for &rank in ranks {
            let answer = node.on_line(rank, b"cmd=init pmi_version=2 pmi_subversion=0");
            let line = "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n".to_owned();
            let stage = PmiStage::Initialized;
            assert_eq!(
                answer,
                [Effect::Stage { rank, stage }, Effect::Reply { rank, line }]
            );
        }
        node
    }

    /// The only answer to `text`, without its length.
    fn said(node: &mut NodeServer, rank: u32, text: &str) -> String {
        let mut effects = node.on_line(rank, text.as_bytes());
        let Some(Effect::Reply { rank: to, line }) = effects.pop() else {
            panic!("no answer to {text}: {effects:?}");
        };
        assert!(effects.is_empty() && to == rank, "{effects:?}");
        let (length, text) = line.split_at(6);
        assert_eq!(length.trim(), text.len().to_string());
        text.to_owned()
    }

    #[test]
    fn the_opening_of_mpich_is_answered() {
        let mut node = server(2, &[0, 1]);
        assert_eq!(
            said(&mut node, 1, "cmd=fullinit;pmirank=1;thrid=0x1;"),
            "cmd=fullinit-response;thrid=0x1;pmi-version=2;pmi-subversion=0;rank=1;size=2;appnum=0;debugged=FALSE;pmiverbose=FALSE;rc=0;"
        );
        assert_eq!(
            said(&mut node, 0, "cmd=job-getid;"),
            "cmd=job-getid-response;jobid=kvs_1;rc=0;"
        );
        assert_eq!(
            said(&mut node, 0, "cmd=info-getjobattr;key=PMI_process_mapping;"),
            "cmd=info-getjobattr-response;found=TRUE;value=(vector,(0,1,2));rc=0;"
        );
        assert_eq!(
            said(&mut node, 0, "cmd=info-getjobattr;key=universeSize;"),
            "cmd=info-getjobattr-response;found=FALSE;rc=0;"
        );
        assert_eq!(
            said(&mut node, 0, "cmd=job-connect;jobid=kvs_2;"),
            "cmd=job-connect-response;rc=1;errmsg=job-connect is not offered;"
        );
    }

    #[test]
    fn a_fence_brings_what_the_others_have_put() {
        let mut node = server(3, &[0, 1]);
        assert_eq!(
            said(&mut node, 0, "cmd=kvs-put;key=a;value=1;"),
            "cmd=kvs-put-response;rc=0;"
        );
        assert_eq!(node.on_line(0, b"cmd=kvs-fence;thrid=0x2;"), []);
        let puts = vec![("a".to_owned(), "1".to_owned())];
        assert_eq!(node.on_line(1, b"cmd=kvs-fence;"), [Effect::Fence { puts }]);
        let reply = |rank, text: &str| Effect::Reply {
            rank,
            line: format!("{:6}{text}", text.len()),
        };
        assert_eq!(
            node.fence_done(vec![("b".to_owned(), "2".to_owned())]),
            [
                reply(0, "cmd=kvs-fence-response;thrid=0x2;rc=0;"),
                reply(1, "cmd=kvs-fence-response;rc=0;")
            ]
        );
        assert_eq!(
            said(&mut node, 0, "cmd=kvs-get;jobid=kvs_1;srcid=-1;key=b;"),
            "cmd=kvs-get-response;found=TRUE;value=2;rc=0;"
        );
        assert_eq!(
            said(&mut node, 0, "cmd=kvs-get;jobid=kvs_1;srcid=-1;key=c;"),
            "cmd=kvs-get-response;found=FALSE;rc=0;"
        );
    }

    #[test]
    fn an_attribute_is_waited_for() {
        let mut node = server(2, &[0, 1]);
        assert_eq!(
            said(&mut node, 0, "cmd=info-getnodeattr;key=a;wait=FALSE;"),
            "cmd=info-getnodeattr-response;found=FALSE;rc=0;"
        );
        assert_eq!(
            node.on_line(0, b"cmd=info-getnodeattr;key=a;wait=TRUE;"),
            []
        );
        let told = node.on_line(1, b"cmd=info-putnodeattr;key=a;value=7;");
        assert_eq!(told.len(), 2);
        assert!(
            matches!(&told[1], Effect::Reply { rank: 0, line } if line.contains("found=TRUE;value=7;"))
        );
        let again = node.on_line(1, b"cmd=info-putnodeattr;key=a;value=8;");
        assert_eq!(again.len(), 1);
    }

    #[test]
    fn what_is_put_again_takes_no_more_room() {
        let mut node = server(1, &[0]);
        let attribute = format!("cmd=info-putnodeattr;key=a;value={};", "x".repeat(1000));
        let put = format!("cmd=kvs-put;key=k;value={};", "x".repeat(1000));
        for _again in 0..3 {
            assert!(said(&mut node, 0, &attribute).contains("rc=0"));
            assert!(said(&mut node, 0, &put).contains("rc=0"));
        }
        assert_eq!((node.attributes_bytes, node.puts_bytes), (1001, 1001));
    }

    #[test]
    fn names_and_spawns_go_to_the_job() {
        let mut node = server(2, &[0, 1]);
        let request = NameRequest::Lookup("a name".to_owned());
        assert_eq!(
            node.on_line(0, b"cmd=name-lookup;name=a name;"),
            [Effect::Name { rank: 0, request }]
        );
        let answer = node.name_answer(0, Ok("port 1"));
        assert!(
            matches!(&answer[0], Effect::Reply { line, .. } if line.ends_with(";port=port 1;rc=0;"))
        );
        let spawn = b"cmd=spawn;ncmds=2;preputcount=1;ppkey0=k;ppval0=v w;subcmd=./a;maxprocs=2;\
            argc=1;argv0=one two;infokeycount=1;infokey0=host;infoval0=n1;subcmd=b;maxprocs=1;argc=0;";
        let command =
            |program: &str, processes, args: &[&str], infos: &[(&str, &str)]| SpawnCommand {
                processes,
                program: program.to_owned(),
                args: args.iter().map(|&arg| arg.to_owned()).collect(),
                infos: (infos.iter())
                    .map(|&(key, value)| (key.to_owned(), value.to_owned()))
                    .collect(),
            };
        let request = SpawnRequest {
            commands: vec![
                command("./a", 2, &["one two"], &[("host", "n1")]),
                command("b", 1, &[], &[]),
            ],
            preputs: vec![("k".to_owned(), "v w".to_owned())],
        };
        assert_eq!(node.on_line(1, spawn), [Effect::Spawn { rank: 1, request }]);
        let answer = node.spawn_answer(1, Err("no room; none"));
        assert!(
            matches!(&answer[0], Effect::Reply { line, .. } if line.ends_with("rc=1;errmsg=no room, none;"))
        );
        assert!(said(&mut node, 1, "cmd=spawn;ncmds=1;").contains("commands are missing"));
    }

    #[test]
    fn an_abort_has_its_code_and_no_answer() {
        let mut node = server(1, &[0]);
        assert_eq!(
            node.on_line(0, b"cmd=abort;exitcode=7;message=no; way;"),
            [Effect::Abort {
                rank: 0,
                exit_code: 7,
                message: "no".to_owned()
            }]
        );
        assert!(matches!(
            node.on_line(0, b"cmd=")[..],
            [Effect::Broken { rank: 0, .. }]
        ));
    }
}
