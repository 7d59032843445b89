//! The cluster: its ResourceManager, and the heartbeats of its nodes.

use super::*;

impl Duel {
    pub(super) fn view(&self) -> ClusterView {
        let mut view = cluster(self.setup.nodes);
        for container in self.containers.values() {
            view.nodes[container.node].used = WHOLE;
        }
        let nodes = view.nodes.into_iter().zip(&self.nodes);
        view.nodes = nodes
            .filter(|(_, node)| node.up)
            .map(|(view, _)| view)
            .collect();
        view
    }

    /// The node serves who asks.
    pub(super) fn beat(&mut self, node: usize) -> Result<()> {
        self.at(self.now + 1_000, Happening::NodeBeats(node));
        if !self.nodes[node].up {
            return Ok(());
        }
        let asks = |app: &DuelApplication| app.requests.contains_key(&node);
        if let Some(job) = self.nodes[node].reserved
            && !asks(&self.applications[job])
        {
            self.nodes[node].reserved = None;
        }
        let mut order: Vec<usize> = (0..self.jobs.len())
            .filter(|job| asks(&self.applications[*job]))
            .collect();
        if !self.setup.by_age && !order.is_empty() {
            let first = self.draw(0, order.len() as u64 - 1);
            order.rotate_left(usize::try_from(first)?);
        }
        let Some(job) = self.nodes[node].reserved.or(order.first().copied()) else {
            return Ok(());
        };
        if self.containers.values().any(|c| c.node == node) {
            if self.setup.reserving {
                self.nodes[node].reserved = Some(job);
            }
            return Ok(());
        }
        self.nodes[node].reserved = None;
        let Some(round) = self.applications[job].requests.remove(&node) else {
            return Ok(());
        };
        self.granted += 1;
        let id = ContainerId(format!("c{}", self.granted));
        self.containers
            .insert(id.clone(), DuelContainer { job, node });
        let grant = Grant {
            container: id,
            node: NodeId(format!("n{}:1", node + 1)),
            resources: WHOLE,
            round,
        };
        self.tell(job, LifecycleEvent::Granted(grant));
        Ok(())
    }

    /// The ResourceManager takes an order in.
    pub(super) fn obey(&mut self, job: usize, order: LifecycleAction) -> Result<()> {
        match order {
            LifecycleAction::Ask {
                round,
                placement,
                held,
                kept,
            } => {
                let before = std::mem::take(&mut self.applications[job].requests);
                for share in &placement.shares {
                    let node = index(&share.node)?;
                    let standing = before.get(&node);
                    let request = match kept.contains(&share.node) {
                        _ if held.contains(&share.node) => None,
                        // Served meanwhile, if it is not there.
                        true => standing.copied(),
                        false => Some(round),
                    };
                    if let Some(round) = request {
                        self.applications[job].requests.insert(node, round);
                    }
                }
            }
            LifecycleAction::Release { containers, .. } => {
                for container in containers {
                    self.containers.remove(&container);
                    self.launchers.remove(&container);
                    self.started[job].remove(&container);
                }
            }
            LifecycleAction::Finish(_) => {
                self.containers.retain(|_, container| container.job != job);
                self.launchers.retain(|_, launcher| launcher.job != job);
                self.applications[job].requests.clear();
            }
            _ => {}
        }
        Ok(())
    }

    /// It forgets the containers that are not started; the requests it is told again.
    pub(super) fn restart(&mut self) {
        for node in &mut self.nodes {
            node.reserved = None;
        }
        let started = &self.started;
        self.containers
            .retain(|id, container| started[container.job].contains(id));
        for job in 0..self.jobs.len() {
            self.tell(job, LifecycleEvent::ResourceManagerRestarted);
        }
    }
}
