//! A disk and GPUs on virtual time, whose chunks a [`ReadDriver`] orders.
//!
//! A chunk's life: the disk reads it into a host buffer of its task, a copy engine moves it into a device buffer, the
//! kernel computes it; its reduce is part of the kernel. A task has two buffers of each.
//!
//! ```text
//!         disk            copy engine        kernels, one at a time
//!  Free ─▶ Reading ─▶ Ready ─▶ Copying ─▶ Mapping ─▶ Free
//!                              └ with buffer=copy the host buffer is free here
//! ```
//!
//! With [`Gpu::Serial`] a GPU copies or computes, as processes without MPS do; with [`Gpu::Overlap`] it does one beside
//! the other, as streams of one process do. First come, first served.

use std::collections::VecDeque;

use anyhow::{Result, ensure};
use policy::read_order::{ChunkCost, ReadDriver, ReadTask, ReadTaskIx, read_order};
use policy::schedule::Nanos;

use super::disk::Disk;
use super::jobs::GpuJob;
use super::world::SpmarioWorld;
use crate::clock::Clock;

/// Buffers of a task, on the host and on the device.
const BUFFERS: u32 = 2;

/// What a GPU does at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gpu {
    /// A copy and a kernel.
    Overlap,
    /// A copy or a kernel.
    Serial,
}

/// When a host buffer is free again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freed {
    /// When its chunk is on the device.
    Copy,
    /// When its chunk is computed.
    Kernel,
}

/// How jobs are run.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeviceSetting {
    pub(super) order: &'static str,
    /// Of each job; processes of the baseline.
    pub(super) tasks: u32,
    pub(super) gpu: Gpu,
    pub(super) freed: Freed,
}

/// From when to when a chunk was read, copied or computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DeviceSpan {
    /// Position of its job.
    pub(super) job: usize,
    pub(super) task: u32,
    pub(super) begin: Nanos,
    pub(super) end: Nanos,
}

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct DeviceResult {
    pub(super) end: Nanos,
    pub(super) reads: Vec<DeviceSpan>,
    pub(super) copies: Vec<DeviceSpan>,
    pub(super) kernels: Vec<DeviceSpan>,
}

/// A task's costs of a chunk, and where it is.
#[derive(Clone, Copy, Debug)]
struct DeviceTask {
    job: usize,
    gpu: usize,
    bytes: u64,
    io: Nanos,
    transfer: Nanos,
    kernel: Nanos,
    /// Buffers of the device that are free.
    free: u32,
}

/// A chunk beyond the disk.
#[derive(Clone, Copy, Debug)]
struct DeviceChunk {
    task: ReadTaskIx,
    /// It was read for so long.
    io: Nanos,
}

#[derive(Debug)]
enum Due {
    /// The disk is done with somebody, if nothing came between.
    Disk(u64),
    Copied(DeviceChunk),
    Computed(DeviceChunk),
}

#[derive(Debug, Default)]
struct GpuLines {
    to_copy: VecDeque<DeviceChunk>,
    to_compute: VecDeque<DeviceChunk>,
    copying: bool,
    computing: bool,
}

/// A run under way.
#[derive(Debug)]
struct DeviceRun {
    setting: DeviceSetting,
    driver: ReadDriver,
    tasks: Vec<DeviceTask>,
    disk: Disk<ReadTaskIx>,
    /// Of the disk, as it is in line.
    in_line: Option<u64>,
    gpus: Vec<GpuLines>,
    clock: Clock<Due>,
    result: DeviceResult,
}

/// Plays jobs, each on the GPU of its number, from 0 to the end of the last.
pub(super) fn play(
    world: &SpmarioWorld,
    setting: DeviceSetting,
    jobs: &[(GpuJob, usize)],
) -> Result<DeviceResult> {
    let mut run = DeviceRun {
        setting,
        driver: ReadDriver::new(read_order(setting.order)?),
        tasks: Vec::new(),
        disk: Disk::new(world.contention),
        in_line: None,
        gpus: Vec::new(),
        clock: Clock::default(),
        result: DeviceResult::default(),
    };
    for (number, (job, gpu)) in jobs.iter().enumerate() {
        run.add(world, number, job, *gpu)?;
    }
    run.begin(Nanos(0));
    while let Some((now, due)) = run.clock.next() {
        run.happens(now, due);
        run.begin(now);
    }
    let left = run.driver.state().tasks().map(|(_, task)| task.left);
    let left: u64 = left.sum();
    ensure!(left == 0, "{}: {left} bytes are never read", setting.order);
    Ok(run.result)
}

impl DeviceRun {
    fn add(&mut self, world: &SpmarioWorld, job: usize, of: &GpuJob, gpu: usize) -> Result<()> {
        while self.gpus.len() <= gpu {
            self.gpus.push(GpuLines::default());
        }
        let tasks = u64::from(self.setting.tasks);
        let bytes = of.chunk_bytes();
        for number in 0..tasks {
            // The first have what does not divide evenly.
            let chunks = of.chunks / tasks + u64::from(number < of.chunks % tasks);
            let mut read = ReadTask::new(bytes, chunks * bytes, BUFFERS);
            read.job = u32::try_from(job)?;
            read.gpu = u32::try_from(gpu)?;
            read.container = read.gpu;
            self.driver.add(read);
            self.tasks.push(DeviceTask {
                job,
                gpu,
                bytes,
                io: world.io(bytes),
                transfer: world.transfer(bytes),
                kernel: world.kernel(of.program, bytes),
                free: BUFFERS,
            });
        }
        Ok(())
    }

    fn happens(&mut self, now: Nanos, due: Due) {
        match due {
            Due::Disk(version) if version == self.disk.version => {
                for (number, begin) in self.disk.end(now) {
                    self.driver.read(now, number);
                    let Some(task) = self.task(number) else {
                        continue;
                    };
                    let span = self.span(number, begin, now);
                    self.result.reads.push(span);
                    let io = now.since(begin);
                    if let Some(gpu) = self.gpus.get_mut(task.gpu) {
                        gpu.to_copy.push_back(DeviceChunk { task: number, io });
                    }
                }
            }
            Due::Disk(_) => {}
            Due::Copied(chunk) => {
                if self.setting.freed == Freed::Copy {
                    self.driver.freed(chunk.task);
                }
                let gpu = self.task(chunk.task).map(|task| task.gpu);
                if let Some(gpu) = gpu.and_then(|gpu| self.gpus.get_mut(gpu)) {
                    gpu.copying = false;
                    gpu.to_compute.push_back(chunk);
                }
            }
            Due::Computed(chunk) => self.computed(now, chunk),
        }
    }

    fn computed(&mut self, now: Nanos, chunk: DeviceChunk) {
        let number = chunk.task;
        let Some(task) = self.task(number) else {
            return;
        };
        if self.setting.freed == Freed::Kernel {
            self.driver.freed(number);
        }
        let cost = ChunkCost {
            bytes: task.bytes,
            io: chunk.io,
            transfer: task.transfer,
            kernel: task.kernel,
        };
        self.driver.done(now, number, &cost);
        if let Some(task) = self.tasks.get_mut(at(number)) {
            task.free += 1;
        }
        if let Some(gpu) = self.gpus.get_mut(task.gpu) {
            gpu.computing = false;
        }
        self.result.end = self.result.end.max(now);
    }

    /// Whatever can begin begins.
    fn begin(&mut self, now: Nanos) {
        for gpu in 0..self.gpus.len() {
            self.begin_kernel(now, gpu);
            self.begin_copy(now, gpu);
        }
        while self.disk.is_idle() || self.driver.side_by_side() {
            let Some((number, _)) = self.driver.next(now) else {
                break;
            };
            let Some(task) = self.task(number) else { break };
            self.disk.begin(now, number, task.io);
        }
        let version = self.disk.version;
        if self.in_line != Some(version)
            && let Some(when) = self.disk.due()
        {
            self.clock.at(when, Due::Disk(version));
            self.in_line = Some(version);
        }
    }

    fn begin_kernel(&mut self, now: Nanos, gpu: usize) {
        let serial = self.setting.gpu == Gpu::Serial;
        let Some(lines) = self.gpus.get_mut(gpu) else {
            return;
        };
        if lines.computing || (serial && lines.copying) {
            return;
        }
        let Some(chunk) = lines.to_compute.pop_front() else {
            return;
        };
        lines.computing = true;
        let kernel = self.task(chunk.task).map_or(Nanos(0), |task| task.kernel);
        let end = now.plus(kernel);
        let span = self.span(chunk.task, now, end);
        self.result.kernels.push(span);
        self.clock.at(end, Due::Computed(chunk));
    }

    /// The first chunk in line whose task has a free buffer on the device.
    fn begin_copy(&mut self, now: Nanos, gpu: usize) {
        let serial = self.setting.gpu == Gpu::Serial;
        let Some(lines) = self.gpus.get_mut(gpu) else {
            return;
        };
        // In series a kernel goes before the next copy.
        if lines.copying || (serial && lines.computing) {
            return;
        }
        let tasks = &self.tasks;
        let has_buffer =
            |chunk: &DeviceChunk| tasks.get(at(chunk.task)).is_some_and(|task| task.free > 0);
        let Some(first) = lines.to_copy.iter().position(has_buffer) else {
            return;
        };
        let Some(chunk) = lines.to_copy.remove(first) else {
            return;
        };
        lines.copying = true;
        let Some(task) = self.tasks.get_mut(at(chunk.task)) else {
            return;
        };
        task.free -= 1;
        let end = now.plus(task.transfer);
        let span = self.span(chunk.task, now, end);
        self.result.copies.push(span);
        self.clock.at(end, Due::Copied(chunk));
    }

    fn task(&self, number: ReadTaskIx) -> Option<DeviceTask> {
        self.tasks.get(at(number)).copied()
    }

    fn span(&self, task: ReadTaskIx, begin: Nanos, end: Nanos) -> DeviceSpan {
        DeviceSpan {
            job: self.task(task).map_or(0, |task| task.job),
            task: task.0,
            begin,
            end,
        }
    }
}

fn at(task: ReadTaskIx) -> usize {
    usize::try_from(task.0).unwrap_or(usize::MAX)
}
