//! When which attempt ran on which slot, as a picture.

use std::collections::BTreeMap;

use crate::{Bar, RunResult};

const ROW: usize = 14;
const LEFT: usize = 90;
const WIDTH: f64 = 900.0;

/// Colours that are told apart; a job has the one of its number, and round again.
const COLOURS: [&str; 10] = [
    "#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#edc948", "#b07aa1", "#ff9da7",
    "#9c755f", "#bab0ac",
];

/// One row a slot, time to the right, a colour a job; maps full, reduces lighter, lost ones hatched in red.
#[must_use]
pub fn svg(outcome: &RunResult) -> String {
    let mut rows: BTreeMap<u32, (&str, Vec<&Bar>)> = BTreeMap::new();
    for bar in &outcome.bars {
        rows.entry(bar.slot)
            .or_insert_with(|| (bar.node.as_str(), Vec::new()))
            .1
            .push(bar);
    }
    let numbers: BTreeMap<&str, usize> = outcome
        .jobs
        .iter()
        .enumerate()
        .map(|(number, job)| (job.name.as_str(), number))
        .collect();
    let end = crate::run::in_seconds(outcome.end).max(f64::MIN_POSITIVE);
    let x = |at: f64| at / end * WIDTH;
    let height = (rows.len() + 2) * ROW;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"10\">\n",
        LEFT + 920
    );
    for (row, (slot, (node, bars))) in rows.iter().enumerate() {
        let y = row * ROW;
        svg.push_str(&format!(
            "<text x=\"2\" y=\"{}\">{} slot {slot}</text>\n",
            y + ROW - 4,
            escaped(node)
        ));
        for bar in bars {
            let colour = numbers
                .get(bar.job.as_str())
                .and_then(|number| COLOURS.get(number % COLOURS.len()));
            let opacity = if bar.stage == "reduce" { 0.6 } else { 1.0 };
            let stroke = if bar.how == "done" {
                "#ffffff"
            } else {
                "#cc0000"
            };
            svg.push_str(&format!("<rect x=\"{:.1}\" y=\"{y}\" width=\"{:.1}\" height=\"{}\" fill=\"{}\" fill-opacity=\"{opacity}\" stroke=\"{stroke}\"><title>{} {} {}: {:.2} to {:.2} s, {}</title></rect>\n",
                x(bar.begin_s) + 90.0,
                (x(bar.end_s) - x(bar.begin_s)).max(0.5),
                ROW - 2,
                colour.unwrap_or(&"#000000"),
                escaped(&bar.job),
                bar.stage,
                bar.task,
                bar.begin_s,
                bar.end_s,
                bar.how));
        }
    }
    let axis = rows.len() * ROW + ROW;
    svg.push_str(&format!("<text x=\"{LEFT}\" y=\"{axis}\">0 s</text>\n"));
    svg.push_str(&format!(
        "<text x=\"{}\" y=\"{axis}\" text-anchor=\"end\">{end:.1} s</text>\n</svg>\n",
        LEFT + 900
    ));
    svg
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
