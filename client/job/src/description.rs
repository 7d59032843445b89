//! What a job is: written by the client, read by the ApplicationMaster.

use std::fmt;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::data::{Checkpoints, StageOut};
use crate::wire;

/// One MPI job, ready to be placed. Travels as JSON in the AM's credentials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// [`crate::BUILD`] of the client.
    pub build: String,
    /// YARN user on whose behalf the AM reads the cluster.
    pub user: String,
    /// `host:port` of each ResourceManager's client port, in the order of its HA list.
    pub rm_client: Vec<String>,
    /// `host:port` of each ResourceManager's scheduler port, in the same order.
    pub rm_scheduler: Vec<String>,
    /// Number of processes.
    pub processes: u32,
    /// Memory of one process, MiB.
    pub memory_per_process_mib: u64,
    /// True when the user gave the memory: it is then never shrunk.
    pub memory_is_explicit: bool,
    /// Cores of one process.
    pub vcores_per_process: u32,
    /// More processes than the room holds may share it.
    pub oversubscribe: bool,
    /// The mode, as `policy::Mode` names it.
    pub mode: String,
    /// The listed hosts, as their nodes registered them, and the processes on each; no host: any.
    pub listed: Vec<(Option<String>, u32)>,
    /// How many nodes to use, in mode `loc+dist` without a list.
    pub nodes: Option<u32>,
    /// Fill nodes one after the other instead of spreading.
    pub pack: bool,
    /// Prefer one rack that can hold the job.
    pub same_rack: bool,
    /// Freest node first, not in order of node id.
    pub sort_nodes: bool,
    /// Ranks are numbered over the nodes in turn, not node after node.
    pub rank_by_node: bool,
    /// The place of each rank's node in `listed`; empty: the other fields say it.
    pub rank_map: Vec<u32>,
    /// Data that the processes are to be near: what it is, and how many bytes of it each host has.
    pub near: (String, Vec<(String, u64)>),
    /// Hosts that are no candidates, as their nodes registered them.
    pub exclude: Vec<String>,
    /// Node label whose nodes are the candidates; `None`: nodes without a label.
    pub node_label: Option<String>,
    /// Requests that have not been served for so long are placed again, ms; `None`: three
    /// heartbeats of a NodeManager.
    pub reissue_after_ms: Option<u64>,
    /// The gang's deadline, ms; `None`: the default.
    pub gang_timeout_ms: Option<u64>,
    /// The job is given up when it has not started by then, ms after registration; `None`: never.
    pub wait_timeout_ms: Option<u64>,
    /// A granted container is to start within this, ms, anew while YARN copies its files; `None`: the
    /// default.
    pub join_timeout_ms: Option<u64>,
    /// The program is ended when it has run for so long, ms; `None`: never.
    pub run_limit_ms: Option<u64>,
    /// The other ranks are ended so long after the first has ended, ms; `None`: never.
    pub linger_ms: Option<u64>,
    /// A rank that fails does not end the others.
    pub spare_others: bool,
    /// How often the program is started again when a container of it was lost.
    pub restarts: u32,
    /// How often YARN may start the AM, this time included, as far as the client knows.
    pub attempts: u32,
    /// The client wants to be told every decision.
    pub explain: bool,
    /// Whether ranks give up their core while they wait for messages.
    pub yielding: Yielding,
    /// Which processors a rank may run on.
    pub binding: Binding,
    /// Graphics processors of the node for each rank; `None`: nothing is said to the ranks.
    pub gpus_per_process: Option<u32>,
    /// YARN counts GPUs: it is asked for them, and who has been given some has them alone.
    pub gpus_are_counted: bool,
    /// Further countable types that YARN is asked for, by their names, and how many for each process.
    pub resources_per_process: Vec<(String, u64)>,
    /// What the program finds as MPI_UNIVERSE_SIZE.
    pub universe: Universe,
    /// What was asked for the AM's own container, MiB; 0: it has none.
    pub am_memory_mib: u64,
    /// By the client's settings, requests name nodes `host:port` instead of by their hosts.
    pub node_names_have_ports: bool,
    /// By the client's settings, the RM rounds containers up to multiples of this, MiB.
    pub allocation_step_mib: u64,
    /// What the ranks run, in the order of the ranks: `processes` together.
    pub programs: Vec<Program>,
    /// What every launcher's container needs in its working directory, this binary included.
    pub staged: Vec<Staged>,
    /// What becomes of the containers' files at the end.
    pub stage_out: Vec<StageOut>,
    /// How the job is saved on its way, if it is.
    pub checkpoints: Option<Checkpoints>,
    /// Ports the AM may listen on, inclusive; `None`: any.
    pub am_ports: Option<(u16, u16)>,
    /// Network interface that the AM advertises and the ranks talk over.
    pub interface: Option<String>,
    /// Standard input of the client goes to rank 0.
    pub input: bool,
    /// Rank 0 has a terminal; `None`: pipes.
    pub terminal: Option<Terminal>,
    /// The RM takes an AM for dead after this silence, ms.
    pub am_expiry_ms: u64,
}

/// A program of the job and how its ranks are started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// How many ranks run it; they follow those of the program before.
    pub processes: u32,
    /// Link name in the working directory.
    pub file: String,
    /// Absolute path on the nodes where it is started, if that is not in the working directory.
    pub own_path: Option<String>,
    /// The MPI library that it is linked to, as far as it is known.
    pub mpi_library: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Environment of its ranks, in order.
    pub environment: Vec<(String, String)>,
    /// Where it starts on the node; `None`: in the container's working directory, where a relative
    /// path begins too.
    pub folder: Option<String>,
    /// Link name of its unpacked library archive, if libraries travel.
    pub library_folder: Option<String>,
    /// Variables that the libraries need, each the name and a path inside that folder; what
    /// `environment` says counts more.
    pub library_variables: Vec<(String, String)>,
    /// Newest glibc symbol version wanted, and by which file.
    pub glibc_needed: Option<(String, String)>,
    /// SHA-256 of the file, hexadecimal: whoever starts it proves it first. Empty: unknown.
    pub digest: String,
}

impl From<&Program> for wire::Program {
    fn from(program: &Program) -> Self {
        let pairs = |pairs: &[(String, String)]| {
            let pairs = pairs.iter().cloned();
            pairs
                .map(|(key, value)| wire::KeyValue { key, value })
                .collect()
        };
        let (glibc_needed, glibc_needed_by) = program.glibc_needed.clone().unwrap_or_default();
        Self {
            processes: program.processes,
            file: program.file.clone(),
            own_path: program.own_path.clone().unwrap_or_default(),
            args: program.args.clone(),
            environment: pairs(&program.environment),
            folder: program.folder.clone().unwrap_or_default(),
            library_folder: program.library_folder.clone().unwrap_or_default(),
            library_variables: pairs(&program.library_variables),
            glibc_needed,
            glibc_needed_by,
            digest: program.digest.clone(),
        }
    }
}

/// How many processes a program may believe the job can become, those that it spawns included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Universe {
    /// It is told nothing.
    #[default]
    Unknown,
    /// As many as the job's containers have cores.
    Cores,
    /// So many.
    Processes(NonZeroU32),
}

/// Whether ranks give up their core while they wait for messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Yielding {
    /// On nodes where there are more ranks than cores.
    #[default]
    Auto,
    /// Everywhere.
    Always,
    /// Nowhere.
    Never,
}

impl From<Yielding> for wire::Yielding {
    fn from(yielding: Yielding) -> Self {
        match yielding {
            Yielding::Auto => Self::Auto,
            Yielding::Always => Self::Always,
            Yielding::Never => Self::Never,
        }
    }
}

/// The client's terminal, for rank 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terminal {
    /// Lines of its window.
    pub rows: u32,
    /// Characters in a line.
    pub columns: u32,
    /// What it is, as the variable TERM says it.
    pub name: String,
}

impl From<&Terminal> for wire::Terminal {
    fn from(terminal: &Terminal) -> Self {
        Self {
            size: Some(wire::WindowSize {
                rows: terminal.rows,
                columns: terminal.columns,
            }),
            name: terminal.name.clone(),
        }
    }
}

/// Which processors of its container a rank may run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// So many neighbouring units of this kind; `None`: all processors.
    pub to: Option<(BindUnit, u32)>,
    /// Ranks take the units from one of these after the other; `None`: in order.
    pub map: Option<BindUnit>,
    /// Each rank's processors are told on its standard error before it begins.
    pub report: bool,
}

/// A part of a node's processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BindUnit {
    /// A hardware thread.
    Hwthread,
    /// A core with its threads.
    Core,
    /// A socket with its cores.
    Socket,
    /// A NUMA node with its cores.
    Numa,
}

impl From<BindUnit> for wire::BindUnit {
    fn from(unit: BindUnit) -> Self {
        match unit {
            BindUnit::Hwthread => Self::Hwthread,
            BindUnit::Core => Self::Core,
            BindUnit::Socket => Self::Socket,
            BindUnit::Numa => Self::Numa,
        }
    }
}

impl From<Binding> for wire::Binding {
    fn from(binding: Binding) -> Self {
        let unit = |unit: Option<BindUnit>| unit.map_or(wire::BindUnit::None, Into::into);
        Self {
            to: unit(binding.to.map(|(unit, _)| unit)).into(),
            count: binding.to.map_or(0, |(_, count)| count),
            map: unit(binding.map).into(),
            report: binding.report,
        }
    }
}

/// A file that YARN puts into a container's working directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Staged {
    /// Name of the link in the working directory.
    pub link: String,
    /// Where it lies: `hdfs://nameservice-or-host:port/path` or `file:/path`.
    pub url: String,
    /// Length, bytes.
    pub size: u64,
    /// Modification time, ms since 1970, exactly as the file system reports it: YARN compares it.
    pub modified_ms: i64,
    /// How YARN is to treat it.
    pub kind: StagedKind,
}

/// How YARN treats a staged file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StagedKind {
    /// Linked as it is.
    File,
    /// Unpacked into a folder with the link's name.
    Archive,
}

/// A launcher's place in the job. Travels as JSON in its container's credentials.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seat {
    /// [`crate::BUILD`] of the AM.
    pub build: String,
    /// `host:port` of the AM.
    pub appmaster: String,
    /// YARN's id of the container.
    pub container: String,
    /// Shown to the AM as proof of being that container. Never logged.
    pub ticket: Vec<u8>,
    /// Further names of files in the container's working directory: the name, and the one that YARN
    /// gave the file.
    pub links: Vec<(String, String)>,
}

impl fmt::Debug for Seat {
    /// Without the ticket: it is a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seat")
            .field("build", &self.build)
            .field("appmaster", &self.appmaster)
            .field("container", &self.container)
            .finish_non_exhaustive()
    }
}
