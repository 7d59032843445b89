//! Inside one container: start ranks, serve PMI, forward output and signals, report each end.
//!
//! The life of a launcher: YARN starts it beside a file of credentials, which name the
//! ApplicationMaster (AM), the container and the keys (`launcher_context`) → it starts its warden, and a process
//! that finds out what the node is made of (`mpi::topology`), dials the AM and says hello (`dial`) → the AM
//! sends the container's share of a job (`share`) → the share starts processes, each with its streams, its
//! variables, and what it is granted of the container's processors (`binding`) and devices (`devices`);
//! one thread forks them all (`nursery`) → what they print goes up (`forward`), standard input comes down
//! (`input`), what they use is sampled now and then (`samples`), each end is reported (`process`) → the AM
//! says leave.
//!
//! Of an MPI job (`mpi`) these are ranks: their program is checked (`program`), those that outnumber their
//! cores are started with what makes them yield (`mpi::yielding`), their PMI lines are answered
//! (`mpi::process_management`), names and spawns that they ask for go up, and what was spawned is started
//! beside them (`mpi::spawn`), those that say nothing are looked at for an MPI library that should
//! (`mpi::library`). A share is sent once more when a container elsewhere was lost and the program begins
//! again. Before the ranks start, while they run and when they have ended, files are found and moved where
//! the AM orders it (`mpi::transfers`, `files`), and the ranks are asked for checkpoints
//! (`mpi::checkpoint`).
//!
//! Of a job of tasks (`tasks`) each process works on one map or reduce, and speaks of it over a socket. Where slots are
//! on fast and on slow cores it is bound to those of its slot, and moved to others while it runs (`affinity`).
//!
//! The main thread does all this but for these: the nursery's forks, and what is carried, which is the
//! link to the AM, output and input, on threads of their own; what tasks read and write has a thread a slot
//! (`porters`). So a line of PMI is answered where it is read.
//!
//! Of its node's elements, GPUs and the like, a session is told what files tell with the hello, and what libraries
//! say that a process beside it asks (`elements`) when that is known.
//!
//! Invariants:
//! - No rank outlives its launcher. Ranks are killed by the kernel when the forking thread ends;
//!   what they have started themselves is found by descent, because the launcher is a subreaper,
//!   and by the container's mark in the environment, by the launcher when it leaves and by the
//!   warden when the launcher was killed.
//! - A link that breaks is followed by another, which goes on where it was (`life::link`); a launcher that
//!   has lost its AM ends its ranks.
//! - Shared memory that MPICH did not remove itself is removed (`mpi::shared_memory`).
//! - Output that nobody takes stops the ranks that write it, and nothing else.
//! - Whatever a rank does on its PMI socket, memory stays bounded and other ranks are served.
//!
//! Caveats: launcher and warden killed in the same instant leave those orphans behind that have
//! left their rank, unless the container has a PID namespace or cgroup of its own. A process that
//! clears its environment and leaves its session is found by descent alone, so not by the warden.

mod affinity;
mod binding;
#[cfg(test)]
mod c_program;
mod container;
mod container_log;
mod cores;
mod crowding;
mod devices;
mod dial;
mod disks;
mod elements;
mod files;
mod foreign_processes;
mod forward;
mod frames;
mod functions;
mod input;
mod job_files;
mod lane;
mod launcher_context;
mod left_files;
mod life;
mod memory_limit;
mod mpi;
mod node_facts;
mod nursery;
mod open_files;
mod out_of_memory;
mod porters;
mod process;
mod processes;
mod program;
mod regular;
mod samples;
mod sampling;
mod share;
mod shuffle;
mod stopping;
mod surroundings;
mod sweep;
mod symlinks;
mod tasks;
mod terminal;
mod warden;

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use job::exit::Exit;

pub use container_log::ContainerLog;
pub use elements::probe_main;
pub use mpi::pmix::pmix_main;
pub use mpi::topology::topology_main;
pub use mpi::yielding::SHIM;
pub use surroundings::Surroundings;
pub use warden::warden_main;

/// Threads that carry output and input, and talk with the AM: one stream may be encrypted on each.
const CARRIERS: usize = 2;
/// Stack of a thread, bytes. YARN counts address space.
const STACK: usize = 512 * 1024;
/// Free memory that is kept, bytes: hdfs-native takes up to a hundred packets of a file, of 64 KiB each, before it hands
/// the first one on.
pub const KEPT: i32 = 16 << 20;
/// Threads of the front for what blocks: name look-ups, and files of the job.
const BLOCKING_THREADS: usize = 1;
/// Those of the carriers: what tasks print; begun when it is needed.
const CARRIERS_BLOCKING: usize = 8;
/// How long the runtime may take to drop what is left when the launcher leaves.
const RUNTIME_LEAVE: Duration = Duration::from_millis(100);

/// Runs the role of the launcher, in a process of its own, until the AM says leave, or is lost.
///
/// Errors go to standard error, which YARN keeps as the container's log.
pub fn main() -> ExitCode {
    job::allocator::set_up(KEPT);
    match Surroundings::of_this_process() {
        Ok(around) => main_in(&around),
        Err(error) => {
            say(&format!("cannot start: where it was started: {error}"));
            ExitCode::from(Exit::Lost.code())
        }
    }
}

/// The same anywhere. There is one launcher a process: it takes the orphans of its descendants, and reaps
/// every child.
pub fn main_in(around: &Surroundings) -> ExitCode {
    match run(around) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            say(&error.to_string());
            ExitCode::from(error.exit().code())
        }
    }
}

/// What keeps a launcher from its work, or ends it early.
#[derive(Debug, thiserror::Error)]
enum LauncherError {
    #[error(transparent)]
    Context(#[from] launcher_context::ContextError),
    #[error("cannot start: {what}: {source}")]
    System {
        what: &'static str,
        source: std::io::Error,
    },
    #[error(transparent)]
    Life(#[from] life::LifeError),
}

impl LauncherError {
    const fn exit(&self) -> Exit {
        match self {
            Self::Context(_) => Exit::Config,
            Self::System { .. } => Exit::Lost,
            Self::Life(error) => error.exit(),
        }
    }
}

fn run(around: &Surroundings) -> Result<u8, LauncherError> {
    let system = |what| move |source| LauncherError::System { what, source };
    let place = launcher_context::read(around)?;
    symlinks::make(&around.folder, &place.context.links)
        .map_err(system("giving files their other names"))?;
    nix::sys::prctl::set_child_subreaper(true)
        .map_err(std::io::Error::from)
        .map_err(system("becoming the reaper of orphans"))?;
    let kin = sweep::Kin::of_this_process(&place.context.container);
    // Early: it is to be done when ranks ask.
    let topology = mpi::topology::Topology::begin(around);
    let warden = warden::Warden::start(&kin, around).map_err(system("starting the warden"))?;
    let kin = kin.sparing(warden.pid());
    let nursery = nursery::Nursery::open(kin).map_err(system("starting the forking thread"))?;
    // Not before the others are started: they need no more than they were given.
    open_files::raise();
    let carriers = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(CARRIERS)
        .max_blocking_threads(CARRIERS_BLOCKING)
        .thread_stack_size(STACK)
        .enable_all()
        .build()
        .map_err(system("starting the carriers"))?;
    let porters = porters::Porters::new(STACK);
    // A line of PMI is read, understood and answered without a change of threads: with many ranks that is
    // most of what a launcher does until they are past MPI_Init.
    let front = tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(BLOCKING_THREADS)
        .thread_stack_size(STACK)
        .enable_all()
        .build()
        .map_err(system("starting the front"))?;
    let outcome = front.block_on(life::live(
        place,
        around,
        &nursery,
        &warden,
        topology,
        carriers.handle(),
        &porters,
    ));
    // However it ended, nothing of this container stays.
    nursery.close();
    warden.dismiss();
    front.shutdown_timeout(RUNTIME_LEAVE);
    porters.leave(RUNTIME_LEAVE);
    carriers.shutdown_timeout(RUNTIME_LEAVE);
    Ok(outcome?)
}

/// One line into the container's log. A log that cannot be written is no reason to stop.
fn say(line: &str) {
    drop(ContainerLog.write_all(format!("gerbil launcher: {line}\n").as_bytes()));
}
