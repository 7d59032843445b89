//! Where the time went: the launch breakdown of a job.

use std::fmt::Write;

use job::wire;

/// The client's own stamps, microseconds since 1970.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stamps {
    pub started_us: i64,
    pub submitted_us: i64,
    pub finished_us: i64,
    /// Bytes that had to be uploaded.
    pub uploaded_bytes: u64,
}

/// Microseconds since 1970.
pub(crate) fn now_us() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    })
}

/// A table: each phase, its length and its end, both in seconds, the latter from the command's start.
pub(crate) fn table(stamps: &Stamps, verdict: &wire::Verdict) -> String {
    let timing = verdict.timing.unwrap_or_default();
    let rows = [
        ("staging and submit", stamps.submitted_us),
        ("AM start", timing.registered_us),
        ("allocation", timing.granted_us),
        ("containers ready", timing.joined_us),
        ("processes started", timing.started_us),
        ("execution", timing.ended_us),
        ("finish", stamps.finished_us),
    ];
    let mut text = format!("{:<20} {:>9} {:>9}\n", "phase", "seconds", "until");
    let mut before = stamps.started_us;
    for (name, at) in rows {
        if at == 0 {
            continue;
        }
        let line = writeln!(
            text,
            "{name:<20} {:>9.3} {:>9.3}",
            seconds(at - before),
            seconds(at - stamps.started_us)
        );
        debug_assert!(line.is_ok(), "a string takes every line");
        before = at;
    }
    let memory = verdict.appmaster_memory.unwrap_or_default();
    text.push_str(&format!(
        "allocate calls that asked: {} of {}; uploaded: {} bytes; AM memory: {:.1} MB resident, \
         {:.0} MB virtual\n",
        verdict.asking_allocates,
        verdict.allocates,
        stamps.uploaded_bytes,
        megabytes(memory.resident_kib),
        megabytes(memory.virtual_kib),
    ));
    text
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
    fn phases_that_were_never_reached_have_no_row() {
        let stamps = Stamps {
            started_us: 1_000_000,
            submitted_us: 1_250_000,
            finished_us: 3_000_000,
            uploaded_bytes: 0,
        };
        let verdict = wire::Verdict {
            timing: Some(wire::Timing {
                registered_us: 2_000_000,
                ..wire::Timing::default()
            }),
            ..wire::Verdict::default()
        };
        let table = table(&stamps, &verdict);
        assert!(
            table.contains("staging and submit       0.250     0.250"),
            "{table}"
        );
        assert!(
            table.contains("AM start                 0.750     1.000"),
            "{table}"
        );
        assert!(
            table.contains("finish                   1.000     2.000"),
            "{table}"
        );
        assert!(!table.contains("allocation  "), "{table}");
    }
}
