//! Asking, and what comes of it.

use job::explain::{Asked, Granted, Holder, Missing, MissingNode, Released};

use super::{Labels, NAMES, ROWS, amount, count, some, stamp};

pub(super) fn asked(asked: &Asked) -> String {
    format!(
        "{}asked for {} in one allocate call ({}{})",
        stamp(asked.at_ms),
        count(asked.containers as usize, "container"),
        count(asked.rows as usize, "row"),
        match asked.round {
            0 | 1 => String::new(),
            round => format!(", round {round}"),
        }
    )
}

pub(super) fn granted(granted: &Granted) -> String {
    format!(
        "{}granted on {}: {}{} ({})",
        stamp(granted.at_ms),
        granted.host,
        amount(granted.granted),
        match granted.processes {
            0 => ", which nobody waits for: it goes back".to_owned(),
            some if granted.granted == granted.asked =>
                format!(" for {}", count(some as usize, "process")),
            some => format!(
                " for {}, asked {}",
                count(some as usize, "process"),
                amount(granted.asked)
            ),
        },
        granted.container,
    )
}

pub(super) fn missing(missing: &Missing) -> Vec<String> {
    let mut lines = vec![format!(
        "{}{} still missing",
        stamp(missing.at_ms),
        match missing.nodes.len() {
            1 => "1 container is".to_owned(),
            many => format!("{many} containers are"),
        },
    )];
    if let Some(headroom) = missing.headroom {
        lines.push(format!(
            "  the queue still gives this application {}",
            amount(headroom)
        ));
    }
    let labels = Labels::of(missing.nodes.iter().map(|node| node.host.as_str()));
    for node in missing.nodes.iter().take(ROWS) {
        lines.push(format!(
            "  {}: wants {}, {}",
            labels.name(&node.id, &node.host),
            amount(node.ask),
            room(node)
        ));
        lines.extend(node.holders.iter().take(NAMES).map(holder));
        if let Some(more) = node.holders.len().checked_sub(NAMES).filter(|&m| m > 0) {
            lines.push(format!("    and {} more", count(more, "application")));
        }
    }
    if let Some(more) = missing.nodes.len().checked_sub(ROWS).filter(|&m| m > 0) {
        lines.push(format!("  and {} more", count(more, "node")));
    }
    lines
}

fn room(node: &MissingNode) -> String {
    match node.room {
        None => "but the node has gone".into(),
        Some(room) => format!("has room for {}", amount(room)),
    }
}

fn holder(holder: &Holder) -> String {
    format!(
        "    held by {} ({} of {}, queue {}): {} in {}",
        holder.application,
        holder.name,
        holder.user,
        holder.queue,
        amount(holder.holds),
        count(holder.containers as usize, "container")
    )
}

pub(super) fn released(released: &Released) -> String {
    format!(
        "{}gave back {}: {}",
        stamp(released.at_ms),
        some(released.containers.iter().map(String::as_str)),
        released.reason
    )
}
