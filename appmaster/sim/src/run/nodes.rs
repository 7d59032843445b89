//! Nodes of a run: they join at its start.

use anyhow::Result;
use policy::schedule::{Bundle, Container, Event, Node, NodeIx};

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
}
