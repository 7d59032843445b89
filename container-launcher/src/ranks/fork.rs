//! Forks ranks, each with its pipes or terminal, its socket and its environment.

use std::io::{PipeReader, PipeWriter};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use job::wire::{self, Program, Share, Terminal};
use nix::sched::CpuSet;

use crate::binding;
use crate::checkpoint;
use crate::cores::Cores;
use crate::crowd::{self, Crowd};
use crate::environment::{self, Yielding};
use crate::nursery::Nursery;
use crate::out_of_memory::Kills;
use crate::output::Origin;
use crate::process::exec::{Plan, Streams};
use crate::program::Run;
use crate::say;
use crate::terminal;
use crate::yielding::{self, Shim};

/// The launcher's ends of a rank's pipes and socket.
pub(super) struct Ends {
    pub(super) rank: u32,
    pub(super) pid: i32,
    pub(super) outer: Outer,
    pub(super) pmi: UnixStream,
    pub(super) waits: Option<PathBuf>,
    /// What its standard error begins with.
    pub(super) before: Vec<u8>,
}

/// Where a rank's input comes from and its output goes.
pub(super) enum Outer {
    Pipes {
        stdin: Option<PipeWriter>,
        stdout: PipeReader,
        stderr: PipeReader,
    },
    /// What it writes is all of one stream.
    Terminal(OwnedFd),
}

/// Ranks that run but are not yet listened to.
pub(crate) struct Forked {
    pub(super) kills: Kills,
    pub(super) first: u32,
    pub(super) ends: Vec<Ends>,
    pub(super) origin: Origin,
    pub(super) run: u32,
    /// Where ranks yield only while the machine is crowded.
    pub(super) crowd: Option<Crowd>,
}

/// What a rank has of the node for itself.
pub(crate) struct Own {
    /// The variable that names its graphics processors.
    pub(crate) gpus: Option<(String, String)>,
    /// The processors that it may run on; none: all of the container's.
    pub(crate) processors: Option<CpuSet>,
}

/// Forks the ranks of a share, which are called by their numbers in the job; `first` is that of their
/// group's rank 0, and `owns` is what each has, in the order of the programs.
///
/// # Errors
///
/// The first that could not be started; those before it may run.
pub(crate) async fn fork(
    share: &Share,
    programs: &[Run<'_>],
    container: &str,
    folder: &Path,
    nursery: &Nursery,
    first: u32,
    owns: Vec<Own>,
) -> std::io::Result<Forked> {
    let yields = yielding::applies(share.yielding(), share.ranks.len(), Cores::usable());
    let crowd = match share.yielding() {
        wire::Yielding::Auto if !yields => Crowd::new(),
        wire::Yielding::Auto | wire::Yielding::Always | wire::Yielding::Never => None,
    };
    let crowded_by = crowd.as_ref().map(Crowd::path);
    let shim = match yields || crowd.is_some() {
        true => shim(folder),
        false => None,
    };
    let yielding = match (&shim, &crowded_by) {
        (Some(shim), Some(byte)) => Yielding::Crowded(shim, byte, crowd::is_now(share.ranks.len())),
        (shim, None) if yields => Yielding::Yes(shim.as_ref()),
        _ => Yielding::No,
    };
    let cross_memory = environment::may_read_across_processes();
    let kills = Kills::so_far();
    let binding = share.binding.unwrap_or_default();
    let mut owns = owns.into_iter();
    let mut ends = Vec::new();
    let programs = programs.iter().flat_map(|run| {
        let mut common = environment::common(
            std::env::vars_os(),
            share,
            run.program,
            container,
            folder,
            cross_memory,
            yielding,
        );
        if first > 0 {
            common.insert("PMI_SPAWNED".into(), "1".into());
        }
        let (common, args) = (Arc::new(common), Arc::from(run.program.args.clone()));
        let with = move |&rank| (rank, run.program, Arc::clone(&common), Arc::clone(&args));
        run.ranks.iter().map(with)
    });
    for (local_rank, (rank, program, environment, args)) in programs.enumerate() {
        let pmi_rank = rank.saturating_sub(first);
        let terminal = share.terminal.as_ref().filter(|_| rank == 0);
        let (streams, outer) = match terminal {
            Some(terminal) => on_terminal(terminal)?,
            None => on_pipes(rank == 0 && share.input)?,
        };
        let waits = shim.as_ref().map(|shim| shim.waits(rank));
        let (pmi, rank_pmi) = UnixStream::pair()?;
        let (gpus, processors) = match owns.next() {
            Some(Own { gpus, processors }) => (gpus, processors),
            None => (None, None),
        };
        let told = || {
            let where_to = binding::told(processors.as_ref());
            format!("rank {rank} on {}: {where_to}\n", share.host).into_bytes()
        };
        let before = binding.report.then(told).unwrap_or_default();
        let mut own = environment::of_rank(pmi_rank, local_rank, program);
        let given = |name: &str| program.environment.iter().any(|pair| pair.key == name);
        let kind = terminal.map(|terminal| ("TERM".to_owned(), terminal.name.clone()));
        own.extend(kind.filter(|(name, _)| !given(name)));
        own.extend(gpus.filter(|(name, _)| !given(name)));
        if first == 0 {
            own.extend(checkpoint::environment(share, folder, rank));
        }
        let plan = Plan {
            rank,
            pmi_rank,
            local_rank,
            program: path(program, folder),
            folder: (!program.folder.is_empty()).then(|| folder.join(&program.folder)),
            args,
            environment,
            own,
            waits: waits.clone(),
            processors,
            streams,
            pmi: rank_pmi,
        };
        let pid = nursery.start(plan).await?;
        ends.push(Ends {
            rank,
            pid: pid.as_raw(),
            outer,
            pmi,
            waits,
            before,
        });
    }
    let origin = Origin {
        host: share.host.clone(),
        node: share.node,
    };
    Ok(Forked {
        kills,
        first,
        ends,
        origin,
        run: share.run,
        crowd,
    })
}

fn on_pipes(input: bool) -> std::io::Result<(Streams, Outer)> {
    let (rank_stdin, stdin) = match input {
        true => {
            let (reader, writer) = std::io::pipe()?;
            (Some(reader), Some(writer))
        }
        false => (None, None),
    };
    let (stdout, rank_stdout) = std::io::pipe()?;
    let (stderr, rank_stderr) = std::io::pipe()?;
    let streams = Streams::Pipes {
        stdin: rank_stdin,
        stdout: rank_stdout,
        stderr: rank_stderr,
    };
    let outer = Outer::Pipes {
        stdin,
        stdout,
        stderr,
    };
    Ok((streams, outer))
}

fn on_terminal(terminal: &Terminal) -> std::io::Result<(Streams, Outer)> {
    let (own, ranks) = terminal::open(terminal.size.unwrap_or_default())?;
    Ok((Streams::Terminal(ranks), Outer::Terminal(own)))
}

/// How a program is called: as its first argument shows it, short where it starts beside its file.
fn path(program: &Program, folder: &Path) -> PathBuf {
    if !program.own_path.is_empty() {
        return PathBuf::from(&program.own_path);
    }
    match program.folder.is_empty() {
        true => Path::new(".").join(&program.file),
        false => folder.join(&program.file),
    }
}

/// The shim where it can be had: without it the job is slow, not wrong.
fn shim(folder: &Path) -> Option<Shim> {
    match Shim::write(folder) {
        Ok(shim) => Some(shim),
        Err(error) => {
            say(&format!(
                "MPICH cannot be made to yield where ranks outnumber cores: the shim cannot be put \
                 into {}: {error}",
                folder.display()
            ));
            None
        }
    }
}
