//! What the containers' room wants done, and what becomes of jobs whose container is lost or wanted back.

use policy::ContainerId;
use proto_hadoop::yarn::FinalApplicationStatus;

use super::Session;
use crate::containers::{Back, Want};
use crate::lent_events::LentEvent;
use crate::mapreduce::MapReduceEvent;
use crate::work::WorkEvent;

impl Session {
    /// Carries out what the containers' room wants.
    pub(super) fn want(&mut self, wants: Vec<Want>) {
        for want in wants {
            match want {
                Want::Snapshot => self.edge.holding.read_nodes(),
                Want::Ask(request, asking) => self.edge.holding.ask(request, &asking),
                Want::Release(containers) => self.edge.holding.release(&containers),
                Want::Start(container) => self.edge.holding.start(&container),
                Want::Offer(offer) => {
                    self.with_slots(|slots, now| slots.offered(now, offer));
                    self.nodes.change();
                }
                Want::Withdraw(container) => {
                    self.with_slots(|slots, now| slots.lost(now, &container));
                    self.launcher_gone(&container);
                    self.nodes.change();
                }
                Want::GiveUp(why) => {
                    let types = &self.edge.holding.cluster().limits().types;
                    let why = sentences::rejection(&why, types);
                    self.stop(true, FinalApplicationStatus::Failed, why);
                }
            }
        }
    }

    /// A container or its launcher is lost: its slots are, and the jobs there hear it.
    pub(super) fn container_lost(&mut self, heard: &LentEvent) {
        let now = self.now();
        let container = heard.container();
        // The container of a lost launcher settles. YARN names a node that it has lost by this status.
        let in_doubt = match heard {
            LentEvent::LauncherLost(_) => None,
            LentEvent::Ended { status, .. } => Some(*status == -100),
            LentEvent::NotStarted(_) | LentEvent::Misbehaved { .. } => Some(false),
            // The container stays.
            LentEvent::Joined { .. } | LentEvent::NotFetched { .. } | LentEvent::Left(_) => return,
        };
        self.with_slots(|slots, now| slots.lost(now, container));
        if in_doubt.is_none() {
            self.ledger.container_lost(now, container);
            self.launcher_gone(container);
            self.containers.launcher_lost(now, container);
        }
        // Also those that have heard of YARN that it is over: they wait for the end of what runs there.
        for job in self.slots.gone(container) {
            self.tell(job, WorkEvent::Lent(heard.clone()));
        }
        if let Some(in_doubt) = in_doubt {
            self.ledger.container_lost(now, container);
            self.launcher_gone(container);
            self.replace(container, in_doubt);
        }
    }

    /// Another container takes its place; `in_doubt`: on another node.
    pub(super) fn replace(&mut self, container: &ContainerId, in_doubt: bool) {
        match self.life.holds_containers() {
            true => {
                let now = self.now();
                let wants = self.containers.replace(now, container, in_doubt);
                self.want(wants);
            }
            false => self.containers.forget(container),
        }
    }

    /// Holds more containers, or fewer.
    pub(super) fn resize(&mut self) {
        let used = self.slots.in_use();
        let lacking = self.may_resize().then(|| self.slots.lacking());
        let wants = self.containers.resize(self.now(), lacking, &used);
        self.want(wants);
    }

    /// YARN wants containers back: nothing new starts there, and what runs there goes on until YARN takes them. What
    /// maps have left there for reduces is made again elsewhere before.
    pub(super) fn wanted_back(&mut self, containers: &[ContainerId], back: Back) {
        let now = self.now();
        for container in containers {
            let host = self.edge.holding.host_of(container).unwrap_or_default();
            let words = back.words(&host);
            let wants = self.containers.wanted_back(now, container, &words, back);
            let Some(wants) = wants else {
                continue;
            };
            tracing::warn!("{container}: {words}");
            self.want(wants);
            let within = back.grace();
            self.with_slots(|slots, _| slots.leaving(now, container, now.plus(within)));
            let sentence = format!("{words}: what runs there has until YARN takes it");
            for job in self.slots.jobs_in(container) {
                let container = container.clone();
                let leaves = MapReduceEvent::Leaves { container, within };
                self.tell(job, WorkEvent::MapReduce(leaves));
                self.notice(job, sentence.clone());
            }
        }
        self.resize();
    }
}
