//! `gerbil attach`: jobs that were left to their session.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use ::job::exit::Exit;
use ::job::history::JobState;
use ::job::recovered::LOST;
use follow::Layout;
use follow::follower::{Follower, Watching};
use follow::pattern::Pattern;
use follow::progress::Progress;
use follow::streams::{InputSource, StandardInput};
use mapreduce_client::history::text;
use proto_hadoop::ApplicationClient;
use session::status::Status;
use session::{JobName, Reached, SessionError, reach};
use terminal::signals::Signals;
use terminal::{Foreign, Text, blocking, interruptible, print, say};

use crate::failure::Failure;
use crate::mapreduce::{self, Histories, Watched, WatchedJob};
use crate::run::thread;
use crate::subcommands::AttachOptions;

use super::lost::{self, Behind};
use super::{Held, held, no_such_job};

/// What a MapReduce job that has failed returns.
const FAILED: u8 = 1;
/// A connection that broke after so long is made once more.
const LASTED: Duration = Duration::from_secs(2);

/// Shows a job from its beginning to its end; its exit code.
pub(super) async fn attach(
    job: JobName,
    given: AttachOptions,
    signals: &mut Signals,
) -> Result<u8, Failure> {
    let found = blocking(signals, move || held(job)).await;
    let held = match found.map_err(thread())? {
        ControlFlow::Continue(found) => match found? {
            Some(held) => held,
            None => return past(job).await?.ok_or_else(|| no_such_job(job).into()),
        },
        ControlFlow::Break(signal) => return Ok(128u8.saturating_add(signal)),
    };
    let rm = reach::resource_managers(&held.kept.owned);
    loop {
        let began = Instant::now();
        let watched = match interruptible(signals, reached(&rm, &held, job)).await {
            ControlFlow::Continue(reached) => match reached? {
                Found::Past(code) => return Ok(code),
                Found::Tasks(reached, job) => mapreduce::watch(&held, reached, job, signals).await,
                Found::Ranks(reached, number) => {
                    let job = job.numbered(number);
                    return Ok(ranks(&rm, &held, reached, job, given, signals).await);
                }
            },
            ControlFlow::Break(signal) => return Ok(128u8.saturating_add(signal)),
        };
        let (number, why) = match watched {
            Watched::Ended(code) => return Ok(code),
            Watched::Broken { number, why } => (number, why),
        };
        let behind = interruptible(signals, lost::behind(&rm, &held, number)).await;
        match behind {
            // Else it refuses to show it.
            ControlFlow::Continue(Behind::Lives) if began.elapsed() > LASTED => {}
            ControlFlow::Continue(Behind::Over) => {
                let job = job.numbered(number);
                return past(job).await?.ok_or_else(|| no_such_job(job).into());
            }
            ControlFlow::Continue(Behind::Lives | Behind::Unknown) => {
                say(format!("{}: {why}", job.numbered(number)));
                return Ok(Exit::Lost.code());
            }
            ControlFlow::Break(signal) => return Ok(128u8.saturating_add(signal)),
        }
    }
}

/// What there is of a job that is to be shown.
enum Found {
    /// It is over, and its history was shown: the job's exit code.
    Past(u8),
    /// A MapReduce job.
    Tasks(Reached, WatchedJob),
    /// An MPI job of this number, or none.
    Ranks(Reached, u32),
}

/// Looks for the job where its ApplicationMaster is, and in the histories where that does not have it any more.
async fn reached(rm: &ApplicationClient, held: &Held, job: JobName) -> Result<Found, Failure> {
    let kept = &held.kept;
    let reaching = async {
        let mut reached = held.reached().await?;
        let number = reached.number(kept, job).await?;
        let status = reached.status(kept).await?;
        Ok::<_, SessionError>((reached, number, status))
    };
    let (reached, number, status) = match reaching.await {
        Err(error) if error.is_of_past() => {
            let _is_over = lost::is_over(rm, kept.owned.application).await;
            let code = past(job).await?;
            return code.map(Found::Past).ok_or_else(|| error.into());
        }
        reached => reached?,
    };
    let known = status.jobs.iter().map(|of| of.job);
    let mut known = known.chain(status.kept.iter().map(|of| of.job));
    // A command that has followed it to its end took it along; or it was lost with its ApplicationMaster.
    if !known.any(|known| known == number) {
        let _is_over = lost::is_over(rm, kept.owned.application).await;
        if let Some(code) = past(job).await? {
            return Ok(Found::Past(code));
        }
    }
    Ok(match of_tasks(status, number) {
        Some(job) => Found::Tasks(reached, job),
        None => Found::Ranks(reached, number),
    })
}

/// Shows an MPI job; its exit code.
async fn ranks(
    rm: &ApplicationClient,
    held: &Held,
    reached: Reached,
    job: JobName,
    given: AttachOptions,
    signals: &mut Signals,
) -> u8 {
    let kept = &held.kept;
    let mut progress = Progress::new(false);
    progress.taken(job.to_string());
    let follower = Follower {
        rm,
        id: kept.owned.application,
        keys: &kept.keys,
        progress,
        signals,
        explain: None,
        layout: layout(given.label),
        input: match given.input {
            true => InputSource::new(StandardInput::Own),
            false => InputSource::Nothing,
        },
        terminal: false,
    };
    let watching = Watching {
        follower,
        name: job.to_string(),
        job: job.number.unwrap_or_default(),
        input: given.input,
    };
    let ended = Box::pin(watching.watch(&reached.address)).await;
    if !ended.sentence.is_empty() {
        say(Foreign::sentence(&ended.sentence));
    }
    ended.code
}

/// A MapReduce job that is over, and whose ApplicationMaster does not have it any more: how it ended.
async fn past(job: JobName) -> Result<Option<u8>, Failure> {
    let found = match Histories::open(None) {
        Ok(histories) => histories.find(job).await.ok().flatten(),
        Err(_nowhere) => None,
    };
    let Some(found) = found else {
        return Ok(None);
    };
    print(Text::of(&text::status(&found))).await?;
    Ok(Some(match found.state {
        JobState::Succeeded => Exit::Success.code(),
        // As without --detach.
        JobState::Failed if found.sentence.starts_with(LOST) => Exit::Lost.code(),
        JobState::Failed => FAILED,
        JobState::Killed => Exit::Killed.code(),
    }))
}

/// The job of this number, if it has tasks and no ranks.
fn of_tasks(status: Status, number: u32) -> Option<WatchedJob> {
    let running = status.jobs.into_iter().find(|of| of.job == number);
    if let Some(job) = running.filter(|job| job.tasks.is_some()) {
        return Some(WatchedJob {
            id: job.id,
            number,
            name: job.name,
            tasks: job.tasks,
        });
    }
    let ended = status.kept.into_iter().find(|of| of.job == number);
    let job = ended.filter(|job| job.has_tasks)?;
    Some(WatchedJob {
        id: job.id,
        number,
        name: job.name,
        tasks: None,
    })
}

pub(super) fn layout(label: bool) -> Layout {
    Layout {
        label: label.then(Pattern::label),
        ..Layout::default()
    }
}
