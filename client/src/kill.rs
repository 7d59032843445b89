//! Ends an application and waits until it is gone.

use std::time::Duration;

use job::exit::Exit;
use proto_hadoop::yarn::ApplicationReport;
use proto_hadoop::{ApplicationClient, ApplicationId, CallError};
use tokio::time::{Instant, sleep};

use crate::failure::Failure;
use crate::preflight::unavailable;

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(100);
/// YARN kills within seconds; longer means that it cannot.
const DEADLINE: Duration = Duration::from_secs(60);

/// Kills `id` through the ResourceManager; returns its last report.
pub(crate) async fn kill(
    rm: &ApplicationClient,
    id: &ApplicationId,
    reason: &str,
) -> Result<ApplicationReport, Failure> {
    let deadline = Instant::now() + DEADLINE;
    let mut ordered = false;
    loop {
        let report = rm.report(id).await.map_err(|error| refused(id, &error))?;
        if report.state.is_final() {
            return Ok(report);
        }
        if Instant::now() > deadline {
            return Err(Failure::new(
                Exit::Unavailable,
                format!(
                    "{id} is still {:?} {} s after it was ordered to end; try again, or ask the \
                     administrator",
                    report.state,
                    DEADLINE.as_secs()
                ),
            ));
        }
        if !ordered {
            let _complete = rm
                .kill(id, Some(reason))
                .await
                .map_err(|error| refused(id, &error))?;
            ordered = true;
        }
        sleep(PAUSE).await;
    }
}

fn refused(id: &ApplicationId, error: &CallError) -> Failure {
    if error.is("ApplicationNotFoundException") {
        return Failure::new(
            Exit::Impossible,
            format!(
                "this cluster knows no {id}; gerbil-run prints the id of each job it starts, \
                     and yarn application -list shows those that run"
            ),
        );
    }
    unavailable(error)
}
