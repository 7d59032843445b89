//! What the one loop of an application waits for: news, the next time that something is due, a client that takes an
//! event, output that has moved.

use std::future::pending;
use std::time::Duration;

use job::JobId;
use policy::Millis;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::Edge;
use super::alarm::Alarm;
use crate::jobs::{Jobs, Outlet};
use crate::loop_event::LoopEvent;

/// When something is due that is of no job, each with what it is.
pub(super) type Dues = Vec<(&'static str, Option<Millis>)>;

/// One turn of the loop.
pub(super) enum Turn {
    /// A piece of news.
    News(LoopEvent),
    /// Something is due.
    Due,
    /// A client's stream has a place for the next event, or has ended.
    Place(JobId, Outlet),
    /// A stream of a job's output has ended, or the last of it was handed over.
    OutputMoved(JobId),
}

/// The turns of the loop, one after the other.
pub(crate) struct Turns {
    inbox: mpsc::Receiver<LoopEvent>,
    alarm: Alarm,
}

impl Turns {
    /// Those of the loop to which `inbox` brings the news.
    pub(crate) fn new(inbox: mpsc::Receiver<LoopEvent>) -> Self {
        Self {
            inbox,
            alarm: Alarm::default(),
        }
    }

    /// The next one; `None`: no news will come any more.
    pub(super) async fn next(&mut self, jobs: &mut Jobs, edge: &Edge, dues: Dues) -> Option<Turn> {
        jobs.bring_up();
        let of_none = dues.iter().filter_map(|(_, at)| *at);
        let wake = self.alarm.set(of_none.chain(jobs.first_due()).min());
        if let Some(by) = self.alarm.fault() {
            say_overdue(by, jobs, &dues);
        }
        let wake = wake.map(|at| edge.began() + Duration::from_millis(at.0));
        Some(tokio::select! {
            news = self.inbox.recv() => Turn::News(news?),
            () = until(wake) => {
                self.alarm.rings(edge.now());
                Turn::Due
            }
            (job, place) = jobs.outlet() => Turn::Place(job, place),
            job = edge.output_moved() => Turn::OutputMoved(job),
        })
    }
}

/// What was due by then was done, and is due still: faults of the parts that have named that time.
fn say_overdue(by: Millis, jobs: &Jobs, dues: &Dues) {
    let jobs = jobs.due(by).into_iter();
    let jobs = jobs.map(|job| format!("job {}", job.0));
    let others = dues.iter();
    let others = others.filter(|(_, at)| at.is_some_and(|at| at <= by));
    let all: Vec<String> = jobs
        .chain(others.map(|(what, _)| (*what).to_owned()))
        .collect();
    tracing::error!(
        "this is done, and due again at once, for ever: {}; from now on it is done once a second",
        all.join(", ")
    );
}

async fn until(wake: Option<Instant>) {
    match wake {
        Some(at) => sleep_until(at).await,
        None => pending().await,
    }
}
