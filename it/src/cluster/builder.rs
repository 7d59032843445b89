//! What a cluster shall be, and its settings.

use std::collections::BTreeMap;
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::{Cluster, decommission, devices, room};
use crate::archives::Archives;
use crate::daemon::Daemon;
use crate::hadoop::{Distribution, Version};
use crate::java::{self, Java};
use crate::loopback::{Loopback, NODES_MAX};
use crate::settings::{Configuration, File, capacity_scheduler};
use crate::warden::Warden;

/// Four NodeManagers are there after 11 s on two idle cores; the rest is for a busy machine.
const READY: Duration = Duration::from_secs(180);

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
    heap_mib: u32,
    two_masters: bool,
    data_nodes: Vec<usize>,
    gpus: u32,
    quick: bool,
    allocations: Option<String>,
    old_names: bool,
    archives: Option<Archives>,
    deadline: Duration,
}

/// Four nodes of Hadoop 3.4.2 with HDFS.
impl Default for Builder {
    fn default() -> Self {
        Self {
            version: Version::V3_4_2,
            nodes: vec![Size::default(); 4],
            settings: Configuration::default(),
            node_settings: BTreeMap::new(),
            queues: Vec::new(),
            hdfs: true,
            heap_mib: java::HEAP_MIB,
            two_masters: false,
            data_nodes: Vec::new(),
            gpus: 0,
            quick: false,
            allocations: None,
            old_names: false,
            archives: None,
            deadline: READY,
        }
    }
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

    /// The ResourceManager's heap; 256 MiB unless said.
    #[must_use]
    pub fn resource_manager_heap(mut self, mib: u32) -> Self {
        self.heap_mib = mib;
        self
    }

    /// Two ResourceManagers, of which one is active and the other stands by, and the ZooKeeper server
    /// by which they agree. When the active one is killed the other takes over after some seconds.
    #[must_use]
    pub fn two_resource_managers(mut self) -> Self {
        self.two_masters = true;
        self
    }

    /// DataNodes on these nodes, counted from 0, under the nodes' names, instead of one on the master.
    #[must_use]
    pub fn data_nodes_on(mut self, nodes: &[usize]) -> Self {
        self.data_nodes = nodes.to_vec();
        self
    }

    /// YARN counts so many GPUs of each node, for which files stand in. Only root can start it.
    #[must_use]
    pub fn gpus(mut self, each: u32) -> Self {
        self.gpus = each;
        self
    }

    /// Nodes report five times a second instead of once, as many a site sets it: what a test waits for,
    /// containers given and ended, comes sooner. Not where heartbeats are what is measured.
    #[must_use]
    pub fn quick(mut self) -> Self {
        self.quick = true;
        self
    }

    /// The FairScheduler, with this allocation file, instead of the CapacityScheduler.
    #[must_use]
    pub fn fair_scheduler(mut self, allocations: &str) -> Self {
        self.allocations = Some(allocations.to_owned());
        self
    }

    /// Settings under the names that Hadoop has given up, where there are such.
    #[must_use]
    pub fn old_names(mut self) -> Self {
        self.old_names = true;
        self
    }

    /// With other archives of classes than those that the cache may have.
    #[must_use]
    pub(crate) fn archives(mut self, archives: Archives) -> Self {
        self.archives = Some(archives);
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
        let java =
            Java::find(&self.version.java()).with_context(|| format!("Hadoop {}", self.version))?;
        let distribution = Distribution::fetch(self.version)?;
        let archives = self.archives.clone();
        let archives = archives.unwrap_or_else(|| Archives::find(&java, self.version));
        let loopback = Loopback::claim()?;
        let folder = tempfile::Builder::new()
            .prefix("gerbil-it-")
            .tempdir()
            .context("making the cluster's folder")?;
        room::check(folder.path())?;
        // Containers of other users, and clients run as them, pass through it.
        open_to_all(folder.path())?;
        let user = nix::unistd::User::from_uid(nix::unistd::geteuid())
            .ok()
            .flatten()
            .map_or_else(|| nix::unistd::geteuid().to_string(), |user| user.name);
        let warden = Warden::start(folder.path())?;
        let scratch = folder.path().join("java");
        fs::create_dir(&scratch).with_context(|| format!("making {}", scratch.display()))?;
        let cluster = Cluster {
            deadline: self.deadline,
            has_hdfs: self.hdfs,
            heap_mib: self.heap_mib,
            has_two_masters: self.two_masters,
            nodes: self.nodes.len(),
            data_nodes: self.data_nodes.clone(),
            gpus: self.gpus,
            daemons: Mutex::default(),
            user,
            java,
            archives,
            distribution,
            loopback,
            warden: Mutex::new(warden),
            folder: Some(folder),
        };
        self.write_settings(&cluster)?;
        cluster.write_own_name()?;
        let began = Instant::now();
        match cluster.bring_up() {
            Ok(()) => {
                record(began.elapsed())?;
                Ok(cluster)
            }
            Err(error) => bail!("{error:#}\n{}", cluster.failure()),
        }
    }

    fn write_settings(&self, cluster: &Cluster) -> Result<()> {
        let master = cluster.loopback.master();
        let folder = cluster.folder();
        let mut shared = Configuration::default();
        let file_system = match self.old_names {
            true => "fs.default.name",
            false => "fs.defaultFS",
        };
        let mut set = |file, name: &str, value: String| shared.set(file, name, value);
        set(
            File::Core,
            "hadoop.tmp.dir",
            folder.join("tmp").display().to_string(),
        );
        if self.hdfs {
            set(File::Core, file_system, format!("hdfs://{master}:8020"));
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
            set(File::Core, file_system, "file:///".into());
        }
        // By default one folder of the machine, which two ResourceManagers that start together break.
        set(
            File::Yarn,
            "yarn.node-attribute.fs-store.root-dir",
            format!("file://{}", folder.join("node-attributes").display()),
        );
        set(
            File::Yarn,
            "yarn.resourcemanager.hostname",
            master.to_string(),
        );
        if self.two_masters {
            for (key, value) in two_masters(&cluster.loopback) {
                set(File::Yarn, key, value);
            }
            let data = folder.join("zookeeper");
            fs::create_dir_all(&data).with_context(|| format!("making {}", data.display()))?;
            fs::write(cluster.zookeeper_settings(), zookeeper(master, &data))
                .context("writing ZooKeeper's settings")?;
        }
        decommission::exclude(folder, &[])?;
        let gone = decommission::excluded(folder);
        set(
            File::Yarn,
            "yarn.resourcemanager.nodes.exclude-path",
            gone.display().to_string(),
        );
        if let Some(allocations) = &self.allocations {
            let path = folder.join("fair-scheduler.xml");
            fs::write(&path, allocations).context("writing the FairScheduler's allocations")?;
            set(
                File::Yarn,
                "yarn.scheduler.fair.allocation.file",
                path.display().to_string(),
            );
            set(
                File::Yarn,
                "yarn.resourcemanager.scheduler.class",
                "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler".into(),
            );
        }
        // A machine whose disk is nine tenths full would have no healthy node.
        set(
            File::Yarn,
            "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage",
            "100".into(),
        );
        let class_path = cluster.class_path(&cluster.conf_dir());
        set(
            File::Yarn,
            "yarn.application.classpath",
            class_path.join(","),
        );
        if self.quick {
            let heartbeat = "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms";
            set(File::Yarn, heartbeat, "200".into());
        }
        set(File::Mapred, "mapreduce.framework.name", "yarn".into());
        set(
            File::Mapred,
            "mapreduce.application.classpath",
            class_path.join(","),
        );
        shared.merge(&capacity_scheduler(&self.queues));
        if self.gpus > 0 {
            shared.merge(&devices::settings(self.gpus));
        }
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
            if let Daemon::DataNodeOf(index) = daemon {
                let host = cluster.loopback.node(index).to_string();
                own.set(File::Hdfs, "dfs.datanode.hostname", host);
                let storage = folder.join("storage").join(daemon.to_string());
                let storage = format!("file://{}", storage.display());
                own.set(File::Hdfs, "dfs.datanode.data.dir", storage);
            }
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
            let id = match daemon {
                Daemon::ResourceManager if self.two_masters => Some("rm1"),
                Daemon::SecondResourceManager => Some("rm2"),
                _ => None,
            };
            if let Some(id) = id {
                own.set(File::Yarn, "yarn.resourcemanager.ha.id", id);
            }
            own.write(&cluster.daemon_folder(daemon).join("conf"))?;
        }
        Ok(())
    }
}

/// What makes two ResourceManagers a pair. The one that is killed is missed after eight seconds: on a
/// busy machine a shorter silence is none.
fn two_masters(network: &Loopback) -> Vec<(&'static str, String)> {
    let (first, second) = (network.master(), network.second_master());
    let store = "org.apache.hadoop.yarn.server.resourcemanager.recovery.ZKRMStateStore";
    vec![
        ("yarn.resourcemanager.ha.enabled", "true".into()),
        ("yarn.resourcemanager.ha.rm-ids", "rm1,rm2".into()),
        ("yarn.resourcemanager.hostname.rm1", first.to_string()),
        ("yarn.resourcemanager.hostname.rm2", second.to_string()),
        ("yarn.resourcemanager.cluster-id", "it".into()),
        ("yarn.resourcemanager.recovery.enabled", "true".into()),
        ("yarn.resourcemanager.store.class", store.into()),
        ("yarn.resourcemanager.zk-address", format!("{first}:2181")),
        ("yarn.resourcemanager.zk-timeout-ms", "8000".into()),
        ("hadoop.zk.address", format!("{first}:2181")),
        ("hadoop.zk.timeout-ms", "8000".into()),
        (
            "yarn.resourcemanager.connect.retry-interval.ms",
            "500".into(),
        ),
        ("yarn.client.failover-sleep-base-ms", "200".into()),
        ("yarn.client.failover-sleep-max-ms", "1000".into()),
        (
            "yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms",
            "1000".into(),
        ),
    ]
}

/// `zoo.cfg` of a server that is alone.
fn zookeeper(address: Ipv4Addr, data: &Path) -> String {
    format!(
        "clientPort=2181\nclientPortAddress={address}\ndataDir={}\ntickTime=500\n\
         admin.enableServer=false\n",
        data.display()
    )
}

/// Adds a line with this program's name and the seconds of a start to the file that `GERBIL_IT_CLUSTERS`
/// names: whoever runs all tests wants to know what clusters cost.
fn record(took: Duration) -> Result<()> {
    use std::io::Write as _;

    let Some(file) = std::env::var_os("GERBIL_IT_CLUSTERS") else {
        return Ok(());
    };
    let own = std::env::current_exe().unwrap_or_default();
    let name = own.file_name().unwrap_or_default().to_string_lossy();
    // Cargo puts a digest behind the name of a test.
    let name = match name.rsplit_once('-') {
        Some((name, digest)) if digest.len() == 16 => name,
        _ => &name,
    };
    let mut file = fs::File::options()
        .append(true)
        .open(file)
        .context("opening the list of clusters")?;
    writeln!(file, "{name} {:.1}", took.as_secs_f64()).context("writing the list of clusters")
}

fn open_to_all(folder: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;

    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))
        .with_context(|| format!("opening {}", folder.display()))
}
