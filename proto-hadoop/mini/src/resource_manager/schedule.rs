//! Who gets what, where: first come, first served.
//!
//! Applications in the order of priority (larger first), then of their ids; the requests of one in
//! the order of priority (smaller first), then of allocation request id; of the nodes that a request
//! may use the one with most memory free, then the one whose id sorts first. Nothing is reserved:
//! what does not fit now waits, and who comes later may be served meanwhile.
//!
//! Where a request may go follows Hadoop's CapacityScheduler: to a host it names, when the rows of
//! the host, its rack and `*` all have a count; to a rack whose row has a count and is relaxed; to
//! any node when the `*` row is relaxed. There is no delay before it goes further: a relaxed
//! request takes the best place that is free now.

use proto_hadoop::yarn::{ANY, NmToken, NodeState, Resource};
use proto_hadoop::{ApplicationId, NodeId};

use super::books::{Books, Launch, RequestRows};
use super::nodes::RACK;

/// Request priority of an ApplicationMaster's own container.
const MASTER: (i32, i64) = (0, -1);

/// Grants what can be granted now.
pub(super) fn schedule(books: &mut Books) {
    let mut order: Vec<(i32, ApplicationId)> = books
        .applications
        .iter()
        .filter(|(_, application)| !application.state.is_final())
        .map(|(id, application)| (-application.submission.priority.unwrap_or(0), *id))
        .collect();
    order.sort_unstable();
    for (_, id) in order {
        start_master(books, id);
        while serve_one(books, id) {}
    }
}

/// Nodes that take containers of this size, the freest first.
fn candidates(books: &Books, wanted: &Resource) -> Vec<NodeId> {
    let mut fitting: Vec<_> = books
        .nodes
        .iter()
        .filter(|(_, node)| node.state == NodeState::Running && books.fits(node, wanted))
        .collect();
    fitting.sort_by_key(|(_, node)| std::cmp::Reverse(node.free_mib()));
    fitting.into_iter().map(|(id, _)| id.clone()).collect()
}

fn start_master(books: &mut Books, id: ApplicationId) {
    let Some(application) = books.applications.get(&id) else {
        return;
    };
    let submission = &application.submission;
    if submission.unmanaged || application.master.is_some() {
        return;
    }
    let of_any = submission.master_asks.iter();
    let asked = of_any
        .filter(|row| row.resource_name == ANY)
        .map(|row| &row.capability)
        .next()
        .unwrap_or(&submission.resource);
    let wanted = books.normalized(asked);
    let Some(node) = candidates(books, &wanted).into_iter().next() else {
        return;
    };
    let Some(container) = books.grant(id, &node, &wanted, MASTER, true) else {
        return;
    };
    let Some(application) = books.applications.get(&id) else {
        return;
    };
    let nm_token = books.nm_token(application, &node);
    let am_token = books.am_token(application.attempt());
    let Some(application) = books.applications.get_mut(&id) else {
        return;
    };
    application.master = Some(container.id);
    application.heard = Some(tokio::time::Instant::now());
    let mut launch = application.submission.launch.clone();
    if let Some(token) = am_token {
        launch.tokens.tokens.insert(token.service.clone(), token);
    }
    books.launches.push(Launch {
        container,
        nm_token,
        launch,
    });
}

/// Grants one container; false when nothing more can be granted to this application.
fn serve_one(books: &mut Books, id: ApplicationId) -> bool {
    let Some((key, node, wanted, level)) = find(books, id) else {
        return false;
    };
    let Some(container) = books.grant(id, &node, &wanted, key, false) else {
        return false;
    };
    let Some(application) = books.applications.get(&id) else {
        return false;
    };
    let login = (!application.known_nodes.contains(&node)).then(|| NmToken {
        token: books.nm_token(application, &node),
        node: node.clone(),
    });
    let Some(application) = books.applications.get_mut(&id) else {
        return false;
    };
    application.known_nodes.insert(node.clone());
    application.nm_tokens.extend(login);
    application.granted.push(container);
    if let Some(rows) = application.asks.get_mut(&key) {
        count_down(rows, &node, level);
        if rows.values().all(|row| row.containers == 0) {
            application.asks.remove(&key);
        }
    }
    true
}

/// How near a grant is to what was asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Host,
    Rack,
    Any,
}

fn count_down(rows: &mut RequestRows, node: &NodeId, level: Level) {
    let names: &[&str] = match level {
        Level::Host => &[&node.host, RACK, ANY],
        Level::Rack => &[RACK, ANY],
        Level::Any => &[ANY],
    };
    for name in names {
        if let Some(row) = rows.get_mut(*name) {
            row.containers = row.containers.saturating_sub(1);
        }
    }
}

/// The first request that can be served, and where.
fn find(books: &Books, id: ApplicationId) -> Option<((i32, i64), NodeId, Resource, Level)> {
    let application = books.applications.get(&id)?;
    for (&key, rows) in &application.asks {
        let Some(any) = rows.get(ANY).filter(|row| row.containers > 0) else {
            continue;
        };
        let wanted = books.normalized(&any.capability);
        let usable = candidates(books, &wanted)
            .into_iter()
            .filter(|node| !application.blacklist.contains(&node.host));
        let nodes: Vec<NodeId> = usable.collect();
        for level in [Level::Host, Level::Rack, Level::Any] {
            let here = nodes.iter().find(|node| may(rows, node, level));
            if let Some(node) = here {
                return Some((key, node.clone(), wanted, level));
            }
        }
    }
    None
}

fn may(rows: &RequestRows, node: &NodeId, level: Level) -> bool {
    let counts = |name: &str| rows.get(name).is_some_and(|row| row.containers > 0);
    let relaxed = |name: &str| rows.get(name).is_some_and(|row| row.relax_locality);
    match level {
        Level::Host => counts(&node.host) && counts(RACK),
        Level::Rack => counts(RACK) && relaxed(RACK),
        Level::Any => relaxed(ANY),
    }
}
