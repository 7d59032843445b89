//! From what was typed and what Hadoop's settings say to a job with nothing left open.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use follow::Layout;
use follow::failure::Failure;
use follow::pattern::Pattern;
use follow::streams::Input;
use follow::terminal;
use job::exit::Exit;
use proto_hadoop::yarn::NodeNames;
use staging::Shipped;

use crate::arguments::{
    Arguments, CopyTo, DataArguments, DeployMode, Placement, ShipArguments, of_a_process,
};
use crate::cluster::Cluster;
use crate::data::Data;
use crate::environment;
use crate::history;
use crate::left_here;
use crate::wanted::Wanted;

/// Whether the scheduler names nodes with their ports.
const PORTS_IN_NODE_NAMES: &str = "yarn.scheduler.include-port-in-node-name";

/// A job with nothing left open.
pub(crate) struct Resolved {
    /// How many processes, by which mode, over which list.
    pub wanted: Wanted,
    /// The flags of placement that need no further thought.
    pub placement: Placement,
    /// Share of its time that the program waited for messages, 0 to 1, when it was last run; for
    /// `-r auto` alone.
    pub communication_share: Option<f64>,
    /// Where output goes.
    pub layout: Layout,
    /// What rank 0 reads.
    pub input: Input,
    /// Rank 0 has a terminal.
    pub terminal: Option<job::Terminal>,
    /// Which processors a process may run on.
    pub binding: job::Binding,
    /// GPUs of a process; `None`: nothing is said of them.
    pub gpus_per_process: Option<u32>,
    /// Further countable types that a process wants, by name.
    pub resources: Vec<(String, u64)>,
    /// What the program finds as MPI_UNIVERSE_SIZE.
    pub universe: job::Universe,
    /// Files, then archives, to bring along.
    pub shipped: [Vec<Shipped>; 2],
    /// What moves between the cluster's file system and the nodes.
    pub data: Data,
    /// How long the program may run.
    pub run_limit: Option<Duration>,
    /// How long the others may run on when the first rank has ended.
    pub linger: Option<Duration>,
    /// A rank that fails leaves the others alone.
    pub spare_others: bool,
    /// How often the program is started again when a container of it was lost.
    pub restarts: u32,
    /// How often YARN starts the ApplicationMaster.
    pub attempts: u32,
    /// The first of the programs, as the user named it.
    pub program: PathBuf,
    /// In the order of their ranks.
    pub programs: Vec<Program>,
    /// What the user should know of what was typed, a sentence each.
    pub notes: Vec<String>,
    pub name: String,
    pub queue: String,
    pub tags: Vec<String>,
    pub priority: Option<i32>,
    /// MiB of one process, and whether the user said so.
    pub memory_mib: u64,
    pub memory_is_explicit: bool,
    pub vcores: u32,
    pub deploy_mode: DeployMode,
    /// The cluster is in this process: nobody else can ask it for anything.
    pub is_local: bool,
    pub am_ports: Option<(u16, u16)>,
    pub interface: Option<String>,
    pub ship_libraries: bool,
    /// An environment of Python that comes as a whole.
    pub venv: Option<PathBuf>,
    pub staging: Option<String>,
    /// The ApplicationMaster tells what it asks for and what comes.
    pub explain: bool,
    /// How requests name nodes.
    pub node_names: NodeNames,
    /// The RM rounds containers up to multiples of this, MiB.
    pub allocation_step_mib: u64,
    /// The RM takes an AM for dead after this silence, ms.
    pub am_expiry_ms: u64,
    /// The RM takes a node for lost after this silence, ms.
    pub nm_expiry_ms: u64,
}

/// A program of the job.
pub(crate) struct Program {
    /// `None`: all processes of the job run it.
    pub processes: Option<u32>,
    /// As the user named it.
    pub file: PathBuf,
    /// Folders here in which it is searched first.
    pub first_in: Option<OsString>,
    pub args: Vec<String>,
    pub environment: Vec<(String, String)>,
    /// Of the nodes, to start in.
    pub folder: Option<String>,
}

/// Hadoop's YarnConfiguration.APPLICATION_MAX_TAGS.
const TAGS_MAX: usize = 10;
/// Hadoop's default of `yarn.scheduler.minimum-allocation-mb`.
const MINIMUM_ALLOCATION_MIB: u64 = 1024;
/// Hadoop's default of `yarn.am.liveness-monitor.expiry-interval-ms` up to 3.3; 3.4 has 900,000.
/// The smaller one is the safe one.
const AM_EXPIRY_MS: u64 = 600_000;
/// Hadoop's default of `yarn.nm.liveness-monitor.expiry-interval-ms`.
const NM_EXPIRY_MS: u64 = 600_000;
/// Hadoop's default of `yarn.resourcemanager.am.max-attempts`. The ResourceManager holds to its own
/// value, whatever is asked for.
const AM_MAX_ATTEMPTS: u64 = 2;

/// The folder of this machine that programs start in, where it is not one of a container: with
/// `--local`, unless files are to come and go as on a cluster.
fn start_here(local: Option<u8>, ship: &ShipArguments, data: &DataArguments) -> Option<PathBuf> {
    local?;
    let moves = !(ship.files.is_empty()
        && ship.archives.is_empty()
        && data.stage_in.is_empty()
        && data.stage_out.is_empty()
        && data.get.is_empty());
    // What is no text cannot be handed over, and a folder that was removed is none.
    let here = std::env::current_dir().ok().filter(|_| !moves)?;
    here.to_str().is_some().then_some(here)
}

/// The names that a container's folder will have, as far as a command line says them.
fn brought(ship: &ShipArguments, data: &DataArguments, programs: &[Program]) -> Vec<String> {
    let shipped = ship.files.iter().chain(&ship.archives);
    let shipped = shipped.map(|shipped| shipped.name.clone());
    let incoming = data.stage_in.iter().map(|incoming| incoming.name.clone());
    let venv = ship.venv.iter().map(PathBuf::as_path);
    let own = programs.iter().map(|program| program.file.as_path());
    let own = own.chain(venv).filter_map(Path::file_name);
    let own = own.map(|name| name.to_string_lossy().into_owned());
    shipped.chain(incoming).chain(own).collect()
}

/// `-wdir` as it is meant on this machine.
fn inside(here: &Path, folder: Option<String>) -> String {
    let joined = match folder {
        None => here.to_path_buf(),
        Some(folder) => here.join(folder),
    };
    joined.to_string_lossy().into_owned()
}

impl Resolved {
    /// What YARN takes to miss a node or an ApplicationMaster.
    pub(crate) fn missed_after(&self) -> Duration {
        Duration::from_millis(self.am_expiry_ms.max(self.nm_expiry_ms))
    }

    /// Decides everything.
    pub(crate) fn new(mut given: Arguments, cluster: &Cluster) -> Result<Self, Failure> {
        let usage = |sentence: String| Failure::new(Exit::Usage, sentence);
        let programs = given.programs().map_err(usage)?;
        if given.tags.len() > TAGS_MAX {
            return Err(usage(format!(
                "--tags names {}; YARN takes at most {TAGS_MAX}",
                given.tags.len()
            )));
        }
        let resources = of_a_process(given.resource).map_err(usage)?;
        let program = programs.first().map(|first| PathBuf::from(&first.file));
        let program = program.unwrap_or_default();
        let wanted = Wanted::new(&given.placement).map_err(|e| Failure::new(Exit::Usage, e))?;
        let communication_share = history::state_folder(&|name| std::env::var_os(name))
            .filter(|_folder| wanted.auto)
            .and_then(|folder| history::communication_share(&program, &folder));
        let short = program.file_name().unwrap_or(program.as_os_str());
        let name = given
            .name
            .unwrap_or_else(|| short.to_string_lossy().into_owned());
        let streams = given.streams;
        let (copy, kept) = match streams.output {
            None => (None, None),
            Some(CopyTo::Here(folder)) => (Some(folder), None),
            Some(CopyTo::Hdfs(url)) => (None, Some(Arc::new(cluster.folder(&url)?))),
        };
        let layout = Layout {
            label: match streams.label {
                true => Some(Pattern::label()),
                false => streams.prepend_pattern,
            },
            files: [streams.outfile_pattern, streams.errfile_pattern],
            copy,
            kept,
            only: streams.output_from.or(streams.pty.then_some(0)),
        };
        let terminal = streams.pty.then(terminal::described);
        let input = streams.input.unwrap_or_default();
        if let Input::File(path) = &input
            && let Err(error) = std::fs::File::open(path)
        {
            return Err(usage(format!("--input {}: {error}", path.display())));
        }
        let variable = std::env::var("MPIEXEC_TIMEOUT").ok();
        let run_limit = given.ends.limit(variable.as_deref()).map_err(usage)?;
        let own = environment::own(std::env::vars_os());
        let here = start_here(given.local.local, &given.ship, &given.data);
        let mut missing = BTreeSet::new();
        let programs = programs.into_iter().map(|typed| {
            let wish = given.environment.wish(&typed.start);
            let mut environment = wish.fulfil(&own, &mut |name| {
                missing.insert(name.to_owned());
            });
            if !given.no_ship_libs {
                environment::without_libraries_of_here(&wish, &mut environment);
            }
            if let Some(interface) = &given.iface {
                environment::for_interface(interface, &mut environment);
            }
            Program {
                processes: typed.processes,
                file: typed.file.into(),
                first_in: typed.start.path,
                args: typed.args,
                environment,
                folder: match &here {
                    Some(here) => Some(inside(here, typed.start.wdir)),
                    None => typed.start.wdir,
                },
            }
        });
        let programs: Vec<Program> = programs.collect();
        let notes = missing.into_iter().map(|name| {
            format!("the variable {name} is not set here, so the program does not get it")
        });
        let mut notes: Vec<String> = notes.collect();
        let brought = brought(&given.ship, &given.data, &programs);
        for program in programs.iter().filter(|program| program.folder.is_none()) {
            let left = left_here::sentences(&program.args, &brought, left_here::look);
            notes.extend(left);
        }
        let step = cluster.number(
            "yarn.scheduler.minimum-allocation-mb",
            MINIMUM_ALLOCATION_MIB,
        )?;
        let ports = cluster.configuration.flag(PORTS_IN_NODE_NAMES);
        let ports = ports.map_err(|error| Failure::new(Exit::Config, error))?;
        let most = cluster.number("yarn.resourcemanager.am.max-attempts", AM_MAX_ATTEMPTS)?;
        let attempts = match given.deployment.deploy_mode {
            // It is this process.
            DeployMode::Client => 1,
            // The cluster in this process knows one attempt.
            DeployMode::Cluster if given.local.local.is_some() => 1,
            DeployMode::Cluster => u64::from(given.ends.attempts()).min(most.max(1)),
        };
        let attempts = u32::try_from(attempts).unwrap_or(u32::MAX);
        let nm_expiry_ms =
            cluster.number("yarn.nm.liveness-monitor.expiry-interval-ms", NM_EXPIRY_MS)?;
        let near = &given.placement.near;
        let data = Data::new(&given.data, near, given.staging.as_deref(), cluster)?;
        if given.local.local.is_none() {
            notes.extend(data.notes.iter().cloned());
        }
        Ok(Self {
            wanted,
            placement: given.placement,
            communication_share,
            layout,
            input,
            terminal,
            binding: given.bind.resolved(),
            gpus_per_process: given.bind.gpus_per_proc.and_then(|gpus| gpus.0),
            resources,
            universe: given.usize.unwrap_or_default(),
            data,
            shipped: [given.ship.files, given.ship.archives],
            run_limit,
            linger: given.ends.linger(),
            spare_others: given.ends.spares_others(),
            restarts: given.ends.restarts(),
            attempts,
            program,
            programs,
            notes,
            name,
            queue: given.queue,
            tags: given.tags,
            priority: given.priority,
            memory_mib: given.mem_per_proc.unwrap_or(step),
            memory_is_explicit: given.mem_per_proc.is_some(),
            vcores: given.vcores_per_proc,
            deploy_mode: given.deployment.deploy_mode,
            is_local: given.local.local.is_some(),
            am_ports: given.am_ports,
            interface: given.iface,
            ship_libraries: !given.no_ship_libs,
            venv: given.ship.venv,
            staging: given.staging,
            explain: given.reporting.explain.is_some(),
            node_names: match ports {
                true => NodeNames::HostAndPort,
                false => NodeNames::Host,
            },
            allocation_step_mib: step,
            nm_expiry_ms,
            am_expiry_ms: cluster
                .number("yarn.am.liveness-monitor.expiry-interval-ms", AM_EXPIRY_MS)?,
        })
    }
}
