//! The figure of the waiting: its table and its sentence.

use anyhow::Context as _;
use it::results::{Axis, Chart, Figure, Series, Setting, Table};

use super::count::{BESIDE, MinuteRow};
use super::{FREE_MIB, Sizes};
use crate::{FigureResult, command};

pub(super) fn figure(rows: &[MinuteRow], sizes: &Sizes, setting: Setting) -> FigureResult {
    let nodes = sizes.nodes;
    let mut table = Table::new(&[
        "jobs that wait",
        "the youngest since, s",
        "allocates a minute",
        "node lists a minute",
        "other calls a minute",
        "MB out a minute",
        "ResourceManager, % of a core",
        "heartbeats answered in time, %",
        "a small job beside: granted after, s",
        "the whole command, s",
    ]);
    for row in rows {
        table.row([
            match row.stopped {
                true => format!("{}, stopped", row.waiting),
                false => row.waiting.to_string(),
            },
            row.waited.to_string(),
            format!("{:.0}", row.allocates),
            format!("{:.1}", row.node_lists),
            format!("{:.0}", row.others),
            format!("{:.1}", row.sent_mb),
            format!("{:.0}", row.manager),
            format!("{:.0}", row.in_time * 100.0),
            row.granted.words(),
            row.whole.words(),
        ]);
    }
    let idle = rows.first().context("no row")?;
    let last = rows.iter().rfind(|row| !row.stopped).context("no row")?;
    let silent = rows.iter().find(|row| row.stopped);
    let over = |value: fn(&MinuteRow) -> f64| {
        // The second counting of each number.
        let settled = rows.iter().enumerate().filter(|(at, _)| at % 2 == 0);
        settled
            .map(|(_, row)| (row.waiting as f64, value(row)))
            .collect::<Vec<_>>()
    };
    Ok(Figure {
        name: "scale-waiting".to_owned(),
        title: format!("Jobs that wait, on {nodes} nodes"),
        command: command("waiting"),
        method: format!(
            "{nodes} hollow nodes under a real ResourceManager; one job holds all but {FREE_MIB} MiB of each, \
             and jobs of four processes that fit nowhere wait beside it, each a `gerbil-run` and an \
             ApplicationMaster as processes of this machine. Counted twice, as the ResourceManager counts \
             itself (JMX): as soon as the last of them waits, and {} s later; at last with the \
             ApplicationMasters and the clients of all that wait stopped, so that they call nobody, and what is \
             felt is the scheduler's own work on what they have asked for. After each, {BESIDE} small jobs, for \
             which there is room, one after the other.",
            sizes.later.as_secs()
        ),
        paper: String::new(),
        findings: vec![format!(
            "{} waiting jobs make {:.0} calls and {:.1} MB a minute, {:.1} and {:.2} each; the ResourceManager \
             takes {:.0} % of a core with them{} and {:.0} % without any, and answers {:.0} and {:.0} % of its \
             nodes' heartbeats in time. A small job beside them has its container after {:.2} s and takes \
             {:.2} s, without them {:.2} and {:.2} s.",
            last.waiting,
            last.allocates + last.node_lists + last.others,
            last.sent_mb,
            (last.allocates + last.node_lists + last.others) / last.waiting.max(1) as f64,
            last.sent_mb / last.waiting.max(1) as f64,
            last.manager,
            silent.map_or_else(String::new, |row| format!(
                ", {:.0} % where these say nothing",
                row.manager
            )),
            idle.manager,
            last.in_time * 100.0,
            idle.in_time * 100.0,
            last.granted.median,
            last.whole.median,
            idle.granted.median,
            idle.whole.median,
        )],
        setting,
        table,
        chart: Chart {
            x: Axis::linear("jobs that wait"),
            y: Axis::linear("a minute"),
            series: vec![
                Series::measured("allocates", over(|row| row.allocates)),
                Series::measured("node lists", over(|row| row.node_lists)),
            ],
            ..Chart::default()
        },
    })
}
