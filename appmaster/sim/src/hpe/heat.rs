//! Cells of a region as coloured squares.

use super::region::{FASTER, LOADS, RegionCell, SHARES, WITH};

const SQUARE: f64 = 34.0;
const LEFT: f64 = 120.0;
const TOP: f64 = 70.0;
const GAP: f64 = 44.0;

/// A block for each load and each speed, in it a square for each share of tasks (down) and number of nodes (across), with
/// the percent by which a policy's time is below the other's: green where it is, red where it is above.
pub(super) fn svg(title: &str, cells: &[(RegionCell, f64)]) -> String {
    let (across, down) = (number(WITH.len()), number(SHARES.len()));
    let block = |at: usize, squares: f64| number(at) * (squares * SQUARE + GAP);
    let width = LEFT + block(FASTER.len(), across);
    let height = TOP + block(LOADS.len(), down);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"4\" y=\"16\" font-size=\"13\">{title}</text>\n\
         <text x=\"4\" y=\"34\">down: tasks that need the element; across: nodes of 8 that have one; in a square: % less time (below 0: more)</text>\n"
    );
    let mut text = |x: f64, y: f64, anchor: &str, said: &str| {
        svg.push_str(&format!(
            "<text x=\"{x:.0}\" y=\"{y:.0}\" text-anchor=\"{anchor}\">{said}</text>\n"
        ));
    };
    for (row, load) in LOADS.iter().enumerate() {
        let y = TOP + block(row, down);
        text(4.0, y + SQUARE * down / 2.0, "start", &load_words(*load));
        for (line, share) in SHARES.iter().enumerate() {
            let y = y + (number(line) + 0.6) * SQUARE;
            text(LEFT - 6.0, y, "end", &format!("{share} %"));
        }
    }
    for (column, faster) in FASTER.iter().enumerate() {
        let x = LEFT + block(column, across);
        let said = format!("{faster} times as fast");
        text(x + SQUARE * across / 2.0, TOP - 8.0, "middle", &said);
        for (at, with) in WITH.iter().enumerate() {
            let y = TOP + block(LOADS.len(), down) - GAP + 14.0;
            let x = x + (number(at) + 0.5) * SQUARE;
            text(x, y, "middle", &with.to_string());
        }
    }
    for (cell, gain) in cells {
        let at = |all: &[u32], one: u32| all.iter().position(|other| *other == one).unwrap_or(0);
        let x =
            LEFT + block(at(&FASTER, cell.faster), across) + number(at(&WITH, cell.with)) * SQUARE;
        let y = TOP + block(at(&LOADS, cell.load), down) + number(at(&SHARES, cell.share)) * SQUARE;
        svg.push_str(&format!(
            "<rect x=\"{x:.0}\" y=\"{y:.0}\" width=\"{0:.0}\" height=\"{0:.0}\" fill=\"{1}\"><title>{2}: {gain:.1} %</title></rect>\n\
             <text x=\"{3:.0}\" y=\"{4:.0}\" text-anchor=\"middle\">{5:.0}</text>\n",
            SQUARE - 1.0,
            colour(*gain),
            cell.words(),
            x + SQUARE / 2.0,
            y + SQUARE * 0.62,
            // No "-0".
            gain.round() + 0.0,
        ));
    }
    svg.push_str("</svg>\n");
    svg
}

/// `all jobs at once`, `load 80 %`.
pub(super) fn load_words(load: u32) -> String {
    match load {
        0 => "all at once".to_owned(),
        load => format!("load {load} %"),
    }
}

/// Of a gain in percent: full at 20; what is within 1 is white.
fn colour(gain: f64) -> String {
    if gain.abs() <= 1.0 {
        return "#f4f4f4".to_owned();
    }
    let rest = 215.0 - (gain.abs() / 20.0).min(1.0) * 130.0;
    match gain > 0.0 {
        true => format!("rgb({rest:.0},236,{rest:.0})"),
        false => format!("rgb(240,{rest:.0},{rest:.0})"),
    }
}

/// Of few things.
fn number(count: usize) -> f64 {
    u32::try_from(count).map_or(0.0, f64::from)
}
