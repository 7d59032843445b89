//! Who holds the room that a job waits for in its queue, before it has an ApplicationMaster that could look
//! closer.

use std::cmp::Reverse;
use std::time::Duration;

use proto_hadoop::yarn::{ApplicationFilter, ApplicationReport, YarnApplicationState};
use proto_hadoop::{ApplicationClient, ApplicationId};
use terminal::Foreign;
use tokio::time::{Instant, timeout};

/// From the first look at a job that waits to the look for others, and between two of these: such a look
/// costs the ResourceManager much, and many jobs may wait.
const FIRST: Duration = Duration::from_secs(3);
const AGAIN: Duration = Duration::from_secs(300);
/// For the answer: a line that says less is better than none.
const DEADLINE: Duration = Duration::from_secs(2);
/// Applications that are listed, and named.
const LISTED: u32 = 1000;
const NAMED: usize = 3;

/// When to look.
#[derive(Debug)]
pub(crate) struct Holders {
    due: Instant,
}

impl Holders {
    pub(crate) fn new() -> Self {
        Self {
            due: Instant::now() + FIRST,
        }
    }

    /// Who holds most where `own` waits, when a look is due; `None`: nothing new.
    pub(crate) async fn look(
        &mut self,
        rm: &ApplicationClient,
        own: ApplicationId,
    ) -> Option<String> {
        if Instant::now() < self.due {
            return None;
        }
        self.due = Instant::now() + AGAIN;
        let filter = ApplicationFilter {
            states: vec![
                YarnApplicationState::Accepted,
                YarnApplicationState::Running,
            ],
            limit: Some(LISTED),
            ..ApplicationFilter::default()
        };
        let reports = timeout(DEADLINE, rm.applications(&filter)).await;
        Some(words(&reports.ok()?.ok()?, own))
    }
}

/// The largest of the own queue, or of all where it has none; empty where nobody holds anything.
fn words(reports: &[ApplicationReport], own: ApplicationId) -> String {
    let queue = reports.iter().find(|report| report.id == own);
    let queue = queue.map(|report| report.queue.as_str());
    let mut others: Vec<&ApplicationReport> = reports
        .iter()
        .filter(|report| report.id != own && report.usage.used.memory_mib > 0)
        .collect();
    if others
        .iter()
        .any(|report| Some(report.queue.as_str()) == queue)
    {
        others.retain(|report| Some(report.queue.as_str()) == queue);
    }
    sort::by_key(&mut others, |report| {
        (Reverse(report.usage.used.memory_mib), report.id)
    });
    let more = others.len().saturating_sub(NAMED);
    let mut parts: Vec<String> = others
        .into_iter()
        .take(NAMED)
        .map(|report| {
            let ApplicationReport {
                id,
                name,
                user,
                queue,
                ..
            } = report;
            let mib = report.usage.used.memory_mib;
            let (name, user, queue) = (
                Foreign::name(name),
                Foreign::name(user),
                Foreign::name(queue),
            );
            format!("{id} ({name}, of {user} in {queue}) holds {mib} MiB")
        })
        .collect();
    match more {
        0 => {}
        1 => parts.push("1 more application holds something".into()),
        more => parts.push(format!("{more} more applications hold something")),
    }
    parts.join("; ")
}
