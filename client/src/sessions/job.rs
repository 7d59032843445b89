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
use follow::say;
use follow::signals::Signals;
use follow::streams::InputSource;
use follow::timeout::WaitTimeout;
use follow::timing;
use session::status::short;
use session::submit::{JobSubmission, Runs};
use session::{Name, Reached, reach};

use super::{folder, is_here, print};
use crate::arguments::Arguments;
use crate::cluster::Cluster;
use crate::describe;
use crate::failure::Failure;
use crate::plan::Plan;
use crate::upload::{BroughtFiles, staged, staging_meanwhile};
use crate::usage::UsageError;

/// One job, from its command line to its end. `own` learns what the report is to say of it.
pub(crate) async fn job(
    name: &Name,
    given: Arguments,
    cluster: &Cluster,
    signals: &mut Signals,
    own: &mut ClientFacts,
) -> Result<Ended, Failure> {
    let explain = match &given.reporting.explain {
        None => None,
        Some(file) => match Sink::open(given.reporting.json, file.as_deref(), signals).await? {
            ControlFlow::Continue(sink) => Some(sink),
            ControlFlow::Break(signal) => return Ok(Ended::unsubmitted(signal)),
        },
    };
    let folder = folder()?;
    let kept = folder.find_session(name)?;
    is_here(&kept, cluster)?;
    let (quiet, detached) = (given.reporting.quiet, given.session.detach);
    let priority = given.priority.unwrap_or_default();
    let plan = Plan::new(given, cluster)?;
    if !quiet {
        plan.notes.iter().for_each(say);
    }
    plan.streams.layout.prepare()?;
    if let Some(copy) = &plan.streams.layout.hdfs_copy {
        copy.prepare().await?;
    }
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
                cluster,
                Arc::clone(&moved)
            )
        )
    };
    let ready = staging_meanwhile(Box::pin(ready), &mut progress, &moved, signals).await?;
    let (mut reached, staged) = match ready {
        ControlFlow::Continue(ready) => ready,
        ControlFlow::Break(signal) => return Ok(Ended::unsubmitted(signal)),
    };
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
        runs: Runs::Mpi(&mpi),
        detached,
        address: &staged.address,
        staged: &files,
    };
    let number = reached.submit(&kept, &job).await?;
    let id = kept.owned.application;
    own.application = format!("{id}.{number}");
    own.stamps.submitted_us = timing::now_us();
    own.stamps.uploaded_bytes = staged.uploaded_bytes;
    if detached {
        progress.clear();
        print(&short(id, number));
        return Ok(Ended {
            code: Exit::Success.code(),
            sentence: String::new(),
            verdict: None,
        });
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
