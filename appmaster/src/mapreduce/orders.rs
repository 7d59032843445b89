//! What launchers are ordered: everything that a task's process is told.

use std::collections::BTreeMap;

use gerbil_task::{MapOrder, ReduceOrder, Source, ToTask, Welcome};
use job::wire::task_order::Order;
use job::{MapReduceJob, wire};
use policy::commit::AttemptName;
use policy::elements::{ElementNeed, is_function};
use policy::schedule::{AttemptIx, Stage, TaskIx};

use super::attempts::PlacedAttempt;
use super::folder::Folder;

/// What all orders of a job have in common.
#[derive(Debug)]
pub(super) struct Orders {
    /// The job's text.
    job: String,
    program: wire::Program,
    /// `Welcome` as JSON.
    welcome: String,
    /// `Address`es as JSON.
    addresses: Vec<String>,
    /// Of all input.
    bytes: u64,
}

/// An attempt's name: no other attempt of the job has it.
pub(super) fn attempt_name(stage: Stage, task: u32, number: u32) -> AttemptName {
    AttemptName {
        is_map: stage == Stage::Map,
        task,
        number,
    }
}

/// What a launcher leases for a task that needs these.
fn functions(needs: &[ElementNeed]) -> impl Iterator<Item = String> {
    let functions = needs.iter().filter(|need| is_function(&need.name));
    functions.map(ToString::to_string)
}

impl Orders {
    pub(super) fn new(description: &MapReduceJob, job: &str) -> Self {
        let welcome = Welcome {
            job: description.job.clone(),
            settings: description.settings.clone(),
            params: description.params.clone(),
            ..Welcome::default()
        };
        let json = |address: &storage::Address| serde_json::to_string(address).unwrap_or_default();
        let pieces = description.splits.iter().flat_map(|split| &split.pieces);
        Self {
            job: job.to_owned(),
            program: wire::Program::from(&description.program),
            // Texts and numbers alone: there is nothing in it that JSON has not.
            welcome: serde_json::to_string(&welcome).unwrap_or_default(),
            addresses: description.addresses.iter().map(json).collect(),
            bytes: pieces.map(|piece| piece.length).sum(),
        }
    }

    /// Bytes that a map reads.
    pub(super) fn length(description: &MapReduceJob, map: TaskIx) -> u64 {
        let index = usize::try_from(map.0).unwrap_or(usize::MAX);
        let split = description.splits.get(index);
        let pieces = split.into_iter().flat_map(|split| &split.pieces);
        pieces.map(|piece| piece.length).sum()
    }

    /// The job's text.
    pub(super) fn job(&self) -> &str {
        &self.job
    }

    /// Of all input.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// `None`: the description names a file system that it does not have.
    pub(super) fn folder(&self, description: &MapReduceJob) -> Option<Folder> {
        let index = usize::try_from(description.output.address).ok()?;
        Some(Folder {
            address: description.addresses.get(index)?.clone(),
            path: description.output.path.clone(),
            job: self.job.clone(),
        })
    }

    /// The order to start a map.
    pub(super) fn map(
        &self,
        description: &MapReduceJob,
        ix: AttemptIx,
        attempt: &PlacedAttempt,
    ) -> Order {
        let split = usize::try_from(attempt.task.0)
            .ok()
            .and_then(|task| description.splits.get(task));
        let split = split.cloned().unwrap_or_default();
        // None where no blocks are known.
        let mut blocks = split.blocks.iter();
        let files = split.files.into_iter().map(|file| wire::InputFile {
            address: file.address,
            path: file.path,
            blocks: (blocks.next().into_iter().flatten())
                .filter_map(|block| description.block_places.told(block))
                .collect(),
            modified_ms: file.modified_ms,
        });
        let order = MapOrder {
            task: attempt.task.0,
            attempt: attempt.number,
            partitions: description.reduces,
            pieces: split.pieces,
            skip: attempt.skips.clone(),
        };
        Order::Start(wire::StartTask {
            inputs: files.collect(),
            ..self.start(
                description,
                ix,
                attempt,
                attempt.task.0,
                &ToTask::Map(order),
            )
        })
    }

    /// What launchers tell every task of the job.
    pub(super) fn welcome(&self) -> &str {
        &self.welcome
    }

    /// The order to start the reduce of `partition`, which reads what these maps have left: where, if not in its
    /// own container, and by which attempts.
    pub(super) fn reduce<'a>(
        &self,
        description: &MapReduceJob,
        (ix, attempt): (AttemptIx, &PlacedAttempt),
        partition: u32,
        of_maps: impl Iterator<Item = (TaskIx, Option<&'a str>, AttemptIx)>,
    ) -> Order {
        let (mut sources, mut kept_by, mut outputs) = (Vec::new(), Vec::new(), Vec::new());
        let mut launchers: BTreeMap<&str, u32> = BTreeMap::new();
        for (map, address, output) in of_maps {
            outputs.push(output.0);
            sources.push(Source {
                map: map.0,
                // Known to whoever has it.
                offset: 0,
                length: 0,
                records: 0,
            });
            let next = super::count(launchers.len()).saturating_add(1);
            kept_by.push(address.map_or(0, |of| *launchers.entry(of).or_insert(next)));
        }
        let order = ToTask::Reduce(ReduceOrder {
            task: partition,
            attempt: attempt.number,
            sources,
            skip: attempt.skips.clone(),
        });
        let mut by_place: Vec<(u32, &str)> = launchers
            .into_iter()
            .map(|(of, place)| (place, of))
            .collect();
        by_place.sort_unstable();
        Order::Start(wire::StartTask {
            launchers: by_place.into_iter().map(|(_, of)| of.to_owned()).collect(),
            kept_by,
            outputs,
            ..self.start(description, ix, attempt, partition, &order)
        })
    }

    fn start(
        &self,
        description: &MapReduceJob,
        ix: AttemptIx,
        attempt: &PlacedAttempt,
        number: u32,
        order: &ToTask,
    ) -> wire::StartTask {
        let terms = match attempt.stage {
            Stage::Map => &description.map,
            Stage::Reduce | Stage::Gang => &description.reduce,
        };
        wire::StartTask {
            process: ix.0,
            slot: attempt.slot,
            cpus: attempt.cpus.clone(),
            functions: functions(&terms.needs)
                .filter(|_| attempt.has_needs)
                .collect(),
            memory_mib: terms.unit.memory.0,
            program: Some(self.program.clone()),
            plan: description.plan.clone(),
            welcome: self.welcome.clone(),
            task: serde_json::to_string(order).unwrap_or_default(),
            addresses: self.addresses.clone(),
            output: Some(wire::OutputFolder {
                address: description.output.address,
                path: description.output.path.clone(),
                job: self.job.clone(),
                attempt: attempt_name(attempt.stage, number, attempt.number).to_string(),
            }),
            ..wire::StartTask::default()
        }
    }

    /// The order to end an attempt.
    pub(super) const fn end(ix: AttemptIx) -> Order {
        Order::End(wire::EndTask { process: ix.0 })
    }
}
