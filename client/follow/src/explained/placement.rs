//! Where the processes go, and why.

use std::collections::BTreeMap;

use job::explain::{PassedOver, Placed, PlacedNode};

use super::{Labels, ROWS, count, short, some, stamp};
use terminal::table::{Column, table};

/// The nodes used, in order of ranks, and those passed over.
pub(super) fn words(placed: &Placed) -> Vec<String> {
    let mut lines = vec![format!(
        "{}placement{}: mode {}, {} of {} on {}{}",
        stamp(placed.at_ms),
        match placed.round {
            0 | 1 => String::new(),
            round => format!(", round {round}"),
        },
        placed.mode,
        processes(placed.processes),
        placed.unit,
        count(placed.nodes.len(), "node"),
        if placed.oversubscribe {
            ""
        } else {
            "; no sharing of room"
        },
    )];
    lines.extend(nodes(placed));
    lines.extend(passed_over(&placed.passed_over));
    if placed.left_out > 0 {
        lines.push(format!("  nodes not shown: {}", placed.left_out));
    }
    lines
}

/// The table of the nodes used, at most [`ROWS`] of them.
pub fn nodes(placed: &Placed) -> Vec<String> {
    let labels = Labels::of(placed.nodes.iter().map(|node| node.host.as_str()));
    let columns = [
        Column::Left("node"),
        Column::Right("processes"),
        Column::Left("ranks"),
        Column::Right("MiB/cores"),
        Column::Left("why"),
    ];
    let row = |node: &PlacedNode| {
        vec![
            labels.name(&node.id, &node.host).to_owned(),
            node.processes.to_string(),
            ranks(node),
            short(&node.ask),
            match node.held {
                true => format!("its container is there; {}", node.reason),
                false => node.reason.clone(),
            },
        ]
    };
    let mut lines = table(2, &columns, placed.nodes.iter().take(ROWS).map(row));
    if let Some(rest) = placed.nodes.get(ROWS..).filter(|rest| !rest.is_empty()) {
        let sum = rest.iter().map(|node| node.processes).sum();
        lines.push(format!(
            "  and {} more with {} together",
            rest.len(),
            processes(sum)
        ));
    }
    lines
}

/// Nodes with the same reason share a row.
fn passed_over(nodes: &[PassedOver]) -> Vec<String> {
    if nodes.is_empty() {
        return Vec::new();
    }
    let mut order: Vec<&str> = Vec::new();
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for node in nodes {
        let same = by_reason.entry(&node.reason).or_default();
        if same.is_empty() {
            order.push(&node.reason);
        }
        same.push(&node.id);
    }
    let row = |reason: &&str| {
        let ids = by_reason.get(reason).map_or(&[][..], Vec::as_slice);
        vec![some(ids.iter().copied()), (*reason).to_owned()]
    };
    let columns = [Column::Left("not used"), Column::Left("why")];
    let mut lines = table(2, &columns, order.iter().take(ROWS).map(row));
    if let Some(rest) = order.get(ROWS..).filter(|rest| !rest.is_empty()) {
        let count: usize = rest
            .iter()
            .filter_map(|r| by_reason.get(r))
            .map(Vec::len)
            .sum();
        lines.push(format!("  and {count} more"));
    }
    lines
}

fn ranks(node: &PlacedNode) -> String {
    if !node.ranks_apart.is_empty() {
        let numbers: Vec<String> = node.ranks_apart.iter().map(u32::to_string).collect();
        let all = u32::try_from(numbers.len()) == Ok(node.processes);
        return numbers.join(",") + if all { "" } else { ",..." };
    }
    let first = node.first_rank;
    match node.processes {
        0 | 1 => first.to_string(),
        many => format!("{first}-{}", first.saturating_add(many - 1)),
    }
}

fn processes(number: u32) -> String {
    match number {
        1 => "1 process".into(),
        many => format!("{many} processes"),
    }
}
