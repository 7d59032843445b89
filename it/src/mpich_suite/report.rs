//! What the comparison found, for people and for programs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::compare::{Compared, Comparison};
use super::run::TestVerdict;

/// Lines of a test's output that the page shows.
const SHOWN: usize = 12;

/// Where and how it was run.
#[derive(Debug, Clone, Serialize)]
pub struct Setting {
    /// The command, as typed.
    pub command: String,
    /// When it began, UTC.
    pub date: String,
    /// The machine's cores.
    pub cores: usize,
    /// MPICH's release.
    pub mpich: String,
    /// The device that it is built for.
    pub device: String,
    /// What our launcher ran on: a Hadoop release, or `--local`.
    pub cluster: String,
    /// Nodes of both.
    pub nodes: usize,
    /// Pieces of the suite side by side.
    pub side_by_side: usize,
    /// From the first test to the last, seconds.
    pub seconds: f64,
    /// Tests whose outcomes are those of a run before, which was ended.
    pub before: usize,
    /// The line that stood for the library's own launcher.
    pub stock: String,
    /// The line that stood for ours.
    pub ours: String,
}

/// All of it, as JSON has it.
#[derive(Debug, Clone, Serialize)]
pub struct SuiteReport {
    /// Where and how.
    pub setting: Setting,
    /// Test by test.
    #[serde(flatten)]
    pub comparison: Comparison,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    run: usize,
    skipped: usize,
    both: usize,
    neither: usize,
    stock_alone: usize,
    ours_alone: usize,
    lost: usize,
    stock_seconds: f64,
    ours_seconds: f64,
}

impl Counts {
    fn add(&mut self, test: &Compared) {
        if matches!(test.stock.verdict, TestVerdict::Skipped { .. }) {
            self.skipped += 1;
            return;
        }
        self.run += 1;
        match (test.stock.passed(), test.ours.passed()) {
            (true, true) => self.both += 1,
            (false, false) => self.neither += 1,
            (true, false) => self.stock_alone += 1,
            (false, true) => self.ours_alone += 1,
        }
        self.lost += usize::from(test.lost());
        self.stock_seconds += test.stock.seconds;
        self.ours_seconds += test.ours.seconds;
    }

    fn row(&self, name: &str) -> String {
        format!(
            "| {name} | {} | {} | {} | {} | {} | {} | {:.0} | {:.0} |\n",
            self.run,
            self.both + self.stock_alone,
            self.both + self.ours_alone,
            self.both + self.neither,
            self.neither,
            self.lost,
            self.stock_seconds,
            self.ours_seconds,
        )
    }
}

impl SuiteReport {
    /// The page.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut page = String::new();
        let setting = &self.setting;
        let mut all = Counts::default();
        let mut folders: BTreeMap<&str, Counts> = BTreeMap::new();
        for test in &self.comparison.tests {
            let top = test.directory.split('/').next().unwrap_or("");
            folders.entry(top).or_default().add(test);
            all.add(test);
        }
        let _infallible = write!(
            page,
            "# MPICH's own test suite\n\n\
             MPICH {} ({}), built from source; {}, {} nodes; {} cores; {}; {:.0} min with {} \
             pieces of the suite side by side.\n\n```sh\n{}\n```\n\n\
             `mpiexec` was `{}`, and `{}`.\n\n\
             {} tests run: {} pass with mpiexec, {} with gerbil-run, {} the same with both. \
             **{} that pass with mpiexec do not with gerbil-run.**",
            setting.mpich,
            setting.device,
            setting.cluster,
            setting.nodes,
            setting.cores,
            setting.date,
            setting.seconds / 60.0,
            setting.side_by_side,
            setting.command,
            setting.stock,
            setting.ours,
            all.run,
            all.both + all.stock_alone,
            all.both + all.ours_alone,
            all.both + all.neither,
            all.lost,
        );
        if setting.before > 0 {
            let _infallible = write!(
                page,
                " {} of the tests had been run before, by a run that was ended.",
                setting.before
            );
        }
        if all.skipped > 0 {
            let _infallible = write!(page, " The suite itself left out {}.", all.skipped);
        }
        page.push_str(
            "\n\n| folder | run | pass with mpiexec | pass with gerbil-run | the same | fail with \
             both | lost | mpiexec, s | gerbil-run, s |\n|---|---|---|---|---|---|---|---|---|\n",
        );
        for (folder, counts) in &folders {
            page.push_str(&counts.row(folder));
        }
        page.push_str(&all.row("all"));

        let differing: Vec<_> = self.of(Compared::differs);
        if !differing.is_empty() {
            page.push_str("\n## Not the same\n");
            for test in differing {
                page.push_str(&difference(test));
            }
        }
        let failing = self.of(|test| {
            !test.stock.passed()
                && !test.ours.passed()
                && !matches!(test.stock.verdict, TestVerdict::Skipped { .. })
        });
        if !failing.is_empty() {
            page.push_str(
                "\n## Fail with both\n\nThe library's own doing. What is said is said under \
                 mpiexec.\n\n| test | expected by the suite | said |\n|---|---|---|\n",
            );
            for test in failing {
                let why = test.expected_failure.as_deref().unwrap_or("");
                let _infallible = writeln!(
                    page,
                    "| `{}` | {why} | {} |",
                    test.name,
                    cell(&test.stock.verdict)
                );
            }
        }
        page
    }

    fn of(&self, wanted: impl Fn(&Compared) -> bool) -> Vec<&Compared> {
        let tests = self.comparison.tests.iter();
        tests.filter(|test| wanted(test)).collect()
    }
}

fn difference(test: &Compared) -> String {
    let passed = |passed| if passed { "passed" } else { "failed" };
    let mut text = format!(
        "\n`{}`: {} with mpiexec ({:.1} s), {} with gerbil-run ({:.1} s)",
        test.name,
        passed(test.stock.passed()),
        test.stock.seconds,
        passed(test.ours.passed()),
        test.ours.seconds
    );
    if let Some(tries) = test.again {
        let _infallible = write!(
            text,
            "; again, by itself: {} of {of} with mpiexec, {} of {of} with gerbil-run",
            tries.stock,
            tries.ours,
            of = tries.of
        );
    }
    text.push_str(".\n");
    for outcome in [&test.stock, &test.ours] {
        if let TestVerdict::Failed { output } = &outcome.verdict {
            let lines: Vec<_> = output.lines().take(SHOWN).collect();
            let _infallible = write!(text, "\n```text\n{}\n```\n", lines.join("\n"));
        }
    }
    text
}

/// The first line of the output that says something, fit for a table.
fn cell(verdict: &TestVerdict) -> String {
    let TestVerdict::Failed { output } = verdict else {
        return String::new();
    };
    let says = |line: &&str| !line.trim().is_empty() && !line.contains("No Errors");
    let line = output.lines().find(says).unwrap_or("").trim();
    let short: String = line.chars().take(120).collect();
    short.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpich_suite::compare::Tries;
    use crate::mpich_suite::run::TestResult;

    fn outcome(output: Option<&str>) -> TestResult {
        let verdict = output.map_or(TestVerdict::Passed, |output| TestVerdict::Failed {
            output: output.to_owned(),
        });
        TestResult {
            verdict,
            seconds: 2.0,
        }
    }

    #[test]
    fn the_page_counts_each_folder_and_shows_what_differs() {
        let test = |name: &str, stock, ours, again| Compared {
            name: name.to_owned(),
            directory: "errors/coll".into(),
            expected_failure: None,
            stock: outcome(stock),
            ours: outcome(ours),
            again,
        };
        let tries = Tries {
            stock: 3,
            ours: 0,
            of: 3,
        };
        let report = SuiteReport {
            setting: Setting {
                command: "mpich-suite".into(),
                date: "2026-01-01 10:00".into(),
                cores: 2,
                mpich: "4.0.2".into(),
                device: "ch3:sock".into(),
                cluster: "Hadoop 3.4.2".into(),
                nodes: 4,
                side_by_side: 2,
                seconds: 90.0,
                before: 0,
                stock: "mpiexec".into(),
                ours: "gerbil-run".into(),
            },
            comparison: Comparison {
                tests: vec![
                    test("errors/coll/one 2", None, None, None),
                    test("errors/coll/two 2", None, Some("torn\nline"), Some(tries)),
                    test("errors/coll/three 2", Some("a | b"), Some("a | b"), None),
                ],
            },
        };
        let page = report.markdown();
        assert!(
            page.contains("| errors | 3 | 2 | 1 | 2 | 1 | 1 | 6 | 6 |"),
            "{page}"
        );
        assert!(
            page.contains("3 of 3 with mpiexec, 0 of 3 with gerbil-run"),
            "{page}"
        );
        assert!(page.contains("torn\nline"), "{page}");
        assert!(
            page.contains("| `errors/coll/three 2` |  | a \\| b |"),
            "{page}"
        );
    }
}
