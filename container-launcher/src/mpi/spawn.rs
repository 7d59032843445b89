//! What ranks ask of the whole job, and the ranks that are started because one of them asked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use job::exit::Exit;
use job::wire::mpi_event::Event;
use job::wire::{
    Group, KeyValue, NameAnswer, NameRequest, Part, Program, Refusal, Share, SpawnAnswer,
    SpawnCommand, SpawnRequest, Yielding, name_request,
};
use nix::sys::signal::Signal;
use pmi::{Job, NodeServer};

use super::{Mpi, World, yielding};
use crate::container::Container;
use crate::cores::Cores;
use crate::life::RankOutbox;
use crate::node_facts;
use crate::nursery::Whom;
use crate::process;
use crate::program::{self, Run};
use crate::surroundings::Surroundings;

/// A rank asks the name service.
pub(super) fn ask_name(rank: u32, request: pmi::NameRequest, outbox: &RankOutbox) {
    let (kind, service, port) = match request {
        pmi::NameRequest::Publish { service, port } => (name_request::Kind::Publish, service, port),
        pmi::NameRequest::Lookup(service) => (name_request::Kind::Lookup, service, String::new()),
        pmi::NameRequest::Unpublish(service) => {
            (name_request::Kind::Unpublish, service, String::new())
        }
    };
    outbox.push_back(Event::Name(NameRequest {
        rank,
        kind: kind.into(),
        service,
        port,
    }));
}

/// A rank calls `MPI_Comm_spawn`.
pub(super) fn ask_spawn(rank: u32, request: pmi::SpawnRequest, outbox: &RankOutbox) {
    let commands = request.commands.into_iter().map(|command| SpawnCommand {
        processes: command.processes,
        program: command.program,
        args: command.args,
        infos: wire_pairs(command.infos),
    });
    outbox.push_back(Event::Spawn(SpawnRequest {
        rank,
        commands: commands.collect(),
        preputs: wire_pairs(request.preputs),
    }));
}

impl Mpi {
    pub(super) async fn on_name_answer(
        &mut self,
        answer: NameAnswer,
        container: &mut Container<'_>,
    ) {
        let outcome = match answer.refusal.as_str() {
            "" => Ok(answer.port.as_str()),
            why => Err(why),
        };
        if let Some(world) = self.of(answer.rank) {
            let own = answer.rank.saturating_sub(world.first);
            let effects = world.node.name_answer(own, outcome);
            let group = world.group;
            self.on_effects(group, effects, container).await;
        }
    }

    pub(super) async fn on_spawn_answer(
        &mut self,
        answer: SpawnAnswer,
        container: &mut Container<'_>,
    ) {
        let outcome = match answer.refusal.as_str() {
            "" => Ok(()),
            why => Err(why),
        };
        if let Some(world) = self.of(answer.rank) {
            let own = answer.rank.saturating_sub(world.first);
            let effects = world.node.spawn_answer(own, outcome);
            let group = world.group;
            self.on_effects(group, effects, container).await;
        }
    }

    /// Starts this container's ranks of a spawned group.
    pub(super) async fn start_group(&mut self, group: Group, container: &mut Container<'_>) {
        let number = group.group;
        let numbers: Vec<u32> = numbers(&group).collect();
        let kvs_name = group.kvs_name.clone();
        match self.try_group(group, container).await {
            Ok(world) => self.begin(world, container),
            Err(refusal) => {
                // Those that were forked before the one that failed.
                self.kill(numbers, container).await;
                container.warden.forget_space(&kvs_name);
                self.outbox.push_back(Event::Refusal(Refusal {
                    group: number,
                    ..refusal
                }));
            }
        }
    }

    /// Kills a group that could not be started everywhere.
    pub(super) async fn end_group(&mut self, group: u32, container: &Container<'_>) {
        if let Some(world) = self.worlds.get(&group) {
            let numbers = world.ranks.processes.numbers().collect();
            self.kill(numbers, container).await;
        }
    }

    async fn kill(&self, numbers: Vec<u32>, container: &Container<'_>) {
        for number in numbers {
            let one = Whom::One(process::Id {
                job: self.job,
                number,
            });
            container.nursery.signal(one, Signal::SIGKILL).await;
        }
    }

    async fn try_group(
        &mut self,
        group: Group,
        container: &mut Container<'_>,
    ) -> Result<World, Refusal> {
        let refuse = |sentence: String| Refusal {
            sentence: format!("{}: {sentence}", node_facts::hostname()),
            exit_code: i32::from(Exit::Lost.code()),
            group: group.group,
        };
        let Some(share) = self.share.clone() else {
            return Err(refuse("a spawn before the job's own ranks run".to_owned()));
        };
        let local = numbers(&group).count();
        let alive: usize = (self.worlds.values())
            .map(|world| world.ranks.processes.alive().count())
            .sum();
        let yields = yielding::applies(
            share.yielding(),
            alive.saturating_add(local),
            Cores::usable(),
        );
        let programs: Vec<Program> = (group.parts.iter())
            .map(|part| find(part, &share, &self.folder, container.around))
            .collect::<Result<_, _>>()?;
        for program in &programs {
            program::check_one(program, &self.folder)?;
        }
        let runs: Vec<Run<'_>> = (programs.iter().zip(&group.parts))
            .map(|(program, part)| Run {
                appnum: part.appnum,
                program,
                ranks: part.ranks.clone(),
            })
            .collect();
        let share = Share {
            size: group.size,
            ranks: numbers(&group).collect(),
            input: false,
            yielding: match yields {
                true => Yielding::Always.into(),
                false => share.yielding,
            },
            // The job's own ranks meet there.
            meeting_host: String::new(),
            meeting_port: 0,
            ..share.clone()
        };
        let appnums: BTreeMap<u32, u32> = (group.parts.iter())
            .flat_map(|part| part.ranks.iter().map(move |&number| (number, part.appnum)))
            .map(|(number, appnum)| (number.saturating_sub(group.first), appnum))
            .collect();
        let node = NodeServer::new(Job {
            size: group.size,
            ranks: appnums.keys().copied().collect(),
            kvs_name: group.kvs_name.clone(),
            process_mapping: group.process_mapping.clone(),
            appnums,
            spawned: true,
            universe: Some(share.universe_size).filter(|&size| size > 0),
            preputs: (group.preputs.iter())
                .map(|put| (put.key.clone(), put.value.clone()))
                .collect(),
        })
        .map_err(|error| refuse(error.to_string()))?;
        container.warden.note_space(&group.kvs_name);
        let ranks = self.fork(&share, &runs, group.first, container).await?;
        Ok(World {
            group: group.group,
            first: group.first,
            kvs_name: group.kvs_name,
            node,
            ranks,
            pmi_seen: false,
            pieces: Vec::new(),
        })
    }
}

fn numbers(group: &Group) -> impl Iterator<Item = u32> {
    group
        .parts
        .iter()
        .flat_map(|part| part.ranks.iter().copied())
}

fn wire_pairs(pairs: Vec<pmi::Pair>) -> Vec<KeyValue> {
    let pairs = pairs
        .into_iter()
        .map(|(key, value)| KeyValue { key, value });
    pairs.collect()
}

/// The program of a part. It is looked for in the folders that the request names, as a path of this
/// node, where it is to start, in the job's working directory, by PATH; and where nothing is
/// found, a program of the same file name as one of the job's own is that one. Environment and
/// libraries are those of the job's own program of that file name, else those of its first.
fn find(
    part: &Part,
    share: &Share,
    folder: &Path,
    around: &Surroundings,
) -> Result<Program, Refusal> {
    let name = Path::new(&part.program);
    let start = folder.join(&part.folder);
    let named = part.path.split(':').filter(|entry| !entry.is_empty());
    let mut candidates: Vec<PathBuf> = named.map(|entry| start.join(entry).join(name)).collect();
    candidates.extend([start.join(name), folder.join(name)]);
    if name.components().count() == 1 && !part.program.contains('/') {
        let path = around.variable("PATH").unwrap_or_default();
        candidates.extend(std::env::split_paths(path).map(|entry| entry.join(name)));
    }
    let mut own = share.programs.iter();
    let own = own.find(|own| Path::new(&own.file).file_name() == name.file_name());
    candidates.extend(own.map(|own| match own.own_path.as_str() {
        "" => folder.join(&own.file),
        path => PathBuf::from(path),
    }));
    let Some(found) = candidates.iter().find(|candidate| candidate.is_file()) else {
        return Err(Refusal {
            sentence: format!(
                "{}: {} cannot be spawned: it is neither on this node nor staged with the job",
                node_facts::hostname(),
                part.program
            ),
            exit_code: i32::from(Exit::NotFound.code()),
            group: 0,
        });
    };
    let like = own.or_else(|| share.programs.first());
    Ok(Program {
        processes: u32::try_from(part.ranks.len()).unwrap_or(u32::MAX),
        file: found.to_string_lossy().into_owned(),
        args: part.args.clone(),
        folder: part.folder.clone(),
        own_path: String::new(),
        // Of another program nobody has looked.
        glibc_needed: String::new(),
        glibc_needed_by: String::new(),
        digest: String::new(),
        ..like.cloned().unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_on_the_node_or_is_the_job_s_own() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        std::fs::create_dir(folder.join("bin")).unwrap();
        for name in ["solver", "bin/tool"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        let named = |file: &str, variable: &str| Program {
            file: file.to_owned(),
            environment: vec![KeyValue {
                key: variable.to_owned(),
                value: String::new(),
            }],
            ..Program::default()
        };
        let share = Share {
            programs: vec![named("first", "ONE"), named("solver", "TWO")],
            ..Share::default()
        };
        let around = Surroundings {
            folder: folder.to_owned(),
            environment: [("PATH".into(), "/nowhere:/bin".into())].into(),
            executable: PathBuf::new(),
        };
        let find_from = |start: &str, program: &str, path: &str| {
            let part = Part {
                program: program.to_owned(),
                path: path.to_owned(),
                folder: start.to_owned(),
                ..Part::default()
            };
            find(&part, &share, &around.folder, &around)
                .map(|found| (found.file, found.environment[0].key.clone()))
                .map_err(|refusal| refusal.exit_code)
        };
        let find = |program: &str, path: &str| find_from("", program, path);
        let at = |name: &str, variable: &str| {
            let path = folder.join(name).to_string_lossy().into_owned();
            Ok((path, variable.to_owned()))
        };
        assert_eq!(find("./solver", ""), at("./solver", "TWO"));
        assert_eq!(find("/home/user/solver", ""), at("solver", "TWO"));
        assert_eq!(find("bin/tool", ""), at("bin/tool", "ONE"));
        assert_eq!(find("tool", "nowhere:bin"), at("bin/tool", "ONE"));
        let sh = find("sh", "").map(|(sh, _)| sh.starts_with('/'));
        assert_eq!(sh, Ok(true));
        assert_eq!(find("./nothing", ""), Err(127));
        // From where it starts, and from the container's folder.
        assert_eq!(find_from("bin", "./tool", ""), at("bin/./tool", "ONE"));
        assert_eq!(find_from("bin", "./solver", ""), at("./solver", "TWO"));
    }
}
