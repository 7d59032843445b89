//! `--local`: a cluster in this process, for one job; for a session it is a process of its own ([`daemon`]).
//!
//! The job takes the very way it takes on Hadoop: it is staged, submitted, localized, and its
//! ApplicationMaster and launchers run in containers. Everything lies in one folder that is gone
//! after the run; what a killed run left, the next one removes. Hadoop's settings are not read.

pub(crate) mod daemon;

use std::path::{Path, PathBuf};
use std::time::Duration;

use mini::resource_manager::ResourceManagerOptions;
use mini::{RunFolder, machine};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use proto_hadoop::conf::Configuration;
use proto_hadoop::yarn;

use crate::cluster::{Cluster, ClusterError};

/// Containers are rounded up to multiples of this, MiB; also what a process is said to need when
/// the user does not say it. Nothing enforces it: mini keeps account of it, and tells launchers so.
const STEP_MIB: u64 = 128;
/// Cores, where they are not counted.
const UNCOUNTED: u32 = 1 << 24;
/// How long an ApplicationMaster whose job is over may take to leave.
const GRACE: Duration = Duration::from_secs(2);

/// With so many open at once a job of one process runs; with 30 its daemons open no more connections.
const OPEN_FILES: u64 = 64;

/// A cluster on this machine.
pub(crate) struct Local {
    cluster: mini::MiniCluster,
    folder: RunFolder,
    user: String,
}

impl Local {
    /// Starts one of `nodes` nodes, which share the machine's memory and cores.
    pub(crate) async fn start(nodes: u8) -> Result<Self, ClusterError> {
        Self::with(nodes, machine(), 1).await
    }

    /// Starts one whose first application has the number `first`, and where cores are not counted: a session has
    /// as many slots as its user says.
    async fn for_session(nodes: u8, first: i32) -> Result<Self, ClusterError> {
        Self::with(
            nodes,
            yarn::Resource::new(machine().memory_mib, UNCOUNTED),
            first,
        )
        .await
    }

    async fn with(nodes: u8, all: yarn::Resource, first: i32) -> Result<Self, ClusterError> {
        allow_open_files()?;
        let user = crate::cluster::user_here(&|name| std::env::var(name).ok());
        let folder = RunFolder::create(&base())?;
        let count = u32::from(nodes);
        let share = yarn::Resource::new(
            all.memory_mib / u64::from(count),
            (all.vcores / count).max(1),
        );
        let options = ResourceManagerOptions {
            step_mib: STEP_MIB,
            first_application: first,
            ..ResourceManagerOptions::default()
        };
        let shares = vec![share; usize::from(nodes)];
        let cluster = mini::MiniCluster::start(options, &shares, &folder, &user).await;
        Ok(Self {
            cluster: cluster?,
            folder,
            user,
        })
    }

    /// Its settings, in place of Hadoop's files.
    pub(crate) fn settings(&self) -> Result<Cluster, ClusterError> {
        let settings = Configuration::from_xml(&self.text(), &|_none| None);
        Cluster::with(settings?, self.user.clone())
    }

    /// Them, as the text of a file.
    fn text(&self) -> String {
        self.cluster.settings()
    }

    /// Where everything of it lies.
    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// What its settings will say, as far as a command line is checked against them.
    pub(crate) fn expected() -> Result<Cluster, ClusterError> {
        let user = crate::cluster::user_here(&|name| std::env::var(name).ok());
        let text = format!(
            "<configuration>\
               <property><name>yarn.resourcemanager.hostname</name><value>127.0.0.1</value></property>\
               <property><name>yarn.scheduler.minimum-allocation-mb</name><value>{STEP_MIB}</value></property>\
             </configuration>"
        );
        let settings = Configuration::from_xml(&text, &|_none| None);
        Cluster::with(settings?, user)
    }

    /// Where files are staged when the user does not say it.
    pub(crate) fn staging(&self) -> String {
        staging(self.path())
    }

    /// Ends it and all it runs.
    pub(crate) async fn stop(self) {
        self.cluster.stop(GRACE).await;
    }
}

/// Sees to it that this process may have as many files open as the smallest job needs.
fn allow_open_files() -> Result<(), ClusterError> {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return Ok(());
    };
    if hard < OPEN_FILES {
        return Err(ClusterError::OpenFiles {
            hard,
            least: OPEN_FILES,
        });
    }
    if soft < OPEN_FILES {
        // Where it cannot be raised, what cannot be opened is said.
        let _raised = setrlimit(Resource::RLIMIT_NOFILE, OPEN_FILES, hard).is_ok();
    }
    Ok(())
}

/// Where files are staged for the cluster that has `folder`.
pub(crate) fn staging(folder: &Path) -> String {
    format!("file:{}", folder.join("staging").display())
}

/// The folder for temporary files, if there is one.
pub(crate) fn base() -> PathBuf {
    let given = std::env::temp_dir();
    match given.is_absolute() && given.is_dir() {
        true => given,
        false => PathBuf::from("/tmp"),
    }
}
