//! What mapper, combiner and reducer have in common: a command with its folder, and where its lines go.

use std::path::PathBuf;

use gerbil_mapreduce::{Context, ErrorContext as _, Output, Result, Text};

use crate::cut::Cut;
use crate::environment::{TaskFacts, variables};
use crate::folder::{OwnFolder, make_of_task};
use crate::order::KeyOrder;
use crate::plan::{Stage, StreamPlan};
use crate::pump::{Listener, Pump};
use crate::settings;

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
    pub(crate) cut: Cut,
    /// How keys are ordered between maps and reduces; none: by their bytes.
    pub(crate) order: Option<KeyOrder>,
    pub(crate) aggregates: bool,
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
    let running = match &stage {
        Stage::Identity | Stage::Aggregate => None,
        Stage::Command(command) => Some(start(command, at, &plan, context)?),
    };
    let has_reduces = context
        .settings()
        .parse_if::<u32>("mapreduce.job.reduces")?
        != Some(0);
    let order = settings::order(context.settings())?.filter(|_| has_reduces);
    Ok(Ready {
        running,
        cut,
        order,
        aggregates: stage == Stage::Aggregate,
    })
}

fn start(command: &str, at: At, plan: &StreamPlan, context: &Context) -> Result<Running> {
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
    let terms = settings::terms(context.settings())?;
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

/// Emits lines as records.
pub(crate) struct Emitting<'a, 'b> {
    pub(crate) cut: &'a Cut,
    pub(crate) out: &'a mut Output<'b, Text, Text>,
    /// Keys get in front what they are compared by.
    pub(crate) order: Option<(&'a KeyOrder, &'a mut Vec<u8>)>,
    /// Lines go nowhere.
    pub(crate) is_mute: bool,
}

impl Listener for Emitting<'_, '_> {
    fn line(&mut self, line: &[u8]) -> Result<()> {
        if self.is_mute {
            return Ok(());
        }
        let (key, value) = self.cut.pair(line);
        match &mut self.order {
            None => self.out.emit(key, value),
            Some((order, written)) => {
                written.clear();
                order.append(key, written);
                self.out.emit(written.as_slice(), value)
            }
        }
    }

    fn task(&mut self) -> &mut Context {
        self.out
    }
}
