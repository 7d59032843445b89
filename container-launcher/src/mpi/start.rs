//! Starts ranks: those of a share, and for groups that are spawned.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use job::exit::Exit;
use job::wire::mpi_event::Event;
use job::wire::{RanksStarted, Refusal, Share};
use pmi::{JobAttributes, NodeServer};
use tokio::time::Instant;

use super::pmix::PmixServer;
use super::process_manager::ProcessManager;
use super::ranks::{self, Attendants, Ranks};
use super::{CommWorld, Mpi, topology};
use crate::binding;
use crate::container::OwnContainer;
use crate::devices::gpus;
use crate::job_files;
use crate::left_files::Before;
use crate::process::{Grants, environment};
use crate::sweep::JOB_VARIABLE;
use crate::{node_facts, program};

/// A container that YARN has just ended may not be gone yet.
const GPUS_FREE: Duration = Duration::from_secs(10);

impl Mpi {
    /// Attends to ranks that have been started.
    pub(super) fn begin(&mut self, world: CommWorld, container: &mut OwnContainer<'_>) {
        self.outbox.push_back(Event::Started(RanksStarted {
            at_us: microseconds_now(),
            group: world.group,
            streams: world.ranks.streams(),
        }));
        if world.group == 0 {
            self.silent.begin();
        }
        self.worlds.insert(world.group, world);
        container.sampling.begin();
        container.crowding.begin(container.context.disk_percent);
    }

    /// Starts the ranks of a share, whose files are there.
    pub(super) async fn begin_with(&mut self, share: Share, container: &mut OwnContainer<'_>) {
        match self.start(share, container).await {
            Ok(world) => self.begin(world, container),
            Err(refusal) => {
                // Those that were forked before the one that failed.
                container.sweep(self.job).await;
                self.outbox.push_back(Event::Refusal(refusal));
            }
        }
    }

    async fn start(
        &mut self,
        share: Share,
        container: &mut OwnContainer<'_>,
    ) -> Result<CommWorld, Refusal> {
        let folder = &self.folder.clone();
        job_files::make_folder(&container.around.folder, folder).map_err(|error| Refusal {
            sentence: format!("{}: {}: {error}", node_facts::hostname(), folder.display()),
            exit_code: i32::from(Exit::Staging.code()),
            group: 0,
        })?;
        program::check(&share, folder)?;
        program::prove(&share, folder).await?;
        let programs = program::of(&share);
        let manager = self.manager(&share, &programs, container).await?;
        let mut given = programs.iter().flat_map(|run| &run.program.environment);
        if given.any(|pair| topology::is_said(&pair.key)) {
            self.hwloc_is_told = true;
        }
        container.warden.note_space(&share.kvs_name);
        self.before = Before::of(folder);
        let ranks = self.fork(&share, &programs, 0, 0, container).await?;
        let kvs_name = share.kvs_name.clone();
        self.share = Some(share);
        Ok(CommWorld {
            group: 0,
            first: 0,
            kvs_name,
            manager,
            ranks,
            pmi_seen: false,
            stuck_is_told: false,
            pieces: Vec::new(),
        })
    }

    /// What answers the ranks of a share.
    async fn manager(
        &mut self,
        share: &Share,
        programs: &[program::LocalRanks<'_>],
        container: &OwnContainer<'_>,
    ) -> Result<ProcessManager, Refusal> {
        let folder = &self.folder;
        let mut environment = programs.first().map_or_else(BTreeMap::new, |run| {
            let inherited = container.around.environment.clone().into_iter();
            let id = &container.context.container;
            environment::of(inherited, [], run.program, id, folder)
        });
        if self.job.is_of_session() {
            environment.insert(JOB_VARIABLE.into(), self.job.0.to_string().into());
        }
        let around = container.around;
        let told = &self.served_by;
        let server = PmixServer::start(share, programs, folder, environment, around, told).await?;
        self.pmix = server.map(Box::new);
        if self.pmix.is_some() {
            return Ok(ProcessManager::Pmix);
        }
        let appnums = programs
            .iter()
            .flat_map(|run| run.ranks.iter().map(|&rank| (rank, run.appnum)));
        let node = NodeServer::new(JobAttributes {
            size: share.size,
            ranks: share.ranks.clone(),
            kvs_name: share.kvs_name.clone(),
            process_mapping: share.process_mapping.clone(),
            appnums: appnums.collect(),
            universe: Some(share.universe_size).filter(|&size| size > 0),
            ..JobAttributes::default()
        });
        let node = node.map_err(|error| Refusal {
            sentence: format!("{}: {error}", node_facts::hostname()),
            exit_code: i32::from(Exit::Lost.code()),
            group: 0,
        })?;
        Ok(ProcessManager::Pmi(Box::new(node)))
    }

    /// Starts ranks of a group whose rank 0 has the number `first`, and the tasks that serve them.
    pub(super) async fn fork(
        &mut self,
        share: &Share,
        programs: &[program::LocalRanks<'_>],
        group: u32,
        first: u32,
        container: &mut OwnContainer<'_>,
    ) -> Result<Ranks, Refusal> {
        let names: Vec<&str> = (programs.iter())
            .map(|run| run.program.file.as_str())
            .collect();
        let count = programs.iter().map(|run| run.ranks.len()).sum();
        if first == 0 {
            reserve_gpus(share, count, container).await?;
            let binding = share.binding.unwrap_or_default();
            self.processors = binding::Sets::new(&binding, &share.cpus, share.bound_before);
        }
        let gpus = gpus_each(share);
        let grant = |_| Grants {
            gpus: gpus.and_then(|each| container.gpus.grant(each)),
            processors: self.processors.bind(),
        };
        let grants = (0..count).map(grant).collect();
        let forked = ranks::fork(
            share,
            programs,
            self.job,
            &self.folder,
            container,
            first,
            grants,
            self.pmix.as_deref().map(|server| (server, group)),
        )
        .await
        .and_then(|forked| {
            forked.attend(Attendants {
                traffic: &mut self.traffic,
                lanes: &self.lanes,
                heard: &self.heard_by,
            })
        });
        forked.map_err(|error| program::not_started(&names.join(" or "), &error))
    }
}

/// Sees to the graphics processors of so many ranks, where they are to have such.
async fn reserve_gpus(
    share: &Share,
    ranks: usize,
    container: &mut OwnContainer<'_>,
) -> Result<(), Refusal> {
    let Some(each) = gpus_each(share) else {
        return Ok(());
    };
    let around = container.around;
    let here = gpus::here(&|name| around.text(name).map(str::to_owned));
    let until = Instant::now() + GPUS_FREE;
    let counted = share.gpus_are_counted;
    let gpus = &mut container.gpus;
    let reserved = gpus.reserve(here, ranks, each, counted, until).await;
    reserved.map_err(|sentence| Refusal {
        sentence: format!("{}: {sentence}", node_facts::hostname()),
        exit_code: i32::from(Exit::Impossible.code()),
        group: 0,
    })
}

/// How many graphics processors each rank is to have; none: ranks are told nothing of them.
fn gpus_each(share: &Share) -> Option<usize> {
    let each = share.gpus_per_process?;
    Some(usize::try_from(each).unwrap_or(usize::MAX))
}

fn microseconds_now() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| i64::try_from(since.as_micros()).ok())
        .unwrap_or(0)
}
