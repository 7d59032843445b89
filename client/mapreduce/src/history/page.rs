//! What became of a job as a page: a plain HTML file without scripts, which shows who ran where and when.

use std::collections::BTreeMap;
use std::time::Duration;

use job::history::{AttemptEnd, JobHistory, TaskAttempt, TaskStage};
use terminal::Foreign;

use super::id;
use super::text::{end, name, seconds, stage, state, took};

/// Width of the chart, and the height of a slot's row, pixels.
const WIDTH: u64 = 900;
const ROW: u64 = 14;
/// Left of the chart, for the names of slots.
const MARGIN: u64 = 180;
/// Most bars that are drawn.
const BARS: usize = 20_000;

const STYLE: &str = "body{font:14px sans-serif;margin:2em;max-width:75em}table{border-collapse:collapse}\
td,th{border:1px solid #ccc;padding:2px 8px;text-align:left;vertical-align:top;white-space:nowrap}\
td:last-child{white-space:normal}td.n{text-align:right}\
text{font-size:10px}line{stroke:#ddd}pre{margin:0;max-height:30em;overflow:auto;background:#f6f6f6}\
rect{stroke:#fff;stroke-width:.6}\
.map{fill:#6a9fd4}.reduce{fill:#7cb87c}.failed{fill:#c94f4f}.lost{fill:#8d5fa8}.killed{fill:#bbb}.no{fill:#e0a83c}";

/// The page; `yarn`: where YARN's own are, `http://host:port`.
#[must_use]
pub fn page(job: &JobHistory, yarn: Option<&str>) -> String {
    let report = &job.report;
    let title = format!("{} {}", id(job), job.name);
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
        ("user", job.user.clone()),
        ("queue", job.queue.clone()),
        ("began", gantt::date(job.began_ms)),
        (
            "ended",
            gantt::date(job.began_ms.saturating_add(job.took_ms)),
        ),
        (
            "input",
            format!("{}, {} bytes", job.inputs.join(", "), job.bytes),
        ),
        ("output", format!("{}, {} bytes", job.output, written(job))),
        ("maps", report.maps.to_string()),
        ("reduces", report.reduces.to_string()),
        ("attempts that failed", report.failed_attempts.to_string()),
        ("took", seconds(job.took_ms)),
        ("tasks", seconds(report.tasks_ms)),
        ("commit", seconds(report.commit_ms)),
    ]);
    html.push_str("<table>");
    for (what, value) in facts {
        let value = escaped(&value);
        html.push_str(&format!("<tr><td>{what}</td><td>{value}</td></tr>\n"));
    }
    html.push_str(&application(job, yarn));
    html.push_str("</table>\n");
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
    let printed = printed(job);
    if !rows.is_empty() {
        html.push_str("<h2>Attempts that did not succeed</h2>\n");
        html.push_str(&table(&["attempt", "end", "node", "after", "why"], rows));
    }
    html.push_str(&printed);
    let partitions: Vec<Vec<String>> = partitions(job).collect();
    if !partitions.is_empty() {
        html.push_str("<h2>What reduces have written</h2>\n");
        html.push_str(&table(&["reduce", "bytes"], partitions));
    }
    html.push_str("<h2>Counters</h2>\n");
    let rows = report.counters.iter().flat_map(|(group, counters)| {
        let row = |(counter, value): (&String, &i64)| {
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

/// The row of the job's application.
fn application(job: &JobHistory, yarn: Option<&str>) -> String {
    let Some((application, _)) = job.job.rsplit_once('_') else {
        return String::new();
    };
    let application = escaped(application);
    let cell = match yarn {
        Some(yarn) => format!(
            "<a href=\"{}/cluster/app/{application}\">{application}</a>",
            escaped(yarn)
        ),
        None => application,
    };
    format!("<tr><td>application</td><td>{cell}</td></tr>\n")
}

/// Bytes of the output: what reduces have written, or maps where there are none.
fn written(job: &JobHistory) -> u64 {
    let of = match job.report.reduces {
        0 => TaskStage::Map,
        _ => TaskStage::Reduce,
    };
    let well = |a: &&TaskAttempt| a.stage == of && a.end == AttemptEnd::Succeeded;
    let sizes: BTreeMap<u32, u64> = (job.attempts.iter().filter(well))
        .map(|a| (a.task, a.output_bytes))
        .collect();
    sizes.into_values().fold(0, u64::saturating_add)
}

/// What attempts that failed have printed.
fn printed(job: &JobHistory) -> String {
    let mut html = String::new();
    for attempt in &job.attempts {
        for (stream, print) in [("output", &attempt.stdout), ("error", &attempt.stderr)] {
            if print.is_empty() {
                continue;
            }
            if html.is_empty() {
                html.push_str("<h2>What attempts that failed have printed</h2>\n");
            }
            let gap = match print.left_out {
                0 => String::new(),
                bytes => format!("\n[{bytes} bytes are left out here]\n"),
            };
            html.push_str(&format!(
                "<h3>{}, on standard {stream}</h3>\n<pre>{}{gap}{}</pre>\n",
                name(attempt),
                lines(&print.head),
                lines(&print.tail)
            ));
        }
    }
    html
}

/// Several lines of a program: where the page's own text is read, each begins with what is no word of the program.
fn lines(text: &str) -> String {
    let line = |line| format!("<code>{}</code>", escaped(line));
    let lines: Vec<String> = text.lines().map(line).collect();
    lines.join("\n")
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

/// An attempt in one of its slots: from when, until when.
type Stay<'a> = (&'a TaskAttempt, u64, u64);

/// A row for each slot, a bar for each attempt; of one that was moved a bar in each of its slots.
fn chart(job: &JobHistory) -> String {
    let mut rows: BTreeMap<(&str, &str, u32), Vec<Stay<'_>>> = BTreeMap::new();
    for attempt in job.attempts.iter().take(BARS) {
        for (slot, from, until) in attempt.stays() {
            let slot = (attempt.host.as_str(), attempt.container.as_str(), slot);
            rows.entry(slot).or_default().push((attempt, from, until));
        }
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
    let bottom = ROW.saturating_mul(rows.len() as u64);
    let height = bottom.saturating_add(4 * ROW);
    let width = MARGIN.saturating_add(WIDTH).saturating_add(ROW);
    let mut svg = format!(
        "<svg width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"from 0 to {}\">\n",
        seconds(longest)
    );
    svg.push_str(&axis(longest, bottom));
    svg.push_str(&legend(bottom.saturating_add(3 * ROW)));
    let mut containers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (host, container, _) in rows.keys() {
        let of_host = containers.entry(host).or_default();
        if !of_host.contains(container) {
            of_host.push(container);
        }
    }
    for (row, ((host, container, slot), attempts)) in rows.into_iter().enumerate() {
        let of_host = containers.get(host).map_or(&[][..], Vec::as_slice);
        let which = of_host.iter().position(|of| *of == container);
        let which = match which.filter(|_| of_host.len() > 1) {
            Some(place) => format!(" container {}", place.saturating_add(1)),
            None => String::new(),
        };
        let top = ROW.saturating_mul(row as u64);
        svg.push_str(&format!(
            "<text x=\"0\" y=\"{}\">{}{which} slot {slot}<title>{}</title></text>\n",
            top.saturating_add(ROW).saturating_sub(4),
            escaped(host),
            escaped(container)
        ));
        for (attempt, from, until) in attempts {
            let (from, to) = (at(from), at(until));
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

/// Time, in seconds since the job began.
fn axis(longest: u64, bottom: u64) -> String {
    let to_s = Duration::from_millis(longest).as_secs_f64();
    let (ticks, places) = gantt::ticks(0.0, to_s);
    let (margin, width) = (Duration::from_secs(MARGIN), Duration::from_secs(WIDTH));
    let x = |at: f64| margin.as_secs_f64() + at / to_s * width.as_secs_f64();
    let one = |at: f64| {
        let x = x(at);
        format!(
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{}\"/><text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{at:.places$} s</text>\n",
            bottom.saturating_add(3),
            bottom.saturating_add(ROW)
        )
    };
    ticks.into_iter().map(one).collect()
}

/// What the colours mean.
fn legend(y: u64) -> String {
    let marks = ["map", "reduce", "failed", "lost", "killed", "no device"];
    let one = |(number, name): (u64, &str)| {
        let x = MARGIN.saturating_add(number.saturating_mul(80));
        format!(
            "<circle class=\"{name}\" cx=\"{x}\" cy=\"{}\" r=\"4\"/><text x=\"{}\" y=\"{y}\">{name}</text>\n",
            y.saturating_sub(4),
            x.saturating_add(8)
        )
    };
    (0..).zip(marks).map(one).collect()
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
        let page = page(&job(), Some("http://rm:8088"));
        assert_eq!(page.matches("<rect").count(), 4);
        assert!(page.contains("class=\"failed\""), "{page}");
        assert!(
            page.contains("no &lt;room&gt;") && !page.contains("<room>"),
            "{page}"
        );
        for words in [
            "<td>user</td><td>ada</td>",
            "<td>queue</td><td>default</td>",
            "<td>began</td><td>2023-11-14 22:13:20 UTC</td>",
            "<td>input</td><td>hdfs://nn/in (3 files), 3000000 bytes</td>",
            "<td>output</td><td>hdfs://nn/out, 10 bytes</td>",
            "<a href=\"http://rm:8088/cluster/app/application_1700000000000_0042\">",
            ">3.0 s</text>",
            "<circle class=\"reduce\"",
            "<h3>map 1, attempt 0, on standard error</h3>",
            "<pre><code>Traceback:</code>\n<code>  &lt;b&gt;",
        ] {
            assert!(page.contains(words), "{words}: {page}");
        }
        assert!(!page.contains('\u{1b}'), "{page}");
        assert!(
            page.contains("<td class=\"n\">0</td><td class=\"n\">10</td>"),
            "{page}"
        );
    }
}
