//! `gerbil attach`: jobs that were left to their session.

use std::ops::ControlFlow;

use ::job::exit::Exit;
use ::job::history::JobState;
use follow::Layout;
use follow::follower::{Follower, Watching};
use follow::pattern::Pattern;
use follow::progress::Progress;
use follow::streams::{InputSource, StandardInput};
use mapreduce_client::history::text;
use session::status::Status;
use session::{JobName, SessionError, reach};
use terminal::signals::Signals;
use terminal::{Foreign, Text, blocking, print, say};

use crate::failure::Failure;
use crate::mapreduce::{self, Histories, WatchedJob};
use crate::run::thread;
use crate::subcommands::AttachOptions;

use super::{held, no_such_job};

/// What a MapReduce job that has failed returns.
const FAILED: u8 = 1;

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
    let kept = &held.kept;
    let rm = reach::resource_managers(&kept.owned);
    let reaching = async {
        let mut reached = held.reached().await?;
        let number = reached.number(kept, job).await?;
        let status = reached.status(kept).await?;
        Ok::<_, SessionError>((reached, number, status))
    };
    let (reached, number, status) = tokio::select! {
        reached = reaching => match reached {
            Err(error) if error.is_of_past() => {
                return past(job).await?.ok_or_else(|| error.into());
            }
            reached => reached?,
        },
        signal = signals.ending() => return Ok(128u8.saturating_add(signal)),
    };
    let known = status.jobs.iter().map(|of| of.job);
    let mut known = known.chain(status.kept.iter().map(|of| of.job));
    // A command that has followed it to its end took it along.
    if !known.any(|known| known == number)
        && let Some(code) = past(job).await?
    {
        return Ok(code);
    }
    if let Some(job) = of_tasks(status, number) {
        return Ok(mapreduce::watch(&held, reached, job, signals).await);
    }
    let job = job.numbered(number);
    let mut progress = Progress::new(false);
    progress.taken(job.to_string());
    let follower = Follower {
        rm: &rm,
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
        job: number,
        input: given.input,
    };
    let ended = Box::pin(watching.watch(&reached.address)).await;
    if !ended.sentence.is_empty() {
        say(Foreign::sentence(&ended.sentence));
    }
    Ok(ended.code)
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
