//! The ApplicationMaster of a job that is watched is gone: YARN starts the next one, which takes no job, puts in order
//! what the one before has left, and ends the application. What became of the job stands in its history then.

use std::time::Duration;

use proto_hadoop::{ApplicationClient, ApplicationId};
use terminal::say;
use tokio::time::{Instant, sleep};

use super::Held;

/// For a NodeManager to tell YARN that the ApplicationMaster is gone, and for YARN to start the next.
const TOLD: Duration = Duration::from_secs(20);
/// For the next one to be done: it gives itself twenty minutes.
const DONE: Duration = Duration::from_secs(1800);
/// Between two looks.
const LOOK: Duration = Duration::from_secs(1);

/// What is behind a connection that broke.
pub(super) enum Behind {
    /// The application is over.
    Over,
    /// The ApplicationMaster lives, and has the job.
    Lives,
    /// Neither is known in time.
    Unknown,
}

/// What is behind the broken connection to the ApplicationMaster of job `number`.
pub(super) async fn behind(rm: &ApplicationClient, held: &Held, number: u32) -> Behind {
    let until = Instant::now() + TOLD;
    loop {
        if is_over(rm, held.kept.owned.application).await {
            return Behind::Over;
        }
        let status = async {
            let mut reached = held.reached().await.ok()?;
            reached.status(&held.kept).await.ok()
        };
        if let Some(status) = status.await
            && status.jobs.iter().any(|of| of.job == number)
        {
            return Behind::Lives;
        }
        if Instant::now() > until {
            return Behind::Unknown;
        }
        sleep(LOOK).await;
    }
}

/// Whether an application is over, at once or once its next ApplicationMaster is done. One that has its first is not.
pub(super) async fn is_over(rm: &ApplicationClient, id: ApplicationId) -> bool {
    let until = Instant::now() + DONE;
    let mut is_said = false;
    loop {
        let Ok(report) = rm.report(&id).await else {
            return false;
        };
        if report.state.is_final() {
            return true;
        }
        let attempt = report.current_attempt.map_or(1, |of| of.attempt);
        if attempt < 2 || Instant::now() > until {
            return false;
        }
        if !std::mem::replace(&mut is_said, true) {
            say(format!(
                "the ApplicationMaster of {id} was lost; the next one finishes what was being committed, and puts the \
                 rest in order"
            ));
        }
        sleep(LOOK).await;
    }
}
