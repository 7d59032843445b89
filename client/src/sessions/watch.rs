//! `gerbil attach`: jobs that were left to their session.

use std::ops::ControlFlow;

use follow::Layout;
use follow::follower::{Follower, Watching};
use follow::pattern::Pattern;
use follow::progress::Progress;
use follow::streams::{InputSource, StandardInput};
use session::{JobName, Reached, SessionsFolder, reach};
use terminal::signals::Signals;
use terminal::{Foreign, blocking, say};

use crate::failure::Failure;
use crate::run::thread;
use crate::subcommands::AttachOptions;

/// Shows a job from its beginning to its end; its exit code.
pub(super) async fn attach(
    folder: &SessionsFolder,
    job: JobName,
    given: AttachOptions,
    signals: &mut Signals,
) -> Result<u8, Failure> {
    let there = folder.clone();
    let found = blocking(signals, move || there.session_of(job)).await;
    let kept = match found.map_err(thread())? {
        ControlFlow::Continue(found) => found?,
        ControlFlow::Break(signal) => return Ok(128u8.saturating_add(signal)),
    };
    let rm = reach::resource_managers(&kept.owned);
    let reached = tokio::select! {
        reached = Reached::new(&rm, folder, &kept) => reached?,
        signal = signals.ending() => return Ok(128u8.saturating_add(signal)),
    };
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
        job: job.job,
        input: given.input,
    };
    let ended = Box::pin(watching.watch(&reached.address)).await;
    if !ended.sentence.is_empty() {
        say(Foreign::sentence(&ended.sentence));
    }
    Ok(ended.code)
}

pub(super) fn layout(label: bool) -> Layout {
    Layout {
        label: label.then(Pattern::label),
        ..Layout::default()
    }
}
