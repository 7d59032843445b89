//! The page of results: README.md beside the figures it shows.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::{Figure, Table};

const HEAD: &str = "# Results

Each figure is measured, drawn and written by the command that stands above it; `cargo run -p it --bin
results-page` makes this page of the JSON files beside it. *The paper* is GERBIL (Xu, Li, Butt, CCGrid
2015), measured on 18 nodes of 8 cores; what is measured here runs on one machine, so times of
computing are no match for the paper's, and ratios and shapes are what can be compared. *Load* is the
mean number of runnable processes when the measurement began and ended.
";

/// Of all figures in `folder`, in the order of their names.
///
/// # Errors
///
/// One of the files is no figure.
pub fn read(folder: &Path) -> Result<Vec<Figure>> {
    let mut figures: Vec<Figure> = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "json") {
            let text = fs::read_to_string(&path)?;
            let figure = serde_json::from_str(&text);
            figures.push(figure.with_context(|| path.display().to_string())?);
        }
    }
    figures.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(figures)
}

/// The text of the page.
#[must_use]
pub fn text(figures: &[Figure]) -> String {
    let mut text = HEAD.to_owned();
    for figure in figures {
        // Writing to a String cannot fail.
        let _infallible = write!(
            text,
            "\n## {}\n\n```sh\n{}\n```\n\n{}\n\n![{}]({}.svg)\n\n{}\n",
            figure.title,
            figure.command,
            figure.method,
            figure.title,
            figure.name,
            markdown(&figure.table)
        );
        for finding in &figure.findings {
            let _infallible = writeln!(text, "- {finding}");
        }
        if !figure.paper.is_empty() {
            let _infallible = writeln!(text, "- The paper: {}", figure.paper);
        }
        let _infallible = writeln!(text, "\n<sub>{}</sub>", figure.setting.words());
    }
    text
}

fn markdown(table: &Table) -> String {
    let row = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let line: Vec<String> = (0..table.columns.len())
        .map(|column| if column == 0 { "---" } else { "---:" }.to_owned())
        .collect();
    let mut text = row(&table.columns) + &row(&line);
    for cells in &table.rows {
        text.push_str(&row(cells));
    }
    text
}

/// Writes README.md into `folder`, and draws every figure's chart anew.
///
/// # Errors
///
/// As [`read`], or it cannot be written.
pub fn write(folder: &Path) -> Result<()> {
    let figures = read(folder)?;
    for figure in &figures {
        let chart = folder.join(format!("{}.svg", figure.name));
        fs::write(chart, figure.chart.svg(&figure.title))?;
    }
    fs::write(folder.join("README.md"), text(&figures))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is in the repository is what the commands would make of it.
    #[test]
    fn the_page_in_the_repository_is_that_of_its_figures() {
        let folder = super::super::folder();
        let page = fs::read_to_string(folder.join("README.md")).unwrap();
        assert_eq!(page, text(&read(&folder).unwrap()));
        for figure in read(&folder).unwrap() {
            let svg = fs::read_to_string(folder.join(format!("{}.svg", figure.name))).unwrap();
            assert_eq!(svg, figure.chart.svg(&figure.title), "{}", figure.name);
        }
    }
}
