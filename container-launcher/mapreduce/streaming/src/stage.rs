//! What mapper, combiner and reducer have in common: a command with its folder, and where its lines go.

use gerbil_mapreduce::{Context, Error, ErrorContext as _, Result};

use crate::emitting::Emits;
use crate::environment::{TaskFacts, variables};
use crate::folder::{OwnFolder, make_of_task};
use crate::form::{self, Form};
use crate::plan::{Stage, StreamPlan};
use crate::pump::Pump;
use crate::settings;
use crate::suspects::{Culprit, SuspectRecords};

/// A command that runs; its folder goes when it has ended.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) pump: Pump,
    _folder: OwnFolder,
}

/// What a task does, made ready.
#[derive(Debug)]
pub(crate) struct Ready {
    /// The command; none: records go on as they are.
    pub(crate) running: Option<Running>,
    pub(crate) by: Emits,
    /// Keys have what they are compared by in front between maps and reduces.
    pub(crate) is_ordered: bool,
    pub(crate) aggregates: bool,
    at: At,
    /// What the command was given, where records may be left out.
    pub(crate) suspects: Option<SuspectRecords>,
}

impl Ready {
    /// The error that stands for `error`, with which handing records to the command has ended.
    pub(crate) fn failed(&mut self, error: Error, task: &mut Context) -> Error {
        let has_failed = (self.running.as_ref()).is_some_and(|running| running.pump.has_failed());
        let Some(suspects) = &mut self.suspects else {
            return error;
        };
        // Its folder is another's next.
        self.running = None;
        if !has_failed {
            return error.placed();
        }
        match suspects.find(task, |task| start(self.at, task)) {
            Ok(Culprit::Record {
                number,
                offset,
                begins,
            }) => error
                .context(format!("it begins with {begins:?}"))
                .on_record(number, offset),
            Ok(Culprit::None(why)) => error.context(why).placed(),
            Err(other) => error
                .context(format!("which record it fails on was not found ({other})"))
                .placed(),
        }
    }
}

/// What a task is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    Map,
    /// A sorted run within a map; as to Hadoop, it is handed and prints records as a reduce does.
    Combine,
    Reduce,
}

impl At {
    /// As settings call it.
    const fn setting(self) -> &'static str {
        match self {
            Self::Map => "map",
            Self::Combine | Self::Reduce => "reduce",
        }
    }

    /// The setting of what its command prints.
    const fn output(self) -> &'static str {
        match self {
            Self::Map => form::MAP_OUTPUT,
            Self::Combine | Self::Reduce => form::REDUCE_OUTPUT,
        }
    }

    /// In the name of the folder.
    const fn letter(self) -> char {
        match self {
            Self::Map => 'm',
            Self::Combine => 'c',
            Self::Reduce => 'r',
        }
    }
}

/// Starts what is done at hand.
pub(crate) fn ready(at: At, context: &Context) -> Result<Ready> {
    let plan: StreamPlan = context.params()?;
    let stage = plan.stage(at);
    let settings = context.settings();
    let cut = settings::cut(settings, at.setting())?;
    let form = Form::of(settings, at.output())?;
    let running = match &stage {
        Stage::Identity | Stage::Aggregate => None,
        Stage::Command(_) => Some(start(at, context)?),
    };
    let skips = match at {
        At::Map => settings::maps_skip(settings)?,
        At::Reduce => settings::reduces_skip(settings)?,
        At::Combine => false,
    };
    let suspects = match running.is_some() && skips {
        true => Some(SuspectRecords::new(&plan.job_folder()?)?),
        false => None,
    };
    let has_reduces = settings.parse_if::<u32>("mapreduce.job.reduces")? != Some(0);
    let order = settings::order(settings)?.filter(|_| has_reduces);
    let shown = match (at, &running) {
        (At::Map, _) if !has_reduces => Some(form),
        (At::Reduce, Some(_)) => Some(form),
        // As the maps have printed it.
        (At::Reduce, None) => Some(Form::of(settings, form::MAP_OUTPUT)?),
        (At::Map | At::Combine, _) => None,
    };
    Ok(Ready {
        running,
        is_ordered: order.is_some(),
        by: Emits {
            cut,
            order: order.filter(|_| at != At::Reduce),
            shown: shown.filter(|form| *form != Form::Text),
            key: Vec::new(),
            value: Vec::new(),
        },
        aggregates: stage == Stage::Aggregate,
        at,
        suspects,
    })
}

/// Starts the command, of which no other one runs.
fn start(at: At, context: &Context) -> Result<Running> {
    let plan: StreamPlan = context.params()?;
    let Stage::Command(command) = plan.stage(at) else {
        return Err(Error::new("there is no command"));
    };
    let form = Form::of(context.settings(), at.output())?;
    let (number, attempt) = (context.number(), context.attempt());
    let stage = at.letter();
    let job = plan.job_folder()?;
    let name = format!("task-{stage}-{number:06}-{attempt}-{}", std::process::id());
    let folder = make_of_task(&job, &name, &plan.links)?;
    let input = match context.split().first() {
        Some(piece) => Some((whole_name(&piece.name)?, piece.offset, piece.length)),
        None => None,
    };
    let task = TaskFacts {
        container: std::env::var("CONTAINER_ID").ok(),
        is_map: context.is_map(),
        number,
        attempt,
        input,
    };
    let variables = variables(context.settings().all(), &task, &plan.environment);
    let terms = settings::terms(context.settings(), form)?;
    Ok(Running {
        pump: Pump::start(&command, terms, folder.path(), &variables)?,
        _folder: folder,
    })
}

/// The name of a file with its folder; what names a file system is whole.
fn whole_name(name: &str) -> Result<String> {
    if name.contains(":/") {
        return Ok(name.to_owned());
    }
    let whole = std::path::absolute(name).context(|| name.to_owned())?;
    Ok(whole.to_string_lossy().into_owned())
}
