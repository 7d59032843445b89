//! What is known of the tasks that read: their chunks, their buffers, and what chunks cost so far.
//!
//! | paper | here | unit |
//! |---|---|---|
//! | `Rt` | [`ReadState::ratio`], the mean of (transfer + kernel) / io | 2^-20 |
//! | `deposit` | [`ReadState::gpu_backlog`], estimated of what is issued and not done | ns |
//!
//! Means are exponential with a weight of ¼ for the newest chunk.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::schedule::Nanos;

/// A task of a [`ReadState`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReadTaskIx(pub u32);

const MIB: u64 = 1 << 20;
/// One, in the unit of ratios.
pub(super) const ONE: u64 = 1 << 20;

/// A task that reads chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadTask {
    /// Its job.
    pub job: u32,
    /// Its container.
    pub container: u32,
    /// Its GPU.
    pub gpu: u32,
    /// Its job's priority, 1 to 10.
    pub priority: u8,
    /// Bytes of a chunk.
    pub chunk: u64,
    /// Bytes that are not issued to the disk yet; the last chunk is what is left.
    pub left: u64,
    /// Host buffers that are free.
    pub free: u32,
    /// Chunks that are issued and not done.
    pub under_way: u32,
    /// When a chunk was last issued, counted in chunks of all; 0 is never.
    pub served: u64,
    pub(super) cost: Option<MeanCost>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MeanCost {
    /// (Transfer + kernel) / io, in 2^-20.
    ratio: u64,
    /// GPU time, in ns a MiB.
    gpu: u64,
}

impl ReadTask {
    /// A task of job and container 0 on GPU 0 that reads `left` bytes in chunks into so many buffers.
    #[must_use]
    pub const fn new(chunk: u64, left: u64, buffers: u32) -> Self {
        Self {
            job: 0,
            container: 0,
            gpu: 0,
            priority: 1,
            chunk,
            left,
            free: buffers,
            under_way: 0,
            served: 0,
            cost: None,
        }
    }

    /// Bytes of the next chunk; 0 of none.
    #[must_use]
    pub fn next_bytes(&self) -> u64 {
        self.chunk.min(self.left)
    }

    /// Whether a chunk is left, and a buffer for it is free.
    #[must_use]
    pub const fn can_read(&self) -> bool {
        self.left > 0 && self.free > 0
    }
}

/// What a chunk cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChunkCost {
    /// Its bytes.
    pub bytes: u64,
    /// Reading.
    pub io: Nanos,
    /// Copies to the device and back.
    pub transfer: Nanos,
    /// The kernel.
    pub kernel: Nanos,
}

#[derive(Clone, Copy, Debug)]
struct IssuedChunk {
    task: ReadTaskIx,
    gpu: u32,
    is_read: bool,
    /// Of the GPU, in ns; 0 where nothing is known.
    estimate: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct GpuLine {
    /// Estimates of all that is issued, in ns.
    estimates: u64,
    /// Chunks that are read and not done.
    at_gpu: u32,
    /// Since when the first of them is at work.
    since: Nanos,
}

/// All tasks that read from one disk.
#[derive(Clone, Debug, Default)]
pub struct ReadState {
    tasks: Vec<Option<ReadTask>>,
    issued: VecDeque<IssuedChunk>,
    gpus: BTreeMap<u32, GpuLine>,
    /// The disk's time, in ns a MiB.
    io: Option<u64>,
    sequence: u64,
}

impl ReadState {
    /// Nothing reads.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A task more, with the lowest number that none has. A priority beyond 1 to 10 is the nearest of them, and a chunk
    /// has at least one byte.
    pub fn add(&mut self, task: ReadTask) -> ReadTaskIx {
        let task = ReadTask {
            priority: task.priority.clamp(1, 10),
            chunk: task.chunk.max(1),
            ..task
        };
        let free = self.tasks.iter().position(Option::is_none);
        let at = free.unwrap_or(self.tasks.len());
        match self.tasks.get_mut(at) {
            Some(slot) => *slot = Some(task),
            None => self.tasks.push(Some(task)),
        }
        ReadTaskIx(u32::try_from(at).unwrap_or(u32::MAX))
    }

    /// The task ended, or is lost with what it has under way. Its number is free for another one.
    pub fn remove(&mut self, task: ReadTaskIx) {
        if let Some(known) = self.slot(task) {
            *known = None;
        }
        while self.take_issued(task).is_some() {}
        while self.tasks.pop_if(|last| last.is_none()).is_some() {}
        let gpus: BTreeSet<u32> = self.tasks().map(|(_, task)| task.gpu).collect();
        self.gpus.retain(|gpu, _| gpus.contains(gpu));
    }

    /// A task.
    #[must_use]
    pub fn task(&self, task: ReadTaskIx) -> Option<&ReadTask> {
        let at = usize::try_from(task.0).ok()?;
        self.tasks.get(at)?.as_ref()
    }

    /// All of them, by number.
    pub fn tasks(&self) -> impl Iterator<Item = (ReadTaskIx, &ReadTask)> {
        let numbered = (0..).map(ReadTaskIx).zip(&self.tasks);
        numbered.filter_map(|(number, task)| Some((number, task.as_ref()?)))
    }

    /// The smallest chunk of the tasks that still read, in bytes: the unit of quotas and ratios.
    #[must_use]
    pub fn smallest_chunk(&self) -> u64 {
        let reading = self.tasks().filter(|(_, task)| task.left > 0);
        reading.map(|(_, task)| task.chunk).min().unwrap_or(1)
    }

    /// (Transfer + kernel) / io of the task, in 2^-20; `None` before its first chunk is done.
    #[must_use]
    pub fn ratio(&self, task: ReadTaskIx) -> Option<u64> {
        Some(self.task(task)?.cost?.ratio)
    }

    /// How long the disk takes for so many bytes; `None` before the first chunk is done.
    #[must_use]
    pub fn io_time(&self, bytes: u64) -> Option<Nanos> {
        Some(Nanos(scaled(self.io?, bytes, MIB)))
    }

    /// Unfinished work of a GPU: what its issued chunks are expected to take, less what the one at work has had.
    #[must_use]
    pub fn gpu_backlog(&self, gpu: u32, now: Nanos) -> Nanos {
        let Some(line) = self.gpus.get(&gpu).filter(|line| line.estimates > 0) else {
            return Nanos(0);
        };
        let at_work = self.issued.iter().find(|chunk| chunk.gpu == gpu);
        let at_work = at_work.filter(|chunk| chunk.is_read);
        let had = at_work.map_or(0, |chunk| now.since(line.since).0.min(chunk.estimate));
        Nanos(line.estimates.saturating_sub(had))
    }

    /// The task's next chunk goes to the disk; its bytes, where the task has a chunk and a buffer for it.
    pub fn issue(&mut self, task: ReadTaskIx) -> Option<u64> {
        self.sequence = self.sequence.saturating_add(1);
        let served = self.sequence;
        let known = self.slot(task)?.as_mut().filter(|task| task.can_read())?;
        let bytes = known.next_bytes();
        known.left = known.left.saturating_sub(bytes);
        known.free = known.free.saturating_sub(1);
        known.under_way = known.under_way.saturating_add(1);
        known.served = served;
        let gpu = known.gpu;
        let estimate = known.cost.map_or(0, |cost| scaled(cost.gpu, bytes, MIB));
        self.issued.push_back(IssuedChunk {
            task,
            gpu,
            is_read: false,
            estimate,
        });
        let line = self.gpus.entry(gpu).or_default();
        line.estimates = line.estimates.saturating_add(estimate);
        Some(bytes)
    }

    /// The disk has read the oldest chunk that it was reading for the task.
    pub fn read(&mut self, now: Nanos, task: ReadTaskIx) {
        let mut chunks = self.issued.iter_mut();
        let Some(chunk) = chunks.find(|chunk| chunk.task == task && !chunk.is_read) else {
            return;
        };
        chunk.is_read = true;
        let line = self.gpus.entry(chunk.gpu).or_default();
        if line.at_gpu == 0 {
            line.since = now;
        }
        line.at_gpu = line.at_gpu.saturating_add(1);
    }

    /// A host buffer of the task is free again.
    pub fn freed(&mut self, task: ReadTaskIx) {
        if let Some(Some(known)) = self.slot(task) {
            known.free = known.free.saturating_add(1);
        }
    }

    /// The oldest chunk of the task is done, and cost this.
    pub fn done(&mut self, now: Nanos, task: ReadTaskIx, cost: &ChunkCost) {
        let Some(chunk) = self.take_issued(task) else {
            return;
        };
        if let Some(line) = self.gpus.get_mut(&chunk.gpu) {
            line.since = now;
        }
        let gpu = cost.transfer.plus(cost.kernel).0;
        let ratio = scaled(gpu, ONE, cost.io.0.max(1));
        let bytes = cost.bytes.max(1);
        self.io = Some(mean(self.io, scaled(cost.io.0, MIB, bytes)));
        if let Some(Some(known)) = self.slot(task) {
            known.under_way = known.under_way.saturating_sub(1);
            let before = known.cost;
            known.cost = Some(MeanCost {
                ratio: mean(before.map(|cost| cost.ratio), ratio),
                gpu: mean(before.map(|cost| cost.gpu), scaled(gpu, MIB, bytes)),
            });
        }
    }

    fn take_issued(&mut self, task: ReadTaskIx) -> Option<IssuedChunk> {
        let at = self.issued.iter().position(|chunk| chunk.task == task)?;
        let chunk = self.issued.remove(at)?;
        if let Some(line) = self.gpus.get_mut(&chunk.gpu) {
            line.estimates = line.estimates.saturating_sub(chunk.estimate);
            line.at_gpu = line.at_gpu.saturating_sub(u32::from(chunk.is_read));
        }
        Some(chunk)
    }

    fn slot(&mut self, task: ReadTaskIx) -> Option<&mut Option<ReadTask>> {
        self.tasks.get_mut(usize::try_from(task.0).ok()?)
    }
}

/// `amount` · `of` / `per`, as far as 64 bits go; `per` is above 0.
fn scaled(amount: u64, of: u64, per: u64) -> u64 {
    let product = u128::from(amount).saturating_mul(u128::from(of));
    let scaled = product.checked_div(u128::from(per)).unwrap_or(u128::MAX);
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// The mean so far, a quarter of it replaced by the newest.
fn mean(before: Option<u64>, newest: u64) -> u64 {
    let Some(before) = before else { return newest };
    let sum = u128::from(before)
        .saturating_mul(3)
        .saturating_add(u128::from(newest));
    u64::try_from(sum >> 2).unwrap_or(u64::MAX)
}
