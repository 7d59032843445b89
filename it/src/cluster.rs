//! A stock Hadoop cluster on this machine.

use std::collections::BTreeMap;
use std::fs::{self, File as LogFile};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use nix::sys::signal::Signal;
use tempfile::TempDir;

use crate::command::{Finished, Run};
use crate::daemon::Daemon;
use crate::hadoop::{Distribution, Version};
use crate::hdfs::Hdfs;
use crate::java::Java;
use crate::loopback::{Loopback, NODES_MAX};
use crate::process::{self, Streams};
use crate::resource_manager::ResourceManager;
use crate::settings::{Configuration, File, capacity_scheduler};
use crate::sweep::{self, Found};
use crate::warden::{CLUSTER_VARIABLE, Warden};
use crate::{java, wait};

/// Four NodeManagers are there after 11 s on two idle cores; the rest is for a busy machine.
const READY: Duration = Duration::from_secs(180);
/// A stock command-line tool: a Java start and a few calls.
const TOOL: Duration = Duration::from_secs(90);
/// A daemon that was told to end.
const ENDS: Duration = Duration::from_secs(30);
/// Killed processes leave the table.
const SWEEP: Duration = Duration::from_secs(20);
/// Bytes of a log's end that a failure shows.
const TAIL: u64 = 3000;

/// Memory and cores of one NodeManager, as it announces them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// `yarn.nodemanager.resource.memory-mb`
    pub memory_mib: u64,
    /// `yarn.nodemanager.resource.cpu-vcores`
    pub vcores: u32,
}

/// Hadoop's own defaults.
impl Default for Size {
    fn default() -> Self {
        Self {
            memory_mib: 8192,
            vcores: 8,
        }
    }
}

/// What a cluster shall be.
#[derive(Debug, Clone)]
pub struct Builder {
    version: Version,
    nodes: Vec<Size>,
    settings: Configuration,
    node_settings: BTreeMap<usize, Configuration>,
    queues: Vec<(String, u32)>,
    hdfs: bool,
    deadline: Duration,
}

impl Builder {
    /// The Hadoop release; 3.4.2 unless said.
    #[must_use]
    pub fn version(mut self, version: Version) -> Self {
        self.version = version;
        self
    }

    /// The number of NodeManagers, each of 8192 MiB and 8 cores; 4 unless said.
    #[must_use]
    pub fn nodes(mut self, count: usize) -> Self {
        self.nodes = vec![Size::default(); count];
        self
    }

    /// NodeManagers of these sizes.
    #[must_use]
    pub fn sizes(mut self, sizes: &[Size]) -> Self {
        self.nodes = sizes.to_vec();
        self
    }

    /// Sets one value for every daemon and client.
    #[must_use]
    pub fn set(mut self, file: File, name: &str, value: impl Into<String>) -> Self {
        self.settings.set(file, name, value);
        self
    }

    /// Sets one value for one NodeManager, counted from 0.
    #[must_use]
    pub fn set_on_node(
        mut self,
        node: usize,
        file: File,
        name: &str,
        value: impl Into<String>,
    ) -> Self {
        self.node_settings
            .entry(node)
            .or_default()
            .set(file, name, value);
        self
    }

    /// A further queue below the root that owns `percent` of the cluster, taken from `default`.
    #[must_use]
    pub fn queue(mut self, name: &str, percent: u32) -> Self {
        self.queues.push((name.to_owned(), percent));
        self
    }

    /// No NameNode and no DataNode: the default file system is this machine's own.
    #[must_use]
    pub fn without_hdfs(mut self) -> Self {
        self.hdfs = false;
        self
    }

    /// How long the start may take; three minutes unless said.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Brings the release, starts the daemons and waits until all are ready.
    ///
    /// # Errors
    ///
    /// Something needed is missing (the message says how to get it), or a daemon ended or was not ready
    /// in time (the ends of the logs are in the message). Nothing keeps running then.
    pub fn start(self) -> Result<Cluster> {
        if self.nodes.len() > NODES_MAX {
            bail!("{} nodes: at most {NODES_MAX}", self.nodes.len());
        }
        let java = Java::find()?;
        let distribution = Distribution::fetch(self.version)?;
        let loopback = Loopback::claim()?;
        let folder = tempfile::Builder::new()
            .prefix("gerbil-it-")
            .tempdir()
            .context("making the cluster's folder")?;
        // Containers of other users, and clients run as them, pass through it.
        open_to_all(folder.path())?;
        let user = nix::unistd::User::from_uid(nix::unistd::geteuid())
            .ok()
            .flatten()
            .map_or_else(|| nix::unistd::geteuid().to_string(), |user| user.name);
        let warden = Warden::start(folder.path())?;
        let cluster = Cluster {
            deadline: self.deadline,
            has_hdfs: self.hdfs,
            nodes: self.nodes.len(),
            daemons: Mutex::default(),
            user,
            java,
            distribution,
            loopback,
            warden: Mutex::new(warden),
            folder: Some(folder),
        };
        self.write_settings(&cluster)?;
        match cluster.bring_up() {
            Ok(()) => Ok(cluster),
            Err(error) => bail!("{error:#}\n{}", cluster.log_tails()),
        }
    }

    fn write_settings(&self, cluster: &Cluster) -> Result<()> {
        let master = cluster.loopback.master();
        let folder = cluster.folder();
        let mut shared = Configuration::default();
        let mut set = |file, name: &str, value: String| shared.set(file, name, value);
        set(
            File::Core,
            "hadoop.tmp.dir",
            folder.join("tmp").display().to_string(),
        );
        if self.hdfs {
            set(File::Core, "fs.defaultFS", format!("hdfs://{master}:8020"));
            let storage =
                |kind: &str| format!("file://{}", folder.join("storage").join(kind).display());
            set(File::Hdfs, "dfs.namenode.name.dir", storage("name"));
            set(File::Hdfs, "dfs.datanode.data.dir", storage("data"));
            set(
                File::Hdfs,
                "dfs.namenode.http-address",
                format!("{master}:9870"),
            );
            // The NameNode takes the address that a DataNode calls from for the DataNode's own, and the
            // kernel calls every 127.* from 127.0.0.1. So the ports must be free ones.
            for address in [
                "dfs.datanode.address",
                "dfs.datanode.http.address",
                "dfs.datanode.ipc.address",
            ] {
                set(File::Hdfs, address, "127.0.0.1:0".into());
            }
            // One DataNode holds one copy, and a restarted NameNode need not wait for more reports.
            set(File::Hdfs, "dfs.replication", "1".into());
            set(File::Hdfs, "dfs.namenode.safemode.extension", "0".into());
        } else {
            set(File::Core, "fs.defaultFS", "file:///".into());
        }
        set(
            File::Yarn,
            "yarn.resourcemanager.hostname",
            master.to_string(),
        );
        let class_path = cluster.class_path(&cluster.conf_dir());
        set(
            File::Yarn,
            "yarn.application.classpath",
            class_path.join(","),
        );
        set(File::Mapred, "mapreduce.framework.name", "yarn".into());
        set(
            File::Mapred,
            "mapreduce.application.classpath",
            class_path.join(","),
        );
        shared.merge(&capacity_scheduler(&self.queues));
        shared.merge(&self.settings);
        shared.write(&cluster.conf_dir())?;

        // The web pages of HDFS are in no jar; without the folders its daemons do not start.
        for pages in ["hdfs", "datanode", "static"] {
            let folder = folder.join("web/webapps").join(pages).join("WEB-INF");
            fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
            fs::write(folder.join("web.xml"), "<web-app/>")?;
        }
        for daemon in cluster.all_daemons() {
            let mut own = shared.clone();
            if let Daemon::NodeManager(index) = daemon {
                let size = self.nodes[index];
                let files = folder.join("nodes").join(daemon.to_string());
                fs::create_dir_all(&files)
                    .with_context(|| format!("making {}", files.display()))?;
                let mut set = |name: &str, value: String| own.set(File::Yarn, name, value);
                set(
                    "yarn.nodemanager.hostname",
                    cluster.loopback.node(index).to_string(),
                );
                set(
                    "yarn.nodemanager.local-dirs",
                    files.join("local").display().to_string(),
                );
                set(
                    "yarn.nodemanager.log-dirs",
                    files.join("logs").display().to_string(),
                );
                set(
                    "yarn.nodemanager.resource.memory-mb",
                    size.memory_mib.to_string(),
                );
                set(
                    "yarn.nodemanager.resource.cpu-vcores",
                    size.vcores.to_string(),
                );
                if let Some(asked) = self.node_settings.get(&index) {
                    own.merge(asked);
                }
            }
            own.write(&cluster.daemon_folder(daemon).join("conf"))?;
        }
        Ok(())
    }
}

/// A NodeManager of a running cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Counted from 0, as in [`Daemon::NodeManager`].
    pub index: usize,
    /// Its address, which is also its host name in YARN.
    pub host: Ipv4Addr,
    /// Below it lie the containers' folders, `local`, and logs, `logs`.
    pub folder: PathBuf,
}

/// A running cluster. Dropping it leaves no process and no file.
#[derive(Debug)]
pub struct Cluster {
    deadline: Duration,
    has_hdfs: bool,
    nodes: usize,
    daemons: Mutex<BTreeMap<Daemon, Child>>,
    user: String,
    java: Java,
    distribution: Distribution,
    loopback: Loopback,
    warden: Mutex<Warden>,
    /// None only while it is dropped.
    folder: Option<TempDir>,
}

/// What a job has left behind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Processes of containers.
    pub processes: Vec<Found>,
    /// Files and folders of jobs in the users' staging folders.
    pub staged: Vec<String>,
}

impl Leftovers {
    /// Whether there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Cluster {
    /// Four nodes of Hadoop 3.4.2 with HDFS, unless told otherwise.
    #[must_use]
    pub fn builder() -> Builder {
        Builder {
            version: Version::V3_4_2,
            nodes: vec![Size::default(); 4],
            settings: Configuration::default(),
            node_settings: BTreeMap::new(),
            queues: Vec::new(),
            hdfs: true,
            deadline: READY,
        }
    }

    /// The folder that `HADOOP_CONF_DIR` of a client names.
    #[must_use]
    pub fn conf_dir(&self) -> PathBuf {
        self.folder().join("conf")
    }

    /// The cluster's folder. It is removed at the end.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.as_ref().map_or(Path::new(""), TempDir::path)
    }

    /// The user that the daemons run as, who is HDFS's superuser.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The release's jars.
    #[must_use]
    pub fn distribution(&self) -> &Distribution {
        &self.distribution
    }

    /// The release, as the running ResourceManager says it.
    ///
    /// # Errors
    ///
    /// It does not answer.
    pub fn version(&self) -> Result<String> {
        self.resource_manager().version()
    }

    /// Where the ResourceManager takes clients' calls, `host:port`.
    #[must_use]
    pub fn resource_manager_address(&self) -> String {
        format!("{}:8032", self.loopback.master())
    }

    /// Where the NameNode takes clients' calls, `host:port`.
    #[must_use]
    pub fn name_node_address(&self) -> String {
        format!("{}:8020", self.loopback.master())
    }

    /// The ResourceManager's account of the cluster.
    #[must_use]
    pub fn resource_manager(&self) -> ResourceManager {
        ResourceManager::at(self.loopback.master())
    }

    /// The cluster's HDFS, as its superuser.
    #[must_use]
    pub fn hdfs(&self) -> Hdfs {
        Hdfs::at(self.loopback.master(), &self.user)
    }

    /// The nodes.
    #[must_use]
    pub fn nodes(&self) -> Vec<Node> {
        (0..self.nodes)
            .map(|index| Node {
                index,
                host: self.loopback.node(index),
                folder: self
                    .folder()
                    .join("nodes")
                    .join(Daemon::NodeManager(index).to_string()),
            })
            .collect()
    }

    /// Every daemon, masters first.
    #[must_use]
    pub fn all_daemons(&self) -> Vec<Daemon> {
        let masters = [Daemon::ResourceManager, Daemon::NameNode, Daemon::DataNode];
        masters
            .into_iter()
            .filter(|daemon| self.has_hdfs || !daemon.is_hdfs())
            .chain((0..self.nodes).map(Daemon::NodeManager))
            .collect()
    }

    /// Starts one daemon that does not run. It is not waited for.
    ///
    /// # Errors
    ///
    /// It runs already, or Java cannot be started.
    pub fn start(&self, daemon: Daemon) -> Result<()> {
        let mut daemons = self.lock();
        if let Some(child) = daemons.get_mut(&daemon)
            && child.try_wait()?.is_none()
        {
            bail!("{daemon} runs already");
        }
        let folder = self.daemon_folder(daemon);
        let command =
            self.java_command(&folder.join("conf"), daemon.class(), &[], daemon.is_hdfs());
        let log = LogFile::options()
            .create(true)
            .append(true)
            .open(folder.join("log"))?;
        let streams = Streams {
            stdin: Stdio::null(),
            stdout: log.try_clone()?.into(),
            stderr: log.into(),
        };
        let child =
            process::spawn(&command, streams).with_context(|| format!("starting {daemon}"))?;
        daemons.insert(daemon, child);
        Ok(())
    }

    /// Tells one daemon to end, as an administrator would, and waits until it has.
    ///
    /// # Errors
    ///
    /// It does not run or does not end.
    pub fn stop(&self, daemon: Daemon) -> Result<()> {
        self.signal(daemon, Signal::SIGTERM)?;
        self.wait_for_end(daemon)
    }

    /// Kills one daemon with `-9` and waits until it is gone. Containers of a NodeManager stay.
    ///
    /// # Errors
    ///
    /// It does not run.
    pub fn kill(&self, daemon: Daemon) -> Result<()> {
        self.signal(daemon, Signal::SIGKILL)?;
        self.wait_for_end(daemon)
    }

    /// Freezes one daemon: it keeps its connections and answers nothing.
    ///
    /// # Errors
    ///
    /// It does not run.
    pub fn freeze(&self, daemon: Daemon) -> Result<()> {
        self.signal(daemon, Signal::SIGSTOP)
    }

    /// Lets a frozen daemon go on.
    ///
    /// # Errors
    ///
    /// It does not run.
    pub fn thaw(&self, daemon: Daemon) -> Result<()> {
        self.signal(daemon, Signal::SIGCONT)
    }

    fn signal(&self, daemon: Daemon, signal: Signal) -> Result<()> {
        match self.lock().get(&daemon) {
            Some(child) => process::signal(child, signal),
            None => bail!("{daemon} was never started"),
        }
    }

    fn wait_for_end(&self, daemon: Daemon) -> Result<()> {
        wait::until(&format!("the end of {daemon}"), ENDS, || {
            match self.lock().get_mut(&daemon) {
                Some(child) => Ok(child.try_wait()?),
                None => bail!("{daemon} was never started"),
            }
        })?;
        Ok(())
    }

    /// Waits until HDFS takes writes.
    ///
    /// # Errors
    ///
    /// It does not in time, or a daemon has ended.
    pub fn wait_for_hdfs(&self) -> Result<()> {
        let ready = || {
            self.check_alive()?;
            // Not listening yet is no error.
            Ok(self.hdfs().is_ready().unwrap_or(false).then_some(()))
        };
        wait::until(
            "HDFS out of safe mode with a live DataNode",
            self.deadline,
            ready,
        )
    }

    /// Waits until the ResourceManager counts `count` running nodes.
    ///
    /// # Errors
    ///
    /// It does not in time, or a daemon has ended.
    pub fn wait_for_nodes(&self, count: usize) -> Result<()> {
        let ready = || {
            self.check_alive()?;
            let nodes = self.resource_manager().nodes().unwrap_or_default();
            Ok(
                (nodes.iter().filter(|node| node.state == "RUNNING").count() == count)
                    .then_some(()),
            )
        };
        wait::until(&format!("{count} running nodes"), self.deadline, ready)
            .with_context(|| self.log_tails())
    }

    /// A stock command-line class run as a client of the cluster, for instance
    /// `org.apache.hadoop.hdfs.tools.DFSAdmin`; add a `HADOOP_USER_NAME` to be another user.
    #[must_use]
    pub fn tool(&self, class: &str, arguments: &[&str]) -> Command {
        self.java_command(&self.conf_dir(), class, arguments, false)
    }

    fn run_tool(&self, class: &str, arguments: &[&str]) -> Result<Finished> {
        let what = format!("{class} {}", arguments.join(" "));
        Run::new(self.tool(class, arguments))
            .deadline(TOOL)
            .finish()?
            .success(&what)
    }

    /// `hdfs dfs ARGUMENTS`
    ///
    /// # Errors
    ///
    /// It failed; its output is in the message. So for the other stock commands here.
    pub fn dfs(&self, arguments: &[&str]) -> Result<Finished> {
        self.run_tool("org.apache.hadoop.fs.FsShell", arguments)
    }

    /// `hdfs dfsadmin ARGUMENTS`: quotas and safe mode.
    ///
    /// # Errors
    ///
    /// As [`Cluster::dfs`].
    pub fn dfs_admin(&self, arguments: &[&str]) -> Result<Finished> {
        self.run_tool("org.apache.hadoop.hdfs.tools.DFSAdmin", arguments)
    }

    /// Forbids or allows changes to HDFS.
    ///
    /// # Errors
    ///
    /// As [`Cluster::dfs`].
    pub fn safe_mode(&self, on: bool) -> Result<()> {
        self.dfs_admin(&["-safemode", if on { "enter" } else { "leave" }])?;
        Ok(())
    }

    /// The processes of containers that run now, launch scripts among them.
    ///
    /// # Errors
    ///
    /// `/proc` cannot be read.
    pub fn container_processes(&self) -> Result<Vec<Found>> {
        sweep::find(&self.containers_mark())
    }

    /// What jobs have left behind at this moment.
    ///
    /// # Errors
    ///
    /// `/proc` or HDFS cannot be read.
    pub fn leftovers(&self) -> Result<Leftovers> {
        let staged = if self.has_hdfs {
            self.hdfs().staged("jobs")?
        } else {
            Vec::new()
        };
        Ok(Leftovers {
            processes: self.container_processes()?,
            staged,
        })
    }

    /// Waits until nothing is left of any job.
    ///
    /// # Errors
    ///
    /// Something is left after `deadline`; it is named.
    pub fn wait_until_clean(&self, deadline: Duration) -> Result<()> {
        let mut last = Leftovers::default();
        wait::until(
            "no process and no staged file of a job left",
            deadline,
            || {
                last = self.leftovers()?;
                Ok(last.is_empty().then_some(()))
            },
        )
        .with_context(|| format!("{last:#?}"))
    }

    /// The log file of a daemon.
    #[must_use]
    pub fn log(&self, daemon: Daemon) -> PathBuf {
        self.daemon_folder(daemon).join("log")
    }

    /// The ends of all daemons' logs and of the newest containers' logs, for a message.
    #[must_use]
    pub fn log_tails(&self) -> String {
        let mut text = String::new();
        let logs = self
            .all_daemons()
            .into_iter()
            .map(|daemon| self.log(daemon))
            .chain(self.container_logs());
        for path in logs {
            if let Ok(end) = tail(&path)
                && !end.is_empty()
            {
                text.push_str(&format!("--- end of {}\n{end}\n", path.display()));
            }
        }
        text
    }

    /// Every file in the containers' log folders.
    #[must_use]
    pub fn container_logs(&self) -> Vec<PathBuf> {
        // NODE/logs/APPLICATION/CONTAINER/FILE
        let mut level: Vec<PathBuf> = self
            .nodes()
            .iter()
            .map(|node| node.folder.join("logs"))
            .collect();
        for _ in 0..3 {
            level = level
                .iter()
                .filter_map(|folder| fs::read_dir(folder).ok())
                .flatten()
                .flatten()
                .map(|found| found.path())
                .collect();
        }
        level.sort();
        level
    }

    fn bring_up(&self) -> Result<()> {
        for daemon in self
            .all_daemons()
            .into_iter()
            .filter(|daemon| !daemon.is_hdfs())
        {
            self.start(daemon)?;
        }
        if self.has_hdfs {
            let conf = self.daemon_folder(Daemon::NameNode).join("conf");
            let format = self.java_command(
                &conf,
                Daemon::NameNode.class(),
                &["-format", "-nonInteractive"],
                true,
            );
            Run::new(format)
                .deadline(self.deadline)
                .finish()?
                .success("formatting the NameNode")?;
            self.start(Daemon::NameNode)?;
            self.start(Daemon::DataNode)?;
        }
        self.wait_for_nodes(self.nodes)?;
        if self.has_hdfs {
            self.wait_for_hdfs()?;
            self.hdfs().make_folder("/tmp", "1777")?;
            self.hdfs().make_home(&self.user)?;
        }
        Ok(())
    }

    /// An error if a daemon that was started has ended by itself.
    fn check_alive(&self) -> Result<()> {
        for (daemon, child) in self.lock().iter_mut() {
            use std::os::unix::process::ExitStatusExt as _;

            if let Some(status) = child.try_wait()?
                // Killed or stopped by a test.
                && !matches!(status.signal(), Some(9 | 15)) && status.code() != Some(143)
            {
                bail!("{daemon} ended with {status}");
            }
        }
        Ok(())
    }

    fn java_command(
        &self,
        conf: &Path,
        class: &str,
        arguments: &[&str],
        web_pages: bool,
    ) -> Command {
        let mut class_path = self.class_path(conf);
        if web_pages {
            class_path.push(self.folder().join("web").display().to_string());
        }
        let mut command = Command::new(self.java.command());
        command
            .args(java::FLAGS)
            .args(["-cp", &class_path.join(":"), class])
            .args(arguments)
            .current_dir(self.folder())
            .env("JAVA_HOME", self.java.home())
            .env("HADOOP_CONF_DIR", conf)
            .env("YARN_CONF_DIR", conf)
            .env("LANG", "C.UTF-8")
            .env(CLUSTER_VARIABLE, self.folder())
            .env_remove("HADOOP_USER_NAME")
            .env_remove("CLASSPATH");
        command
    }

    fn class_path(&self, conf: &Path) -> Vec<String> {
        let mut all = vec![conf.display().to_string()];
        all.extend(self.distribution.class_path());
        all
    }

    fn daemon_folder(&self, daemon: Daemon) -> PathBuf {
        self.folder().join("daemons").join(daemon.to_string())
    }

    fn containers_mark(&self) -> PathBuf {
        // With the separator, as the warden looks for it.
        self.folder().join("nodes").join("")
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Daemon, Child>> {
        self.daemons.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends everything. Each step is tried even if one before failed.
    fn take_down(&mut self) -> Result<()> {
        let mut ended = Ok(());
        for child in self.lock().values_mut() {
            ended = ended.and(process::destroy(child));
        }
        self.lock().clear();
        ended = ended.and(sweep::kill_all(&self.containers_mark(), SWEEP));
        if let Some(folder) = self.folder.take() {
            if std::env::var_os("GERBIL_IT_KEEP").is_some() {
                // Away from the name that the warden would remove.
                let kept = folder.keep().with_extension("kept");
                ended = ended.and(fs::rename(kept.with_extension(""), &kept).map_err(Into::into));
            } else {
                ended = ended.and(folder.close().context("removing the cluster's folder"));
            }
        }
        ended.and(
            self.warden
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner)
                .leave(),
        )
    }
}

impl Drop for Cluster {
    #[expect(
        clippy::print_stderr,
        reason = "a test's output is where a failed clean-up belongs, and drop returns nothing"
    )]
    fn drop(&mut self) {
        if let Err(error) = self.take_down() {
            eprintln!("taking the cluster down: {error:#}");
        }
    }
}

fn open_to_all(folder: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;

    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))
        .with_context(|| format!("opening {}", folder.display()))
}

fn tail(path: &Path) -> Result<String> {
    let mut file = LogFile::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut end = Vec::new();
    file.take(TAIL).read_to_end(&mut end)?;
    Ok(String::from_utf8_lossy(&end).into_owned())
}
