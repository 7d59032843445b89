//! Tells the ResourceManager how containers are, and does what it orders.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use proto_hadoop::ResourceTrackerClient;
use proto_hadoop::yarn::{NodeAction, NodeHeartbeat, exit_status};
use tokio::time::{Instant, sleep, timeout};

use super::containers::Desk;
use super::register;

/// Until the ResourceManager says how often.
const FIRST: Duration = Duration::from_millis(100);
/// After a heartbeat that got no answer.
const AWAY: Duration = Duration::from_millis(500);

/// Beats until the node ends.
pub(super) async fn beat(desk: Arc<Desk>, tracker: Arc<ResourceTrackerClient>) {
    let mut response_id = 0;
    let mut interval = FIRST;
    loop {
        let pause = desk.hollow.rhythm.pause(Instant::now(), interval);
        // At once when a container has ended.
        let _early = timeout(pause, desk.news.notified()).await.is_ok();
        let beat = NodeHeartbeat {
            node: desk.id.clone(),
            response_id,
            containers: desk.statuses(),
            illness: String::new(),
            container_key: desk.container_key(),
            nm_key: desk.nm_key(None),
        };
        let answer = match tracker.heartbeat(&beat).await {
            Ok(answer) => answer,
            Err(error) => {
                tracing::debug!(%error, "nodeHeartbeat");
                sleep(AWAY).await;
                continue;
            }
        };
        desk.beats.fetch_add(1, Ordering::Relaxed);
        match answer.action {
            NodeAction::Normal => {}
            NodeAction::Resync => {
                tracing::info!(node = %desk.id, "registering again: {}", answer.diagnostics);
                if let Err(error) = register(&tracker, &desk).await {
                    tracing::error!("{error}");
                }
                response_id = 0;
                continue;
            }
            NodeAction::Shutdown => {
                tracing::error!(node = %desk.id, "ordered to end: {}", answer.diagnostics);
                desk.close();
                return;
            }
        }
        response_id = answer.response_id;
        interval = answer.interval;
        desk.take_keys(answer.container_key, answer.nm_key);
        desk.forget(&answer.containers_heard);
        let by = (
            exit_status::KILLED_BY_RESOURCE_MANAGER,
            "Container killed by the ResourceManager.",
        );
        for id in answer.containers_to_end {
            desk.stop_container(id, by);
        }
        for id in answer.applications_over {
            desk.stop_application(id);
        }
    }
}
