//! A table as bars.

use crate::figure::FigureTable;

const HEIGHT: f64 = 240.0;
const TOP: f64 = 24.0;
const LEFT: f64 = 50.0;
const BAR: f64 = 14.0;
const GAP: f64 = 16.0;
const LINE: f64 = 15.0;

/// Colours that are told apart, one a series.
const COLOURS: [&str; 6] = [
    "#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#b07aa1",
];

/// A group of bars a column, a colour a row; the axis starts at 0.
pub(crate) fn svg(table: &FigureTable) -> String {
    let series = number(table.rows.len());
    let group = series * BAR + GAP;
    let width = (LEFT + number(table.columns.len()) * group + GAP).max(420.0);
    let values = table.rows.iter().flat_map(|row| row.values.iter().copied());
    let most = values.fold(f64::MIN_POSITIVE, f64::max);
    let foot = TOP + HEIGHT;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{:.0}\" font-family=\"sans-serif\" font-size=\"11\">\n",
        foot + LINE * (series + 2.5)
    );
    svg.push_str(&format!(
        "<text x=\"4\" y=\"14\">{}, {}</text>\n",
        table.title, table.unit
    ));
    for part in 0..=4_u32 {
        let share = f64::from(part) / 4.0;
        let y = foot - share * HEIGHT;
        svg.push_str(&format!(
            "<line x1=\"{LEFT}\" x2=\"{width:.0}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#dddddd\"/>\n<text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{:.0}</text>\n",
            LEFT - 4.0,
            y + 4.0,
            share * most
        ));
    }
    for (column, name) in table.columns.iter().enumerate() {
        let x = LEFT + number(column) * group + GAP / 2.0;
        for (row, (series, colour)) in table.rows.iter().zip(COLOURS.iter().cycle()).enumerate() {
            let value = series.values.get(column).copied().unwrap_or(0.0).max(0.0);
            let height = value / most * HEIGHT;
            svg.push_str(&format!(
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\" fill=\"{colour}\"><title>{}, {name}: {value:.1}</title></rect>\n",
                x + number(row) * BAR,
                foot - height,
                BAR - 1.0,
                series.name
            ));
        }
        svg.push_str(&format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{name}</text>\n",
            x + series * BAR / 2.0,
            foot + LINE
        ));
    }
    for (row, (series, colour)) in table.rows.iter().zip(COLOURS.iter().cycle()).enumerate() {
        let y = foot + LINE * (number(row) + 2.0);
        svg.push_str(&format!(
            "<rect x=\"{LEFT}\" y=\"{:.1}\" width=\"10\" height=\"10\" fill=\"{colour}\"/>\n<text x=\"{:.0}\" y=\"{y:.1}\">{}</text>\n",
            y - 9.0,
            LEFT + 16.0,
            series.name
        ));
    }
    svg.push_str("</svg>\n");
    svg
}

/// Of few things.
fn number(count: usize) -> f64 {
    u32::try_from(count).map_or(0.0, f64::from)
}
