//! What a run was like: when disk and GPU were active.
//!
//! Source: SPMario, footnote 1: utilization = active time / total time.

use policy::schedule::Nanos;

use super::device::DeviceSpan;
use crate::run::in_seconds;

/// How long at least one of the spans went on, in seconds.
pub(super) fn active(spans: &[DeviceSpan]) -> f64 {
    let mut ordered: Vec<(Nanos, Nanos)> =
        spans.iter().map(|span| (span.begin, span.end)).collect();
    ordered.sort_unstable();
    let (mut sum, mut until) = (Nanos(0), Nanos(0));
    for (begin, end) in ordered {
        sum = sum.plus(end.since(begin.max(until)));
        until = until.max(end);
    }
    in_seconds(sum)
}

/// From the first one's begin to the last one's end, in seconds.
pub(super) fn extent(spans: &[DeviceSpan]) -> f64 {
    let begin = spans.iter().map(|span| span.begin).min();
    let end = spans.iter().map(|span| span.end).max();
    in_seconds(end.unwrap_or(Nanos(0)).since(begin.unwrap_or(Nanos(0))))
}

/// How long one took, in seconds; 0 of none.
pub(super) fn mean(spans: &[DeviceSpan]) -> f64 {
    let count = u32::try_from(spans.len()).map_or(f64::NAN, f64::from);
    let sum: f64 = spans
        .iter()
        .map(|span| in_seconds(span.end.since(span.begin)))
        .sum();
    if spans.is_empty() { 0.0 } else { sum / count }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_in_which_several_are_active_counts_once() {
        let span = |begin, end| DeviceSpan {
            job: 0,
            task: 0,
            begin: Nanos::from_secs(begin),
            end: Nanos::from_secs(end),
        };
        let spans = [span(6, 8), span(1, 4), span(2, 3), span(3, 5)];
        let found = [active(&spans), extent(&spans), mean(&spans)];
        assert_eq!(
            found.map(|seconds| format!("{seconds:.2}")),
            ["6.00", "7.00", "2.00"]
        );
        assert!(active(&[]) + mean(&[]) < 1e-9);
    }
}
