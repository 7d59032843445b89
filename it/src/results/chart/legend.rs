//! What each colour means, to the right of the plot.

use std::fmt::Write as _;

use super::frame::Frame;
use super::{Chart, colour, escape, wrap};

const LINE: f64 = 14.0;
const BETWEEN: f64 = 10.0;

pub(super) fn draw(svg: &mut String, chart: &Chart, frame: &Frame) {
    let mut at = frame.top + 10.0;
    for (index, series) in chart.series.iter().enumerate() {
        // Writing to a String cannot fail, here and below.
        let _infallible = writeln!(
            svg,
            "<line x1=\"{:.1}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\" stroke=\"{}\" \
             stroke-width=\"4\"{}/>",
            frame.right + 14.0,
            frame.right + 36.0,
            colour(index),
            series.dashes()
        );
        for words in wrap(&series.name, 22) {
            let _infallible = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                frame.right + 42.0,
                at + 4.0,
                escape(&words)
            );
            at += LINE;
        }
        at += BETWEEN;
    }
}
