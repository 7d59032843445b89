//! What `--timing` prints at the end: the launch breakdown, the placement, and the ranks.

mod ranks;

use job::report::{Phases, Report};

use crate::explained;
use terminal::table::{Column, table};

/// Clocks that are closer, us, are as good as one.
const WORTH_A_WORD_US: i64 = 1_000_000;

/// The client's own stamps, microseconds since 1970.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stamps {
    /// The command began, us since 1970.
    pub started_us: i64,
    /// YARN took the application, us since 1970; 0: it did not.
    pub submitted_us: i64,
    /// The job was over, us since 1970.
    pub finished_us: i64,
    /// Bytes that had to be uploaded.
    pub uploaded_bytes: u64,
}

/// Microseconds since 1970.
pub fn now_us() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    })
}

/// All of it.
pub fn words(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    if !report.application.is_empty() {
        lines.push(format!("{} ended after", report.application));
    }
    let apart_us = apart(&report.phases);
    lines.extend(phases(report, apart_us));
    if apart_us.abs() >= WORTH_A_WORD_US {
        let order = match apart_us > 0 {
            true => "ahead of",
            false => "behind",
        };
        lines.push(format!(
            "this machine's clock is {:.0} s or more {order} the nodes': their phases are moved by as much, and what \
             AM start and finish took each is not known",
            seconds(apart_us.abs())
        ));
    }
    lines.push(format!(
        "allocate calls that asked: {} of {}; uploaded: {} bytes; AM memory: {:.1} MB resident",
        report.asking_allocates,
        report.allocates,
        report.uploaded_bytes,
        megabytes(report.appmaster_resident_kib),
    ));
    if let Some(placed) = &report.placement {
        lines.push(format!("placement by mode {}:", placed.mode));
        lines.extend(explained::placement_table(placed));
    }
    lines.extend(ranks::words(&report.ranks));
    lines
}

/// By how much this machine's clock is at least ahead of the nodes', us; negative: behind; 0 where what
/// the nodes say lies between the submission and the end, as this machine saw them.
fn apart(at: &Phases) -> i64 {
    let theirs = [
        at.registered_us,
        at.granted_us,
        at.joined_us,
        at.processes_started_us,
        at.ended_us,
    ];
    let reached = || theirs.into_iter().filter(|end| *end != 0);
    let (Some(first), Some(last)) = (reached().min(), reached().max()) else {
        return 0;
    };
    let too_early = at.submitted_us.saturating_sub(first);
    let too_late = at.finished_us.saturating_sub(last);
    match (too_early > 0, too_late < 0) {
        (true, _) => too_early,
        (false, true) => too_late,
        (false, false) => 0,
    }
}

/// Each phase, its length and its end, both in seconds, the latter from the command's start; the nodes'
/// stamps are `apart_us` behind this machine's.
fn phases(report: &Report, apart_us: i64) -> Vec<String> {
    let at = &report.phases;
    let here = |end: i64| match end {
        0 => 0,
        end => end.saturating_add(apart_us),
    };
    let ends = [
        ("staging and submit", at.submitted_us),
        ("AM start", here(at.registered_us)),
        ("allocation", here(at.granted_us)),
        ("containers ready", here(at.joined_us)),
        ("processes started", here(at.processes_started_us)),
        ("execution", here(at.ended_us)),
        ("finish", at.finished_us),
    ];
    let mut before = at.started_us;
    let reached = ends.into_iter().filter(|(_, end)| *end != 0);
    let rows = reached.map(|(name, end)| {
        let length = seconds(end - before);
        before = end;
        vec![
            name.to_owned(),
            format!("{length:.3}"),
            format!("{:.3}", seconds(end - at.started_us)),
        ]
    });
    let columns = [
        Column::Left("phase"),
        Column::Right("seconds"),
        Column::Right("until"),
    ];
    table(0, &columns, rows)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "for display; a job is shorter than 2^52 µs"
)]
fn seconds(microseconds: i64) -> f64 {
    microseconds as f64 / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "for display")]
fn megabytes(kib: u64) -> f64 {
    kib as f64 * 1024.0 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_wrong_is_named_and_moves_the_nodes_phases() {
        let day: i64 = 86_400_000_000;
        for (wrong, order) in [(400 * day, "ahead of"), (-400 * day, "behind")] {
            let report = Report {
                phases: Phases {
                    started_us: 500 * day + wrong,
                    submitted_us: 500 * day + wrong + 100_000,
                    registered_us: 500 * day + 600_000,
                    ended_us: 500 * day + 900_000,
                    finished_us: 500 * day + wrong + 1_000_000,
                    ..Phases::default()
                },
                ..Report::default()
            };
            let words = words(&report).join("\n");
            assert!(!words.contains(" -"), "{words}");
            let sentence = format!("this machine's clock is 34560000 s or more {order} the nodes'");
            assert!(words.contains(&sentence), "{words}");
        }
    }

    #[test]
    fn phases_that_were_never_reached_have_no_row() {
        let report = Report {
            phases: Phases {
                started_us: 1_000_000,
                submitted_us: 1_250_000,
                registered_us: 2_000_000,
                finished_us: 3_000_000,
                ..Phases::default()
            },
            allocates: 3,
            asking_allocates: 1,
            appmaster_resident_kib: 5000,
            ..Report::default()
        };
        assert_eq!(
            words(&report).join("\n"),
            "\
phase               seconds  until
staging and submit    0.250  0.250
AM start              0.750  1.000
finish                1.000  2.000
allocate calls that asked: 1 of 3; uploaded: 0 bytes; AM memory: 5.1 MB resident"
        );
    }
}
