//! Ends a session.

use std::ops::ControlFlow;
use std::time::Duration;

use follow::kill::kill;
use follow::progress::Progress;
use job::wire;
use proto_hadoop::ApplicationClient;
use terminal::signals::Signals;
use terminal::{interruptible, say};
use tokio::time::{Instant, sleep};

use crate::error::SessionError;
use crate::name::Name;
use crate::reach::{Reached, SessionAddress, answer, place, placed};
use crate::record::{Owned, SessionRecord, SessionsFolder};

/// Between two looks whether it is over.
const LOOK: Duration = Duration::from_millis(100);
/// Between two questions how many jobs are left.
const COUNT: Duration = Duration::from_secs(1);
/// For a session without jobs to leave YARN.
const LEAVES: Duration = Duration::from_secs(60);

/// How its jobs end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// They are run to their ends; there are no further ones.
    Drain,
    /// They are killed.
    Now,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// YARN says that it is over.
    Over,
    /// It ends; the user did not wait for it.
    Interrupted(u8),
    /// The user did not wait until it could be told.
    Untold(u8),
}

/// Tells the session to end, and waits until YARN says that it is over; then what is kept of it is removed.
/// A session whose ApplicationMaster does not do it is killed through the ResourceManager.
///
/// # Errors
///
/// No ResourceManager answers, or YARN cannot end it.
pub async fn stop(
    rm: &ApplicationClient,
    folder: &SessionsFolder,
    kept: &SessionRecord,
    how: How,
    progress: &mut Progress,
    signals: &mut Signals,
) -> Result<Stopped, SessionError> {
    let mut is_told = false;
    let over = until_over(rm, folder, kept, how, progress, &mut is_told);
    match interruptible(signals, over).await {
        ControlFlow::Continue(stopped) => stopped,
        ControlFlow::Break(signal) if is_told => Ok(Stopped::Interrupted(signal)),
        ControlFlow::Break(signal) => Ok(Stopped::Untold(signal)),
    }
}

/// The same for who waits as long as it takes. `is_told` as soon as the session has the order.
async fn until_over(
    rm: &ApplicationClient,
    folder: &SessionsFolder,
    kept: &SessionRecord,
    how: How,
    progress: &mut Progress,
    is_told: &mut bool,
) -> Result<Stopped, SessionError> {
    let (name, id) = (&kept.name, kept.owned.application);
    let found = match how {
        // It may have jobs, though YARN does not know at the moment where it is.
        How::Drain => placed(rm, &kept.owned).await?,
        How::Now => place(rm, &kept.owned).await?,
    };
    let told = match found {
        SessionAddress::Over { .. } => {
            folder.forget(name, id)?;
            return Ok(Stopped::Over);
        }
        SessionAddress::Starting(_) => Err(None),
        SessionAddress::At(address) => match Reached::at(address, kept).await {
            Ok(reached) => tell(reached, kept, how).await.map_err(Some),
            Err(error) => Err(Some(error)),
        },
    };
    let mut reached = match told {
        Ok(reached) => reached,
        Err(why) => {
            if let Some(why) = why {
                progress.clear();
                say(format!("{why}; it is killed through YARN"));
            }
            return end(rm, folder, name, &kept.owned).await;
        }
    };
    *is_told = true;
    let mut counted = Instant::now();
    let mut alone: Option<Instant> = match how {
        How::Now => Some(Instant::now()),
        How::Drain => None,
    };
    loop {
        if matches!(place(rm, &kept.owned).await?, SessionAddress::Over { .. }) {
            progress.clear();
            folder.forget(name, id)?;
            return Ok(Stopped::Over);
        }
        if alone.is_some_and(|since| since.elapsed() > LEAVES) {
            progress.clear();
            say(format!(
                "session {name} has not left within {} s; it is killed through YARN",
                LEAVES.as_secs()
            ));
            return end(rm, folder, name, &kept.owned).await;
        }
        if how == How::Drain && alone.is_none() && counted.elapsed() > COUNT {
            counted = Instant::now();
            match reached.status(kept).await {
                Ok(status) if !status.jobs.is_empty() => progress.wait(&match status.jobs.len() {
                    1 => format!("session {name} ends with its last job"),
                    jobs => format!("session {name} ends with its {jobs} jobs"),
                }),
                // Without jobs, or gone: nothing is left to wait for but YARN.
                Ok(_) | Err(_) => alone = Some(Instant::now()),
            }
        }
        sleep(LOOK).await;
    }
}

/// Kills the session's application, of whatever build it is, and forgets it.
///
/// # Errors
///
/// No ResourceManager answers, or YARN cannot end it.
pub async fn end(
    rm: &ApplicationClient,
    folder: &SessionsFolder,
    name: &Name,
    owned: &Owned,
) -> Result<Stopped, SessionError> {
    if !matches!(place(rm, owned).await?, SessionAddress::Over { .. }) {
        let reason = format!("session {name} was stopped by its user");
        kill(rm, &owned.application, &reason).await?;
    }
    folder.forget(name, owned.application)?;
    Ok(Stopped::Over)
}

impl Reached {
    /// Ends the session now; YARN is to record it so.
    ///
    /// # Errors
    ///
    /// It does not answer.
    pub async fn end(
        &mut self,
        kept: &SessionRecord,
        verdict: wire::SessionVerdict,
    ) -> Result<(), SessionError> {
        let order = wire::SessionStop {
            now: true,
            verdict: Some(verdict),
        };
        answer(&kept.name, self.client.stop_session(order)).await?;
        Ok(())
    }
}

async fn tell(
    mut reached: Reached,
    kept: &SessionRecord,
    how: How,
) -> Result<Reached, SessionError> {
    let order = wire::SessionStop {
        now: how == How::Now,
        verdict: None,
    };
    answer(&kept.name, reached.client.stop_session(order)).await?;
    Ok(reached)
}
