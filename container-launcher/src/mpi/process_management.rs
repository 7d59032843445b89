//! What ranks say to their process manager, and what comes of it.

use std::time::Duration;

use job::exit::Exit;
use job::wire::mpi_event::Event;
use job::wire::{
    Abort, Fence, FenceDone, KeyValue, ModexAnswer, ModexRequest, PmiSeen, RankBroke, Refusal,
};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use pmi::{Effect, PmiStage};
use tokio::time::sleep;

use super::pmix::{Served, Wants};
use super::socket::RankMessage;
use super::spawn::{ask_name, ask_pmix_spawn, ask_spawn};
use super::topology::{self, Topology};
use super::{CommWorld, Mpi};
use crate::container::OwnContainer;
use crate::node_facts;
use crate::nursery::Whom;
use crate::process;

/// How often, and after which pauses, a server that has closed its socket is looked at: it ends a little later.
const LOOKS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(25);

/// What the ApplicationMaster hands on between the PMIx servers of containers.
pub(super) enum Relayed {
    Fence(FenceDone),
    /// A rank elsewhere wants what a rank here has told.
    Asked(ModexRequest),
    /// What a rank elsewhere has told.
    Told(ModexAnswer),
}

impl Mpi {
    pub(super) async fn on_heard(
        &mut self,
        rank: u32,
        heard: RankMessage,
        container: &mut OwnContainer<'_>,
    ) {
        let hwloc_is_told = self.hwloc_is_told;
        let Some(world) = self.of(rank) else {
            return;
        };
        match heard {
            RankMessage::Line(line) => {
                let group = world.group;
                let own = rank.saturating_sub(world.first);
                let Some(node) = world.manager.pmi() else {
                    return;
                };
                // Before its first line: what it asks for comes later.
                if node.stage(own) == PmiStage::Silent
                    && !hwloc_is_told
                    && let Some(file) = container.topology.as_mut().and_then(Topology::file)
                {
                    node.offer(topology::KEY, file);
                }
                let effects = node.on_line(own, &line);
                self.on_effects(group, effects, container).await;
                let stuck = self.worlds.get_mut(&group).and_then(CommWorld::stuck);
                self.outbox.extend(stuck);
            }
            RankMessage::TooLong => {
                let sentence = pmi::LineTooLong.to_string();
                self.on_broken(rank, &sentence, container).await;
            }
            RankMessage::Closed => {
                world.ranks.closed(rank);
                self.report(container);
            }
        }
    }

    /// What a PMIx server told.
    pub(super) async fn on_served(
        &mut self,
        group: u32,
        served: Served,
        container: &mut OwnContainer<'_>,
    ) {
        let Some(server) = &mut self.pmix else {
            return;
        };
        match served {
            Served::Call(call) => {
                let wants = server.on(call);
                self.on_wants(wants, container).await;
            }
            Served::Again(rank) => {
                let wants = server.ask_again(group, rank);
                self.on_wants(wants, container).await;
            }
            Served::Late(call) => {
                let wants = server.modexed(call, None);
                self.on_wants(wants, container).await;
            }
            Served::Ready(ready) => {
                server.serves(ready);
                self.start_served(group, container).await;
            }
            Served::Refused(why) => self.not_served(group, &why),
            Served::NotReady => self.not_served(group, "it does not answer"),
            Served::Modexed(told) => {
                let event = server.found(told);
                self.outbox.extend(event);
            }
            Served::Gone => {
                let (process, version) = (server.process(), server.version().to_owned());
                self.on_server_gone(process, &version, container).await;
            }
        }
    }

    pub(super) async fn on_wants(&mut self, mut wants: Wants, container: &mut OwnContainer<'_>) {
        let group = wants.group;
        if let Some((call, log)) = wants.logged.take()
            && let Some(world) = self.worlds.get(&group)
        {
            let is_said = world
                .ranks
                .say(world.first.saturating_add(log.rank), log.texts);
            if let Some(server) = &mut self.pmix {
                self.outbox.extend(server.said(call, is_said).event);
            }
        }
        self.outbox.extend(wants.event);
        if let Some((call, spawn)) = wants.spawn
            && let (Some(world), Some(server)) = (self.worlds.get(&group), &self.pmix)
        {
            let rank = world.first.saturating_add(spawn.rank);
            let from = (self.folder.as_path(), &**server);
            ask_pmix_spawn(rank, call, spawn.commands, from, &self.outbox);
        }
        self.on_effects(group, wants.effects, container).await;
    }

    /// What other containers' ranks tell, or want of the ranks here.
    pub(super) async fn on_relayed(&mut self, relayed: Relayed, container: &mut OwnContainer<'_>) {
        let Some(server) = &mut self.pmix else {
            return;
        };
        let wants = match relayed {
            Relayed::Fence(done) => server.fence_done(done),
            Relayed::Told(answer) => server.modexed(answer.number, Some(answer)),
            Relayed::Asked(request) => {
                let event = server.asked(request);
                self.outbox.extend(event);
                return;
            }
        };
        self.on_wants(wants, container).await;
    }

    /// Ranks without their server would wait for it, or take themselves for jobs of one.
    async fn on_server_gone(
        &mut self,
        process: Pid,
        version: &str,
        container: &mut OwnContainer<'_>,
    ) {
        if self.stopping || self.all_ended() {
            return;
        }
        let all = Whom::Job(self.job);
        container.nursery.signal(all, Signal::SIGKILL).await;
        let how = how_ended(process, container).await;
        self.outbox.push_back(Event::Refusal(Refusal {
            sentence: format!(
                "{}: the PMIx server of the ranks ({version}) {how}; the container's log has its last words",
                node_facts::hostname()
            ),
            exit_code: i32::from(Exit::Lost.code()),
            group: 0,
        }));
    }

    /// The group that a rank is of.
    pub(super) fn of(&mut self, rank: u32) -> Option<&mut CommWorld> {
        let mut worlds = self.worlds.values_mut();
        worlds.find(|world| world.ranks.processes.has(rank))
    }

    pub(super) async fn on_effects(
        &mut self,
        group: u32,
        effects: Vec<Effect>,
        container: &mut OwnContainer<'_>,
    ) {
        for effect in effects {
            let Some(world) = self.worlds.get_mut(&group) else {
                return;
            };
            let first = world.first;
            match effect {
                Effect::Reply { rank, line } => {
                    let rank = first.saturating_add(rank);
                    if !world.ranks.reply(rank, line) {
                        let sentence = "it does not read the answers to its requests";
                        self.on_broken(rank, sentence, container).await;
                    }
                }
                Effect::Fence { puts } => {
                    let puts = puts.into_iter().map(|(key, value)| KeyValue { key, value });
                    self.outbox.push_back(Event::Fence(Fence {
                        puts: puts.collect(),
                        group,
                        pmix: None,
                    }));
                }
                Effect::Abort {
                    rank,
                    exit_code,
                    message,
                } => {
                    let rank = first.saturating_add(rank);
                    if world.ranks.abort(rank) {
                        self.outbox.push_back(Event::Abort(Abort {
                            rank,
                            exit_code,
                            message,
                        }));
                    }
                }
                Effect::Stage { stage, .. } => {
                    // Each rank's stage is asked for when its end is reported.
                    if stage == PmiStage::Initialized && !world.pmi_seen {
                        world.pmi_seen = true;
                        self.outbox.push_back(Event::PmiSeen(PmiSeen { group }));
                    }
                }
                Effect::Name { rank, request } => {
                    ask_name(first.saturating_add(rank), request, &self.outbox);
                }
                Effect::Spawn { rank, request } => {
                    ask_spawn(first.saturating_add(rank), request, &self.outbox);
                }
                Effect::Broken { rank, sentence } => {
                    let rank = first.saturating_add(rank);
                    self.on_broken(rank, &sentence, container).await;
                }
            }
        }
    }

    /// Ends a rank that breaks the protocol. The others go on until the AM stops them.
    async fn on_broken(&mut self, rank: u32, sentence: &str, container: &mut OwnContainer<'_>) {
        let Some(world) = self.of(rank) else {
            return;
        };
        if world.ranks.abort(rank) {
            self.outbox.push_back(Event::Broke(RankBroke {
                rank,
                sentence: sentence.to_owned(),
            }));
        }
        let id = process::Id {
            job: self.job,
            number: rank,
        };
        container
            .nursery
            .signal(Whom::One(id), Signal::SIGKILL)
            .await;
    }
}

/// How a server has ended, as the predicate of a sentence.
async fn how_ended(process: Pid, container: &OwnContainer<'_>) -> String {
    for _look in 0..LOOKS {
        if let Some(end) = container.nursery.how_ended(process).await {
            return end.predicate();
        }
        sleep(PAUSE).await;
    }
    "has closed its socket".to_owned()
}
