//! Lines over numbers.

use std::fmt::Write as _;

use super::frame::Frame;
use super::{Chart, colour};

pub(super) fn draw(svg: &mut String, chart: &Chart, frame: &Frame) {
    let (x, y) = (&frame.places, &frame.values);
    for (index, series) in chart.series.iter().enumerate() {
        let colour = colour(index);
        let points = series.points.iter();
        let places: Vec<(f64, f64)> = points
            .map(|point| (x.place(point.0), y.place(point.1)))
            .collect();
        let path: Vec<String> = places
            .iter()
            .map(|(x, y)| format!("{x:.1},{y:.1}"))
            .collect();
        // Writing to a String cannot fail, here and below.
        let _infallible = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{}/>",
            path.join(" "),
            series.dashes()
        );
        for ((at, _), (least, most)) in places.iter().zip(&series.spread) {
            let _infallible = writeln!(
                svg,
                "<path d=\"M{at:.1} {:.1}V{:.1}\" stroke=\"{colour}\" stroke-width=\"1.5\"/>",
                y.place(*least),
                y.place(*most)
            );
        }
        for (x, y) in places.iter().filter(|_| !series.given) {
            let _infallible = writeln!(
                svg,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\"/>"
            );
        }
    }
}
