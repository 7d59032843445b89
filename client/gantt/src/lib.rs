//! When what ran on which slot, as a picture: of a simulated run, and of what a session did.

use std::collections::BTreeMap;

use serde::Serialize;

/// An attempt at a task, or a process of a gang, as it ran.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bar {
    /// Name of its job.
    pub job: String,
    /// `map`, `reduce` or `gang`.
    pub stage: &'static str,
    /// Number of its task.
    pub task: u32,
    /// Its host.
    pub node: String,
    /// Its slot, which no other host has.
    pub slot: u32,
    /// When it began, in seconds.
    pub begin_s: f64,
    /// When it ended, in seconds.
    pub end_s: f64,
    /// `done`, `failed`, `killed` or `lost`; `running` of what has not ended.
    pub how: &'static str,
}

/// Time from left to right, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    /// At the left edge.
    pub from_s: f64,
    /// At the right one.
    pub to_s: f64,
}

const ROW: usize = 14;
const LEFT: usize = 90;
const WIDTH: f64 = 900.0;

/// Colours that are told apart; a job has the one of its number, and round again.
const COLOURS: [&str; 10] = [
    "#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#edc948", "#b07aa1", "#ff9da7",
    "#9c755f", "#bab0ac",
];

/// One row a slot, time to the right, a colour a job, in the order of `jobs`; reduces lighter, what did not end well
/// with a red edge.
#[must_use]
pub fn svg<'a>(bars: &[Bar], jobs: impl IntoIterator<Item = &'a str>, axis: Axis) -> String {
    let mut rows: BTreeMap<u32, (&str, Vec<&Bar>)> = BTreeMap::new();
    for bar in bars {
        rows.entry(bar.slot)
            .or_insert_with(|| (bar.node.as_str(), Vec::new()))
            .1
            .push(bar);
    }
    let numbers: BTreeMap<&str, usize> = jobs.into_iter().zip(0..).collect();
    let Axis { from_s, to_s } = axis;
    let span = (to_s - from_s).max(f64::MIN_POSITIVE);
    let x = |at: f64| (at - from_s) / span * WIDTH;
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
            let stroke = match bar.how {
                "done" | "running" => "#ffffff",
                _ => "#cc0000",
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
    svg.push_str(&format!(
        "<text x=\"{LEFT}\" y=\"{axis}\">{from_s:.0} s</text>\n"
    ));
    svg.push_str(&format!(
        "<text x=\"{}\" y=\"{axis}\" text-anchor=\"end\">{to_s:.1} s</text>\n</svg>\n",
        LEFT + 900
    ));
    svg
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_a_slot_and_a_colour_a_job() {
        let bar = |job: &str, slot, begin_s, end_s, how| Bar {
            job: job.to_owned(),
            stage: "gang",
            task: 0,
            node: "n<1>".to_owned(),
            slot,
            begin_s,
            end_s,
            how,
        };
        let bars = [
            bar("a", 0, 10.0, 15.0, "done"),
            bar("b", 0, 15.0, 20.0, "lost"),
            bar("b", 1, 10.0, 20.0, "running"),
        ];
        let axis = Axis {
            from_s: 10.0,
            to_s: 20.0,
        };
        let svg = svg(&bars, ["a", "b"], axis);
        assert_eq!(svg.matches("<rect").count(), 3);
        assert_eq!(svg.matches("#cc0000").count(), 1);
        assert_eq!(svg.matches(COLOURS[1]).count(), 2);
        assert!(svg.contains(">n&lt;1&gt; slot 1</text>"), "{svg}");
        assert!(svg.contains(">10 s</text>") && svg.contains(">20.0 s</text>"));
        // Half of all, from the middle.
        assert!(svg.contains("x=\"540.0\" y=\"0\" width=\"450.0\""), "{svg}");
    }
}
