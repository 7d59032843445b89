//! Ends an application and waits until it is gone.

use std::time::Duration;

use proto_hadoop::yarn::{ApplicationReport, FinalApplicationStatus};
use proto_hadoop::{ApplicationClient, ApplicationId, CallError};
use tokio::time::{Instant, sleep};

use crate::error::FollowError;

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(100);
/// Between two tries of a ResourceManager that does not answer.
const AWAY_PAUSE: Duration = Duration::from_secs(1);
/// YARN kills within seconds; longer means that it cannot.
const DEADLINE: Duration = Duration::from_secs(60);

/// Kills `id` through the ResourceManager; returns its last report.
pub async fn kill(
    rm: &ApplicationClient,
    id: &ApplicationId,
    reason: &str,
) -> Result<ApplicationReport, FollowError> {
    let deadline = Instant::now() + DEADLINE;
    // The answer to the order: why it may not have come, until it is taken for good.
    let mut untaken = None;
    let mut taken = false;
    loop {
        let report = rm.report(id).await;
        // It takes half a minute where nobody answers.
        let late = Instant::now() > deadline;
        let report = match report {
            Ok(report) => report,
            // One that is away for a moment must not leave the job running.
            Err(error) if !late && !error.is_final() => {
                sleep(AWAY_PAUSE).await;
                continue;
            }
            Err(error) => return Err(refused(id, error)),
        };
        if report.state.is_final() {
            return Ok(report);
        }
        if late {
            return Err(match untaken {
                Some(error) if !taken => refused(id, error),
                _ => FollowError::NotKilled {
                    id: *id,
                    state: report.state,
                    seconds: DEADLINE.as_secs(),
                },
            });
        }
        if !taken {
            match rm.kill(id, Some(reason)).await {
                // False until the ResourceManager has taken the order for good.
                Ok(complete) => (taken, untaken) = (complete, None),
                Err(error) if error.is_final() => return Err(refused(id, error)),
                Err(passing) => untaken = Some(passing),
            }
        }
        sleep(PAUSE).await;
    }
}

/// How an application has ended that was ordered to; `None`: the ResourceManager has forgotten it already, as one does soon
/// that keeps few (`yarn.resourcemanager.max-completed-applications`).
///
/// # Errors
/// It could not be killed.
pub(crate) fn ended(
    killed: Result<ApplicationReport, FollowError>,
) -> Result<Option<FinalApplicationStatus>, FollowError> {
    match killed {
        Ok(report) => Ok(Some(report.final_status)),
        Err(FollowError::Unknown { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn refused(id: &ApplicationId, error: CallError) -> FollowError {
    match error {
        unknown if unknown.is("ApplicationNotFoundException") => FollowError::Unknown { id: *id },
        refusal if refusal.is_final() => FollowError::KillRefused {
            id: *id,
            why: refusal.into(),
        },
        silence => silence.into(),
    }
}

#[cfg(test)]
mod tests {
    use job::exit::Exit;

    use super::*;

    #[test]
    fn who_may_not_kill_an_application_is_refused() {
        let id = "application_1700000000000_0042".parse().unwrap();
        let answer = |class: &str, message: &str| CallError::Remote {
            method: "forceKillApplication",
            address: "rm:8032".into(),
            class: format!("org.apache.hadoop.yarn.exceptions.{class}"),
            message: message.to_owned(),
            stack: String::new(),
        };
        let words =
            "User eve cannot perform operation MODIFY_APP on application_1700000000000_0042";
        let not_hers = refused(&id, answer("YarnException", words));
        assert_eq!(not_hers.exit(), Exit::Impossible);
        let said = not_hers.to_string();
        assert!(
            said.contains("_0042 is not killed") && said.contains(words),
            "{said}"
        );
        let unknown = refused(&id, answer("ApplicationNotFoundException", "no"));
        assert!(matches!(unknown, FollowError::Unknown { .. }));
    }

    #[test]
    fn what_was_killed_and_is_forgotten_has_ended() {
        let id = "application_1700000000000_0042".parse().unwrap();
        assert!(matches!(ended(Err(FollowError::Unknown { id })), Ok(None)));
        let away = FollowError::NotKilled {
            id,
            state: proto_hadoop::yarn::YarnApplicationState::Running,
            seconds: 60,
        };
        assert!(ended(Err(away)).is_err());
    }
}
