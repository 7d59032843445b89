//! What launchers are ordered: everything that a task's process is told.

use gerbil_task::{MapOrder, ReduceOrder, Source, ToTask, Welcome};
use job::wire::task_order::Order;
use job::{MapReduceJob, wire};
use policy::schedule::{AttemptIx, Stage, TaskIx};

use super::attempts::Attempt;
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

/// A task's name, and an attempt's, as folders are called.
pub(super) fn names(stage: Stage, task: u32, number: u32) -> (String, String) {
    let stage = match stage {
        Stage::Map => 'm',
        Stage::Reduce | Stage::Gang => 'r',
    };
    (
        format!("task_{stage}_{task:06}"),
        format!("attempt_{stage}_{task:06}_{number}"),
    )
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
        attempt: &Attempt,
    ) -> Order {
        let split = usize::try_from(attempt.task.0)
            .ok()
            .and_then(|task| description.splits.get(task));
        let split = split.cloned().unwrap_or_default();
        let files = split.files.into_iter().map(|file| wire::InputFile {
            address: file.address,
            path: file.path,
        });
        let order = MapOrder {
            task: attempt.task.0,
            attempt: attempt.number,
            partitions: description.reduces,
            pieces: split.pieces,
            skip: Vec::new(),
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

    /// The order to start the reduce of `partition`.
    pub(super) fn reduce(
        &self,
        description: &MapReduceJob,
        (ix, attempt): (AttemptIx, &Attempt),
        partition: u32,
        sources: Vec<Source>,
    ) -> Order {
        let order = ReduceOrder {
            task: partition,
            attempt: attempt.number,
            sources,
        };
        let order = ToTask::Reduce(order);
        Order::Start(self.start(description, ix, attempt, partition, &order))
    }

    fn start(
        &self,
        description: &MapReduceJob,
        ix: AttemptIx,
        attempt: &Attempt,
        number: u32,
        order: &ToTask,
    ) -> wire::StartTask {
        let (task, name) = names(attempt.stage, number, attempt.number);
        wire::StartTask {
            process: ix.0,
            slot: attempt.slot,
            program: Some(self.program.clone()),
            plan: description.plan.clone(),
            welcome: self.welcome.clone(),
            task: serde_json::to_string(order).unwrap_or_default(),
            addresses: self.addresses.clone(),
            inputs: Vec::new(),
            output: Some(wire::OutputFolder {
                address: description.output.address,
                path: description.output.path.clone(),
                job: self.job.clone(),
                task,
                attempt: name,
            }),
        }
    }

    /// The order to end an attempt.
    pub(super) const fn end(ix: AttemptIx) -> Order {
        Order::End(wire::EndTask { process: ix.0 })
    }
}

/// What a map has left for a partition.
pub(super) fn source(map: TaskIx, partition: &gerbil_task::Partition) -> Source {
    Source {
        map: map.0,
        offset: partition.offset,
        length: partition.length,
        records: partition.records,
    }
}
