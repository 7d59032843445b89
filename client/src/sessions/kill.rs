//! Ends the application of a session, or that a `gerbil mr` has for itself, in order: its ApplicationMaster ends the jobs, and keeps what
//! became of them. One that YARN kills has no time for that.

use std::time::Duration;

use ::job::wire;
use proto_hadoop::{ApplicationClient, ApplicationId};
use session::reach::{SessionAddress, place_of};
use session::{JobName, Reached};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

/// For the ApplicationMaster to be reached, and to take the order.
const TOLD: Duration = Duration::from_secs(15);
/// For its jobs to end, and for it to leave YARN.
const LEAVES: Duration = Duration::from_secs(30);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);

/// Whether the application has ended so, in time. Its key is here where it was started; YARN records
/// `why`.
pub(crate) async fn ended_in_order(rm: &ApplicationClient, id: ApplicationId, why: &str) -> bool {
    match timeout(TOLD, told(rm, id, why)).await {
        Ok(Some(())) => timeout(LEAVES, over(rm, id)).await.is_ok(),
        Ok(None) | Err(_) => false,
    }
}

async fn told(rm: &ApplicationClient, id: ApplicationId, why: &str) -> Option<()> {
    let held = spawn_blocking(move || super::held(JobName::of(id)).ok()?);
    let kept = held.await.ok()??.kept;
    let SessionAddress::At(address) = place_of(rm, id).await.ok()? else {
        return None;
    };
    let verdict = wire::SessionVerdict {
        state: wire::FinalState::Killed.into(),
        sentence: why.to_owned(),
    };
    let mut reached = Reached::at(address, &kept).await.ok()?;
    reached.end(&kept, verdict).await.ok()
}

/// Until YARN calls it over.
async fn over(rm: &ApplicationClient, id: ApplicationId) {
    while !matches!(place_of(rm, id).await, Ok(SessionAddress::Over { .. })) {
        sleep(LOOK).await;
    }
}
