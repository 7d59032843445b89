//! When what ran on which slot, as a picture: of a simulated run, and of what a session did.

mod axis;
mod date;

use std::collections::BTreeMap;

use serde::Serialize;

pub use axis::ticks;
pub use date::date;

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
    /// `done`, `failed`, `killed` or `lost`; `moved` of what went on in another slot, `running` of what has not ended.
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

/// Jobs that the legend names.
const NAMED: usize = 40;
/// Above the rows, for the title.
const TOP: usize = 24;

/// One row a slot, time to the right, a colour a job, in the order of `jobs`; reduces lighter, what did not end well
/// with a red edge. Above is the `title`, below are the time, and what is what.
#[must_use]
pub fn svg<'a>(
    title: &str,
    bars: &[Bar],
    jobs: impl IntoIterator<Item = &'a str>,
    axis: Axis,
) -> String {
    let mut rows: BTreeMap<u32, (&str, Vec<&Bar>)> = BTreeMap::new();
    for bar in bars {
        rows.entry(bar.slot)
            .or_insert_with(|| (bar.node.as_str(), Vec::new()))
            .1
            .push(bar);
    }
    let names: Vec<&str> = jobs.into_iter().collect();
    let numbers: BTreeMap<&str, usize> = names.iter().copied().zip(0..).collect();
    let Axis { from_s, to_s } = axis;
    let span = (to_s - from_s).max(f64::MIN_POSITIVE);
    let x = |at: f64| (at - from_s) / span * WIDTH;
    let bottom = TOP + rows.len() * ROW;
    let legend = legend(&names, bottom + 3 * ROW);
    let height = bottom + (4 + legend.len()) * ROW;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"10\">\n\
         <title>{title}</title>\n\
         <text x=\"{LEFT}\" y=\"14\" font-size=\"13\">{title}</text>\n",
        LEFT + 920,
        title = escaped(title)
    );
    let (ticks, places) = ticks(from_s, to_s);
    for at in ticks {
        let x = x(at) + 90.0;
        svg.push_str(&format!(
            "<path d=\"M{x:.1} {TOP}V{}\" stroke=\"#dddddd\"/>\n<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{at:.places$} s</text>\n",
            bottom + 3,
            bottom + ROW
        ));
    }
    for (row, (slot, (node, bars))) in rows.iter().enumerate() {
        let y = TOP + row * ROW;
        svg.push_str(&format!(
            "<text x=\"2\" y=\"{}\">{} slot {slot}</text>\n",
            y + ROW - 4,
            escaped(node)
        ));
        for bar in bars {
            let opacity = if bar.stage == "reduce" { 0.6 } else { 1.0 };
            let stroke = match bar.how {
                "done" | "running" | "moved" => "#ffffff",
                _ => "#cc0000",
            };
            svg.push_str(&format!("<rect x=\"{:.1}\" y=\"{y}\" width=\"{:.1}\" height=\"{}\" fill=\"{}\" fill-opacity=\"{opacity}\" stroke=\"{stroke}\"><title>{} {} {}: {:.2} to {:.2} s, {}</title></rect>\n",
                x(bar.begin_s) + 90.0,
                (x(bar.end_s) - x(bar.begin_s)).max(0.5),
                ROW - 2,
                numbers.get(bar.job.as_str()).map_or("#000000", |number| colour(*number)),
                escaped(&bar.job),
                bar.stage,
                bar.task,
                bar.begin_s,
                bar.end_s,
                bar.how));
        }
    }
    svg.push_str(&legend.concat());
    svg.push_str("</svg>\n");
    svg
}

fn colour(number: usize) -> &'static str {
    COLOURS.get(number % COLOURS.len()).unwrap_or(&"#000000")
}

/// What is what, a line each.
fn legend(jobs: &[&str], top: usize) -> Vec<String> {
    let line = |row: usize, text: String, mark: String| {
        let y = top + row * ROW;
        let mark = match mark.is_empty() {
            true => String::new(),
            false => format!(
                "<circle cx=\"{}\" cy=\"{}\" r=\"4\" {mark}/>",
                LEFT + 4,
                y - 4
            ),
        };
        format!(
            "{mark}<text x=\"{}\" y=\"{y}\">{}</text>\n",
            LEFT + 14,
            escaped(&text)
        )
    };
    let mut lines: Vec<String> = (jobs.iter().take(NAMED).enumerate())
        .map(|(number, job)| {
            line(
                number,
                (*job).to_owned(),
                format!("fill=\"{}\"", colour(number)),
            )
        })
        .collect();
    if jobs.len() > NAMED {
        let more = format!("and {} more, in the same colours again", jobs.len() - NAMED);
        lines.push(line(lines.len(), more, String::new()));
    }
    let lighter = "fill=\"#4e79a7\" fill-opacity=\"0.6\"".to_owned();
    lines.push(line(lines.len(), "lighter: a reduce".to_owned(), lighter));
    let red = "fill=\"none\" stroke=\"#c00000\"".to_owned();
    lines.push(line(
        lines.len(),
        "red edge: failed, killed or lost".to_owned(),
        red,
    ));
    lines
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
        let svg = svg("Slots of <s>", &bars, ["a", "b"], axis);
        assert_eq!(svg.matches("<rect").count(), 3);
        assert_eq!(svg.matches(">Slots of &lt;s&gt;<").count(), 2);
        assert_eq!(svg.matches("#cc0000").count(), 1);
        // Two bars, and the legend.
        assert_eq!(svg.matches(COLOURS[1]).count(), 3);
        for words in [">a</text>", ">lighter: a reduce<", ">red edge: failed"] {
            assert!(svg.contains(words), "{svg}");
        }
        assert!(svg.contains(">n&lt;1&gt; slot 1</text>"), "{svg}");
        assert!(svg.contains(">10 s</text>") && svg.contains(">20 s</text>"));
        // Half of all, from the middle.
        assert!(
            svg.contains("x=\"540.0\" y=\"24\" width=\"450.0\""),
            "{svg}"
        );
    }
}
