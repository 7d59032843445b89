//! Data that moves between the cluster's file system and the nodes.
//!
//! What comes in [`stage_in`] is brought by YARN itself: it becomes files of the launchers'
//! containers, beside the program. What goes out is checked here ([`stage_out`]) and handed over by the
//! ApplicationMaster, and brought to this machine where it is to lie here ([`get`]); so are checkpoints
//! ([`checkpoint`]). All of it is looked at before anything is
//! submitted.

mod checkpoint;
mod error;
pub(crate) mod get;
mod kept;
mod near;
pub(crate) mod record;
mod stage_in;
mod stage_out;

use std::time::Duration;

use job::exit::Exit;
use job::{Checkpoints, StageOut};
use nix::sys::signal::Signal;
use storage::{Address, Storage, StorageError};

pub(crate) use checkpoint::{ask, find_restore};
pub(crate) use error::DataError;
pub(crate) use near::Near;
pub(crate) use stage_in::{bring, merge};
pub(crate) use stage_out::check;

use staging::StageError;
use staging::root::{self, Root};

use crate::arguments::{DataArguments, Outgoing};
use crate::cluster::Cluster;

/// Stands for % while an address is read: paths of Hadoop have none.
const PERCENT: &str = "\u{1}";

/// A place on a file system that all nodes see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Located {
    pub address: Address,
    /// Absolute.
    pub path: String,
}

/// What the flags on data say, with every place found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Data {
    /// To be brought to every container, each with its name there.
    pub incoming: Vec<(Located, String)>,
    /// To become results.
    pub outgoing: Vec<StageOut>,
    /// Those of them that come to this machine.
    pub fetched: Vec<get::Fetched>,
    /// What should be known of what was typed, a sentence each.
    pub notes: Vec<String>,
    /// How the job is saved; what it begins from is still to be found.
    pub checkpoints: Option<Checkpoints>,
    /// Where to look for that: the folder of a job, or a checkpoint.
    pub restore: Option<Located>,
    /// What the processes are to be near.
    pub near: Option<Near>,
}

impl Data {
    /// Finds the places. Asks nobody.
    pub(crate) fn new(
        given: &DataArguments,
        near: &[String],
        staging: Option<&str>,
        cluster: &Cluster,
    ) -> Result<Self, DataError> {
        let incoming = given.stage_in.iter().map(|incoming| {
            let located = locate("--stage-in", &incoming.url, cluster)?;
            Ok((located, incoming.name.clone()))
        });
        let (here, there): (Vec<&Outgoing>, Vec<&Outgoing>) =
            (given.stage_out.iter()).partition(|outgoing| get::is_here(&outgoing.url));
        let outgoing = there.into_iter().map(|outgoing| {
            let located = locate("--stage-out", &outgoing.url.replace('%', PERCENT), cluster)?;
            stage_out::pattern(&outgoing.name, located)
        });
        let mut outgoing: Vec<StageOut> = outgoing.collect::<Result<_, DataError>>()?;
        let notes = outgoing.iter().filter_map(get::of_a_disk).collect();
        let mut fetched = Vec::new();
        let gets: Vec<&Outgoing> = given.get.iter().chain(here).collect();
        let run = match gets.is_empty() {
            true => None,
            false => Some(checkpoint::staging_folder(staging, cluster)?),
        };
        let run = run.map(|staging| get::of_this_run(&staging));
        for (index, (get, run)) in gets.into_iter().zip(run.iter().cycle()).enumerate() {
            let (mut out, place) = get::plan(&get.name, &get.url, index, run)?;
            if index < given.get.len() {
                "--get".clone_into(&mut out.option);
            }
            outgoing.push(out);
            fetched.push(place);
        }
        let wanted = given.checkpoint_interval.is_some()
            || given.checkpoint_dir.is_some()
            || given.restore.is_some();
        if !wanted && given.checkpoint_signal.is_some() {
            return Err(DataError::SignalAlone);
        }
        let root = match wanted {
            true => Some(checkpoint::root(staging, cluster)?),
            false => None,
        };
        let restore = match (&given.restore, &root) {
            (Some(text), Some(root)) => Some(checkpoint::place(text, root, cluster)?),
            _ => None,
        };
        let ms = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        let signal = given.checkpoint_signal.unwrap_or(Signal::SIGUSR1);
        Ok(Self {
            outgoing,
            fetched,
            notes,
            restore,
            near: Near::new(near, cluster)?,
            checkpoints: root.map(|root| Checkpoints {
                folder: given
                    .checkpoint_dir
                    .clone()
                    .unwrap_or_else(|| "checkpoint".to_owned()),
                signal: signal as i32,
                interval_ms: given.checkpoint_interval.map(ms),
                address: root.address,
                root: root.path,
                restore: None,
            }),
            incoming: incoming.collect::<Result<_, DataError>>()?,
        })
    }
}

impl Located {
    /// As the nodes name it.
    pub(crate) fn url(&self) -> String {
        self.address.url(&self.path)
    }

    /// The folder that it lies in.
    pub(crate) fn folder(&self) -> Self {
        let above = self.path.trim_end_matches('/').rsplit_once('/');
        let path = above
            .map(|(above, _)| above)
            .filter(|above| !above.is_empty());
        Self {
            address: self.address.clone(),
            path: path.unwrap_or("/").to_owned(),
        }
    }

    pub(crate) fn open(&self, option: &'static str) -> Result<Storage, DataError> {
        Storage::open(&self.address).map_err(|error| failed(option, error))
    }
}

/// The place that `url` names; `option` is named in errors.
pub(crate) fn locate(option: &str, url: &str, cluster: &Cluster) -> Result<Located, DataError> {
    let hadoop = |key: &str| cluster.configuration.get(key).ok().flatten();
    let found = root::resolve(Some(url), &cluster.user, &hadoop, None);
    match found {
        Ok(Root { address, path, .. }) => Ok(Located { address, path }),
        Err(StageError::BadRoot { why, .. }) => Err(DataError::BadPlace {
            option: option.to_owned(),
            url: url.to_owned(),
            why,
            exit: Exit::Usage,
        }),
        Err(StageError::NoSharedFileSystem { value, .. }) => Err(DataError::NoSharedFileSystem {
            option: option.to_owned(),
            url: url.to_owned(),
            value,
        }),
        Err(error) => Err(DataError::BadPlace {
            option: option.to_owned(),
            url: url.to_owned(),
            why: error.to_string(),
            exit: error.exit(),
        }),
    }
}

/// What a file system said, as a failure of `option`.
pub(crate) fn failed(option: &'static str, source: StorageError) -> DataError {
    let source = Box::new(source);
    DataError::Storage { option, source }
}
