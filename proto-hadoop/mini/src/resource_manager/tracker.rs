//! `ResourceTracker`: what NodeManagers tell.

use std::collections::BTreeSet;

use proto_hadoop::server::{Refusal, ResourceTrackerService};
use proto_hadoop::yarn::{
    ContainerState, ContainerStatus, HeartbeatAnswer, NodeAction, NodeHeartbeat, NodeRegistered,
    NodeRegistration, NodeState,
};
use proto_hadoop::{ContainerId, NodeId};
use tokio::time::Instant;

use super::Desk;
use super::books::{ABORTED, Books, now_ms};
use super::nodes::Node;

impl ResourceTrackerService for Desk {
    fn register(&self, registration: NodeRegistration) -> Result<NodeRegistered, Refusal> {
        let mut books = self.books();
        let offered = &registration.resource;
        if offered.memory_mib < books.options.step_mib || offered.vcores == 0 {
            return Ok(NodeRegistered {
                action: NodeAction::Shutdown,
                diagnostics: format!(
                    "NodeManager from {} doesn't satisfy minimum allocations, Sending SHUTDOWN \
                     signal to the NodeManager.",
                    registration.node.host
                ),
                container_key: None,
                nm_key: None,
                resource_manager: books.started_ms,
            });
        }
        let kept: BTreeSet<ContainerId> = registration.containers.iter().map(|c| c.id).collect();
        let known = books.nodes.get(&registration.node);
        if known.is_some_and(|node| node.is_of_before) {
            forget(&mut books, &registration.node, &kept);
        } else {
            let whose = "a node that was restarted";
            lose(&mut books, &registration.node, &kept, whose);
        }
        let old = books.nodes.remove(&registration.node);
        let mut node = Node::new(registration.resource, registration.http_port, now_ms());
        if let Some(old) = old {
            (node.used, node.containers) = (old.used, old.containers);
            (node.to_end, node.over) = (old.to_end, old.over);
        }
        books.nodes.insert(registration.node, node);
        let answer = NodeRegistered {
            action: NodeAction::Normal,
            diagnostics: String::new(),
            container_key: Some(books.keys.container.clone()),
            nm_key: Some(books.keys.nm.clone()),
            resource_manager: books.started_ms,
        };
        self.schedule(books);
        Ok(answer)
    }

    fn heartbeat(&self, beat: NodeHeartbeat) -> Result<HeartbeatAnswer, Refusal> {
        let mut books = self.books();
        let interval = books.options.heartbeat;
        let Some(node) = books
            .nodes
            .get_mut(&beat.node)
            .filter(|node| node.state != NodeState::Lost)
        else {
            return Ok(order(
                NodeAction::Resync,
                "Node not found resyncing",
                interval,
            ));
        };
        node.heard = Instant::now();
        node.heard_ms = now_ms();
        if let Some(answer) = &node.last_answer
            && beat.response_id.wrapping_add(1) == node.response_id
        {
            return Ok(answer.clone());
        }
        if beat.response_id != node.response_id {
            let words = "Too far behind rm response id";
            return Ok(order(NodeAction::Resync, words, interval));
        }
        node.state = match beat.illness.is_empty() {
            true => NodeState::Running,
            false => NodeState::Unhealthy,
        };
        node.illness = beat.illness;
        node.response_id = node.response_id.wrapping_add(1);
        let ended = beat.containers.into_iter();
        let ended: Vec<ContainerStatus> = ended
            .filter(|status| status.state == ContainerState::Complete)
            .collect();
        let heard = ended.iter().map(|status| status.id).collect();
        for status in ended {
            books.end_container(status);
        }
        let (container_key, nm_key) = (books.keys.container.clone(), books.keys.nm.clone());
        let Some(node) = books.nodes.get_mut(&beat.node) else {
            return Ok(order(
                NodeAction::Resync,
                "Node not found resyncing",
                interval,
            ));
        };
        let newer = |key: proto_hadoop::server::MasterKey, has: Option<_>| {
            (has.as_ref() != Some(&key)).then_some(key)
        };
        let answer = HeartbeatAnswer {
            response_id: node.response_id,
            container_key: newer(container_key, beat.container_key),
            nm_key: newer(nm_key, beat.nm_key),
            containers_to_end: std::mem::take(&mut node.to_end).into_iter().collect(),
            applications_over: std::mem::take(&mut node.over).into_iter().collect(),
            containers_heard: heard,
            ..order(NodeAction::Normal, "", interval)
        };
        node.last_answer = Some(answer.clone());
        self.schedule(books);
        Ok(answer)
    }

    fn unregister(&self, node: NodeId) -> Result<(), Refusal> {
        let mut books = self.books();
        lose(
            &mut books,
            &node,
            &BTreeSet::new(),
            "a node that was shut down",
        );
        books.nodes.remove(&node);
        Ok(())
    }
}

fn order(action: NodeAction, words: &str, interval: std::time::Duration) -> HeartbeatAnswer {
    HeartbeatAnswer {
        response_id: 0,
        action,
        diagnostics: words.to_owned(),
        container_key: None,
        nm_key: None,
        containers_to_end: Vec::new(),
        applications_over: Vec::new(),
        containers_heard: Vec::new(),
        interval,
    }
}

/// A ResourceManager that was restarted does not know the containers of `node` that are not in
/// `kept`, ApplicationMasters' aside, which it keeps in its store.
fn forget(books: &mut Books, node: &NodeId, kept: &BTreeSet<ContainerId>) {
    let Books {
        applications,
        nodes,
        ..
    } = books;
    let Some(place) = nodes.get_mut(node) else {
        return;
    };
    for application in applications.values_mut() {
        let master = application.master;
        application.held.retain(|id, held| {
            let stays = held.node != *node || kept.contains(id) || master == Some(*id);
            if !stays {
                place.give_back(&held.resource);
            }
            stays
        });
    }
}

/// All containers of `node` but those in `kept` are gone.
pub(super) fn lose(books: &mut Books, node: &NodeId, kept: &BTreeSet<ContainerId>, whose: &str) {
    let held = books.applications.values().flat_map(|application| {
        let here = application.held.iter();
        here.filter(|(id, held)| held.node == *node && !kept.contains(id))
            .map(|(id, _)| *id)
    });
    for id in held.collect::<Vec<_>>() {
        books.end_container(ContainerStatus {
            id,
            state: ContainerState::Complete,
            is_localizing: false,
            exit_status: ABORTED,
            diagnostics: format!("Container released on {whose}"),
        });
    }
}
