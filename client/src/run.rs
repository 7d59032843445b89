//! One run of the command.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use follow::attempts::Attempts;
use follow::ended::Ended;
use follow::explained::Sink;
use follow::follower::{Follower, SubmittedApplication};
use follow::keys::JobKeys;
use follow::progress::Progress;
use follow::report::{ClientFacts, Destination};
use follow::streams::InputSource;
use follow::submit::{ApplicationTerms, submit};
use follow::timeout::WaitTimeout;
use follow::{kill, timing, unmanaged};
use job::exit::Exit;
use job::explain::{Explained, Submitted};
use proto_hadoop::yarn::FinalApplicationStatus;
use proto_hadoop::{ApplicationClient, ApplicationId};
use terminal::signals::Signals;
use terminal::{blocking, interruptible, say};
use tokio::time::timeout;

use crate::arguments::{Arguments, DeployMode, Reporting};
use crate::cluster::Cluster;
use crate::describe::describe;
use crate::failure::Failure;
use crate::local::Local;
use crate::outcome::report_outcome;
use crate::plan::Plan;
use crate::ps::ps;
use crate::results::come_home;
use crate::system::{SystemError, system};
use crate::upload::{BroughtFiles, staged, staging_meanwhile};
use crate::{data, dry_run, frame, generate, list, open_mpi, preflight, process_manager, sessions};

/// For YARN to hear that an application is to end that it may just have been given.
const LAST_ORDER: Duration = Duration::from_secs(2);

/// From the command line to the exit code.
///
/// `words` are those of the command line, the command's own name first.
pub(crate) fn main(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    job::allocator::set_up(job::allocator::KEPT);
    let started_us = timing::now_us();
    let given = match Arguments::parse(words) {
        Ok(given) => given,
        Err(error) => return error.show(),
    };
    if let Some(form) = given.generate {
        return generate::print(form);
    }
    frame::main(async |signals| Box::pin(run(given, started_us, signals)).await)
}

async fn run(mut given: Arguments, started_us: i64, signals: &mut Signals) -> Result<u8, Failure> {
    if !given.reporting.quiet {
        given.notes.iter().for_each(say);
    }
    if let Some(list) = given.reporting.list.take() {
        return Box::pin(listed(&list, given.reporting, signals)).await;
    }
    given.named()?;
    let Some(nodes) = given.local.local else {
        let found = blocking(signals, move || {
            let cluster = match (given.session.session.clone(), &given.kill) {
                (Some(name), _) => sessions::cluster_of_job(&name, &mut given)?,
                (None, Some(id)) => sessions::cluster_of_application(id)?,
                (None, None) => Cluster::find_for_a_job()?,
            };
            Ok::<_, Failure>((cluster, given))
        });
        let (cluster, given) = match found.await.map_err(thread())? {
            ControlFlow::Continue(found) => found?,
            ControlFlow::Break(signal) => return Ok(128u8.saturating_add(signal)),
        };
        return Box::pin(on(Arc::new(cluster), given, signals, started_us)).await;
    };
    let local = Local::start(nodes).await?;
    given.staging.get_or_insert_with(|| local.staging());
    let outcome = match local.settings() {
        Ok(cluster) => Box::pin(on(Arc::new(cluster), given, signals, started_us)).await,
        Err(failure) => Err(failure.into()),
    };
    local.stop().await;
    outcome
}

/// The jobs of `list`. Hadoop's settings are read where one of its lines needs them.
async fn listed(list: &Path, reporting: Reporting, signals: &mut Signals) -> Result<u8, Failure> {
    let destination = match destination(&reporting, signals).await? {
        ControlFlow::Continue(destination) => destination,
        ControlFlow::Break(signal) => return Ok(128u8.saturating_add(signal)),
    };
    let (path, of_all) = (list.to_owned(), reporting.clone());
    let reading = blocking(signals, move || checked(&path, &of_all));
    let jobs = match reading.await.map_err(thread())? {
        ControlFlow::Continue(jobs) => jobs?,
        ControlFlow::Break(signal) => return Ok(128u8.saturating_add(signal)),
    };
    Ok(list::run(jobs, &reporting, destination, signals).await?)
}

/// The jobs of `list`, every line of it checked.
fn checked(list: &Path, reporting: &Reporting) -> Result<list::JobList, Failure> {
    let (hadoops, local) = (OnceCell::new(), OnceCell::new());
    let check = |mut given: Arguments| {
        if let Some(name) = given.session.session.clone() {
            let cluster = sessions::cluster_of_job(&name, &mut given);
            let cluster = cluster.map_err(|wrong| wrong.to_string())?;
            let plan = Plan::new(given, &cluster).map(drop);
            return plan.map_err(|wrong| wrong.to_string());
        }
        let cluster = match given.local.local {
            None => hadoops.get_or_init(Cluster::find_for_a_job),
            Some(_) => local.get_or_init(Local::expected),
        };
        match cluster {
            Ok(cluster) => {
                let plan = Plan::new(given, cluster).map(drop);
                plan.map_err(|wrong| wrong.to_string())
            }
            // Of all lines the same, and said below.
            Err(_) => Ok(()),
        }
    };
    let jobs = list::read(list, reporting, &check)?;
    for cluster in [hadoops, local] {
        if let Some(Err(failure)) = cluster.into_inner() {
            return Err(failure.into());
        }
    }
    Ok(jobs)
}

/// Where the report comes to lie, if one is wanted.
async fn destination(
    reporting: &Reporting,
    signals: &mut Signals,
) -> Result<ControlFlow<u8, Option<Destination>>, Failure> {
    let Some(path) = &reporting.report else {
        return Ok(ControlFlow::Continue(None));
    };
    let opened = Destination::open(path, signals).await?;
    Ok(opened.map_continue(Some))
}

/// One run on `cluster`.
async fn on(
    cluster: Arc<Cluster>,
    given: Arguments,
    signals: &mut Signals,
    started_us: i64,
) -> Result<u8, Failure> {
    let rm = cluster.rm();
    if let Some(id) = &given.kill {
        return end(&rm, id, signals).await;
    }
    if given.ps {
        return frame::spawned(signals, ps(Some(cluster), false)).await;
    }
    if let Some(id) = &given.data.checkpoint {
        let root = given.staging.as_deref();
        return Ok(data::ask(&rm, id, root, &cluster, signals).await?);
    }
    let reporting = given.reporting.clone();
    let destination = match destination(&reporting, signals).await? {
        ControlFlow::Continue(destination) => destination,
        ControlFlow::Break(signal) => return Ok(128u8.saturating_add(signal)),
    };
    let ends = given.ends.clone();
    let kept = given.data.kept();
    if reporting.dry_run {
        return dry(rm, cluster, given, signals).await;
    }
    let mut own = ClientFacts::default();
    own.stamps.started_us = started_us;
    let outcome = match given.session.session.clone() {
        None => Box::pin(job(given, cluster, &rm, signals, &mut own)).await,
        Some(name) => Box::pin(sessions::job(&name, given, cluster, signals, &mut own)).await,
    };
    own.stamps.finished_us = timing::now_us();
    report_outcome(outcome, &reporting, &ends, &kept, destination, own, signals).await
}

/// What would become of a job.
async fn dry(
    rm: ApplicationClient,
    cluster: Arc<Cluster>,
    given: Arguments,
    signals: &mut Signals,
) -> Result<u8, Failure> {
    if let Some(name) = given.session.session.clone() {
        let looked = async move { sessions::dry_run(&name, given, &cluster).await };
        return frame::spawned(signals, looked).await;
    }
    let json = given.reporting.json;
    let plan = match plan_of(given, &cluster, signals).await? {
        ControlFlow::Continue(plan) => plan,
        ControlFlow::Break(signal) => return Ok(128u8.saturating_add(signal)),
    };
    match interruptible(signals, dry_run::run(&rm, &cluster, &plan, json)).await {
        ControlFlow::Continue(looked) => looked,
        ControlFlow::Break(signal) => Ok(128u8.saturating_add(signal)),
    }
}

/// There is no thread for what may take long.
pub(crate) fn thread() -> impl FnOnce(std::io::Error) -> SystemError {
    system("start a thread", Exit::Lost)
}

/// The plan of a job, unless a signal ends the wait for what is read for it (`Break`).
async fn plan_of(
    given: Arguments,
    cluster: &Arc<Cluster>,
    signals: &mut Signals,
) -> Result<ControlFlow<u8, Plan>, Failure> {
    let (quiet, cluster) = (given.reporting.quiet, Arc::clone(cluster));
    let planning = blocking(signals, move || Plan::new(given, &cluster));
    let plan = match planning.await.map_err(thread())? {
        ControlFlow::Continue(plan) => plan?,
        ControlFlow::Break(signal) => return Ok(ControlFlow::Break(signal)),
    };
    if !quiet {
        plan.notes.iter().for_each(say);
    }
    Ok(ControlFlow::Continue(plan))
}

/// The same, with places for the job's output.
pub(crate) async fn planned(
    given: Arguments,
    cluster: &Arc<Cluster>,
    signals: &mut Signals,
) -> Result<ControlFlow<u8, Plan>, Failure> {
    let plan = match plan_of(given, cluster, signals).await? {
        ControlFlow::Continue(plan) => plan,
        ControlFlow::Break(signal) => return Ok(ControlFlow::Break(signal)),
    };
    let layout = plan.streams.layout.clone();
    match blocking(signals, move || layout.prepare())
        .await
        .map_err(thread())?
    {
        ControlFlow::Continue(prepared) => prepared?,
        ControlFlow::Break(signal) => return Ok(ControlFlow::Break(signal)),
    }
    if let Some(copy) = &plan.streams.layout.hdfs_copy {
        match interruptible(signals, copy.prepare()).await {
            ControlFlow::Continue(prepared) => prepared?,
            ControlFlow::Break(signal) => return Ok(ControlFlow::Break(signal)),
        }
    }
    Ok(ControlFlow::Continue(plan))
}

/// One job, from its command line to its end. `own` learns what the report is to say of it.
async fn job(
    given: Arguments,
    cluster: Arc<Cluster>,
    rm: &ApplicationClient,
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
    let quiet = given.reporting.quiet;
    let mut plan = match planned(given, &cluster, signals).await? {
        ControlFlow::Continue(plan) => plan,
        ControlFlow::Break(signal) => return Ok(Ended::unsubmitted(signal)),
    };
    own.program.clone_from(&plan.program.name);
    own.processes = plan.placement.wanted.processes.get();
    let mut progress = Progress::new(quiet);
    progress.show("staging the program");
    let moved = Arc::new(staging::Moved::default());
    let ready = async {
        // Both ask other servers: the ResourceManager, the file system.
        let checking = async { Ok(preflight::check(rm, &plan).await?) };
        let moving = async {
            let processes = plan.placement.wanted.processes.get();
            let (incoming, (), (), restore) = tokio::try_join!(
                data::bring(&plan.data.incoming),
                data::check(&plan.data.outgoing),
                data::get::check(&plan.data.fetched),
                data::find_restore(plan.data.restore.as_ref(), processes),
            )?;
            Ok((incoming, restore))
        };
        let (checked, mut staged, (incoming, restore)) = tokio::try_join!(
            checking,
            staged(
                BroughtFiles::from(&plan),
                plan.deployment.staging.clone(),
                &cluster,
                Arc::clone(&moved)
            ),
            moving,
        )?;
        data::merge(&mut staged.staged, incoming)?;
        Ok::<_, Failure>((checked, staged, restore))
    };
    let ready = staging_meanwhile(Box::pin(ready), &mut progress, &moved, signals).await?;
    let (checked, staged, restore) = match ready {
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
    for remark in &checked.remarks {
        progress.remark(remark);
    }
    if let Some(reason) = &checked.chosen {
        let mode = checked.demand.mode;
        progress.remark(format_args!("-r auto: {mode}, because {reason}"));
    }
    if let Some(checkpoints) = &mut plan.data.checkpoints {
        checkpoints.restore = restore;
    }
    let keys = JobKeys::generate()?;
    let place = match plan.deployment.mode {
        DeployMode::Cluster => None,
        DeployMode::Client => {
            let (ports, interface) = (
                plan.deployment.am_ports,
                plan.deployment.interface.as_deref(),
            );
            let known = &cluster.resource_managers.client;
            let place = unmanaged::place(rm, ports, interface, known);
            match interruptible(signals, place).await {
                ControlFlow::Continue(place) => Some(place?),
                ControlFlow::Break(signal) => return Ok(Ended::unsubmitted(signal)),
            }
        }
    };
    let description = describe(&plan, &checked, &cluster, &staged);
    let application = ApplicationTerms {
        id: checked.application.id,
        name: plan.deployment.name.clone(),
        queue: plan.deployment.queue.clone(),
        priority: plan.deployment.priority,
        tags: plan.deployment.tags.clone(),
        attempts: plan.deployment.attempts,
        unmanaged: plan.deployment.mode == DeployMode::Client,
        places: checked.appmaster.clone(),
    };
    let id = application.id;
    let submitted = submit(rm, application, &description, &staged.staged, &keys);
    match interruptible(signals, submitted).await {
        ControlFlow::Continue(submitted) => submitted?,
        ControlFlow::Break(signal) => {
            // It may be there or on its way, and nobody is to follow it.
            let killed = kill::kill(rm, &id, "interrupted by the user");
            let _gone = timeout(LAST_ORDER, interruptible(signals, killed))
                .await
                .is_ok();
            return Ok(Ended {
                code: 128u8.saturating_add(signal),
                sentence: format!("{id} was interrupted while it was being submitted"),
                verdict: None,
            });
        }
    }
    own.application = checked.application.id.to_string();
    if !plan.deployment.is_local {
        progress.submitted(checked.application.id, &plan.deployment.queue);
        if let Some(sink) = &mut explain {
            let submitted = Explained::Submitted(Submitted {
                at_ms: 0,
                application: own.application.clone(),
                queue: plan.deployment.queue.clone(),
            });
            let event = serde_json::to_string(&submitted).unwrap_or_default();
            progress.aside(|| sink.write(&event));
        }
    }
    own.stamps.submitted_us = timing::now_us();
    own.stamps.uploaded_bytes = staged.uploaded_bytes;
    let client_keys = keys.client_keys();
    let follower = Follower {
        rm,
        id: checked.application.id,
        keys: &client_keys,
        progress,
        signals: &mut *signals,
        explain,
        layout: plan.streams.layout.clone(),
        input: InputSource::new(plan.streams.input.clone()),
        terminal: plan.streams.terminal.is_some(),
    };
    let followed = SubmittedApplication {
        follower,
        wait_timeout: WaitTimeout::new(plan.placement.flags.wait_timeout),
        attempts: Attempts::new(plan.deployment.attempts, plan.deployment.missed_after),
    };
    let ended = match place {
        None => followed.follow().await,
        Some(place) => unmanaged::follow(followed, &keys, place, description).await,
    };
    come_home(&plan.data.fetched, ended.map_err(Failure::from), signals).await
}

/// `-k`.
async fn end(rm: &ApplicationClient, id: &str, signals: &mut Signals) -> Result<u8, Failure> {
    let id: ApplicationId = id.parse().map_err(|_unreadable| Failure::NoApplicationId {
        text: id.to_owned(),
    })?;
    let killed = async {
        let why = "killed with gerbil-run -k";
        // Of one that is over YARN has the last word.
        let _in_order = sessions::ended_in_order(rm, id, why).await;
        kill::kill(rm, &id, why).await
    };
    let report = match interruptible(signals, killed).await {
        ControlFlow::Continue(report) => report?,
        ControlFlow::Break(signal) => {
            say(format!(
                "interrupted before {id} was seen to end; where the order was heard it ends"
            ));
            return Ok(128u8.saturating_add(signal));
        }
    };
    let state = match report.final_status {
        FinalApplicationStatus::Killed => "KILLED".to_owned(),
        _ => format!("{:?}", report.state).to_uppercase(),
    };
    say(format!("{id} is {state}"));
    Ok(Exit::Success.code())
}
