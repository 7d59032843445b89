//! What the model says of jobs that are run for real elsewhere, with true threads and files.

use anyhow::{Context as _, Result};

use super::device::{DeviceSetting, Freed, Gpu};
use super::jobs::{GpuJob, KMC2K, LR2K, MM16K};
use super::measures::{active, mean};
use super::world::SpmarioWorld;
use crate::run::in_seconds;

/// A job.
#[derive(Clone, Copy, Debug)]
pub struct PredictedJob {
    /// `MM`, `KMC` or `LR`.
    pub program: &'static str,
    /// How many chunks it reads.
    pub chunks: u64,
    /// Of a chunk.
    pub mib: u64,
}

/// How jobs are run.
#[derive(Clone, Copy, Debug)]
pub struct PredictedSetting {
    /// As [`policy::read_order::read_order`] has it.
    pub order: &'static str,
    /// Of each job; processes of the baseline.
    pub tasks: u32,
    /// Whether the GPU copies beside a kernel.
    pub overlap: bool,
    /// Whether host buffers are free by a copy, not by a kernel.
    pub by_copy: bool,
}

/// What comes of it, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Predicted {
    /// From the first read's begin to the last kernel's end.
    pub time: f64,
    /// Below this no order can come.
    pub bound: f64,
    /// How long a kernel runs.
    pub gpu: f64,
    /// How long the disk reads.
    pub io: f64,
    /// How long a chunk is read, on the mean.
    pub io_chunk: f64,
}

impl SpmarioWorld {
    /// Jobs together on one GPU.
    ///
    /// # Errors
    ///
    /// There is no such program or order.
    pub fn predict(&self, setting: PredictedSetting, jobs: &[PredictedJob]) -> Result<Predicted> {
        let job = |job: &PredictedJob| {
            let known = match job.program {
                "MM" => Some(MM16K),
                "KMC" => Some(KMC2K),
                "LR" => Some(LR2K),
                _ => None,
            };
            let known = known.with_context(|| format!("{} is none of MM, KMC, LR", job.program))?;
            anyhow::Ok(GpuJob {
                chunks: job.chunks,
                mib: job.mib,
                ..known
            })
        };
        let jobs: Vec<GpuJob> = jobs.iter().map(job).collect::<Result<_>>()?;
        let gpu = match setting.overlap {
            true => Gpu::Overlap,
            false => Gpu::Serial,
        };
        let freed = match setting.by_copy {
            true => Freed::Copy,
            false => Freed::Kernel,
        };
        let setting = DeviceSetting {
            order: setting.order,
            tasks: setting.tasks,
            gpu,
            freed,
        };
        let result = self.together(setting, &jobs)?;
        let placed: Vec<(GpuJob, usize)> = jobs.iter().map(|job| (*job, 0)).collect();
        Ok(Predicted {
            time: in_seconds(result.end),
            bound: self.bound(gpu, &placed),
            gpu: active(&result.kernels),
            io: active(&result.reads),
            io_chunk: mean(&result.reads),
        })
    }
}
