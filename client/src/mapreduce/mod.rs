//! `gerbil mr`: runs a program of maps and reduces in a session, or in an application of its own ([`mr_application`]).

mod here;
mod histories;
mod mr_application;
mod past;
mod profile;
mod shown;
mod streaming;
mod timing;
mod watched;

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use ::job::exit::Exit;
use ::job::{MapReduceReport, Role};
use follow::explained::Sink;
use follow::progress::Progress;
use follow::report::Destination;
use follow::timing::now_us;
use gerbil_task::BroughtFile;
use gerbil_task::settings::{QUEUE, SKIP, SKIP_GROUPS};
use mapreduce_client::jobs::{BroughtProgram, JobRunner};
use mapreduce_client::needs::Needs;
use mapreduce_client::order::JobOrders;
use mapreduce_client::places::FileSystems;
use mapreduce_client::plan::plan;
use mapreduce_client::serve::DriverRun;
use mapreduce_client::settings::RunSettings;
use mapreduce_client::{Cluster as Hadoops, serve};
use policy::MiB;
use session::{Name, Reached, SessionRecord, SessionsFolder, reach};
use staging::program::locate;
use terminal::signals::Signals;
use terminal::{Foreign, Text, blocking, interruptible, print, say};

use crate::arguments::session_of_environment;
use crate::cluster::Cluster;
use crate::failure::Failure;
use crate::frame;
use crate::run::thread;
use crate::sessions::{cluster_of, folder, is_here};
use crate::subcommands::MapReduceArguments;
use crate::system::system;
use crate::usage::UsageError;

pub(crate) use histories::Histories;
use mr_application::MrApplication;
pub(crate) use past::main as past;
pub(crate) use watched::{Watched, WatchedJob, watch};

use profile::profiles;
use shown::Shown;
use timing::Timing;

/// The whole command.
pub(crate) fn main(given: MapReduceArguments) -> ExitCode {
    if given.local || streaming::wants_help(&given.words) {
        return here::main(&given);
    }
    frame::main(async |signals| Box::pin(run(given, signals)).await)
}

async fn run(given: MapReduceArguments, signals: &mut Signals) -> Result<u8, Failure> {
    let mut report = MapReduceReport {
        started_us: now_us(),
        program: given.words.first().map_or_else(String::new, |program| {
            program.to_string_lossy().into_owned()
        }),
        ..MapReduceReport::default()
    };
    let destination = match &given.report {
        None => None,
        Some(path) if path == Path::new("-") => {
            return Err(UsageError::ReportOnOutput.into());
        }
        Some(path) => match Destination::open(path, signals).await? {
            ControlFlow::Continue(destination) => Some(destination),
            ControlFlow::Break(signal) => return Ok(128u8.saturating_add(signal)),
        },
    };
    let explain = match &given.explain {
        None => None,
        Some(file) => match Sink::open(given.json, file.as_deref(), signals).await? {
            ControlFlow::Continue(sink) => Some(sink),
            ControlFlow::Break(signal) => return Ok(128u8.saturating_add(signal)),
        },
    };
    let outcome = Box::pin(jobs(given, explain, signals, &mut report)).await;
    let Some(destination) = destination else {
        return outcome;
    };
    let code = match &outcome {
        Ok(code) => *code,
        Err(failure) => {
            report.sentence = failure.to_string();
            failure.exit().code()
        }
    };
    report.exit_code = code.into();
    report.finished_us = now_us();
    let fill = move |out: &mut dyn Write| Ok(serde_json::to_writer(out, &report)?);
    let code = destination.write(fill, code, signals).await;
    outcome.map(|_code| code)
}

/// The jobs of the program, to their ends; the exit code. `report` learns what became of them.
async fn jobs(
    given: MapReduceArguments,
    explain: Option<Sink>,
    signals: &mut Signals,
    report: &mut MapReduceReport,
) -> Result<u8, Failure> {
    let timing = Timing::new();
    let name = match given.session {
        Some(name) => Some(name),
        None => session_of_environment()?,
    };
    if let (Some(name), Some(option)) = (&name, given.own.typed()) {
        let name = name.clone();
        return Err(UsageError::SizedSession { option, name }.into());
    }
    if name.is_none() {
        if given.deadline.is_some() {
            return Err(UsageError::DeadlineAlone.into());
        }
        if given.profile.is_some() {
            return Err(UsageError::ProfileAlone.into());
        }
    }
    let profiles = match given.profile {
        Some(path) => match blocking(signals, move || profiles(path))
            .await
            .map_err(thread())?
        {
            ControlFlow::Continue(read) => read?,
            ControlFlow::Break(signal) => return Ok(128u8.saturating_add(signal)),
        },
        None => Vec::new(),
    };
    let chosen = streaming::chosen(&given.words)?;
    let words = given.words.split_first();
    let Some((program, words)) = words.filter(|(program, _)| !program.is_empty()) else {
        return Err(UsageError::NoProgram.into());
    };
    // What is behind the words that chose it is the program's.
    let (words, shipped) = match chosen {
        Some(chosen) => (chosen.words, Some(chosen.shipped)),
        None => (words.to_vec(), None),
    };
    let is_own = shipped.is_some();
    let brings: Vec<BroughtFile> = given.files.into_iter().chain(given.archives).collect();
    if is_own && !brings.is_empty() {
        return Err(UsageError::BroughtToStreaming.into());
    }
    if let Some(name) = &name {
        report.session = name.to_string();
    }
    let (program, staging) = (program.clone(), given.staging);
    let opened = move || Opened::new(name, staging, (!is_own).then_some(&*program));
    let opened = blocking(signals, opened).await;
    let opened = opened.map_err(thread())?;
    let Opened {
        cluster,
        kept,
        staging,
        program,
    } = match opened {
        ControlFlow::Continue(opened) => opened?,
        ControlFlow::Break(signal) => return Ok(128u8.saturating_add(signal)),
    };
    let hadoops = Hadoops {
        configuration: cluster.configuration.clone(),
        user: cluster.user.clone(),
    };
    let skip_bad = [SKIP, SKIP_GROUPS]
        .into_iter()
        .filter_map(|name| Some(format!("{name}={}", given.skip_bad?)));
    let queue = given.own.queue.as_ref().filter(|_| kept.is_some());
    let queue = queue.map(|queue| format!("{QUEUE}={queue}"));
    let settings = given.settings.iter().cloned().chain(skip_bad).chain(queue);
    let settings: Vec<String> = settings.collect();
    let settings = RunSettings::new(&hadoops, &settings)?;
    let hadoops = Arc::new(hadoops.writing(&settings.given));
    let rm = Arc::new(match &kept {
        Some((_, kept)) => reach::resource_managers(&kept.owned),
        None => cluster.rm(),
    });
    let reaching = async {
        Ok::<_, Failure>(match &kept {
            Some((folder, kept)) => {
                let mut reached = Reached::new(&rm, folder, kept).await?;
                let smallest = reached.smallest_gpu(kept).await?;
                (Some(reached), smallest)
            }
            None => (None, None),
        })
    };
    let choice: Vec<String> = match is_own {
        true => vec![Role::Streaming.argument().to_owned()],
        false => Vec::new(),
    };
    let words_of_choice: Vec<OsString> = choice.iter().map(OsString::from).collect();
    let planning = async { Ok(plan(program.clone(), words_of_choice.clone()).await?) };
    let ready = async { tokio::try_join!(reaching, planning) };
    let ((reached, smallest_gpu), planned) = tokio::select! {
        ready = ready => ready?,
        signal = signals.ending() => return Ok(128u8.saturating_add(signal)),
    };
    timing.mark("the program has said what it has to offer");
    let places = FileSystems::new(Arc::clone(&hadoops));
    let brought = BroughtProgram {
        program: program.clone(),
        choice,
        shipped: shipped.unwrap_or_default(),
        ship_libraries: !given.no_ship_libs,
        staging,
    };
    let own = Arc::new(MrApplication::new(
        Arc::clone(&rm),
        Arc::new(cluster),
        given.own,
        match is_own {
            true => streaming::NAME.to_owned(),
            false => name_of(&program),
        },
        given.detach,
        timing.clone(),
    )?);
    // The small cluster of a session on this machine counts no types: its nodes say what they have.
    let is_local = matches!(&kept, Some((_, kept)) if kept.owned.local.is_some());
    let rm_of_types = (!is_local).then(|| Arc::clone(&rm));
    let mut jobs = match (kept, reached) {
        (Some((_, kept)), Some(reached)) => {
            JobRunner::of_session(hadoops, brought, rm, kept, reached)
        }
        _ => JobRunner::of_application(hadoops, brought, rm, Arc::clone(&own) as _),
    };
    jobs.deadline = given.deadline;
    jobs.profiles = profiles;
    let progress = Progress::new(given.quiet);
    let needs = Needs::new(program.clone(), rm_of_types);
    let orders = JobOrders::new(planned, places, needs, given.overwrite)
        .explained(explain.is_some())
        .fitting(smallest_gpu.map(MiB))
        .waiting_for_nodes(given.wait_for_nodes);
    let mut shown = Shown::new(progress, given.quiet, jobs.are_alone(), timing.clone());
    shown.explain = explain;
    let run = DriverRun {
        program,
        words: words_of_choice.into_iter().chain(words).collect(),
        brings,
        settings,
        orders: Arc::new(orders),
        jobs: Arc::new(jobs),
        is_dry: given.dry_run,
        is_detached: given.detach,
    };
    let outcome = serve(run, signals, &mut shown).await?;
    let ended = match &shown.left {
        Some(_goes_on) => Ok(()),
        None => own.end(&outcome, signals).await,
    };
    shown.clear();
    if let Some(job) = shown.left.take() {
        let printed = print(Text::Lines(vec![job.clone()]));
        let goes_on = || {
            say(format!(
                "{job} was taken, and goes on; gerbil attach {job} shows it"
            ))
        };
        match interruptible(signals, printed).await {
            ControlFlow::Continue(Ok(())) => {}
            ControlFlow::Continue(Err(error)) => {
                goes_on();
                return Err(error.into());
            }
            ControlFlow::Break(signal) => {
                goes_on();
                return Ok(128u8.saturating_add(signal));
            }
        }
    }
    if !shown.planned.is_empty() {
        let planned = Text::Lines(std::mem::take(&mut shown.planned));
        match interruptible(signals, print(planned)).await {
            ControlFlow::Continue(printed) => printed?,
            ControlFlow::Break(signal) => return Ok(128u8.saturating_add(signal)),
        }
    }
    if let Err(failure) = ended {
        say(failure);
    }
    if given.timing {
        timing.lines().iter().for_each(say);
    }
    if !outcome.sentence.is_empty() && !shown.has_said(&outcome.sentence) {
        say(Foreign::sentence(&outcome.sentence));
    }
    let own_code = gerbil_streaming::exit_code(&outcome.sentence).filter(|_| is_own);
    report.sentence = outcome.sentence;
    report.jobs = shown.into_jobs();
    Ok(own_code.unwrap_or(outcome.code))
}

/// What is read on this machine before anybody is asked.
struct Opened {
    cluster: Cluster,
    /// The session, and where it is kept.
    kept: Option<(SessionsFolder, SessionRecord)>,
    staging: Option<String>,
    /// The file of the program; where none is named, this one.
    program: PathBuf,
}

impl Opened {
    fn new(
        name: Option<Name>,
        mut staging: Option<String>,
        program: Option<&OsStr>,
    ) -> Result<Self, Failure> {
        let cluster = match &name {
            Some(name) => cluster_of(name, &mut staging)?,
            None => Cluster::find()?,
        };
        let kept = match name {
            None => None,
            Some(name) => {
                let folder = folder()?;
                let kept = folder.find_session(&name)?;
                is_here(&kept, &cluster)?;
                Some((folder, kept))
            }
        };
        let program = match program {
            Some(program) => {
                let path = std::env::var_os("PATH");
                let program = locate(program.as_ref(), path.as_deref())?;
                let program = std::path::absolute(program);
                program.map_err(system("find the working folder", Exit::Staging))?
            }
            None => {
                let own = std::env::current_exe();
                own.map_err(system("find my own file", Exit::Staging))?
            }
        };
        Ok(Self {
            cluster,
            kept,
            staging,
            program,
        })
    }
}

/// The last part of a program's name.
fn name_of(program: &Path) -> String {
    let name = program.file_name().unwrap_or(program.as_os_str());
    name.to_string_lossy().into_owned()
}
