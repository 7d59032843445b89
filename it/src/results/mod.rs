//! What the benchmarks found: kept as JSON, drawn as SVG, put together as one page.
//!
//! A benchmark makes a [`Figure`], prints it and saves it: `NAME.json` holds everything, `NAME.svg` is
//! drawn from it. [`page`] makes README.md of all the JSON files in a folder, so that a figure that is
//! measured again replaces itself and nothing else.

pub mod chart;
pub mod headline;
pub mod page;
pub mod ratio;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use crate::load;
pub use chart::{Axis, Chart, Series};
pub use ratio::Ratio;

/// One measurement and how it came about.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Figure {
    /// Of its files; figures stand on the page in the order of their names.
    pub name: String,
    /// A line.
    pub title: String,
    /// The command that measures it again.
    pub command: String,
    /// What was run and what was counted.
    pub method: String,
    /// What the paper says of the same thing; empty where it says nothing.
    pub paper: String,
    /// What came out, in sentences.
    pub findings: Vec<String>,
    /// Where and when.
    pub setting: Setting,
    /// The numbers.
    pub table: Table,
    /// The picture.
    pub chart: Chart,
}

/// Where and when something was measured.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Setting {
    /// Processor and cores, memory, kernel.
    pub machine: String,
    /// Release of the daemons; empty where none took part.
    pub hadoop: String,
    /// Of this project; with a `+` when files were changed since.
    pub commit: String,
    /// Release or debug build of `gerbil-run`.
    pub build: String,
    /// The day, UTC.
    pub date: String,
    /// Runnable processes, mean of a minute, before and after: whether the machine was this
    /// measurement's alone.
    pub load: (f64, f64),
}

/// Rows of text below headings.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Table {
    /// Headings of the columns, from the left.
    pub columns: Vec<String>,
    /// As many cells each as there are headings.
    pub rows: Vec<Vec<String>>,
}

impl Setting {
    /// Of this machine now; [`Setting::finish`] is due when everything is measured.
    ///
    /// # Errors
    ///
    /// `/proc` cannot be read.
    pub fn begin(hadoop: &str) -> Result<Self> {
        let processor = fs::read_to_string("/proc/cpuinfo")?;
        let processor = processor
            .lines()
            .find_map(|line| line.strip_prefix("model name"))
            .map_or("unknown processor", |name| {
                name.trim_start_matches([' ', '\t', ':'])
            });
        let memory = fs::read_to_string("/proc/meminfo")?;
        let kib: u64 = memory
            .lines()
            .find_map(|line| line.strip_prefix("MemTotal:"))
            .and_then(|line| line.split_whitespace().next())
            .and_then(|number| number.parse().ok())
            .context("/proc/meminfo")?;
        let cores = std::thread::available_parallelism()?.get();
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
        let before = load::average()?;
        let own = crate::gerbil::binary().unwrap_or_default();
        let is_debug = own.components().any(|part| part.as_os_str() == "debug");
        Ok(Self {
            machine: format!(
                "{cores} cores of {processor}, {:.0} GB of memory, Linux {}",
                load::megabytes(kib) / 1000.0,
                kernel.trim()
            ),
            hadoop: hadoop.to_owned(),
            commit: commit(),
            build: match is_debug {
                true => "debug",
                false => "release",
            }
            .to_owned(),
            date: said_by("date", &["-u", "+%F"]),
            load: (before, before),
        })
    }

    /// Notes how busy the machine is at the end.
    ///
    /// # Errors
    ///
    /// `/proc` cannot be read.
    pub fn finish(mut self) -> Result<Self> {
        self.load.1 = load::average()?;
        Ok(self)
    }

    /// In one line.
    #[must_use]
    pub fn words(&self) -> String {
        let mut words = self.machine.clone();
        if !self.hadoop.is_empty() {
            // Writing to a String cannot fail.
            let _infallible = write!(words, "; Hadoop {}", self.hadoop);
        }
        let _infallible = write!(
            words,
            "; gerbil {} ({} build), {}; load {:.1} to {:.1}",
            self.commit, self.build, self.date, self.load.0, self.load.1
        );
        words
    }
}

/// What a small command of the system says, or nothing.
fn said_by(program: &str, arguments: &[&str]) -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let said = Command::new(program)
        .args(arguments)
        .current_dir(here)
        .output();
    said.map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned())
        .unwrap_or_default()
}

fn commit() -> String {
    let commit = said_by("git", &["rev-parse", "--short", "HEAD"]);
    // What the figures themselves change does not count.
    let changed = said_by("git", &["status", "--porcelain", "--", "..", ":!results"]);
    match (commit.is_empty(), changed.is_empty()) {
        (true, _) => "of an unknown commit".to_owned(),
        (false, true) => commit,
        (false, false) => format!("{commit}+"),
    }
}

impl Table {
    /// An empty one.
    #[must_use]
    pub fn new(columns: &[&str]) -> Self {
        Self {
            columns: columns.iter().map(ToString::to_string).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// For a terminal: columns as wide as their widest cell, numbers to the right.
    #[must_use]
    pub fn text(&self) -> String {
        let all = || std::iter::once(&self.columns).chain(&self.rows);
        let width = |column: usize| {
            let cells = all().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let mut text = String::new();
        for row in all() {
            for (column, cell) in row.iter().enumerate() {
                let width = width(column);
                let _infallible = match column {
                    0 => write!(text, "{cell:width$}"),
                    _ => write!(text, "  {cell:>width$}"),
                };
            }
            text.push('\n');
        }
        text
    }
}

impl Figure {
    /// Prints it for a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!(
            "\n{}\n{}\n\n{}",
            self.title,
            self.setting.words(),
            self.table.text()
        );
        for finding in &self.findings {
            let _infallible = writeln!(text, "{finding}");
        }
        if !self.paper.is_empty() {
            let _infallible = writeln!(text, "The paper: {}", self.paper);
        }
        text
    }

    /// Writes `NAME.json` and `NAME.svg` into `folder`.
    ///
    /// # Errors
    ///
    /// The folder cannot be written.
    pub fn save(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder)?;
        let path = |ending| folder.join(format!("{}.{ending}", self.name));
        let json = serde_json::to_string_pretty(self)? + "\n";
        fs::write(path("json"), json).with_context(|| path("json").display().to_string())?;
        fs::write(path("svg"), self.chart.svg(&self.title))
            .with_context(|| path("svg").display().to_string())
    }
}

/// Where figures are kept unless told otherwise: `results` beside the crate's sources.
#[must_use]
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("results")
}

/// Median, least and greatest of at least one value.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Spread {
    /// The middle one, or between the two in the middle.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

impl Spread {
    /// Of `values`; `None` when there are none.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        let (&min, &max) = (values.first()?, values.last()?);
        let (low, high) = ((values.len() - 1) / 2, values.len() / 2);
        Some(Self {
            median: f64::midpoint(*values.get(low)?, *values.get(high)?),
            min,
            max,
        })
    }

    /// "0.95 (0.90–1.01)"
    #[must_use]
    pub fn words(self) -> String {
        format!("{:.2} ({:.2}–{:.2})", self.median, self.min, self.max)
    }

    /// "95 (90–101)"
    #[must_use]
    pub fn whole(self) -> String {
        format!("{:.0} ({:.0}–{:.0})", self.median, self.min, self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_aligned() {
        let mut table = Table::new(&["processes", "s"]);
        table.row(["8", "0.95"]);
        table.row(["10000", "1.0"]);
        assert_eq!(
            table.text(),
            "processes     s\n8          0.95\n10000       1.0\n"
        );
    }

    #[test]
    fn the_median_lies_in_the_middle() {
        let spread = Spread::of(&[3.0, 1.0, 2.0, 10.0]).unwrap();
        assert_eq!(spread.words(), "2.50 (1.00–10.00)");
        assert!(Spread::of(&[]).is_none());
    }
}
