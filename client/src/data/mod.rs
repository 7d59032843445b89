//! Data that moves between the cluster's file system and the nodes.
//!
//! What comes in ([`incoming`]) is brought by YARN itself: it becomes files of the launchers'
//! containers, beside the program. All of it is looked at before anything is submitted.

mod incoming;

use job::exit::Exit;
use storage::{Address, Storage, StorageError};

pub(crate) use incoming::{bring, merge};

use crate::arguments::DataArguments;
use crate::failure::Failure;
use crate::resolve::Cluster;
use crate::stage::StageError;
use crate::stage::root::{self, Root};

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
}

impl Data {
    /// Finds the places. Asks nobody.
    pub(crate) fn new(given: &DataArguments, cluster: &Cluster) -> Result<Self, Failure> {
        let incoming = given.stage_in.iter().map(|incoming| {
            let located = locate("--stage-in", &incoming.url, cluster)?;
            Ok((located, incoming.name.clone()))
        });
        Ok(Self {
            incoming: incoming.collect::<Result<_, Failure>>()?,
        })
    }
}

impl Located {
    /// As the nodes name it.
    pub(crate) fn url(&self) -> String {
        self.address.url(&self.path)
    }

    pub(crate) fn open(&self, option: &str) -> Result<Storage, Failure> {
        Storage::open(&self.address).map_err(|error| failed(option, &error))
    }
}

/// The place that `url` names; `option` is named in errors.
pub(crate) fn locate(option: &str, url: &str, cluster: &Cluster) -> Result<Located, Failure> {
    let hadoop = |key: &str| cluster.configuration.get(key).ok().flatten();
    let found = root::resolve(Some(url), &cluster.user, &hadoop, None);
    match found {
        Ok(Root::Hdfs(root)) if root.connect.starts_with("hdfs:") => Ok(Located {
            address: Address::Hdfs {
                connect: root.connect,
                origin: root.origin,
                user: cluster.user.clone(),
                settings: root.settings,
            },
            path: root.path,
        }),
        Ok(Root::Hdfs(_)) => Err(Failure::new(
            Exit::Config,
            format!(
                "{option} {url}: the nodes are not told of mount tables; write the hdfs:// address \
                 that this one stands for"
            ),
        )),
        Ok(Root::Shared(path)) => Ok(Located {
            address: Address::Shared,
            path,
        }),
        Err(StageError::BadRoot { why, .. }) => {
            Err(Failure::new(Exit::Config, format!("{option} {url}: {why}")))
        }
        Err(StageError::NoSharedFileSystem { value, .. }) => Err(Failure::new(
            Exit::Config,
            format!(
                "{option} {url}: fs.defaultFS is {value}, so that a path alone names no place that \
                 the nodes see; write hdfs://HOST:PORT/PATH, or file:/PATH for a folder that all \
                 nodes have"
            ),
        )),
        Err(error) => Err(Failure::new(
            error.exit(),
            format!("{option} {url}: {error}"),
        )),
    }
}

/// What a file system said, as a failure of `option`.
pub(crate) fn failed(option: &str, error: &StorageError) -> Failure {
    let exit = match error {
        StorageError::Silent { .. } => Exit::Unavailable,
        _ => Exit::Staging,
    };
    Failure::new(exit, format!("{option}: {error}"))
}
