//! A piece of the suite, run with one launcher through the suite's own `runtests`.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

use super::Suite;
use super::lists::{ListedTest, SuitePiece};
use crate::command::Run;

/// One go of `runtests`: some dozen tests of some seconds each, any of which may run into its limit of
/// three to ten minutes.
const DEADLINE: Duration = Duration::from_secs(3 * 3600);

/// What stands in the place of `mpiexec`.
#[derive(Debug, Clone)]
pub struct Mpiexec {
    /// Its name in the report.
    pub name: String,
    /// Command and options, for a shell that stands in the folder of the test.
    pub line: String,
    /// Set while it runs.
    pub environment: Vec<(String, OsString)>,
}

/// What `runtests` found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestVerdict {
    /// It passed.
    Passed,
    /// It failed; what it said.
    Failed {
        /// Its output.
        output: String,
    },
    /// `runtests` did not run it.
    Skipped {
        /// Why not, as `runtests` says it.
        reason: String,
    },
}

/// One test with one launcher.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestResult {
    /// What became of it.
    pub verdict: TestVerdict,
    /// How long it took, seconds.
    pub seconds: f64,
}

impl TestResult {
    /// Whether it passed.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.verdict == TestVerdict::Passed
    }
}

/// Runs `piece`; the outcomes in the order of its tests.
///
/// # Errors
///
/// `runtests` did not run to its end, or left one out.
pub fn piece(suite: &Suite, piece: &SuitePiece, launcher: &Mpiexec) -> Result<Vec<TestResult>> {
    let list = format!("testlist.piece-{}", piece.number);
    runtests(suite, &piece.directory, &list, &piece.tests, launcher)
}

/// Runs one test by itself.
///
/// # Errors
///
/// As [`piece`].
pub fn alone(suite: &Suite, test: &ListedTest, launcher: &Mpiexec) -> Result<TestResult> {
    let tests = std::slice::from_ref(test);
    let outcomes = runtests(suite, &test.directory, "testlist.alone", tests, launcher)?;
    let only = outcomes.into_iter().next();
    only.with_context(|| format!("runtests says nothing of {}", test.name))
}

/// Writes the lines of `tests` into a list of that name, and has `runtests` run it.
fn runtests(
    suite: &Suite,
    directory: &str,
    list: &str,
    tests: &[ListedTest],
    launcher: &Mpiexec,
) -> Result<Vec<TestResult>> {
    let path = suite.built().join(directory).join(list);
    let lines: Vec<_> = tests.iter().map(|test| test.line.as_str()).collect();
    fs::write(&path, lines.join("\n") + "\n").with_context(|| path.display().to_string())?;
    let folder = tempfile::tempdir()?;
    let junit: PathBuf = folder.path().join("junit.xml");
    let mut command = Command::new(suite.built().join("runtests"));
    command
        .arg(format!("-srcdir={}", suite.source().display()))
        .arg(format!("-tests={list}"))
        .arg(format!("-testdirs={directory}"))
        .arg(format!("-mpiexec={}", launcher.line))
        .arg(format!("-junitfile={}", junit.display()))
        .current_dir(suite.built())
        // The other launcher runs the same executables.
        .env("MPITEST_CLEANUP", "0");
    for (name, value) in &launcher.environment {
        command.env(name, value);
    }
    let what = format!("runtests of {list} in {directory} with {}", launcher.name);
    let finished = Run::new(command).deadline(DEADLINE).finish()?;
    let said = finished.stderr_text();
    if !finished.status.success() || said.contains("Terminating test because") {
        let lines: Vec<_> = said.lines().collect();
        let end = lines[lines.len().saturating_sub(5)..].join("\n");
        bail!("{what}: {}: {end}", finished.status);
    }
    let outcomes = read(&junit).with_context(|| what.clone())?;
    let is_of = |test: &ListedTest, name: &str| {
        test.name == name
            || test
                .name
                .rsplit_once(" #")
                .is_some_and(|(plain, _)| plain == name)
    };
    let in_order = tests.len() == outcomes.len()
        && tests
            .iter()
            .zip(&outcomes)
            .all(|(test, (name, _))| is_of(test, name));
    if !in_order {
        let names: Vec<_> = outcomes.iter().map(|(name, _)| name.as_str()).collect();
        bail!("{what}: not the tests of the list, but {names:?}");
    }
    fs::remove_file(&path).with_context(|| path.display().to_string())?;
    Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
}

/// The outcomes in a JUnit file of `runtests`. Its writer escapes nothing, so it is read for what it
/// is: lines.
fn read(path: &Path) -> Result<Vec<(String, TestResult)>> {
    let text = fs::read(path).with_context(|| path.display().to_string())?;
    Ok(outcomes(&String::from_utf8_lossy(&text)))
}

fn outcomes(text: &str) -> Vec<(String, TestResult)> {
    const CASE: &str = "    <testcase name=\"";
    const OUTPUT: &str = "## ";
    let mut outcomes = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(case) = line.strip_prefix(CASE) else {
            continue;
        };
        // NAME" time="1.5">, or NAME"> of one that was skipped.
        let end = case
            .rfind("\" time=\"")
            .or_else(|| case.rfind("\">"))
            .unwrap_or(case.len());
        let (name, rest) = case.split_at(end);
        let seconds = rest
            .trim_start_matches("\" time=\"")
            .split('"')
            .next()
            .and_then(|seconds| seconds.parse().ok())
            .unwrap_or(0.0);
        let name = plain(name);
        let verdict = if line.ends_with("</testcase>") {
            TestVerdict::Passed
        } else {
            let inner: Vec<_> = lines
                .by_ref()
                .take_while(|line| *line != "    </testcase>")
                .collect();
            if inner
                .iter()
                .any(|line| line.contains("type=\"TodoTestSkipped\""))
            {
                let reason = inner.iter().find_map(|line| line.split_once("# SKIP "));
                let reason = reason.map_or("", |(_, reason)| reason);
                TestVerdict::Skipped {
                    reason: reason.trim_end_matches("]]></skipped>").to_owned(),
                }
            } else {
                let output = inner.iter().filter_map(|line| line.strip_prefix(OUTPUT));
                // The first of these lines says that output follows.
                let output: Vec<_> = output.skip(1).collect();
                TestVerdict::Failed {
                    output: output.join("\n"),
                }
            }
        };
        outcomes.push((name, TestResult { verdict, seconds }));
    }
    outcomes
}

/// ` - ./coll/allred 4 -count=10 ` as `coll/allred 4 -count=10`.
fn plain(name: &str) -> String {
    let name = name.trim_start().trim_start_matches("- ");
    let words: Vec<_> = name.split_whitespace().collect();
    let name = words.join(" ");
    name.strip_prefix("./").map_or(name.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `runtests` of MPICH 4.0.2 writes them.
    const JUNIT: &str = r####"<testsuites>
  <testsuite failures="1"
             name="summary_junit_xml">
    <testcase name=" - ./coll/allred 4 -count=10 " time="0.17"></testcase>
    <testcase name=" - ./coll/allred 4 -count=10 " time="0.19"></testcase>
    <testcase name=" - ./group/gtranks 8  " time="1.46">
      <failure type="TestFailed"
               message="not ok  - ./group/gtranks 8"><![CDATA[not ok  - ./group/gtranks 8
  ---
  Directory: ./group
  ...
## Test output (expected 'No Errors'):
## a warning
##  No Errors
    ]]></failure>
    </testcase>
    <testcase name=" - ./io/bigtype 1  ">
      <skipped type="TodoTestSkipped">
             message="xfail due to memory requirement"><![CDATA[ok  - ./io/bigtype 1  # SKIP xfail due to memory requirement]]></skipped>
    </testcase>
    <testcase name=" - ./pt2pt/scancel 2  " time="30.5">
      <skipped type="TestFailed"
               message="not ok  - ./pt2pt/scancel 2 # TODO ticket2266"><![CDATA[not ok
## Test output (expected 'No Errors'):
    ]]></skipped>
    </testcase>
  </testsuite>
"####;

    #[test]
    fn what_runtests_writes_is_understood() {
        let outcomes = outcomes(JUNIT);
        let names: Vec<_> = outcomes.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "coll/allred 4 -count=10",
                "coll/allred 4 -count=10",
                "group/gtranks 8",
                "io/bigtype 1",
                "pt2pt/scancel 2"
            ]
        );
        assert!((outcomes[1].1.seconds - 0.19).abs() < 1e-9);
        let failed = |output: &str| TestVerdict::Failed {
            output: output.to_owned(),
        };
        let skipped = TestVerdict::Skipped {
            reason: "xfail due to memory requirement".into(),
        };
        let verdicts: Vec<_> = outcomes
            .into_iter()
            .map(|(_, outcome)| outcome.verdict)
            .collect();
        assert_eq!(
            verdicts,
            [
                TestVerdict::Passed,
                TestVerdict::Passed,
                failed("a warning\n No Errors"),
                skipped,
                failed("")
            ]
        );
    }
}
