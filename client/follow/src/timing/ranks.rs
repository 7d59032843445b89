//! The ranks at the end: each of them, or where there are many, each node's together.

use job::report::RankReport;

use crate::explained::count;
use terminal::table::{Column, table};

/// With more ranks than this a row stands for a node.
const ALONE: usize = 32;
/// Nodes that are shown.
const NODES: usize = 40;

/// A table; nothing when no rank ever was.
pub(super) fn words(ranks: &[RankReport]) -> Vec<String> {
    if ranks.is_empty() {
        return Vec::new();
    }
    match ranks.len() <= ALONE {
        true => each(ranks),
        false => by_node(ranks),
    }
}

fn each(ranks: &[RankReport]) -> Vec<String> {
    let columns = [
        Column::Right("rank"),
        Column::Left("node"),
        Column::Left("exit"),
        Column::Right("peak MiB"),
        Column::Right("CPU s"),
        Column::Right("waiting %"),
    ];
    let row = |rank: &RankReport| {
        vec![
            rank.rank.to_string(),
            rank.host.clone(),
            exit(rank),
            known(peak(rank)),
            known(cpu(rank)),
            known(waiting(rank)),
        ]
    };
    table(0, &columns, ranks.iter().map(row))
}

/// Of each node the least, the median and the most of its ranks.
fn by_node(ranks: &[RankReport]) -> Vec<String> {
    let mut nodes: Vec<(&str, Vec<&RankReport>)> = Vec::new();
    for rank in ranks {
        match nodes.iter_mut().rev().find(|(host, _)| *host == rank.host) {
            Some((_, of_node)) => of_node.push(rank),
            None => nodes.push((&rank.host, vec![rank])),
        }
    }
    let columns = [
        Column::Left("node"),
        Column::Right("ranks"),
        Column::Left("exits"),
        Column::Right("peak MiB"),
        Column::Right("CPU s"),
        Column::Right("waiting %"),
    ];
    let row = |(host, ranks): &(&str, Vec<&RankReport>)| {
        vec![
            (*host).to_owned(),
            ranks.len().to_string(),
            exits(ranks),
            spread(ranks.iter().copied().map(peak)),
            spread(ranks.iter().copied().map(cpu)),
            spread(ranks.iter().copied().map(waiting)),
        ]
    };
    let mut lines = vec![format!(
        "{} on {}; least, median and most of each node's:",
        count(ranks.len(), "rank"),
        count(nodes.len(), "node")
    )];
    lines.extend(table(0, &columns, nodes.iter().take(NODES).map(row)));
    if let Some(more) = nodes.len().checked_sub(NODES).filter(|&more| more > 0) {
        lines.push(format!("and {more} more"));
    }
    lines
}

fn exit(rank: &RankReport) -> String {
    match (rank.exit_code, rank.signal) {
        (Some(code), _) => code.to_string(),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "unknown".into(),
    }
}

/// The most frequent end, and how many ended otherwise.
fn exits(ranks: &[&RankReport]) -> String {
    let mut ends: Vec<(usize, String)> = Vec::new();
    for rank in ranks {
        let end = exit(rank);
        match ends.iter_mut().find(|(_, known)| *known == end) {
            Some((times, _)) => *times += 1,
            None => ends.push((1, end)),
        }
    }
    sort::by(&mut ends, |a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    match &ends[..] {
        [] => String::new(),
        [(_, end)] => format!("all {end}"),
        [(times, end), rest @ ..] => {
            let others: Vec<String> = rest
                .iter()
                .take(2)
                .map(|(times, end)| format!("{times}x {end}"))
                .collect();
            let more = if rest.len() > 2 { ", …" } else { "" };
            format!("{times}x {end}, {}{more}", others.join(", "))
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "for display")]
fn peak(rank: &RankReport) -> Option<f64> {
    (rank.peak_resident_kib > 0).then(|| rank.peak_resident_kib as f64 / 1024.0)
}

/// A rank that was seen at all has its time, however short.
#[expect(clippy::cast_precision_loss, reason = "for display")]
fn cpu(rank: &RankReport) -> Option<f64> {
    let seen = rank.peak_resident_kib > 0 || rank.cpu_ms > 0;
    seen.then(|| rank.cpu_ms as f64 / 1e3)
}

fn waiting(rank: &RankReport) -> Option<f64> {
    rank.waiting_share.map(|share| share * 100.0)
}

fn known(value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), |value| format!("{value:.1}"))
}

fn spread(values: impl Iterator<Item = Option<f64>>) -> String {
    let mut values: Vec<f64> = values.flatten().collect();
    sort::by(&mut values, f64::total_cmp);
    let median = values.get(values.len() / 2).copied();
    match (values.first().copied(), median, values.last().copied()) {
        (Some(least), Some(median), Some(most)) => {
            format!("{least:.1} {median:.1} {most:.1}")
        }
        _ => "-".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(rank: u32, host: &str) -> RankReport {
        RankReport {
            rank,
            host: host.into(),
            exit_code: Some(0),
            peak_resident_kib: 2048 + u64::from(rank) * 1024,
            cpu_ms: 1500,
            waiting_share: Some(0.25),
            ..RankReport::default()
        }
    }

    #[test]
    fn few_ranks_have_a_row_each() {
        let mut ranks = vec![rank(0, "n1"), rank(1, "n2"), rank(2, "n2")];
        ranks[1].exit_code = None;
        ranks[1].signal = Some(9);
        ranks[2] = RankReport {
            rank: 2,
            host: "n2".into(),
            ..RankReport::default()
        };
        assert_eq!(
            words(&ranks).join("\n"),
            "\
rank  node  exit      peak MiB  CPU s  waiting %
   0  n1    0              2.0    1.5       25.0
   1  n2    signal 9       3.0    1.5       25.0
   2  n2    unknown          -      -          -"
        );
        assert!(words(&[]).is_empty());
    }

    #[test]
    fn many_ranks_are_put_together_by_node() {
        let mut ranks: Vec<RankReport> = (0..40)
            .map(|n| rank(n, if n < 30 { "n1" } else { "n2" }))
            .collect();
        ranks[3].exit_code = Some(7);
        assert_eq!(
            words(&ranks).join("\n"),
            "\
40 ranks on 2 nodes; least, median and most of each node's:
node  ranks  exits              peak MiB        CPU s       waiting %
n1       30  29x 0, 1x 7   2.0 17.0 31.0  1.5 1.5 1.5  25.0 25.0 25.0
n2       10  all 0        32.0 37.0 41.0  1.5 1.5 1.5  25.0 25.0 25.0"
        );
        let wide: Vec<RankReport> = (0..1000).map(|n| rank(n, &format!("n{n}"))).collect();
        let lines = words(&wide);
        assert_eq!(lines.len(), 1 + 1 + NODES + 1);
        assert_eq!(lines.last().unwrap(), "and 960 more");
    }
}
