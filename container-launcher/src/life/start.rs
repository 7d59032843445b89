//! Starts ranks: those of a share, and for groups that are spawned.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use job::exit::Exit;
use job::wire::launcher_event::Event;
use job::wire::{RanksStarted, Refusal, Share};
use pmi::{Job, NodeServer};
use tokio::time::Instant;

use super::sampling::Sampling;
use super::{Life, Running};
use crate::binding::Places;
use crate::gpus::{self, Devices, Lease, Pool};
use crate::left_files::Before;
use crate::ranks::{self, Attendants, Own, Ranks};
use crate::{node_facts, program, samples, topology};

/// A container that YARN has just ended may not be gone yet.
const GPUS_FREE: Duration = Duration::from_secs(10);

impl Life<'_> {
    /// Attends to ranks that have been started.
    pub(crate) fn begin(&mut self, running: Running) {
        self.outbox.push_back(Event::Started(RanksStarted {
            at_us: microseconds_now(),
            group: running.group,
            streams: running.ranks.streams(),
        }));
        if running.group == 0 {
            self.silent.begin();
        }
        self.groups.insert(running.group, running);
        if matches!(self.sampling, Sampling::Idle) {
            self.sampling = Sampling::Due(Instant::now() + samples::INTERVAL);
        }
    }

    /// Starts the ranks of a share, whose files are there.
    pub(super) async fn begin_with(&mut self, share: Share) {
        match self.start(share).await {
            Ok(running) => self.begin(running),
            Err(refusal) => {
                // Those that were forked before the one that failed.
                self.nursery.sweep().await;
                self.outbox.push_back(Event::Refusal(refusal));
            }
        }
    }

    async fn start(&mut self, share: Share) -> Result<Running, Refusal> {
        let folder = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        program::check(&share, &folder)?;
        program::prove(&share, &folder).await?;
        let programs = program::of(&share);
        let appnums = programs
            .iter()
            .flat_map(|run| run.ranks.iter().map(|&rank| (rank, run.appnum)));
        let node = NodeServer::new(Job {
            size: share.size,
            ranks: share.ranks.clone(),
            kvs_name: share.kvs_name.clone(),
            process_mapping: share.process_mapping.clone(),
            appnums: appnums.collect(),
            universe: Some(share.universe_size).filter(|&size| size > 0),
            ..Job::default()
        })
        .map_err(|error| Refusal {
            sentence: format!("{}: {error}", node_facts::hostname()),
            exit_code: i32::from(Exit::Lost.code()),
            group: 0,
        })?;
        let mut given = programs.iter().flat_map(|run| &run.program.environment);
        if given.any(|pair| topology::is_said(&pair.key)) {
            self.topology = None;
        }
        self.warden.note_space(&share.kvs_name);
        self.before = Before::of(&folder);
        let ranks = self.fork(&share, &programs, &folder, 0).await?;
        let kvs_name = share.kvs_name.clone();
        self.share = Some(share);
        Ok(Running {
            group: 0,
            first: 0,
            kvs_name,
            node,
            ranks,
            pmi_seen: false,
            pieces: Vec::new(),
        })
    }

    /// Starts ranks, and the tasks that serve them.
    pub(crate) async fn fork(
        &mut self,
        share: &Share,
        programs: &[program::Run<'_>],
        folder: &Path,
        first: u32,
    ) -> Result<Ranks, Refusal> {
        let names: Vec<&str> = (programs.iter())
            .map(|run| run.program.file.as_str())
            .collect();
        let numbers = programs.iter().flat_map(|run| run.ranks.iter().copied());
        let numbers: Vec<u32> = numbers.collect();
        let gpus = match first {
            0 => self.gpus_of(share, &numbers).await?,
            _ => self.gpus_for_more(&numbers),
        };
        if first == 0 {
            self.processors = Places::new(&share.binding.unwrap_or_default());
        }
        let owns = numbers.iter().zip(gpus).map(|(&rank, gpus)| Own {
            gpus,
            processors: self.processors.take(rank),
        });
        let owns = owns.collect();
        let nursery = self.nursery;
        let container = &self.seat.container;
        let forked = ranks::fork(share, programs, container, folder, nursery, first, owns)
            .await
            .and_then(|forked| {
                let attendants = Attendants {
                    carriers: self.carriers,
                    client: &self.client,
                    pass: &self.pass,
                    chunks: &self.chunks,
                    lanes: &self.lanes,
                    heard: &self.heard_by,
                    tasks: &mut self.tasks,
                };
                forked.attend(attendants)
            });
        forked.map_err(|error| {
            numbers.iter().for_each(|&rank| self.give_back(rank));
            program::not_started(&names.join(" or "), &error)
        })
    }

    /// A rank has ended, or never began: what it had of the node others may have.
    pub(super) fn give_back(&mut self, rank: u32) {
        self.gpus.give_back(rank);
        self.processors.give_back(rank);
    }

    /// The variable that names each rank's graphics processors, where it is to have such.
    async fn gpus_of(
        &mut self,
        share: &Share,
        ranks: &[u32],
    ) -> Result<Vec<Option<(String, String)>>, Refusal> {
        // Those of the run before.
        self.gpus = Pool::default();
        let Some(each) = share.gpus_per_process else {
            return Ok(vec![None; ranks.len()]);
        };
        let wanted = usize::try_from(each).unwrap_or(usize::MAX);
        let wanted = wanted.saturating_mul(ranks.len());
        let devices = Devices::here(&|name| std::env::var(name).ok());
        let leased = match &devices {
            Some(all) if share.gpus_are_counted => {
                let leased = gpus::lease(all, wanted, Instant::now() + GPUS_FREE).await;
                leased.map(|(own, lease)| (Some(own), lease))
            }
            _ => Ok((devices, Lease::default())),
        };
        let dealt = leased.and_then(|(own, lease)| {
            self.gpus = Pool::new(own, each, lease);
            self.gpus.deal(ranks)
        });
        dealt.map_err(|sentence| Refusal {
            sentence: format!("{}: {sentence}", node_facts::hostname()),
            exit_code: i32::from(Exit::Impossible.code()),
            group: 0,
        })
    }

    /// The same for ranks that are spawned: of the devices of the job's own.
    fn gpus_for_more(&mut self, ranks: &[u32]) -> Vec<Option<(String, String)>> {
        ranks.iter().map(|&rank| self.gpus.take(rank)).collect()
    }
}

fn microseconds_now() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| i64::try_from(since.as_micros()).ok())
        .unwrap_or(0)
}
