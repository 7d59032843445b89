//! Checkpoints, in sentences.

/// That checkpoint `number` of a job that has failed is not removed; `application` is YARN's id of the job.
#[must_use]
pub fn checkpoint_stays(number: u32, application: &str) -> String {
    format!("checkpoint {number} stays: a job with --restore {application} goes on from it")
}
