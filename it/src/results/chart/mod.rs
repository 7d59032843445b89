//! Charts as SVG: lines over numbers, or bars beside names. Text and shapes only, so that the files are
//! small, can be compared, and show wherever Markdown does.
//!
//! Bars stand while their names fit below them; longer names stand to the left of bars that lie.

mod bars;
mod frame;
mod legend;
mod lines;
mod scale;

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::Spread;
use frame::Frame;

/// Told apart by all kinds of eyes (Okabe and Ito).
const COLOURS: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555",
];

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
    /// Least and greatest of what each point is the median of, in the order of the points; empty: one value each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spread: Vec<(f64, f64)>,
}

impl Series {
    /// What was measured.
    #[must_use]
    pub fn measured(name: &str, points: Vec<(f64, f64)>) -> Self {
        Self {
            name: name.to_owned(),
            points,
            ..Self::default()
        }
    }

    /// Medians, and how far what was measured lies from them: x, and what it was.
    #[must_use]
    pub fn spread(name: &str, points: &[(f64, Spread)]) -> Self {
        Self {
            spread: points.iter().map(|(_, of)| (of.min, of.max)).collect(),
            ..Self::measured(name, points.iter().map(|(x, of)| (*x, of.median)).collect())
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
    /// Names of the bars; none: lines.
    pub names: Vec<String>,
    /// Bars stand on each other instead of side by side.
    pub stacked: bool,
    /// In the order of the legend.
    pub series: Vec<Series>,
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
        let frame = Frame::of(self);
        let (width, height) = (frame.width, frame.height);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"Helvetica,Arial,sans-serif\" font-size=\"13\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
        );
        // Writing to a String cannot fail.
        let _infallible = writeln!(
            svg,
            "<text x=\"16\" y=\"26\" font-size=\"16\" font-weight=\"bold\">{}</text>",
            escape(title)
        );
        frame.draw(&mut svg, self);
        match self.names.is_empty() {
            true => lines::draw(&mut svg, self, &frame),
            false => bars::draw(&mut svg, self, &frame),
        }
        legend::draw(&mut svg, self, &frame);
        svg.push_str("</svg>\n");
        svg
    }
}

impl Series {
    /// Its value, and least and greatest, beside the name at `place`.
    fn at(&self, place: usize) -> (f64, Option<(f64, f64)>) {
        let mut points = self.points.iter().enumerate();
        let found = points.find(|(_, point)| (point.0 - place as f64).abs() < 0.5);
        found.map_or((0.0, None), |(index, point)| {
            (point.1, self.spread.get(index).copied())
        })
    }

    /// How a line of it is drawn.
    const fn dashes(&self) -> &'static str {
        match self.given {
            true => " stroke-dasharray=\"6 4\"",
            false => "",
        }
    }
}

fn colour(index: usize) -> &'static str {
    COLOURS[index % COLOURS.len()]
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

    fn bars(names: &[&str], series: Vec<Series>) -> Chart {
        Chart {
            names: names.iter().map(ToString::to_string).collect(),
            y: Axis::linear("seconds"),
            series,
            ..Chart::default()
        }
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

    /// `key`s of the rectangles of bars.
    fn of_bars(svg: &str, key: &str) -> Vec<f64> {
        let bars = svg.lines().filter(|line| line.contains("fill-opacity"));
        let value = |line: &str| {
            let (_, rest) = line.split_once(&format!(" {key}=\""))?;
            rest.split_once('"')?.0.parse().ok()
        };
        bars.filter_map(value).collect()
    }

    #[test]
    fn a_bar_ends_where_the_axis_shows_its_value() {
        let mut chart = bars(
            &["a", "b"],
            vec![Series::measured("s", vec![(0.0, 0.1), (1.0, 100.0)])],
        );
        chart.y = Axis::logarithmic("seconds");
        let frame = Frame::of(&chart);
        let tops = of_bars(&chart.svg(""), "y");
        for (top, value) in tops.iter().zip([0.1, 100.0]) {
            assert!((top - frame.values.place(value)).abs() < 0.1, "{top}");
        }
    }

    #[test]
    fn long_names_stand_beside_bars_that_lie() {
        let name = "ResourceManager away when the job ends, and for long";
        let chart = bars(
            &[name, "b"],
            vec![Series::measured("s", vec![(0.0, 10.0), (1.0, 20.0)])],
        );
        let svg = chart.svg("");
        let widths = of_bars(&svg, "width");
        assert!((widths[1] / widths[0] - 2.0).abs() < 0.01, "{widths:?}");
        let words: Vec<&str> = name.split(' ').collect();
        assert!(words.iter().all(|word| svg.contains(word)));
    }

    #[test]
    fn the_range_of_what_was_measured_is_drawn() {
        let of = Spread::of(&[1.0, 2.0, 4.0]).unwrap();
        let chart = bars(&["a"], vec![Series::spread("s", &[(0.0, of)])]);
        let frame = Frame::of(&chart);
        let range = format!("V{:.1}", frame.values.place(4.0));
        assert!(chart.svg("").contains(&range));
    }

    #[test]
    fn entries_of_a_legend_do_not_overlap() {
        let long =
            "one container for each process, which is what the paper compares with at length";
        let series = |name| Series::measured(name, vec![(0.0, 1.0)]);
        let svg = bars(&["a"], vec![series(long), series("next")]).svg("");
        let height = |word: &str| -> f64 {
            let line = svg
                .lines()
                .find(|line| line.ends_with(&format!("{word}</text>")));
            let (_, rest) = line.unwrap().split_once(" y=\"").unwrap();
            rest.split_once('"').unwrap().0.parse().unwrap()
        };
        assert!(height(">next") > height("at length") + 13.0);
    }
}
