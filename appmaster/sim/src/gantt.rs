//! When which attempt ran on which slot, as a picture.

use ::gantt::Axis;

use crate::RunResult;

/// One row a slot, a colour a job, from the beginning to the end.
#[must_use]
pub fn svg(outcome: &RunResult) -> String {
    let jobs = outcome.jobs.iter().map(|job| job.name.as_str());
    let axis = Axis {
        from_s: 0.0,
        to_s: crate::run::in_seconds(outcome.end),
    };
    ::gantt::svg(
        "Which job had which slot, and when",
        &outcome.bars,
        jobs,
        axis,
    )
}
