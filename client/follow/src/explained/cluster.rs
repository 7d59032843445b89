//! The cluster as the policy saw it.

use std::cmp::Reverse;

use job::explain::{Snapshot, SnapshotNode};

use super::{Labels, ROWS, count, short, stamp};
use terminal::table::{Column, table};

/// Its limits, and its nodes with the freest first.
pub(super) fn words(snapshot: &Snapshot) -> Vec<String> {
    let mut nodes: Vec<&SnapshotNode> = snapshot.nodes.iter().collect();
    sort::by_key(&mut nodes, |node| {
        let room = &node.room;
        (Reverse((room.memory_mib, room.vcores)), &node.id)
    });
    let first_rack = nodes.first().map_or("", |node| &node.rack);
    let one_rack = nodes.iter().all(|node| node.rack == first_rack);
    let mut lines = vec![format!(
        "{}the cluster: {}{}",
        stamp(snapshot.at_ms),
        count(nodes.len() + snapshot.left_out as usize, "node"),
        match one_rack && !nodes.is_empty() {
            true => format!(" in {first_rack}"),
            false => String::new(),
        },
    )];
    lines.push(format!(
        "  containers of at most {}, in steps of {} MiB; {}",
        snapshot.maximum,
        snapshot.step_mib,
        match snapshot.counts_vcores {
            true => "cores are counted too",
            false => "cores are not counted",
        }
    ));
    if let Some(headroom) = &snapshot.headroom {
        lines.push(format!(
            "  the queue still gives this application {}",
            headroom
        ));
    }
    if nodes.is_empty() {
        return lines;
    }
    let with_gpus = nodes.iter().any(|node| node.capability.gpus > 0);
    lines.push(format!(
        "  the freest first, amounts in MiB/cores{}",
        if with_gpus { "/GPUs" } else { "" }
    ));
    lines.extend(rows(&nodes, one_rack));
    if let Some(rest) = nodes.get(ROWS..).filter(|rest| !rest.is_empty()) {
        let most = rest.first().map_or(0, |node| node.room.memory_mib);
        let least = rest.last().map_or(0, |node| node.room.memory_mib);
        lines.push(format!(
            "  and {} more, with room for {most} to {least} MiB",
            rest.len()
        ));
    }
    if snapshot.left_out > 0 {
        lines.push(format!("  nodes not shown: {}", snapshot.left_out));
    }
    lines
}

fn rows(nodes: &[&SnapshotNode], one_rack: bool) -> Vec<String> {
    let labels = Labels::of(nodes.iter().map(|node| node.host.as_str()));
    let mut columns = vec![Column::Left("node")];
    if !one_rack {
        columns.push(Column::Left("rack"));
    }
    columns.extend(["capability", "used", "room"].map(Column::Right));
    let row = |node: &&SnapshotNode| {
        let mut row = vec![labels.name(&node.id, &node.host).to_owned()];
        if !one_rack {
            row.push(node.rack.clone());
        }
        row.extend([&node.capability, &node.used, &node.room].map(short));
        row
    };
    table(2, &columns, nodes.iter().take(ROWS).map(row))
}
