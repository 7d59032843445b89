//! Charts as SVG: lines over numbers, or bars over names. Text and shapes only, so that the files are
//! small, can be compared, and show wherever Markdown does.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
/// Of the plot: left, right, top, bottom.
const BOX: (f64, f64, f64, f64) = (72.0, 560.0, 48.0, 360.0);
/// Told apart by all kinds of eyes (Okabe and Ito).
const COLOURS: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555",
];
/// Labels of an axis, about.
const TICKS: f64 = 6.0;

/// What an axis says.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Axis {
    /// With its unit.
    pub label: String,
    /// Each step multiplies. All values must be above 0.
    pub logarithmic: bool,
}

impl Axis {
    /// Each step adds.
    #[must_use]
    pub fn linear(label: &str) -> Self {
        Self {
            label: label.to_owned(),
            logarithmic: false,
        }
    }

    /// Each step multiplies.
    #[must_use]
    pub fn logarithmic(label: &str) -> Self {
        Self {
            label: label.to_owned(),
            logarithmic: true,
        }
    }
}

/// One line, or the bars of one colour.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Series {
    /// In the legend.
    pub name: String,
    /// Over numbers: x and y. Over names: x is the name's place, from 0.
    pub points: Vec<(f64, f64)>,
    /// Not measured here: a target, or the paper's numbers. Drawn broken.
    pub given: bool,
}

impl Series {
    /// What was measured.
    #[must_use]
    pub fn measured(name: &str, points: Vec<(f64, f64)>) -> Self {
        Self {
            name: name.to_owned(),
            points,
            given: false,
        }
    }

    /// What others say, or what is wanted.
    #[must_use]
    pub fn given(name: &str, points: Vec<(f64, f64)>) -> Self {
        Self {
            given: true,
            ..Self::measured(name, points)
        }
    }
}

/// A picture.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Chart {
    /// The axis below.
    pub x: Axis,
    /// The axis to the left; a linear one begins at 0.
    pub y: Axis,
    /// Names below the bars; none: lines.
    pub names: Vec<String>,
    /// Bars stand on each other instead of side by side.
    pub stacked: bool,
    /// In the order of the legend.
    pub series: Vec<Series>,
}

/// Values onto a stretch of the picture.
struct Scale {
    low: f64,
    high: f64,
    logarithmic: bool,
    from: f64,
    to: f64,
}

impl Scale {
    fn place(&self, value: f64) -> f64 {
        let share = match self.logarithmic {
            true => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        };
        self.from + share * (self.to - self.from)
    }

    fn ticks(&self) -> Vec<f64> {
        if self.logarithmic {
            let mut ticks = Vec::new();
            let mut decade = 10_f64.powf(self.low.log10().floor());
            let steps: &[f64] = match self.high / self.low > 2000.0 {
                true => &[1.0],
                false => &[1.0, 2.0, 5.0],
            };
            while decade <= self.high {
                ticks.extend(steps.iter().map(|step| decade * step));
                decade *= 10.0;
            }
            ticks.retain(|tick| (self.low * 0.999..=self.high * 1.001).contains(tick));
            return ticks;
        }
        let step = step(self.high - self.low);
        let mut ticks = Vec::new();
        let mut tick = (self.low / step).ceil() * step;
        while tick <= self.high + step * 1e-6 {
            ticks.push(tick);
            tick += step;
        }
        ticks
    }
}

/// 1, 2 or 5 times a power of ten, about a sixth of `span`.
fn step(span: f64) -> f64 {
    let rough = (span / TICKS).max(f64::MIN_POSITIVE);
    let power = 10_f64.powf(rough.log10().floor());
    let factors = [1.0, 2.0, 5.0, 10.0];
    let fits = factors.into_iter().find(|factor| factor * power >= rough);
    fits.unwrap_or(10.0) * power
}

fn number(value: f64) -> String {
    if value >= 10.0 || value.fract().abs() < 1e-9 {
        format!("{value:.0}")
    } else if value >= 1.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

impl Chart {
    /// The picture with `title` above it.
    #[must_use]
    pub fn svg(&self, title: &str) -> String {
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"Helvetica,Arial,sans-serif\" font-size=\"13\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n"
        );
        // Writing to a String cannot fail, here and below.
        let _infallible = writeln!(
            svg,
            "<text x=\"16\" y=\"26\" font-size=\"16\" font-weight=\"bold\">{}</text>",
            escape(title)
        );
        let (x, y) = (self.scale_x(), self.scale_y());
        self.frame(&mut svg, &x, &y);
        match self.names.is_empty() {
            true => self.lines(&mut svg, &x, &y),
            false => self.bars(&mut svg, &x, &y),
        }
        self.legend(&mut svg);
        svg.push_str("</svg>\n");
        svg
    }

    fn scale_x(&self) -> Scale {
        let (from, to, _, _) = BOX;
        let all = || self.series.iter().flat_map(|series| &series.points);
        let least = all().map(|point| point.0).fold(f64::INFINITY, f64::min);
        let greatest = all().map(|point| point.0).fold(f64::NEG_INFINITY, f64::max);
        let (low, high) = match (self.names.len(), self.x.logarithmic) {
            (0, true) => (least, greatest.max(least * 2.0)),
            (0, false) => (0.0_f64.min(least), greatest.max(least + 1.0)),
            (count, _) => (-0.5, count as f64 - 0.5),
        };
        Scale {
            low,
            high,
            logarithmic: self.x.logarithmic && self.names.is_empty(),
            from,
            to,
        }
    }

    fn scale_y(&self) -> Scale {
        let (_, _, top, bottom) = BOX;
        let all = || self.series.iter().flat_map(|series| &series.points);
        let greatest = match self.stacked {
            true => (0..self.names.len())
                .map(|place| self.series.iter().map(|series| at(series, place)).sum())
                .fold(0.0, f64::max),
            false => all().map(|point| point.1).fold(0.0, f64::max),
        };
        let least = all().map(|point| point.1).fold(f64::INFINITY, f64::min);
        let (low, high) = match self.y.logarithmic {
            true => (least * 0.8, greatest * 1.25),
            false => (0.0, greatest.max(1e-9) * 1.08),
        };
        Scale {
            low,
            high,
            logarithmic: self.y.logarithmic,
            from: bottom,
            to: top,
        }
    }

    fn frame(&self, svg: &mut String, x: &Scale, y: &Scale) {
        let (left, right, top, bottom) = BOX;
        for tick in y.ticks() {
            let at = y.place(tick);
            let _infallible = writeln!(
                svg,
                "<line x1=\"{left}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                left - 6.0,
                at + 4.0,
                number(tick)
            );
        }
        let label = |svg: &mut String, at: f64, text: &str| {
            let _infallible = writeln!(
                svg,
                "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                bottom + 18.0,
                escape(text)
            );
        };
        if self.names.is_empty() {
            for tick in x.ticks() {
                label(svg, x.place(tick), &number(tick));
            }
        }
        for (place, name) in self.names.iter().enumerate() {
            label(svg, x.place(place as f64), name);
        }
        let _infallible = writeln!(
            svg,
            "<path d=\"M{left} {top}V{bottom}H{right}\" fill=\"none\" stroke=\"#333\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(20 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            f64::midpoint(left, right),
            bottom + 42.0,
            escape(&self.x.label),
            f64::midpoint(top, bottom),
            escape(&self.y.label)
        );
    }

    fn lines(&self, svg: &mut String, x: &Scale, y: &Scale) {
        for (index, series) in self.series.iter().enumerate() {
            let colour = colour(index);
            let points = series.points.iter();
            let places: Vec<(f64, f64)> = points
                .map(|point| (x.place(point.0), y.place(point.1)))
                .collect();
            let path: Vec<String> = places
                .iter()
                .map(|(x, y)| format!("{x:.1},{y:.1}"))
                .collect();
            let _infallible = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{}/>",
                path.join(" "),
                broken(series)
            );
            for (x, y) in places.iter().filter(|_| !series.given) {
                let _infallible = writeln!(
                    svg,
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\"/>"
                );
            }
        }
    }

    fn bars(&self, svg: &mut String, x: &Scale, y: &Scale) {
        let slot = x.place(1.0) - x.place(0.0);
        let side_by_side = match self.stacked {
            true => 1.0,
            false => self.series.len().max(1) as f64,
        };
        let width = slot * 0.76 / side_by_side;
        for place in 0..self.names.len() {
            let mut below = 0.0;
            for (index, series) in self.series.iter().enumerate() {
                let value = at(series, place);
                let bar = match self.stacked {
                    true => 0.0,
                    false => index as f64,
                };
                let left = x.place(place as f64) - slot * 0.38 + width * bar;
                let foot = match (y.logarithmic, self.stacked) {
                    (true, _) => y.low,
                    (false, true) => below,
                    (false, false) => 0.0,
                };
                let (top, bottom) = (y.place(foot + value), y.place(foot));
                let fill = match series.given {
                    true => "0.45",
                    false => "1",
                };
                let _infallible = writeln!(
                    svg,
                    "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\" \
                     fill-opacity=\"{fill}\"/>",
                    width * 0.94,
                    (bottom - top).max(0.0),
                    colour(index)
                );
                below += value;
            }
        }
    }

    fn legend(&self, svg: &mut String) {
        let (_, right, top, _) = BOX;
        for (index, series) in self.series.iter().enumerate() {
            let at = top + 10.0 + 36.0 * index as f64;
            let _infallible = writeln!(
                svg,
                "<line x1=\"{:.1}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\" stroke=\"{}\" \
                 stroke-width=\"4\"{}/>",
                right + 14.0,
                right + 36.0,
                colour(index),
                broken(series)
            );
            for (line, words) in wrap(&series.name, 22).iter().enumerate() {
                let _infallible = writeln!(
                    svg,
                    "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                    right + 42.0,
                    at + 4.0 + 14.0 * line as f64,
                    escape(words)
                );
            }
        }
    }
}

fn at(series: &Series, place: usize) -> f64 {
    let mut points = series.points.iter();
    let found = points.find(|point| (point.0 - place as f64).abs() < 0.5);
    found.map_or(0.0, |point| point.1)
}

fn colour(index: usize) -> &'static str {
    COLOURS[index % COLOURS.len()]
}

const fn broken(series: &Series) -> &'static str {
    match series.given {
        true => " stroke-dasharray=\"6 4\"",
        false => "",
    }
}

/// Lines of at most so many characters, unless a word is longer.
fn wrap(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers() {
        let scale = |low, high, logarithmic| Scale {
            low,
            high,
            logarithmic,
            from: 0.0,
            to: 100.0,
        };
        assert_eq!(
            scale(0.0, 11.0, false).ticks(),
            [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
        );
        assert_eq!(scale(8.0, 143.0, true).ticks(), [10.0, 20.0, 50.0, 100.0]);
        assert!((scale(1.0, 100.0, true).place(10.0) - 50.0).abs() < 1e-9);
    }

    #[test]
    fn a_chart_is_well_formed() {
        let chart = Chart {
            x: Axis::logarithmic("processes"),
            y: Axis::linear("seconds"),
            series: vec![
                Series::measured("a < b", vec![(8.0, 1.0), (100.0, 2.0)]),
                Series::given("target", vec![(8.0, 1.0), (100.0, 1.0)]),
            ],
            ..Chart::default()
        };
        let svg = chart.svg("R & D");
        assert!(svg.contains("R &amp; D") && svg.contains("a &lt; b"));
        assert_eq!(svg.matches("<polyline").count(), 2);
        let bars = Chart {
            names: vec!["none".to_owned(), "all".to_owned()],
            stacked: true,
            ..chart
        };
        assert_eq!(bars.svg("").matches("fill-opacity").count(), 4);
        assert!(!bars.svg("").contains("NaN"));
    }
}
