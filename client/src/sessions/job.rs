//! A job that a session runs: `gerbil-run --session`.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use ::job::StagedKind;
use ::job::exit::Exit;
use ::job::role::BINARY_LINK;
use follow::ended::Ended;
use follow::explained::Sink;
use follow::follower::{Follower, InSession};
use follow::progress::Progress;
use follow::report::ClientFacts;
use follow::streams::InputSource;
use follow::timeout::WaitTimeout;
use follow::timing;
use session::status::short;
use session::submit::{JobSubmission, Runs};
use session::{Name, Reached, reach};
use terminal::signals::Signals;
use terminal::{Text, blocking, interruptible, print, say};

use super::{folder, is_here};
use crate::arguments::Arguments;
use crate::cluster::Cluster;
use crate::describe;
use crate::failure::Failure;
use crate::open_mpi;
use crate::process_manager;
use crate::run::{planned, thread};
use crate::upload::{BroughtFiles, staged, staging_meanwhile};
use crate::usage::UsageError;

/// One job, from its command line to its end. `own` learns what the report is to say of it.
pub(crate) async fn job(
    name: &Name,
    given: Arguments,
    cluster: Arc<Cluster>,
    signals: &mut Signals,
    own: &mut ClientFacts,
) -> Result<Ended, Failure> {
    let mut explain = match &given.reporting.explain {
        None => None,
        Some(file) => match Sink::open(given.reporting.json, file.as_deref(), signals).await? {
            ControlFlow::Continue(sink) => Some(sink),
            ControlFlow::Break(signal) => return Ok(Ended::unsubmitted(signal)),
        },
    };
    let folder = folder()?;
    let (there, called) = (folder.clone(), name.clone());
    let found = blocking(signals, move || there.find_session(&called)).await;
    let kept = match found.map_err(thread())? {
        ControlFlow::Continue(kept) => kept?,
        ControlFlow::Break(signal) => return Ok(Ended::unsubmitted(signal)),
    };
    is_here(&kept, &cluster)?;
    let (quiet, detached) = (given.reporting.quiet, given.session.detach);
    let priority = given.priority.unwrap_or_default();
    let plan = match planned(given, &cluster, signals).await? {
        ControlFlow::Continue(plan) => plan,
        ControlFlow::Break(signal) => return Ok(Ended::unsubmitted(signal)),
    };
    own.program.clone_from(&plan.program.name);
    own.processes = plan.placement.wanted.processes.get();
    let mut progress = Progress::new(quiet);
    progress.show("staging the program");
    let moved = Arc::new(staging::Moved::default());
    let rm = reach::resource_managers(&kept.owned);
    let ready = async {
        let reaching = async { Ok(Reached::new(&rm, &folder, &kept).await?) };
        tokio::try_join!(
            reaching,
            staged(
                BroughtFiles::from(&plan),
                plan.deployment.staging.clone(),
                &cluster,
                Arc::clone(&moved)
            )
        )
    };
    let ready = staging_meanwhile(Box::pin(ready), &mut progress, &moved, signals).await?;
    let (mut reached, staged) = match ready {
        ControlFlow::Continue(ready) => ready,
        ControlFlow::Break(signal) => return Ok(Ended::unsubmitted(signal)),
    };
    if let Some(remark) = open_mpi::remark(&plan.program, &staged) {
        progress.remark(remark);
    }
    let programs = (&plan.program, &staged);
    let explained = process_manager::explain(&mut explain, programs, &mut progress, signals).await;
    if let ControlFlow::Break(signal) = explained.map_err(thread())? {
        return Ok(Ended::unsubmitted(signal));
    }
    // The launchers are there, and their file is this one.
    let files = staged.staged.iter().filter(|file| file.link != BINARY_LINK);
    let files: Vec<_> = files.cloned().collect();
    if let Some(other) = files.iter().find(|file| {
        file.kind == StagedKind::Archive
            && Path::new(&file.url)
                .extension()
                .is_none_or(|kind| kind != "tar")
    }) {
        let link = other.link.clone();
        return Err(UsageError::Archive { link }.into());
    }
    let mpi = describe::for_session(&plan, &staged);
    let job = JobSubmission {
        name: plan.deployment.name.clone(),
        user: &cluster.user,
        queue: &plan.deployment.queue,
        priority,
        deadline: None,
        profile: String::new(),
        runs: Runs::Mpi(&mpi),
        detached,
        address: &staged.address,
        staged: &files,
    };
    let number = match interruptible(signals, reached.submit(&kept, &job)).await {
        ControlFlow::Continue(number) => number?,
        // A job that nobody follows, and that was not left to the session, ends there.
        ControlFlow::Break(signal) => {
            return Ok(Ended {
                code: 128u8.saturating_add(signal),
                sentence: format!(
                    "interrupted while session {name} was about to take the job; gerbil session status {name} shows \
                     whether it has"
                ),
                verdict: None,
            });
        }
    };
    let id = kept.owned.application;
    own.application = format!("{id}.{number}");
    own.stamps.submitted_us = timing::now_us();
    own.stamps.uploaded_bytes = staged.uploaded_bytes;
    if detached {
        progress.clear();
        let job = short(id, number);
        let printed = print(Text::Lines(vec![job.clone()]));
        return match interruptible(signals, printed).await {
            ControlFlow::Continue(Ok(())) => Ok(Ended {
                code: Exit::Success.code(),
                sentence: String::new(),
                verdict: None,
            }),
            ControlFlow::Continue(Err(error)) => {
                say(format!(
                    "session {name} has taken the job, which is {job}, and goes on with it"
                ));
                Err(error.into())
            }
            ControlFlow::Break(signal) => Ok(Ended {
                code: 128u8.saturating_add(signal),
                sentence: format!(
                    "interrupted; session {name} has taken the job, which is {job}, and goes on with it"
                ),
                verdict: None,
            }),
        };
    }
    progress.taken(short(id, number));
    let follower = Follower {
        rm: &rm,
        id,
        keys: &kept.keys,
        progress,
        signals,
        explain,
        layout: plan.streams.layout.clone(),
        input: InputSource::new(plan.streams.input.clone()),
        terminal: plan.streams.terminal.is_some(),
    };
    let job = InSession {
        follower,
        name: name.to_string(),
        job: number,
        wait_timeout: WaitTimeout::new(plan.placement.flags.wait_timeout),
    };
    Ok(job.follow(reached.dialled()).await)
}
