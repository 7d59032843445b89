//! Forks ranks, each with its pipes or terminal, its socket and its environment.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use job::JobId;
use job::wire::Share;
use nix::sched::CpuSet;

use super::yields::Yields;
use crate::binding;
use crate::container::OwnContainer;
use crate::devices;
use crate::forward::Origin;
use crate::mpi::checkpoint;
use crate::mpi::crowd::Crowd;
use crate::mpi::environment;
use crate::mpi::pmix::PmixServer;
use crate::mpi::yielding::WAITS_VARIABLE;
use crate::out_of_memory::Kills;
use crate::process::exec::INHERITED_FD;
use crate::process::start::ProcessStart;
use crate::process::streams::{self, Outer};
use crate::process::{self, Grants};
use crate::program::{self, LocalRanks};
use crate::say;

/// The launcher's ends of a rank's pipes and socket.
pub(super) struct PipeEnds {
    pub(super) rank: u32,
    pub(super) pid: i32,
    pub(super) outer: Outer,
    /// None: it speaks PMIx to a server.
    pub(super) pmi: Option<UnixStream>,
    pub(super) waits: Option<PathBuf>,
    /// What its standard error begins with.
    pub(super) before: Vec<u8>,
    pub(super) grants: Grants,
}

/// Ranks that run but are not yet listened to.
pub(crate) struct Forked {
    pub(super) kills: Kills,
    pub(super) ends: Vec<PipeEnds>,
    pub(super) origin: Origin,
    pub(super) run: u32,
    /// Where ranks yield only while the machine is crowded.
    pub(super) crowd: Option<Crowd>,
}

/// Forks the ranks of a share in `folder`, called by their numbers in the job; `first` is that of their
/// group's rank 0, and `grants` is what each has, in the order of the programs. They speak PMI over a socket each, or
/// find the server `pmix`.
///
/// # Errors
///
/// The first that could not be started; those before it may run.
#[expect(
    clippy::too_many_arguments,
    reason = "a rank is put together of what the job, the container and its process manager give"
)]
pub(crate) async fn fork(
    share: &Share,
    programs: &[LocalRanks<'_>],
    job: JobId,
    folder: &Path,
    container: &OwnContainer<'_>,
    first: u32,
    grants: Vec<Grants>,
    pmix: Option<(&PmixServer, u32)>,
) -> std::io::Result<Forked> {
    let yields = Yields::of(share, folder);
    let cross_memory = environment::may_read_memory_of(container.warden.pid());
    if !cross_memory && first == 0 {
        say(
            "processes here may not read each other's memory: what ranks send each other is copied through memory that they share",
        );
    }
    let kills = Kills::so_far();
    let mut grants = grants.into_iter();
    let mut ends = Vec::new();
    for run in programs {
        let mut environment = environment::common(
            container.around.environment.clone().into_iter(),
            share,
            run.program,
            environment::RankPlace {
                container: &container.context.container,
                job,
                folder,
            },
            cross_memory,
            yields.told(),
        );
        if first > 0 {
            environment.insert("PMI_SPAWNED".into(), "1".into());
        }
        let suggested = pmix.map(|(server, _)| server.suggested(share, cross_memory, &environment));
        let command = Arc::new(program::command(run.program, folder, environment));
        for &rank in &run.ranks {
            let local_rank = ends.len();
            let grants = grants.next().unwrap_or_default();
            let processors = grants.processors.as_ref().map(|bound| *bound.set());
            let terminal = share.terminal.as_ref().filter(|_| rank == 0);
            let (streams, outer) = match terminal {
                Some(terminal) => streams::terminal(terminal)?,
                None => streams::pipes(rank == 0 && share.input)?,
            };
            let waits = yields.waits(rank);
            let before = bound(share, rank, processors.as_ref());
            let own = rank.saturating_sub(first);
            let (pmi, socket) = match pmix {
                Some(_) => (None, None),
                None => {
                    let (pmi, socket) = UnixStream::pair()?;
                    (Some(pmi), Some(socket))
                }
            };
            let id = process::Id { job, number: rank };
            let start = ProcessStart::new(id, &command, streams)
                .suggest(environment::of_rank(own, local_rank))
                .suggest(suggested.iter().flatten().cloned())
                .suggest(terminal.map(|terminal| ("TERM", terminal.name.as_str())))
                .suggest(grants.gpus.iter().flat_map(devices::Grant::variables))
                .set(environment::of_open_mpi(
                    own,
                    share.size,
                    local_rank,
                    share.ranks.len(),
                ))
                .set(checkpoint::environment(share, folder, rank, first))
                .set(waits.as_ref().map(|file| (WAITS_VARIABLE, file)))
                .bind(processors);
            let start = match (socket, pmix) {
                (Some(socket), _) => start.set(pmi_variables(own, local_rank)).inherit(socket),
                (None, Some((server, group))) => {
                    start.set(server.variables(group, local_rank).iter().cloned())
                }
                (None, None) => start,
            };
            let pid = container.nursery.start(start).await?;
            ends.push(PipeEnds {
                rank,
                pid: pid.as_raw(),
                outer,
                pmi,
                waits,
                before,
                grants,
            });
        }
    }
    let origin = Origin {
        host: share.host.clone(),
        node: share.node,
    };
    Ok(Forked {
        kills,
        ends,
        origin,
        run: share.run,
        crowd: yields.crowd,
    })
}

/// By which a rank finds its process manager, and what it is there.
fn pmi_variables(pmi_rank: u32, local_rank: usize) -> [(&'static str, String); 3] {
    [
        ("PMI_FD", INHERITED_FD.to_string()),
        ("PMI_RANK", pmi_rank.to_string()),
        ("MPI_LOCALRANKID", local_rank.to_string()),
    ]
}

/// What a rank's standard error begins with, where its processors are to be told.
fn bound(share: &Share, rank: u32, processors: Option<&CpuSet>) -> Vec<u8> {
    match share.binding.unwrap_or_default().report {
        true => {
            let where_to = binding::told(processors);
            format!("rank {rank} on {}: {where_to}\n", share.host).into_bytes()
        }
        false => Vec::new(),
    }
}
