//! What a run was like, in words.

use crate::RunResult;

/// A line a job and one for all: when submitted, begun and done, and how long that was.
#[must_use]
pub fn table(outcome: &RunResult) -> String {
    let mut text = String::from(
        "| job | submitted s | waited s | ran s | done at s |\n|---|---|---|---|---|\n",
    );
    for job in &outcome.jobs {
        let (waited, ran) = (job.begin_s - job.submit_s, job.end_s - job.begin_s);
        let failed = if job.failed { ", failed" } else { "" };
        text.push_str(&format!(
            "| {} | {:.2} | {waited:.2} | {ran:.2} | {:.2}{failed} |\n",
            job.name, job.submit_s, job.end_s
        ));
    }
    text.push_str(&format!(
        "\nall done after {:.2} s; {} decisions, trace {}\n",
        crate::run::in_seconds(outcome.end),
        outcome.decisions.len(),
        outcome.digest.get(..16).unwrap_or_default()
    ));
    text
}
