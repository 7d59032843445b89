//! A session that has just been submitted, until it is ready for jobs.

use std::time::Duration;

use follow::progress::Progress;
use follow::timeout::WaitTimeout;
use job::exit::Exit;
use proto_hadoop::ApplicationClient;
use terminal::signals::Signals;
use tokio::time::sleep;

use crate::error::SessionError;
use crate::reach::{Reached, SessionAddress, place};
use crate::record::SessionRecord;
use crate::status::Status;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);

/// What came of waiting.
#[derive(Debug)]
pub enum Readiness {
    /// It has all its containers.
    Ready(Box<Status>),
    /// YARN says that its application has ended.
    Over {
        /// In YARN's words.
        why: String,
        /// What the command returns.
        exit: Exit,
    },
    /// The user has asked for the end.
    Interrupted(u8),
    /// It was not ready in time; what was last waited for.
    Late(String),
}

/// Until the session's launchers have joined, on `containers` nodes.
///
/// # Errors
///
/// The ResourceManager does not answer.
pub async fn ready(
    rm: &ApplicationClient,
    kept: &SessionRecord,
    containers: u32,
    progress: &mut Progress,
    signals: &mut Signals,
    wait_timeout: WaitTimeout,
) -> Result<Readiness, SessionError> {
    let mut waits = String::new();
    let mut reached = None;
    loop {
        let looked = tokio::select! {
            looked = look(rm, kept, &mut reached) => looked?,
            signal = signals.ending() => return Ok(Readiness::Interrupted(signal)),
            () = wait_timeout.over() => return Ok(Readiness::Late(waits)),
        };
        match looked {
            Look::Over { why, exit } => return Ok(Readiness::Over { why, exit }),
            Look::Waits(why) => waits = why,
            // It says why when it is over.
            Look::Holds(status) if status.is_stopping => "it ends".clone_into(&mut waits),
            Look::Holds(status) => {
                let there = u32::try_from(status.containers.len()).unwrap_or(u32::MAX);
                if there >= containers {
                    return Ok(Readiness::Ready(status));
                }
                waits = match status.asking.as_str() {
                    "" => format!("{there} of {containers} containers are there"),
                    why => format!("{there} of {containers} containers are there; {why}"),
                };
            }
        }
        progress.wait(&waits);
        tokio::select! {
            () = sleep(LOOK) => {}
            signal = signals.ending() => return Ok(Readiness::Interrupted(signal)),
        }
    }
}

/// What one look has shown.
enum Look {
    Over { why: String, exit: Exit },
    Waits(String),
    Holds(Box<Status>),
}

/// A connection stays in `reached` as long as it answers.
async fn look(
    rm: &ApplicationClient,
    kept: &SessionRecord,
    reached: &mut Option<Reached>,
) -> Result<Look, SessionError> {
    if reached.is_none() {
        match place(rm, &kept.owned).await? {
            SessionAddress::Over { why, exit } => return Ok(Look::Over { why, exit }),
            SessionAddress::Starting(why) => return Ok(Look::Waits(why)),
            SessionAddress::At(address) => match Reached::at(address, kept).await {
                Ok(fresh) => *reached = Some(fresh),
                // As long as YARN takes it for alive it may become so.
                Err(error) => return Ok(Look::Waits(error.to_string())),
            },
        }
    }
    let Some(connected) = reached.as_mut() else {
        return Ok(Look::Waits(String::new()));
    };
    match connected.status(kept).await {
        Ok(status) => Ok(Look::Holds(Box::new(status))),
        Err(error) => {
            *reached = None;
            Ok(Look::Waits(error.to_string()))
        }
    }
}
