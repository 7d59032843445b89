//! What ranks ask of the whole job, and the ranks that are started because one of them asked.

mod served;

use std::collections::BTreeMap;

use job::exit::Exit;
use job::wire::mpi_event::Event;
use job::wire::{
    Group, KeyValue, NameAnswer, NameRequest, Program, Refusal, Share, SpawnAnswer, SpawnCommand,
    SpawnRequest, Yielding, name_request,
};
use nix::sys::signal::Signal;
use pmi::{JobAttributes, NodeServer};

pub(super) use self::served::ask_pmix_spawn;
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
        environment: Vec::new(),
    });
    outbox.push_back(Event::Spawn(SpawnRequest {
        rank,
        commands: commands.collect(),
        preputs: wire_pairs(request.preputs),
        call: 0,
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
            let effects = match world.manager.pmi() {
                Some(node) => node.name_answer(own, outcome),
                None => Vec::new(),
            };
            if let Some(server) = &mut self.pmix {
                let wants = server.name_answered(group, own, outcome);
                self.on_wants(wants, container).await;
            }
            self.on_effects(group, effects, container).await;
        }
    }

    pub(super) async fn on_spawn_answer(
        &mut self,
        answer: SpawnAnswer,
        container: &mut OwnContainer<'_>,
    ) {
        if let Some(server) = &mut self.pmix {
            let wants = server.spawned(answer);
            return self.on_wants(wants, container).await;
        }
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
        let Some(server) = &mut self.pmix else {
            return self.run_group(group, container).await;
        };
        // Once the server serves it.
        match server.add(&group, served::appnums(&group)) {
            Ok(()) => drop(self.unserved.insert(group.group, group)),
            Err(refusal) => self.outbox.push_back(Event::Refusal(refusal)),
        }
    }

    /// Starts this container's ranks of a group whose process manager is there.
    async fn run_group(&mut self, group: Group, container: &mut OwnContainer<'_>) {
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

    /// Kills a group that could not be started everywhere, and has the server forget it.
    pub(super) async fn end_group(&mut self, group: u32, container: &OwnContainer<'_>) {
        self.unserved.remove(&group);
        if let Some(server) = &mut self.pmix {
            server.remove(group);
        }
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
            Cores::usable_of(&share.cpus),
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
        let manager = match self.pmix {
            Some(_) => ProcessManager::Pmix,
            None => ProcessManager::Pmi(Box::new(pmi_server(&group, &share).map_err(refuse)?)),
        };
        container.warden.note_space(&group.kvs_name);
        let ranks = self
            .fork(&share, &runs, group.group, group.first, container)
            .await?;
        Ok(CommWorld {
            group: group.group,
            first: group.first,
            kvs_name: group.kvs_name,
            manager,
            ranks,
            pmi_seen: false,
            stuck_is_told: false,
            pieces: Vec::new(),
        })
    }
}

/// What answers the ranks of a group that speak PMI.
fn pmi_server(group: &Group, share: &Share) -> Result<NodeServer, String> {
    let appnums: BTreeMap<u32, u32> = (group.parts.iter())
        .flat_map(|part| part.ranks.iter().map(move |&number| (number, part.appnum)))
        .map(|(number, appnum)| (number.saturating_sub(group.first), appnum))
        .collect();
    NodeServer::new(JobAttributes {
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
    .map_err(|error| error.to_string())
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
