//! Nodes of a run: they join at its start, and may be lost.

use anyhow::Result;
use policy::schedule::{
    AttemptIx, AttemptOutcome, Bundle, Container, ContainerIx, Event, Node, NodeIx,
};

use super::WorkloadRun;

impl WorkloadRun<'_> {
    pub(super) fn join(&mut self) -> Result<()> {
        for node in &self.workload.nodes {
            for _ in 0..node.count {
                let host = format!("n{}", self.hosts.len());
                self.hosts.push(host.clone());
                self.ways.push(node.ways);
                let (pool, memory) = (node.pool(), Bundle::new().with("memory-mb", node.memory_mb));
                let place = Node {
                    host,
                    rack: node.rack.clone(),
                    pool: pool.clone(),
                    free: pool,
                };
                let container = Container {
                    node: NodeIx(0),
                    pool: memory.clone(),
                    free: memory,
                };
                self.tell(&Event::Joined(place, container, node.cut()))?;
            }
        }
        Ok(())
    }

    pub(super) fn lose(&mut self, container: ContainerIx) -> Result<()> {
        let session = self.driver.session();
        let slots = session.slots_of(container).to_vec();
        let lost = session
            .attempts()
            .filter(|(_, attempt)| slots.contains(&attempt.slot));
        let lost: Vec<AttemptIx> = lost.map(|(ix, _)| ix).collect();
        for attempt in lost {
            self.leave_line(attempt)?;
            self.note(attempt, AttemptOutcome::Lost);
        }
        self.tell(&Event::Lost(container))
    }
}
