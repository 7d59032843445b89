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
use crate::gpus::{self, Devices, Lease};
use crate::ranks::{self, Attendants, Ranks};
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
        let ranks = self.fork(&share, &programs, &folder, 0).await?;
        self.share = Some(share);
        Ok(Running {
            group: 0,
            first: 0,
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
        // What is spawned finds the devices dealt to the job's own ranks.
        let gpus = match first {
            0 => self.gpus_of(share).await?,
            _ => Vec::new(),
        };
        ranks::fork(
            share,
            programs,
            &self.seat.container,
            folder,
            self.nursery,
            first,
            gpus,
        )
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
        })
        .map_err(|error| program::not_started(&names.join(" or "), &error))
    }

    /// The variable that names each rank's graphics processors, where it is to have such.
    async fn gpus_of(&mut self, share: &Share) -> Result<Vec<Option<(String, String)>>, Refusal> {
        let Some(each) = share.gpus_per_process else {
            return Ok(Vec::new());
        };
        // Those of the run before.
        self.gpus = Lease::default();
        let ranks = share.ranks.len();
        let wanted = usize::try_from(each).map_or(usize::MAX, |each| ranks.saturating_mul(each));
        let mut devices = Devices::here(&|name| std::env::var(name).ok());
        let leased = match &devices {
            Some(all) if share.gpus_are_counted => {
                gpus::lease(all, wanted, Instant::now() + GPUS_FREE)
                    .await
                    .map(Some)
            }
            _ => Ok(None),
        };
        let dealt = leased.and_then(|leased| {
            if let Some((own, lease)) = leased {
                (devices, self.gpus) = (Some(own), lease);
            }
            gpus::deal(devices.as_ref(), ranks, each)
        });
        dealt.map_err(|sentence| Refusal {
            sentence: format!("{}: {sentence}", node_facts::hostname()),
            exit_code: i32::from(Exit::Impossible.code()),
            group: 0,
        })
    }
}

fn microseconds_now() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| i64::try_from(since.as_micros()).ok())
        .unwrap_or(0)
}
