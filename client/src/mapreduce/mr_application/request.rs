//! What is asked of YARN for the application of one `gerbil mr`, by its first job.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use ::job::SessionPlan;
use ::job::element::{Scan, Trust};
use mapreduce_client::order::JobOrder;
use policy::{MiB, Millis, ResourceTypes, Resources};

use super::MrApplication;
use super::size::{FirstJob, Size};
use crate::arguments::LocalDisk;
use crate::describe;
use crate::failure::Failure;
use crate::plan::step_mib;
use crate::preflight::{self, Ground};
use crate::usage::UsageError;

/// Memory of a slot at the least where nobody says a number, MiB: a task sorts in 192 of them, and the program has
/// something of its own.
const SLOT_MIB: u64 = 512;
/// Containers that no job has used for so long are given back, but for one.
const IDLE: Millis = Millis(60_000);
/// For a job that is left to its application to come, where its command was killed in between.
const NO_JOB: Millis = Millis(60_000);

impl MrApplication {
    /// What would be asked of YARN.
    pub(super) async fn asked(&self, first: &JobOrder) -> Result<Vec<String>, Failure> {
        let disk = self.disk()?;
        let ground = self.ground(first, &disk).await?;
        let (wanted, elements) = (self.wanted(first)?, trust(first));
        let size = Size::new(&self.given, wanted, &ground)?;
        let types = ResourceTypes::default();
        let container = size.slot.times(size.slots.get());
        let queue = self.queue(first);
        let Size {
            slots,
            first,
            containers,
            most,
            ..
        } = size;
        let all = u64::from(first.get()).saturating_mul(container.memory.0);
        let with = match elements {
            Trust::Scan => "",
            Trust::Yarn | Trust::Both => {
                ", each with all GPUs and other accelerators that YARN counts and has free on its node"
            }
        };
        Ok(vec![
            format!(
                "slots: {}, each of {}; tasks that may run at once: {}",
                u64::from(slots.get()).saturating_mul(first.get().into()),
                size.slot.words(&types),
                wanted.tasks,
            ),
            format!(
                "of YARN: an application {} in queue {queue}; an ApplicationMaster of {}; containers of {}: {first} at the \
                 beginning, {all} MiB in all, up to {most} while slots are lacking, down to {containers} when they are \
                 idle{with}",
                self.name,
                wanted.appmaster,
                container.words(&types),
            ),
        ])
    }

    pub(super) async fn ground(
        &self,
        first: &JobOrder,
        disk: &LocalDisk,
    ) -> Result<Ground, Failure> {
        let (queue, exclude) = (self.queue(first), &self.given.exclude);
        Ok(preflight::ground(&self.rm, &queue, exclude, disk).await?)
    }

    pub(super) fn queue(&self, first: &JobOrder) -> String {
        let queue = self.given.queue.clone().or_else(|| first.queue.clone());
        queue.unwrap_or_else(|| "default".to_owned())
    }

    /// What the first job is to the cluster.
    pub(super) fn wanted(&self, first: &JobOrder) -> Result<FirstJob, Failure> {
        let step = step_mib(&self.cluster)?;
        let (map, reduce) = (first.job.map.unit.memory.0, first.job.reduce.unit.memory.0);
        let unit = match first.job.reduces {
            0 => map,
            _ => map.max(reduce),
        };
        let memory = self.given.memory.unwrap_or(match unit {
            0 => step.max(SLOT_MIB),
            unit => unit,
        });
        let maps = u32::try_from(first.job.splits.len()).unwrap_or(u32::MAX);
        Ok(FirstJob {
            tasks: maps.max(first.job.reduces),
            slot: Resources::new(memory, 1),
            appmaster: MiB(step.max(follow::submit::AM_MEMORY_MIB)),
        })
    }

    /// What tasks may have of the nodes' disks.
    pub(super) fn disk(&self) -> Result<LocalDisk, UsageError> {
        let disk = LocalDisk::of(&self.given.local_disk);
        disk.map_err(|what| UsageError::DiskTwice { what })
    }

    pub(super) fn plan(
        &self,
        size: Size,
        elements: Trust,
        exclude: Vec<String>,
        (local_disk, local_disks): (u64, BTreeMap<String, u64>),
        staged: &staging::StagedFiles,
    ) -> Result<SessionPlan, Failure> {
        Ok(SessionPlan {
            name: self.name.clone(),
            containers: size.containers,
            first: size.first,
            most: size.most,
            idle_container: IDLE,
            slots: size.slots,
            gpu_slots: size.slots,
            room: size.slots,
            slot: size.slot,
            types: ResourceTypes::default(),
            policy: "fifo".to_owned(),
            core_slots: None,
            is_strict: false,
            running: None::<NonZeroU32>,
            // A driver may think as long as it lives; a job that is left comes at once, or not at all.
            idle: self.is_detached.then_some(NO_JOB),
            scan: Scan::default(),
            elements,
            local_disk,
            local_disks,
            disk_percent: self.cluster.disk_percent()?,
            is_owned: !self.is_detached,
            ends_with_job: self.is_detached,
            exclude,
            staging: describe::staging_folder(staged),
            record: None,
        })
    }
}

/// Whose count of a node's elements holds. YARN is asked for those that it counts where the first job needs any: what
/// no job needs stays there for others.
pub(super) fn trust(first: &JobOrder) -> Trust {
    let stages = [&first.job.map, &first.job.reduce];
    match stages.iter().all(|stage| stage.needs.is_empty()) {
        true => Trust::Scan,
        false => Trust::Both,
    }
}
