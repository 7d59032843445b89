//! `gerbil attach` of a MapReduce job that was left to its session, or to an application of its own.

use std::sync::Arc;
use std::time::Duration;

use ::job::TasksReport;
use follow::follower::tasks::{JobControl, JobNewsSender, TasksInSession};
use follow::progress::Progress;
use mapreduce_client::Show as _;
use mapreduce_client::jobs::Accepted;
use session::status::TaskProgress;
use session::{Reached, reach};
use terminal::say;
use terminal::signals::Signals;
use tokio::sync::{mpsc, watch as wishes};
use tokio::time::sleep;

use crate::sessions::Held;

use super::shown::Shown;
use super::timing::Timing;

/// News of the job that wait to be shown.
const NEWS: usize = 64;
/// Between two looks whether what the job waits for has lasted.
const REMIND: Duration = Duration::from_secs(1);

/// The job, as its ApplicationMaster lists it.
pub(crate) struct WatchedJob {
    /// By which lists call it.
    pub(crate) id: String,
    pub(crate) number: u32,
    pub(crate) name: String,
    /// How far it is; `None`: it is over.
    pub(crate) tasks: Option<TaskProgress>,
}

/// How a job was watched.
pub(crate) enum Watched {
    /// To its end, or until the user had seen enough: the exit code.
    Ended(u8),
    /// Until the connection to its ApplicationMaster broke.
    Broken { number: u32, why: String },
}

/// Shows it to its end, or until the user has seen enough.
pub(crate) async fn watch(
    held: &Held,
    reached: Reached,
    job: WatchedJob,
    signals: &mut Signals,
) -> Watched {
    let kept = &held.kept;
    let (told, mut news) = mpsc::channel(NEWS);
    let (_nothing_is_wished, wishes) = wishes::channel(JobControl::Run);
    let tasks = TasksInSession {
        rm: Arc::new(reach::resource_managers(&kept.owned)),
        id: kept.owned.application,
        keys: kept.keys.clone(),
        name: (!held.is_own).then(|| kept.name.to_string()),
        job: job.number,
        watches: true,
        missed_after: Duration::ZERO,
        told: JobNewsSender {
            to: told,
            job: job.number,
        },
        wishes,
    };
    let mut shown = Shown::new(Progress::new(false), false, held.is_own, Timing::new());
    let is_over = job.tasks.is_none();
    let accepted = accepted(job, held);
    if !is_over {
        shown.accepted(&accepted);
    }
    let mut following = Box::pin(tasks.follow(reached.dialled()));
    let ended = loop {
        tokio::select! {
            end = &mut following => break end.ended,
            Some((_, told)) = news.recv() => shown.told(&accepted, &told),
            () = sleep(REMIND) => shown.remind(),
            signal = signals.ending() => {
                shown.clear();
                let id = &accepted.id;
                say(format!("{id} goes on; gerbil attach {id} shows it again, gerbil kill {id} ends it"));
                return Watched::Ended(128u8.saturating_add(signal));
            }
        }
    };
    while let Ok((_, told)) = news.try_recv() {
        shown.told(&accepted, &told);
    }
    let Some(verdict) = &ended.verdict else {
        shown.clear();
        return Watched::Broken {
            number: accepted.number,
            why: ended.sentence,
        };
    };
    let report: Option<TasksReport> = serde_json::from_str(&verdict.tasks).ok();
    shown.ended(&accepted, &ended, report.as_ref());
    shown.clear();
    Watched::Ended(ended.code)
}

fn accepted(job: WatchedJob, held: &Held) -> Accepted {
    let tasks = job.tasks;
    let of = |of: fn(&TaskProgress) -> u64| tasks.as_ref().map_or(0, of);
    Accepted {
        number: job.number,
        application: held.is_own.then(|| held.kept.owned.application.to_string()),
        id: job.id,
        name: job.name,
        // Its history has it.
        output: String::new(),
        maps: usize::try_from(of(|tasks| tasks.maps.into())).unwrap_or(usize::MAX),
        reduces: tasks.as_ref().map_or(0, |tasks| tasks.reduces),
        bytes: of(|tasks| tasks.bytes),
        needs: Vec::new(),
        is_quiet: false,
    }
}
