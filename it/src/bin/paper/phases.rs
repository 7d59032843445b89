//! Where the time of a job goes: the paper's phases, as a job's report tells them.

use it::results::{Series, Spread, Table};
use job::report::{Phases, Report};

/// From one stamp of a job's report to another.
type PhaseSpan = (&'static str, fn(&Phases) -> (i64, i64));

/// The paper's names; what comes first is the client's part, which the paper does not show.
const PHASES: [PhaseSpan; 6] = [
    ("staging and submit", |at| (at.started_us, at.submitted_us)),
    ("AM start", |at| (at.submitted_us, at.registered_us)),
    ("container allocation", |at| {
        (at.registered_us, at.granted_us)
    }),
    ("container ready", |at| {
        (at.granted_us, at.processes_started_us)
    }),
    ("MPI execution", |at| (at.processes_started_us, at.ended_us)),
    ("finishing up", |at| (at.ended_us, at.finished_us)),
];
/// Places in the list.
pub(crate) const AM_START: usize = 1;
pub(crate) const ALLOCATION: usize = 2;
pub(crate) const EXECUTION: usize = 4;

/// Seconds of each phase of a job, in the order of the list.
pub(crate) fn of(report: &Report) -> Vec<f64> {
    let spans = PHASES.iter().map(|(_, span)| span(&report.phases));
    spans.map(|(from, to)| (to - from) as f64 / 1e6).collect()
}

/// The median of each phase over several jobs.
pub(crate) fn medians(jobs: &[Vec<f64>]) -> Vec<f64> {
    let median = |place: usize| {
        let values = jobs.iter().filter_map(|job| job.get(place)).copied();
        let values: Vec<f64> = values.collect();
        Spread::of(&values).map_or(0.0, |spread| spread.median)
    };
    (0..PHASES.len()).map(median).collect()
}

/// A row for each phase, a column for each program.
pub(crate) fn table(programs: &[(String, &[f64])]) -> Table {
    let mut table = Table::new(&["phase, s"]);
    table
        .columns
        .extend(programs.iter().map(|(name, _)| name.clone()));
    for (place, (phase, _)) in PHASES.iter().enumerate() {
        let cells = programs
            .iter()
            .map(|(_, phases)| format!("{:.2}", phases[place]));
        table.row(std::iter::once((*phase).to_owned()).chain(cells));
    }
    table
}

/// A colour for each phase, a bar for each program.
pub(crate) fn series(programs: &[(String, &[f64])]) -> Vec<Series> {
    let phases = PHASES.iter().enumerate();
    phases
        .map(|(place, (phase, _))| {
            let bars = programs.iter().enumerate();
            let points = bars.map(|(bar, (_, phases))| (bar as f64, phases[place]));
            Series::measured(phase, points.collect())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_follow_each_other_from_the_command_to_its_end() {
        let report = Report {
            phases: Phases {
                started_us: 1_000_000,
                submitted_us: 1_500_000,
                appmaster_started_us: 1_700_000,
                registered_us: 2_000_000,
                asked_us: 2_000_001,
                granted_us: 3_000_000,
                joined_us: 3_100_000,
                processes_started_us: 3_250_000,
                ended_us: 9_250_000,
                finished_us: 9_500_000,
            },
            ..Report::default()
        };
        let phases = of(&report);
        assert_eq!(phases, [0.5, 0.5, 1.0, 0.25, 6.0, 0.25]);
        assert!((phases.iter().sum::<f64>() - 8.5).abs() < 1e-9);
        let twice: Vec<f64> = phases.iter().map(|seconds| seconds * 3.0).collect();
        let median = medians(&[phases, twice]);
        assert!((median[EXECUTION] - 12.0).abs() < 1e-9);
        assert_eq!(
            table(&[("heat".to_owned(), &median)]).rows[ALLOCATION][1],
            "2.00"
        );
    }
}
