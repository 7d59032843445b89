//! Bars beside names: side by side, or stacked.

use std::fmt::Write as _;

use super::frame::Frame;
use super::{Chart, colour};

/// Of the room that a name has.
const FILLED: f64 = 0.76;

pub(super) fn draw(svg: &mut String, chart: &Chart, frame: &Frame) {
    let slot = frame.places.place(1.0) - frame.places.place(0.0);
    let beside = match chart.stacked {
        true => 1.0,
        false => chart.series.len().max(1) as f64,
    };
    let width = slot * FILLED / beside;
    for place in 0..chart.names.len() {
        let mut below = 0.0;
        for (index, series) in chart.series.iter().enumerate() {
            let (value, spread) = series.at(place);
            let (bar, foot) = match chart.stacked {
                true => (0.0, below),
                false => (index as f64, frame.values.low),
            };
            let top = match chart.stacked {
                true => below + value,
                false => value,
            };
            below += value;
            let side = frame.places.place(place as f64) - slot * FILLED / 2.0 + width * bar;
            let (from, to) = (frame.values.place(foot), frame.values.place(top));
            let opacity = match series.given {
                true => "0.45",
                false => "1",
            };
            let (x, y, w, h) = match frame.lies {
                true => (from, side, to - from, width * 0.94),
                false => (side, to, width * 0.94, from - to),
            };
            // Writing to a String cannot fail, here and below.
            let _infallible = writeln!(
                svg,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\" \
                 fill-opacity=\"{opacity}\"/>",
                w.max(0.0),
                h.max(0.0),
                colour(index)
            );
            if let Some((least, most)) = spread {
                let middle = side + width * 0.47;
                let (least, most) = (frame.values.place(least), frame.values.place(most));
                let range = match frame.lies {
                    true => format!("M{least:.1} {middle:.1}H{most:.1}"),
                    false => format!("M{middle:.1} {least:.1}V{most:.1}"),
                };
                let _infallible = writeln!(
                    svg,
                    "<path d=\"{range}\" stroke=\"#333\" stroke-width=\"1.5\"/>"
                );
            }
        }
    }
}
