//! The end of the application of one `gerbil mr`, which YARN records as the run has ended.

use std::time::Duration;

use ::job::exit::Exit;
use ::job::wire;
use follow::kill::kill;
use mapreduce_client::RunEnd;
use proto_hadoop::ApplicationId;
use session::reach::{SessionAddress, place_of};
use session::{Reached, SessionRecord};
use terminal::signals::Signals;
use tokio::time::{Instant, sleep};

use super::{MrApplication, SOON};
use crate::failure::Failure;

/// For an application that was told to end to leave YARN.
const LEAVES: Duration = Duration::from_secs(30);

impl MrApplication {
    /// Ends it, if it was submitted, and waits until YARN says that it is over or until a signal. YARN records
    /// what became of the run.
    pub(in crate::mapreduce) async fn end(
        &self,
        outcome: &RunEnd,
        signals: &mut Signals,
    ) -> Result<(), Failure> {
        let (submitted, owned) = {
            let mut state = self.state();
            (state.submitted.take(), state.owned.take())
        };
        let Some(id) = submitted else {
            return Ok(());
        };
        Self::forget(id);
        let ending = async {
            match owned {
                None => self.killed(id).await,
                Some((kept, reached, owning)) => {
                    let ended = self.told(&kept, reached, outcome).await;
                    owning.end().await;
                    ended
                }
            }
        };
        tokio::select! {
            ended = ending => ended,
            // Without its owner it ends by itself.
            _ = signals.ending() => Ok(()),
        }
    }

    async fn told(
        &self,
        kept: &SessionRecord,
        mut reached: Reached,
        outcome: &RunEnd,
    ) -> Result<(), Failure> {
        let id = kept.owned.application;
        if reached.end(kept, verdict(outcome)).await.is_err() {
            return match outcome.code == Exit::Lost.code() {
                // It ends by itself: one that is cut off from its owner, and one that takes its place and may have
                // a commit to finish.
                true => Ok(()),
                false => self.killed(id).await,
            };
        }
        let since = Instant::now();
        while !matches!(place_of(&self.rm, id).await?, SessionAddress::Over { .. }) {
            if since.elapsed() > LEAVES {
                return self.killed(id).await;
            }
            sleep(SOON).await;
        }
        self.timing.mark("YARN called it over");
        Ok(())
    }

    async fn killed(&self, id: ApplicationId) -> Result<(), Failure> {
        match kill(&self.rm, &id, "gerbil mr has ended").await {
            // It was refused, or was never heard of.
            Err(follow::FollowError::Unknown { .. }) => Ok(()),
            other => Ok(other.map(drop)?),
        }
    }
}

/// What YARN is to record.
fn verdict(outcome: &RunEnd) -> wire::SessionVerdict {
    let state = match outcome.code {
        code if code == Exit::Success.code() => wire::FinalState::Succeeded,
        // A signal's.
        129.. => wire::FinalState::Killed,
        _ => wire::FinalState::Failed,
    };
    let sentence = match (state, outcome.sentence.as_str()) {
        (wire::FinalState::Succeeded, _) => String::new(),
        (_, "") => format!("gerbil mr has ended with code {}", outcome.code),
        (_, sentence) => sentence.to_owned(),
    };
    wire::SessionVerdict {
        state: state.into(),
        sentence,
    }
}
