//! What ranks say to their process manager, and what comes of it.

use job::wire::launcher_event::Event;
use job::wire::{Abort, Fence, KeyValue, PmiSeen, RankBroke};
use nix::sys::signal::Signal;
use pmi::{Effect, Stage};

use super::{Life, Running};
use crate::pmi_socket::Heard;
use crate::topology::{self, Topology};

impl Life<'_> {
    pub(super) async fn on_heard(&mut self, rank: u32, heard: Heard) {
        let mut groups = self.groups.values_mut();
        let Some(running) = groups.find(|running| running.ranks.processes.has(rank)) else {
            return;
        };
        match heard {
            Heard::Line(line) => {
                let group = running.group;
                let own = rank.saturating_sub(running.first);
                // Before its first line: what it asks for comes later.
                if running.node.stage(own) == Stage::Silent
                    && let Some(file) = self.topology.as_mut().and_then(Topology::file)
                {
                    running.node.offer(topology::KEY, file);
                }
                let effects = running.node.on_line(own, &line);
                self.on_effects(group, effects).await;
            }
            Heard::TooLong => self.on_broken(rank, &pmi::LineTooLong.to_string()).await,
            Heard::Closed => {
                running.ranks.closed(rank);
                self.report();
            }
        }
    }

    /// The group that a rank is of.
    pub(crate) fn of(&mut self, rank: u32) -> Option<&mut Running> {
        let mut groups = self.groups.values_mut();
        groups.find(|running| running.ranks.processes.has(rank))
    }

    pub(crate) async fn on_effects(&mut self, group: u32, effects: Vec<Effect>) {
        for effect in effects {
            let Some(running) = self.groups.get_mut(&group) else {
                return;
            };
            let first = running.first;
            match effect {
                Effect::Reply { rank, line } => {
                    let rank = first.saturating_add(rank);
                    if !running.ranks.reply(rank, line) {
                        self.on_broken(rank, "it does not read the answers to its requests")
                            .await;
                    }
                }
                Effect::Fence { puts } => {
                    let puts = puts.into_iter().map(|(key, value)| KeyValue { key, value });
                    self.outbox.push_back(Event::Fence(Fence {
                        puts: puts.collect(),
                        group,
                    }));
                }
                Effect::Abort {
                    rank,
                    exit_code,
                    message,
                } => {
                    let rank = first.saturating_add(rank);
                    if running.ranks.abort(rank) {
                        self.outbox.push_back(Event::Abort(Abort {
                            rank,
                            exit_code,
                            message,
                        }));
                    }
                }
                Effect::Stage { stage, .. } => {
                    // Each rank's stage is asked for when its end is reported.
                    if stage == Stage::Initialized && !running.pmi_seen {
                        running.pmi_seen = true;
                        self.outbox.push_back(Event::PmiSeen(PmiSeen { group }));
                    }
                }
                Effect::Name { rank, request } => {
                    self.ask_name(first.saturating_add(rank), request);
                }
                Effect::Spawn { rank, request } => {
                    self.ask_spawn(first.saturating_add(rank), request);
                }
                Effect::Broken { rank, sentence } => {
                    self.on_broken(first.saturating_add(rank), &sentence).await;
                }
            }
        }
    }

    /// Ends a rank that breaks the protocol. The others go on until the AM stops them.
    async fn on_broken(&mut self, rank: u32, sentence: &str) {
        let Some(running) = self.of(rank) else {
            return;
        };
        if running.ranks.abort(rank) {
            self.outbox.push_back(Event::Broke(RankBroke {
                rank,
                sentence: sentence.to_owned(),
            }));
        }
        self.nursery.signal(Some(rank), Signal::SIGKILL).await;
    }
}
