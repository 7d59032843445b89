//! What `--timing` prints at the end: the launch breakdown, the placement, and the ranks.

mod ranks;

use job::report::Report;

use crate::explained;
use crate::table::{Column, table};

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
    lines.extend(phases(report));
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

/// Each phase, its length and its end, both in seconds, the latter from the command's start.
fn phases(report: &Report) -> Vec<String> {
    let at = &report.phases;
    let ends = [
        ("staging and submit", at.submitted_us),
        ("AM start", at.registered_us),
        ("allocation", at.granted_us),
        ("containers ready", at.joined_us),
        ("processes started", at.processes_started_us),
        ("execution", at.ended_us),
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
    use job::report::Phases;

    use super::*;

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
