//! What ranks ask of the whole job, and the ranks that are started because one of them asked.

use std::collections::BTreeMap;

use job::exit::Exit;
use job::wire::mpi_event::Event;
use job::wire::{
    Group, KeyValue, NameAnswer, NameRequest, Program, Refusal, Share, SpawnAnswer, SpawnCommand,
    SpawnRequest, Yielding, name_request,
};
use nix::sys::signal::Signal;
use pmi::{JobAttributes, NodeServer};

use super::process_manager::ProcessManager;
use super::spawned_program::find;
use super::{CommWorld, Mpi, yielding};
use crate::container::OwnContainer;
use crate::cores::Cores;
use crate::life::RankOutbox;
use crate::node_facts;
use crate::nursery::Whom;
use crate::process;
use crate::program::{self, LocalRanks};

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
        refusal: String::new(),
    }));
}

/// A rank of a program of Open MPI calls it.
pub(super) fn refuse_spawn(rank: u32, outbox: &RankOutbox) {
    outbox.push_back(Event::Spawn(SpawnRequest {
        rank,
        refusal: "MPI_Comm_spawn is served for MPICH and Intel MPI, not for Open MPI".to_owned(),
        ..SpawnRequest::default()
    }));
}

impl Mpi {
    pub(super) async fn on_name_answer(
        &mut self,
        answer: NameAnswer,
        container: &mut OwnContainer<'_>,
    ) {
        let outcome = match answer.refusal.as_str() {
            "" => Ok(answer.port.as_str()),
            why => Err(why),
        };
        if let Some(world) = self.of(answer.rank) {
            let own = answer.rank.saturating_sub(world.first);
            let group = world.group;
            if let Some(server) = world.manager.pmix_mut() {
                let wants = server.name_answered(own, outcome);
                return self.on_wants(group, wants, container).await;
            }
            let effects = match world.manager.pmi() {
                Some(node) => node.name_answer(own, outcome),
                None => Vec::new(),
            };
            self.on_effects(group, effects, container).await;
        }
    }

    pub(super) async fn on_spawn_answer(
        &mut self,
        answer: SpawnAnswer,
        container: &mut OwnContainer<'_>,
    ) {
        let outcome = match answer.refusal.as_str() {
            "" => Ok(()),
            why => Err(why),
        };
        if let Some(world) = self.of(answer.rank) {
            let own = answer.rank.saturating_sub(world.first);
            let group = world.group;
            let effects = match world.manager.pmi() {
                Some(node) => node.spawn_answer(own, outcome),
                None => Vec::new(),
            };
            self.on_effects(group, effects, container).await;
        }
    }

    /// Starts this container's ranks of a spawned group.
    pub(super) async fn start_group(&mut self, group: Group, container: &mut OwnContainer<'_>) {
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
    pub(super) async fn end_group(&mut self, group: u32, container: &OwnContainer<'_>) {
        if let Some(world) = self.worlds.get(&group) {
            let numbers = world.ranks.processes.numbers().collect();
            self.kill(numbers, container).await;
        }
    }

    async fn kill(&self, numbers: Vec<u32>, container: &OwnContainer<'_>) {
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
        container: &mut OwnContainer<'_>,
    ) -> Result<CommWorld, Refusal> {
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
        let runs: Vec<LocalRanks<'_>> = (programs.iter().zip(&group.parts))
            .map(|(program, part)| LocalRanks {
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
        let node = NodeServer::new(JobAttributes {
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
        let ranks = self
            .fork(&share, &runs, group.first, None, container)
            .await?;
        Ok(CommWorld {
            group: group.group,
            first: group.first,
            kvs_name: group.kvs_name,
            manager: ProcessManager::Pmi(Box::new(node)),
            ranks,
            pmi_seen: false,
            stuck_is_told: false,
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
