//! What many runs have come to.

use std::time::Duration;

use super::{Case, TrialResult};
use crate::results::{Axis, Chart, Figure, Series, Setting, Table};

/// What all runs of one case have come to.
struct Sum<'a> {
    case: &'a Case,
    /// Its place among all cases, from 1.
    number: usize,
    runs: Vec<&'a TrialResult>,
}

impl<'a> Sum<'a> {
    fn all(cases: &'a [Case], outcomes: &'a [TrialResult]) -> Vec<Self> {
        let sums = cases.iter().enumerate().map(|(index, case)| Self {
            case,
            number: index + 1,
            runs: outcomes
                .iter()
                .filter(|run| run.name == case.name)
                .collect(),
        });
        sums.filter(|sum| !sum.runs.is_empty()).collect()
    }

    fn title(&self) -> String {
        format!("{}. {}", self.number, self.case.name)
    }

    fn row(&self) -> [String; 8] {
        let mut codes: Vec<i32> = self.runs.iter().map(|run| run.code).collect();
        codes.sort_unstable();
        codes.dedup();
        let codes: Vec<String> = codes.iter().map(ToString::to_string).collect();
        let right = self.runs.iter().filter(|run| run.is_right()).count();
        let left: usize = self.runs.iter().map(|run| run.leftovers.len()).sum();
        [
            self.title(),
            self.case.verdict.words().to_owned(),
            self.runs.len().to_string(),
            right.to_string(),
            codes.join(", "),
            span(self.times(|run| run.told)),
            span(self.times(|run| run.clean)),
            left.to_string(),
        ]
    }

    /// In order.
    fn times(&self, of: impl Fn(&TrialResult) -> Duration) -> Vec<Duration> {
        let mut times: Vec<Duration> = self.runs.iter().map(|run| of(run)).collect();
        times.sort_unstable();
        times
    }
}

/// One row a case, in the order of `cases`; those without a run are left out.
#[must_use]
pub fn table(cases: &[Case], outcomes: &[TrialResult]) -> Table {
    let mut table = Table::new(&[
        "what happens",
        "what the job does",
        "runs",
        "right",
        "exit codes",
        "told or up again after, s: median (most)",
        "nothing left after, s: median (most)",
        "left",
    ]);
    for sum in Sum::all(cases, outcomes) {
        table.row(sum.row());
    }
    table
}

/// The table with the story of how it came about; `command` makes it again.
#[must_use]
pub fn figure(
    cases: &[Case],
    outcomes: &[TrialResult],
    setting: Setting,
    command: String,
    findings: Vec<String>,
) -> Figure {
    let sums = Sum::all(cases, outcomes);
    let most = |name: &str, of: fn(&TrialResult) -> Duration| {
        let longest = |sum: &Sum<'_>| sum.times(of).last().copied().unwrap_or_default();
        let longest = sums.iter().map(|sum| longest(sum).as_secs_f64());
        // So many names are no trouble for a float.
        let places = (0_u32..).map(f64::from);
        Series::measured(name, places.zip(longest).collect())
    };
    let is_session = cases.iter().any(|case| case.session.is_some());
    let (name, title, of_sessions) = match is_session {
        false => ("chaos", "What happens to a job, and what is left", ""),
        true => (
            "chaos-session",
            "What happens to a job of a session, and what is left",
            " The job is the first of a session. Where that outlives it, it runs another one of four ranks \
             afterwards and is stopped, and *nothing left* is counted until then.",
        ),
    };
    let method = "Four ranks on two of three nodes. At a moment that a seed decides, within 3 s of the \
                 job's start or of when all ranks are up, one thing happens to the job or to its cluster. \
                 Each rank has left a process behind that has a session of its own and no parent. *Told* \
                 is when `gerbil-run` had ended with its verdict; for a job that starts again, when all \
                 its ranks ran again; both counted from the fault. *Nothing left*: no process, no file \
                 in the staging folder, no shared memory and no temporary file of the job; counted from \
                 the fault where that ends the job, else from when the job was let go to its end. In the \
                 end the ResourceManager counts no container. *Right*: the exit code, the cause that is \
                 named and YARN's record are those of the table of what is expected, in time. The \
                 cluster takes a NodeManager for dead after 10 s and an ApplicationMaster after 40 s; \
                 Hadoop's default is 10 minutes for both, and what is bound to it takes longer there.";
    Figure {
        name: name.to_owned(),
        title: title.to_owned(),
        command,
        method: format!("{method}{of_sessions}"),
        paper: String::new(),
        findings,
        setting,
        table: table(cases, outcomes),
        chart: Chart {
            x: Axis::linear("case"),
            y: Axis::linear("s, longest of all runs"),
            names: sums.iter().map(Sum::title).collect(),
            series: vec![
                most("told or up again", |run| run.told),
                most("nothing left", |run| run.clean),
            ],
            ..Chart::default()
        },
    }
}

/// Median and most of times in order, in seconds.
fn span(times: Vec<Duration>) -> String {
    let at = |index: usize| times.get(index).copied().unwrap_or_default().as_secs_f32();
    format!(
        "{:.1} ({:.1})",
        at(times.len() / 2),
        at(times.len().saturating_sub(1))
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chaos::CASES;

    #[test]
    fn the_longest_and_the_wrong_are_shown() {
        let run = |seconds, wrong: Option<&str>| TrialResult {
            name: CASES[0].name,
            seed: 1,
            struck: Duration::ZERO,
            told: Duration::from_secs(seconds),
            code: 137,
            sentence: String::new(),
            clean: Duration::from_secs(2 * seconds),
            leftovers: Vec::new(),
            wrong: wrong.map(str::to_owned),
        };
        let table = table(&CASES, &[run(1, None), run(3, Some("x")), run(2, None)]);
        assert_eq!(table.rows.len(), 1);
        assert_eq!(
            table.rows[0][2..],
            ["3", "2", "137", "2.0 (3.0)", "4.0 (6.0)", "0"]
        );
    }
}
