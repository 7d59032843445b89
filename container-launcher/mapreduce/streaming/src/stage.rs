//! What mapper, combiner and reducer have in common: a command with its folder, and where its lines go.

use std::path::PathBuf;

use gerbil_mapreduce::{Context, ErrorContext as _, Output, Result, Text};

use crate::cut::Cut;
use crate::environment::{TaskFacts, variables};
use crate::folder::{OwnFolder, make_of_task};
use crate::form::{self, Form};
use crate::order::KeyOrder;
use crate::plan::{Stage, StreamPlan};
use crate::pump::{Listener, Pump};
use crate::settings;
use crate::shown::show;

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
}

/// What is done to records before they are emitted.
#[derive(Debug)]
pub(crate) struct Emits {
    cut: Cut,
    /// Keys get in front what they are compared by.
    order: Option<KeyOrder>,
    /// They go into a part file, and were printed so.
    shown: Option<Form>,
    key: Vec<u8>,
    value: Vec<u8>,
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
    let stage = match at {
        At::Map => plan.map.clone(),
        At::Combine => plan.combine.clone().unwrap_or_default(),
        At::Reduce => plan.reduce.clone(),
    };
    let cut = settings::cut(context.settings(), at.setting())?;
    let output = |stage: &str| Form::of(context.settings(), stage);
    let form = output(at.output())?;
    let running = match &stage {
        Stage::Identity | Stage::Aggregate => None,
        Stage::Command(command) => Some(start(command, at, form, &plan, context)?),
    };
    let has_reduces = context
        .settings()
        .parse_if::<u32>("mapreduce.job.reduces")?
        != Some(0);
    let order = settings::order(context.settings())?.filter(|_| has_reduces);
    let shown = match (at, &running) {
        (At::Map, _) if !has_reduces => Some(form),
        (At::Reduce, Some(_)) => Some(form),
        // As the maps have printed it.
        (At::Reduce, None) => Some(output(form::MAP_OUTPUT)?),
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
    })
}

fn start(
    command: &str,
    at: At,
    form: Form,
    plan: &StreamPlan,
    context: &Context,
) -> Result<Running> {
    let (number, attempt) = (context.number(), context.attempt());
    let stage = at.letter();
    let job = match &plan.folder {
        Some(folder) => PathBuf::from(folder),
        None => std::env::current_dir().context(|| "the working folder")?,
    };
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
        pump: Pump::start(command, terms, folder.path(), &variables)?,
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

/// Emits what a command prints.
pub(crate) struct Emitting<'a, 'b> {
    pub(crate) by: &'a mut Emits,
    pub(crate) out: &'a mut Output<'b, Text, Text>,
    /// Records go nowhere.
    pub(crate) is_mute: bool,
}

impl Emitting<'_, '_> {
    /// A record that no command has printed.
    pub(crate) fn emit(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let Emits {
            order,
            shown,
            key: own_key,
            value: own_value,
            ..
        } = &mut *self.by;
        own_key.clear();
        match (order, shown) {
            (Some(order), _) => {
                order.append(key, own_key);
                self.out.emit(own_key.as_slice(), value)
            }
            (None, Some(form)) => {
                own_value.clear();
                show(*form, key, own_key)?;
                show(*form, value, own_value)?;
                self.out.emit(own_key.as_slice(), own_value)
            }
            (None, None) => self.out.emit(key, value),
        }
    }
}

impl Listener for Emitting<'_, '_> {
    fn line(&mut self, line: &[u8]) -> Result<()> {
        if self.is_mute {
            return Ok(());
        }
        let (key, value) = self.by.cut.pair(line);
        self.emit(key, value)
    }

    fn pair(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        match self.is_mute {
            true => Ok(()),
            false => self.emit(key, value),
        }
    }

    fn task(&mut self) -> &mut Context {
        self.out
    }
}
