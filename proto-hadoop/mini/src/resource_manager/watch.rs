//! What the ResourceManager does by itself: starts ApplicationMasters, notices silence.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use proto_hadoop::ContainerClient;
use proto_hadoop::yarn::{
    ContainerStart, ContainerState, ContainerStatus, FinalApplicationStatus, NodeState,
    YarnApplicationState, exit_status,
};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::Desk;
use super::books::Launch;
use super::tracker::lose;

/// A NodeManager has so long to take an ApplicationMaster.
const START_DEADLINE: Duration = Duration::from_secs(20);
/// Between two looks at who is silent.
const LOOK: Duration = Duration::from_millis(100);

/// Starts ApplicationMasters, each in a task of its own.
pub(super) async fn launch(desk: Arc<Desk>) {
    let mut starting = JoinSet::new();
    loop {
        desk.launch.notified().await;
        while starting.try_join_next().is_some() {}
        let due = std::mem::take(&mut desk.books().launches);
        for one in due {
            starting.spawn(start(Arc::clone(&desk), one));
        }
    }
}

async fn start(desk: Arc<Desk>, one: Launch) {
    let Launch {
        container,
        nm_token,
        launch,
    } = one;
    let client = ContainerClient::new(&container.node, nm_token);
    let order = ContainerStart {
        container: &container,
        launch: &launch,
    };
    let problem = match timeout(START_DEADLINE, client.start(&[order])).await {
        Ok(Ok(outcome)) => outcome.failed.into_iter().next().map(|one| one.to_string()),
        Ok(Err(error)) => Some(error.to_string()),
        Err(_late) => Some(format!("no answer within {} s", START_DEADLINE.as_secs())),
    };
    if let Some(problem) = problem {
        let mut books = desk.books();
        books.end_container(ContainerStatus {
            id: container.id,
            state: ContainerState::Complete,
            is_localizing: false,
            exit_status: exit_status::INVALID,
            diagnostics: format!("Error launching {}. Got exception: {problem}", container.id),
        });
        desk.schedule(books);
    }
}

/// Ends what has been silent, or has lived, for too long.
pub(super) async fn expire(desk: Arc<Desk>) {
    loop {
        sleep(LOOK).await;
        let mut books = desk.books();
        let (am_expiry, node_expiry) = (books.options.am_expiry, books.options.node_expiry);
        let mut over = Vec::new();
        let mut lingering = Vec::new();
        for (&id, application) in &books.applications {
            let silent = application.heard.map(|heard| heard.elapsed());
            let late = silent.is_some_and(|silent| silent > am_expiry);
            let lifetime = application.submission.lifetime;
            let aged = lifetime.is_some_and(|lifetime| application.born.elapsed() > lifetime);
            if application.state.is_final() {
                if late && !application.held.is_empty() {
                    lingering.push(id);
                }
            } else if late {
                let words = format!(
                    "Application {id} failed 1 times due to ApplicationMaster for attempt {} timed \
                     out. Failing the application.",
                    application.attempt()
                );
                over.push((
                    id,
                    YarnApplicationState::Failed,
                    FinalApplicationStatus::Failed,
                    words,
                ));
            } else if aged {
                let seconds = lifetime.unwrap_or_default().as_secs();
                let words = format!(
                    "Application is killed by ResourceManager as it has exceeded the lifetime period \
                     of {seconds} s."
                );
                over.push((
                    id,
                    YarnApplicationState::Killed,
                    FinalApplicationStatus::Killed,
                    words,
                ));
            }
        }
        for (id, state, status, words) in over {
            books.end_application(id, state, status, words);
        }
        for id in lingering {
            books.clear(id, false);
        }
        let silent = books.nodes.iter().filter(|(_, node)| {
            node.state != NodeState::Lost && node.heard.elapsed() > node_expiry
        });
        for id in silent.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            lose(&mut books, &id, &BTreeSet::new(), "a *lost* node");
            if let Some(node) = books.nodes.get_mut(&id) {
                node.state = NodeState::Lost;
            }
        }
        desk.schedule(books);
    }
}
