//! From submit to the last word: attaches to an ApplicationMaster ([`mod@attach`]) and mirrors a job of it
//! ([`mirror`]). A job with an application of its own ([`submitted_application`]) is waited for, and YARN is asked
//! where it does not come to a last word ([`lost`], [`crate::ended`]); one [`in_session`] leaves the application alone,
//! and so do its MapReduce jobs ([`tasks`]), and is dialled once more where the link breaks ([`redial`]); a session that was started for them alone is kept by a guard
//! ([`session_guard`]). One that is detached is [`watching`]'s to look at, and goes on without us.

mod attach;
mod in_session;
mod lost;
mod mirror;
mod order;
mod recovered_commit;
mod redial;
mod session_guard;
mod submitted_application;
pub mod tasks;
mod verdict;
mod watching;

#[cfg(test)]
mod tests;

use std::time::Duration;

use proto_hadoop::yarn::ApplicationReport;
use proto_hadoop::{ApplicationClient, ApplicationId};
use tokio::time::{Instant, sleep};

use crate::error::FollowError;
use crate::explained::Sink;
use crate::keys::ClientKeys;
use crate::output::Layout;
use crate::progress::Progress;
use crate::streams::InputSource;
use terminal::signals::Signals;

pub use in_session::InSession;
pub use session_guard::SessionGuard;
pub use submitted_application::SubmittedApplication;
pub use watching::Watching;

/// Between two looks, when it lasts.
const LATER: Duration = Duration::from_millis(250);
/// A ResourceManager that has not answered for so long is given up.
const RM_PATIENCE: Duration = Duration::from_secs(120);

/// What is followed of a job, whoever's application it runs in.
#[derive(Debug)]
pub struct Follower<'a> {
    /// The ResourceManager.
    pub rm: &'a ApplicationClient,
    /// The application.
    pub id: ApplicationId,
    /// By which its ApplicationMaster knows us, and we know it.
    pub keys: &'a ClientKeys,
    /// What the user sees.
    pub progress: Progress,
    /// What the user asks for meanwhile.
    pub signals: &'a mut Signals,
    /// Where output goes.
    pub layout: Layout,
    /// What rank 0 reads.
    pub input: InputSource,
    /// Rank 0 has our terminal.
    pub terminal: bool,
    /// Where the ApplicationMaster's reasons go.
    pub explain: Option<Sink>,
}

/// Where an ApplicationMaster that has registered listens, `host:port`; `None`: it has not.
#[must_use]
pub fn address(report: &ApplicationReport) -> Option<String> {
    let port = report.rpc_port?;
    Some(match report.host.contains(':') {
        // As a part of an address an IPv6 address stands in brackets.
        true => format!("[{}]:{port}", report.host),
        false => format!("{}:{port}", report.host),
    })
}

/// What YARN says of an application that waits, on one line.
pub fn reason(report: &ApplicationReport) -> Option<String> {
    let reason = report.diagnostics.trim();
    let says = !reason.is_empty() && reason != "N/A";
    says.then(|| reason.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A ResourceManager may restart or fail over while a job waits or runs.
pub async fn patiently(
    rm: &ApplicationClient,
    id: &ApplicationId,
) -> Result<ApplicationReport, FollowError> {
    let deadline = Instant::now() + RM_PATIENCE;
    loop {
        match rm.report(id).await {
            Ok(report) => return Ok(report),
            Err(error) if error.is_final() => return Err(error.into()),
            Err(error) if Instant::now() > deadline => return Err(error.into()),
            Err(_passing) => sleep(LATER).await,
        }
    }
}
