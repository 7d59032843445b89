//! An MPI job: what it wants of the cluster, what its ranks run, and how.

use std::num::NonZeroU32;

use policy::lifecycle::LifecycleLimits;
use policy::{Demand, GPU, ResourceTypes};
use serde::{Deserialize, Serialize};

use crate::data::{Checkpoints, StageOut};
use crate::wire;

/// One MPI job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MpiJob {
    /// Its processes, and the rules by which they may be placed. Counts are by `types`; memory that is not
    /// explicit is what the client took for the smallest container.
    pub demand: Demand,
    /// The countable types that the client knows of the cluster.
    pub types: ResourceTypes,
    /// How long its parts may take, and how often it is started again.
    pub limits: LifecycleLimits,
    /// Hosts that are no candidates, as their nodes registered them.
    pub exclude: Vec<String>,
    /// The client wants to be told every decision.
    pub explain: bool,
    /// Whether ranks give up their core while they wait for messages.
    pub yielding: Yielding,
    /// Which processors a rank may run on.
    pub binding: Binding,
    /// In a session whose slots are on fast and slow cores, it takes those of all speeds at once.
    pub any_speed: bool,
    /// Graphics processors of the node for each rank; `None`: nothing is said to the ranks.
    pub gpus_per_process: Option<u32>,
    /// What the program finds as MPI_UNIVERSE_SIZE.
    pub universe: Universe,
    /// What the ranks run, in the order of the ranks: as many as `demand` has processes together.
    pub programs: Vec<MpiProgram>,
    /// What becomes of the containers' files at the end.
    pub stage_out: Vec<StageOut>,
    /// How the job is saved on its way, if it is.
    pub checkpoints: Option<Checkpoints>,
    /// Standard input of the client goes to rank 0.
    pub input: bool,
    /// Rank 0 has a terminal; `None`: pipes.
    pub terminal: Option<Terminal>,
}

impl MpiJob {
    /// Number of processes.
    #[must_use]
    pub const fn processes(&self) -> u32 {
        self.demand.processes.get()
    }

    /// YARN counts GPUs: it is asked for them, and who has been given some has them alone.
    #[must_use]
    pub fn gpus_are_counted(&self) -> bool {
        self.types.find(GPU).is_some()
    }
}

/// A program of the job and how its ranks are started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MpiProgram {
    /// How many ranks run it; they follow those of the program before.
    pub processes: u32,
    /// Link name in the working directory.
    pub file: String,
    /// Absolute path on the nodes where it is started, if that is not in the working directory.
    pub own_path: Option<String>,
    /// Where it is started instead, if all nodes have the same file there.
    pub in_place: Option<InPlace>,
    /// Folder on the client of which it is a part, if what stays there may be missed.
    pub tree: Option<String>,
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
    /// Variables that the libraries need, each the name and a path inside that folder or an absolute one; what
    /// `environment` says counts more.
    pub library_variables: Vec<(String, String)>,
    /// Newest glibc symbol version wanted, and by which file.
    pub glibc_needed: Option<(String, String)>,
    /// SHA-256 of the file, hexadecimal: whoever starts it proves it first. Empty: unknown.
    pub digest: String,
    /// The libpmix on the nodes whose server its ranks want, absolute; `None`: they speak PMI.
    pub pmix_library: Option<String>,
}

/// A file that the nodes may have of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InPlace {
    /// Its absolute path.
    pub path: String,
    /// The user asked for it.
    pub asked: bool,
}

impl From<&MpiProgram> for wire::Program {
    fn from(program: &MpiProgram) -> Self {
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
            pmix_library: program.pmix_library.clone().unwrap_or_default(),
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
    /// As many as were asked for.
    Processes(NonZeroU32),
}

/// Whether ranks give up their core while they wait for messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Yielding {
    /// On nodes where there are more ranks than cores.
    #[default]
    Auto,
    /// On every node, whatever its cores.
    Always,
    /// On no node: ranks that wait keep their core.
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
