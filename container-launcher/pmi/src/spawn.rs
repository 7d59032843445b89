//! A request to spawn processes, which has many lines.
//!
//! ```text
//! mcmd=spawn            once for each command of the request
//! nprocs=2
//! execname=./child
//! totspawns=2           commands of the request
//! spawnssofar=1         which of them this is, from 1
//! argcnt=1
//! arg1=two words        a value reaches to the end of its line
//! preput_num=1          in the first command alone, or in each with the same values
//! preput_key_0=PARENT_ROOT_PORT_NAME
//! preput_val_0=…
//! info_num=1
//! info_key_0=host
//! info_val_0=n1
//! endcmd
//! ```

use std::collections::BTreeMap;

use crate::{LINE_MAX, Pair};

/// Most commands of one request.
const COMMANDS_MAX: u32 = 1024;

/// New processes that a rank wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpawnRequest {
    /// In the order of the call; at least one.
    pub commands: Vec<SpawnCommand>,
    /// What the new group's key-value space begins with.
    pub preputs: Vec<Pair>,
}

/// So many processes of one program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpawnCommand {
    /// Processes to be started of it.
    pub processes: u32,
    /// As the program names it.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// What MPI calls an info object, with or without a meaning here.
    pub infos: Vec<Pair>,
}

/// A request on its way in.
#[derive(Debug, Default)]
pub(crate) struct Incoming {
    bytes: usize,
    /// Of the command that is being received.
    lines: BTreeMap<String, String>,
    request: SpawnRequest,
    /// Why the request makes no sense. The rest of it is read nevertheless: the answer is one, at its
    /// end, and no command of it runs.
    refused: Option<&'static str>,
}

/// What a line made of it.
pub(crate) enum SpawnStep {
    More,
    Done(SpawnRequest),
    /// It makes no sense, for this reason.
    Refused(&'static str),
    TooLong,
}

impl Incoming {
    pub(crate) fn on_line(&mut self, line: &[u8]) -> SpawnStep {
        self.bytes = self.bytes.saturating_add(line.len()).saturating_add(1);
        if self.bytes > LINE_MAX {
            return SpawnStep::TooLong;
        }
        let line = String::from_utf8_lossy(line);
        if line == "endcmd" {
            return self.on_end();
        }
        if let Some((key, value)) = line.split_once('=')
            && key != "mcmd"
        {
            self.lines.insert(key.to_owned(), value.to_owned());
        }
        SpawnStep::More
    }

    fn on_end(&mut self) -> SpawnStep {
        let lines = std::mem::take(&mut self.lines);
        let total = number(&lines, "totspawns").unwrap_or(1);
        let sofar = number(&lines, "spawnssofar").unwrap_or(total);
        if self.refused.is_none() {
            self.refused = self.add(&lines, sofar, total).err();
        }
        if sofar < total {
            return SpawnStep::More;
        }
        match self.refused {
            Some(why) => SpawnStep::Refused(why),
            None => SpawnStep::Done(std::mem::take(&mut self.request)),
        }
    }

    /// Adds a command, the one of the number `sofar` of `total`.
    fn add(
        &mut self,
        lines: &BTreeMap<String, String>,
        sofar: u32,
        total: u32,
    ) -> Result<(), &'static str> {
        if total > COMMANDS_MAX {
            return Err("too_many_commands_in_one_spawn");
        }
        self.request.commands.push(command(lines)?);
        if u32::try_from(self.request.commands.len()) != Ok(sofar) {
            return Err("spawnssofar_is_not_the_number_of_the_command");
        }
        if self.request.preputs.is_empty() {
            self.request.preputs = pairs(lines, "preput");
        }
        Ok(())
    }
}

fn command(lines: &BTreeMap<String, String>) -> Result<SpawnCommand, &'static str> {
    let processes = number(lines, "nprocs").ok_or("nprocs_is_missing_or_no_number")?;
    let program = lines.get("execname").filter(|name| !name.is_empty());
    let count = number(lines, "argcnt").unwrap_or(0);
    let args = (1..=count).map_while(|i| lines.get(&format!("arg{i}")).cloned());
    let command = SpawnCommand {
        processes,
        program: program.ok_or("execname_is_missing")?.clone(),
        args: args.collect(),
        infos: pairs(lines, "info"),
    };
    if u32::try_from(command.args.len()) != Ok(count) {
        return Err("arguments_are_missing");
    }
    Ok(command)
}

fn number(lines: &BTreeMap<String, String>, key: &str) -> Option<u32> {
    lines.get(key)?.trim().parse().ok()
}

/// `NAME_num` pairs of `NAME_key_i` and `NAME_val_i`, as far as they are there.
fn pairs(lines: &BTreeMap<String, String>, name: &str) -> Vec<Pair> {
    let count = number(lines, &format!("{name}_num")).unwrap_or(0);
    let pair = |i| {
        let key = lines.get(&format!("{name}_key_{i}"))?.clone();
        let value = lines.get(&format!("{name}_val_{i}"))?.clone();
        Some((key, value))
    };
    (0..count).map_while(pair).collect()
}
