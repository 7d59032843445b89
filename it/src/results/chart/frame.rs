//! Where things stand in the picture: its size, its axes, their labels.

use std::fmt::Write as _;

use super::scale::{Scale, number};
use super::{Chart, escape, wrap};

/// Below, above and beside the plot.
const TOP: f64 = 48.0;
const BOTTOM: f64 = 60.0;
const LEGEND: f64 = 200.0;
/// Of a plot whose bars stand, or of lines.
const PLOT: (f64, f64) = (488.0, 312.0);
/// Of a plot whose bars lie.
const LYING: f64 = 440.0;
/// Of a character, about.
const CHARACTER: f64 = 7.0;
/// Characters of a line of a name beside a bar.
const NAME: usize = 38;

/// The picture's size, the plot in it, and the scales along the plot.
pub(super) struct Frame {
    pub(super) width: f64,
    pub(super) height: f64,
    left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    bottom: f64,
    /// Bars go from left to right, one name below the other.
    pub(super) lies: bool,
    /// Along the axis of values.
    pub(super) values: Scale,
    /// Along the names, or along the other axis of numbers.
    pub(super) places: Scale,
}

impl Frame {
    pub(super) fn of(chart: &Chart) -> Self {
        let slot = PLOT.0 / chart.names.len().max(1) as f64;
        let lengths = chart.names.iter().map(|name| name.chars().count());
        let longest = lengths.max().unwrap_or(0);
        let lies = longest as f64 * CHARACTER > slot;
        let beside = match chart.stacked {
            true => 1.0,
            false => chart.series.len().max(1) as f64,
        };
        let (left, plot) = match lies {
            true => (
                24.0 + longest.min(NAME) as f64 * CHARACTER,
                (
                    LYING,
                    chart.names.len() as f64 * (10.0 + 11.0 * beside).max(30.0),
                ),
            ),
            false => (72.0, PLOT),
        };
        let (right, bottom) = (left + plot.0, TOP + plot.1);
        let (across, up) = ((left, right), (bottom, TOP));
        let (values, places) = match lies {
            true => (
                scale_of_values(chart, across),
                scale_of_places(chart, (TOP, bottom)),
            ),
            false => (scale_of_values(chart, up), scale_of_places(chart, across)),
        };
        Self {
            width: right + LEGEND,
            height: bottom + BOTTOM,
            left,
            right,
            top: TOP,
            bottom,
            lies,
            values,
            places,
        }
    }

    /// Axes, their ticks and their labels.
    pub(super) fn draw(&self, svg: &mut String, chart: &Chart) {
        let Self {
            left,
            right,
            top,
            bottom,
            ..
        } = *self;
        for tick in self.values.ticks() {
            let at = self.values.place(tick);
            let (line, text) = match self.lies {
                true => ((at, top, at, bottom), (at, bottom + 18.0, "middle")),
                false => ((left, at, right, at), (left - 6.0, at + 4.0, "end")),
            };
            // Writing to a String cannot fail, here and below.
            let _infallible = writeln!(
                svg,
                "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"#ddd\"/>{}",
                line.0,
                line.1,
                line.2,
                line.3,
                words(text, &number(tick))
            );
        }
        if chart.names.is_empty() {
            for tick in self.places.ticks() {
                let at = (self.places.place(tick), bottom + 18.0, "middle");
                let _infallible = writeln!(svg, "{}", words(at, &number(tick)));
            }
        }
        for (place, name) in chart.names.iter().enumerate() {
            let at = self.places.place(place as f64);
            if !self.lies {
                let _infallible = writeln!(svg, "{}", words((at, bottom + 18.0, "middle"), name));
                continue;
            }
            let lines = wrap(name, NAME);
            let first = at + 4.0 - 7.0 * (lines.len().saturating_sub(1)) as f64;
            for (index, line) in lines.iter().enumerate() {
                let at = (left - 6.0, first + 14.0 * index as f64, "end");
                let _infallible = writeln!(svg, "{}", words(at, line));
            }
        }
        let (below, beside) = match self.lies {
            true => (&chart.y.label, ""),
            false => (&chart.x.label, chart.y.label.as_str()),
        };
        let _infallible = writeln!(
            svg,
            "<path d=\"M{left} {top}V{bottom}H{right}\" fill=\"none\" stroke=\"#333\"/>\n\
             {}\n\
             <text transform=\"translate(20 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            words((f64::midpoint(left, right), bottom + 42.0, "middle"), below),
            f64::midpoint(top, bottom),
            escape(beside)
        );
    }
}

fn words((x, y, anchor): (f64, f64, &str), text: &str) -> String {
    format!(
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
        escape(text)
    )
}

fn scale_of_places(chart: &Chart, (from, to): (f64, f64)) -> Scale {
    let all = || chart.series.iter().flat_map(|series| &series.points);
    let least = all().map(|point| point.0).fold(f64::INFINITY, f64::min);
    let greatest = all().map(|point| point.0).fold(f64::NEG_INFINITY, f64::max);
    let (low, high) = match (chart.names.len(), chart.x.logarithmic) {
        (0, true) => (least, greatest.max(least * 2.0)),
        (0, false) => (0.0_f64.min(least), greatest.max(least + 1.0)),
        (count, _) => (-0.5, count as f64 - 0.5),
    };
    Scale {
        low,
        high,
        logarithmic: chart.x.logarithmic && chart.names.is_empty(),
        from,
        to,
    }
}

fn scale_of_values(chart: &Chart, (from, to): (f64, f64)) -> Scale {
    let all = || {
        let series = chart.series.iter();
        series.flat_map(|series| {
            let ends = series
                .spread
                .iter()
                .flat_map(|(least, most)| [*least, *most]);
            series.points.iter().map(|point| point.1).chain(ends)
        })
    };
    let greatest = match chart.stacked {
        true => (0..chart.names.len())
            .map(|place| chart.series.iter().map(|series| series.at(place).0).sum())
            .fold(0.0, f64::max),
        false => all().fold(0.0, f64::max),
    };
    let least = all()
        .filter(|value| *value > 0.0)
        .fold(f64::INFINITY, f64::min);
    let (low, high) = match chart.y.logarithmic {
        true => (least * 0.8, greatest * 1.25),
        false => (0.0, greatest.max(1e-9) * 1.08),
    };
    Scale {
        low,
        high,
        logarithmic: chart.y.logarithmic,
        from,
        to,
    }
}
