//! Asking, and what comes of it.

use job::explain::{Asked, Granted, Missing, MissingNode, Released};

use super::{Labels, NAMES, ROWS, count, some, stamp};

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
        granted.granted,
        match granted.processes {
            0 => ", which nobody waits for: it goes back".to_owned(),
            // A scheduler that does not count cores grants one, whatever is asked.
            some if granted.granted.memory_mib == granted.asked.memory_mib =>
                format!(" for {}", count(some as usize, "process")),
            some => format!(
                " for {}, asked {}",
                count(some as usize, "process"),
                granted.asked
            ),
        },
        granted.container,
    )
}

pub(super) fn missing(missing: &Missing) -> Vec<String> {
    let mut lines = vec![format!(
        "{}{}",
        stamp(missing.at_ms),
        match missing.nodes.len() + missing.left_out as usize {
            _ if missing.stand_ins => "no placement; the freest nodes are".to_owned(),
            1 => "1 container is still missing".to_owned(),
            many => format!("{many} containers are still missing"),
        },
    )];
    if let Some(headroom) = &missing.headroom {
        lines.push(format!(
            "  the queue still gives this application {}",
            headroom
        ));
    }
    let labels = Labels::of(missing.nodes.iter().map(|node| node.host.as_str()));
    for node in missing.nodes.iter().take(ROWS) {
        lines.push(format!(
            "  {}: wants {}, {}",
            labels.name(&node.id, &node.host),
            node.ask,
            room(node)
        ));
        let holders = node.holders.iter().take(NAMES);
        lines.extend(holders.map(|holder| format!("    {holder}")));
        if let Some(more) = node.holders.len().checked_sub(NAMES).filter(|&m| m > 0) {
            lines.push(format!("    and {}", count(more, "more application")));
        }
        if node.unseen.memory_mib > 0 {
            lines.push(format!(
                "    {} are held by applications that you may not see{}",
                node.unseen,
                match missing.holders_are_partial {
                    true => " or that were not asked about",
                    false => "",
                }
            ));
        }
    }
    let more = missing.nodes.len().saturating_sub(ROWS) + missing.left_out as usize;
    if more > 0 {
        lines.push(format!("  and {}", count(more, "more node")));
    }
    if missing.hidden > 0 {
        lines.push(format!(
            "  {} may hold something there that {}",
            count(missing.hidden as usize, "application"),
            match missing.holders_are_partial {
                true => "you may not see or that was not asked about",
                false => "you may not see",
            }
        ));
    }
    lines
}

fn room(node: &MissingNode) -> String {
    match &node.room {
        None => "but the node has gone".into(),
        Some(room) => format!("has room for {}", room),
    }
}

pub(super) fn released(released: &Released) -> String {
    format!(
        "{}gave back {}: {}",
        stamp(released.at_ms),
        some(released.containers.iter().map(String::as_str)),
        released.reason
    )
}
