//! The few figures that README shows, out of those of the page.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};

use super::Figure;

/// What stands before and behind them in README.
const BEGIN: &str = "<!-- figures: made by `cargo run -p it --bin results-page` -->\n";
const END: &str = "<!-- end of figures -->";

/// A row: what was run, and where its numbers stand.
struct Row {
    what: &'static str,
    /// Name of the figure, first cell of the row of its table.
    figure: &'static str,
    row: &'static str,
    /// Columns of its table.
    ours: usize,
    peer: usize,
    peer_name: &'static str,
}

const ROWS: &[Row] = &[
    Row {
        what: "word count of 1 GB of text",
        figure: "mapreduce",
        row: "wordcount",
        ours: 1,
        peer: 4,
        peer_name: "Hadoop's MapReduce",
    },
    Row {
        what: "grep of 1 GB of text",
        figure: "mapreduce",
        row: "grep",
        ours: 1,
        peer: 4,
        peer_name: "Hadoop's MapReduce",
    },
    Row {
        what: "TeraSort of 1 GB",
        figure: "mapreduce",
        row: "terasort",
        ours: 1,
        peer: 4,
        peer_name: "Hadoop's MapReduce",
    },
    Row {
        what: "Pi by 4 MPI processes, YARN application included",
        figure: "figure-08",
        row: "Pi-MC",
        ours: 1,
        peer: 2,
        peer_name: "Hadoop's MapReduce",
    },
    Row {
        what: "the smallest MPI program, YARN application included",
        figure: "figure-04",
        row: "CPI",
        ours: 2,
        peer: 1,
        peer_name: "`mpiexec` without YARN",
    },
];

/// The table, and where and when it was measured.
///
/// # Errors
///
/// A figure, or a row of it, is not there.
pub fn text(figures: &[Figure]) -> Result<String> {
    let mut text = "| the same job on the same machine, medians | gerbil | beside it |\n\
                    |---|---:|---:|\n"
        .to_owned();
    let mut settings: Vec<String> = Vec::new();
    for row in ROWS {
        let figure = figures.iter().find(|figure| figure.name == row.figure);
        let figure = figure.with_context(|| format!("no figure {}", row.figure))?;
        let cells = figure.table.rows.iter();
        let cells = cells
            .filter(|cells| cells.first().is_some_and(|name| name == row.row))
            .collect::<Vec<_>>();
        let [cells] = cells[..] else {
            anyhow::bail!("{}: no row {}, or several", row.figure, row.row);
        };
        // Writing to a String cannot fail.
        let _infallible = writeln!(
            text,
            "| {} | {} s | {}: {} s |",
            row.what,
            median(cells, row.ours)?,
            row.peer_name,
            median(cells, row.peer)?
        );
        let setting = figure.setting.words();
        if !settings.contains(&setting) {
            settings.push(setting);
        }
    }
    let _infallible = writeln!(text, "\n<sub>{}</sub>", settings.join("<br>"));
    Ok(text)
}

/// Of a cell of the form `median (least–most)`.
fn median(cells: &[String], column: usize) -> Result<&str> {
    let cell = cells.get(column).context("no such column")?;
    Ok(cell.split_once(" (").map_or(cell, |(median, _)| median))
}

/// `readme` with this table in the place of the one it has.
///
/// # Errors
///
/// It has no place for it.
pub fn put(readme: &str, table: &str) -> Result<String> {
    let (before, rest) = readme
        .split_once(BEGIN)
        .context("README lacks its figures' begin")?;
    let (_, after) = rest
        .split_once(END)
        .context("README lacks its figures' end")?;
    Ok(format!("{before}{BEGIN}{table}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::readme::repository;
    use crate::results::{folder, page};

    #[test]
    fn readme_shows_the_figures_that_were_measured() {
        let readme = fs::read_to_string(repository().join("README.md")).unwrap();
        let table = text(&page::read(&folder()).unwrap()).unwrap();
        assert_eq!(readme, put(&readme, &table).unwrap());
    }

    #[test]
    fn a_row_that_is_not_there_is_no_table() {
        assert!(text(&[]).is_err());
        assert!(put("no place", "table").is_err());
    }
}
