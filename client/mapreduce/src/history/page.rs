//! What became of a job as a page: a plain HTML file without scripts, which shows who ran where and when.

use std::collections::BTreeMap;

use job::history::{AttemptEnd, JobHistory, TaskAttempt, TaskStage};
use terminal::Foreign;

use super::text::{end, name, seconds, stage, state, took};

/// Width of the chart, and the height of a slot's row, pixels.
const WIDTH: u64 = 900;
const ROW: u64 = 14;
/// Left of the chart, for the names of slots.
const MARGIN: u64 = 180;
/// Most bars that are drawn.
const BARS: usize = 20_000;

const STYLE: &str = "body{font:14px sans-serif;margin:2em;max-width:75em}table{border-collapse:collapse}\
td,th{border:1px solid #ccc;padding:2px 8px;text-align:left}td.n{text-align:right}text{font-size:10px}\
.map{fill:#6a9fd4}.reduce{fill:#7cb87c}.failed,.lost{fill:#c94f4f}.killed{fill:#bbb}";

/// The page.
#[must_use]
pub fn page(job: &JobHistory) -> String {
    let report = &job.report;
    let title = format!("{} {}", job.job, job.name);
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n",
        title = escaped(&title)
    );
    let mut facts = vec![("state", state(job.state).to_owned())];
    if !job.sentence.is_empty() {
        facts.push(("because", job.sentence.clone()));
    }
    facts.extend([
        ("output", job.output.clone()),
        (
            "maps",
            format!("{} over {} MB", report.maps, job.bytes / 1_000_000),
        ),
        ("reduces", report.reduces.to_string()),
        ("attempts that failed", report.failed_attempts.to_string()),
        ("took", seconds(job.took_ms)),
        ("tasks", seconds(report.tasks_ms)),
        ("commit", seconds(report.commit_ms)),
    ]);
    html.push_str(&table(
        &["", ""],
        facts
            .into_iter()
            .map(|(what, value)| vec![what.into(), value]),
    ));
    html.push_str("<h2>Attempts by node and slot</h2>\n");
    html.push_str(&chart(job));
    let others = job
        .attempts
        .iter()
        .filter(|a| a.end != AttemptEnd::Succeeded);
    let rows: Vec<Vec<String>> = others
        .take(BARS)
        .map(|a| {
            vec![
                name(a),
                end(a.end).into(),
                a.host.clone(),
                seconds(took(a)),
                a.sentence.clone(),
            ]
        })
        .collect();
    if !rows.is_empty() {
        html.push_str("<h2>Attempts that did not succeed</h2>\n");
        html.push_str(&table(&["attempt", "end", "node", "after", "why"], rows));
    }
    html.push_str("<h2>What reduces have written</h2>\n");
    html.push_str(&table(&["reduce", "bytes"], partitions(job)));
    html.push_str("<h2>Counters</h2>\n");
    let rows = report.counters.iter().flat_map(|(group, counters)| {
        let row = |(counter, value): (&String, &u64)| {
            vec![group.clone(), counter.clone(), value.to_string()]
        };
        counters.iter().map(row).collect::<Vec<_>>()
    });
    html.push_str(&table(&["group", "counter", "value"], rows));
    html.push_str("<h2>Settings</h2>\n");
    let rows = job
        .settings
        .iter()
        .map(|(key, value)| vec![key.clone(), value.clone()]);
    html.push_str(&table(&["setting", "value"], rows));
    html.push_str("</body></html>\n");
    html
}

/// Bytes of each reduce whose result counts.
fn partitions(job: &JobHistory) -> impl Iterator<Item = Vec<String>> {
    let well = |a: &&TaskAttempt| a.stage == TaskStage::Reduce && a.end == AttemptEnd::Succeeded;
    let sizes: BTreeMap<u32, u64> = job
        .attempts
        .iter()
        .filter(well)
        .map(|a| (a.task, a.output_bytes))
        .collect();
    sizes
        .into_iter()
        .map(|(task, bytes)| vec![task.to_string(), bytes.to_string()])
}

/// A row for each slot, a bar for each attempt.
fn chart(job: &JobHistory) -> String {
    let mut rows: BTreeMap<(&str, &str, u32), Vec<&TaskAttempt>> = BTreeMap::new();
    for attempt in job.attempts.iter().take(BARS) {
        let slot = (
            attempt.host.as_str(),
            attempt.container.as_str(),
            attempt.slot,
        );
        rows.entry(slot).or_default().push(attempt);
    }
    let longest = job
        .attempts
        .iter()
        .map(|a| a.ended_ms)
        .max()
        .unwrap_or(0)
        .max(1);
    let at =
        |ms: u64| MARGIN.saturating_add(ms.saturating_mul(WIDTH).checked_div(longest).unwrap_or(0));
    let height = ROW.saturating_mul(rows.len() as u64);
    let width = MARGIN.saturating_add(WIDTH);
    let mut svg = format!(
        "<svg width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"from 0 to {}\">\n",
        seconds(longest)
    );
    for (row, ((host, container, slot), attempts)) in rows.into_iter().enumerate() {
        let top = ROW.saturating_mul(row as u64);
        svg.push_str(&format!(
            "<text x=\"0\" y=\"{}\">{} slot {slot}<title>{}</title></text>\n",
            top.saturating_add(ROW).saturating_sub(4),
            escaped(host),
            escaped(container)
        ));
        for attempt in attempts {
            let (from, to) = (at(attempt.began_ms), at(attempt.ended_ms));
            let class = match attempt.end {
                AttemptEnd::Succeeded => stage(attempt.stage),
                other => end(other),
            };
            svg.push_str(&format!(
                "<rect class=\"{class}\" x=\"{from}\" y=\"{top}\" width=\"{}\" height=\"{}\"><title>{}: {} after {}</title></rect>\n",
                to.saturating_sub(from).max(1),
                ROW - 2,
                name(attempt),
                end(attempt.end),
                seconds(took(attempt))
            ));
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn table(heads: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut html = "<table>".to_owned();
    if heads.iter().any(|head| !head.is_empty()) {
        let heads: String = heads
            .iter()
            .map(|head| format!("<th>{head}</th>"))
            .collect();
        html.push_str(&format!("<tr>{heads}</tr>"));
    }
    for row in rows {
        let cells: String = row
            .iter()
            .map(|cell| {
                let class = if cell.parse::<u64>().is_ok() {
                    " class=\"n\""
                } else {
                    ""
                };
                format!("<td{class}>{}</td>", escaped(cell))
            })
            .collect();
        html.push_str(&format!("<tr>{cells}</tr>\n"));
    }
    html.push_str("</table>\n");
    html
}

/// Words of users' programs stand in it, too, and it may be printed on a terminal.
fn escaped(text: &str) -> String {
    let text = Foreign::sentence(text).to_string();
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::text::tests::job;

    #[test]
    fn every_attempt_has_a_bar_and_no_word_of_a_program_is_markup() {
        let page = page(&job());
        assert_eq!(page.matches("<rect").count(), 4);
        assert!(page.contains("class=\"failed\""), "{page}");
        assert!(
            page.contains("no &lt;room&gt;") && !page.contains("<room>"),
            "{page}"
        );
        assert!(
            page.contains("<td class=\"n\">0</td><td class=\"n\">10</td>"),
            "{page}"
        );
    }
}
