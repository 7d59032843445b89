//! The paper's machine, and how long a chunk takes on it.

use anyhow::{Context as _, Result};
use policy::schedule::Nanos;

use super::device::{DeviceResult, DeviceSetting, Freed, Gpu, play};
use super::jobs::{GpuJob, Program};
use crate::Keys;
use crate::run::in_seconds;

/// Numbers of the figures.
#[derive(Clone, Debug)]
pub struct SpmarioWorld {
    /// MB/s.
    pub(super) disk: u64,
    /// MB/s.
    pub(super) pcie: u64,
    /// Kernel / io of MM, KMC and LR, in hundredths.
    pub(super) kernels: [u64; 3],
    /// Percent by which each further reader slows the disk down.
    pub(super) contention: u64,
    /// What a read costs beside its bytes.
    pub(super) latency: Nanos,
    /// The same, where sizes of chunks are compared.
    pub(super) chunk_latency: Nanos,
}

impl Default for SpmarioWorld {
    fn default() -> Self {
        Self {
            disk: 2_200,
            pcie: 8_000,
            kernels: [45, 102, 5],
            contention: 0,
            latency: Nanos(0),
            chunk_latency: Nanos(100_000),
        }
    }
}

/// Keys of `-D`, and what each is.
pub(super) const KEYS: Keys = Keys(&[
    ("disk", "MB/s that the disk reads (2200)"),
    ("pcie", "MB/s of copies to the device (8000)"),
    (
        "kernel.mm",
        "percent of a chunk's reading that MM computes it (45)",
    ),
    ("kernel.kmc", "the same of KMC (102)"),
    ("kernel.lr", "the same of LR (5)"),
    (
        "contention",
        "percent by which each further reader of the baseline slows the disk down (0)",
    ),
    (
        "latency",
        "µs that a read costs beside its bytes, in chunk (100)",
    ),
]);

impl SpmarioWorld {
    /// `kernel.kmc=130`.
    ///
    /// # Errors
    ///
    /// There is no such key, or the value makes no sense for it.
    pub fn set(&mut self, text: &str) -> Result<()> {
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        let number = |least: u64| {
            let number = value.parse::<u64>().ok();
            let number = number.filter(|number| (least..=1_000_000).contains(number));
            number.with_context(|| format!("{key}={value}: {least} to 1000000 is wanted"))
        };
        let [mm, kmc, lr] = &mut self.kernels;
        match key {
            "disk" => self.disk = number(1)?,
            "pcie" => self.pcie = number(1)?,
            "kernel.mm" => *mm = number(1)?,
            "kernel.kmc" => *kmc = number(1)?,
            "kernel.lr" => *lr = number(1)?,
            "contention" => self.contention = number(0)?,
            "latency" => self.chunk_latency = Nanos(number(0)? * 1000),
            _ => return Err(KEYS.unknown(key)),
        }
        Ok(())
    }

    /// What every caption says.
    pub(super) fn caption(&self) -> String {
        let Self {
            disk,
            pcie,
            kernels: [mm, kmc, lr],
            contention,
            ..
        } = self;
        format!(
            "A disk of {disk} MB/s, a GPU behind {pcie} MB/s that computes one kernel at a time; kernels take {mm} (MM), {kmc} (KMC) \
             and {lr} % (LR) of the time in which their chunk is read: the paper gives no such times, these satisfy its V.B. Two \
             buffers of a chunk for each task, on the host and on the device. Processes of the baseline share the disk evenly \
             (contention {contention} %). overlap: the GPU copies beside a kernel, as one process with streams does; serial: it does not, as \
             several processes without MPS do."
        )
    }

    pub(super) fn io(&self, bytes: u64) -> Nanos {
        self.latency.plus(at_rate(bytes, self.disk))
    }

    pub(super) fn transfer(&self, bytes: u64) -> Nanos {
        at_rate(bytes, self.pcie)
    }

    pub(super) fn kernel(&self, program: Program, bytes: u64) -> Nanos {
        let [mm, kmc, lr] = self.kernels;
        let percent = match program {
            Program::Mm => mm,
            Program::Kmc => kmc,
            Program::Lr => lr,
        };
        Nanos(at_rate(bytes, self.disk).0.saturating_mul(percent) / 100)
    }

    /// Jobs together on one GPU.
    pub(super) fn together(&self, setting: DeviceSetting, jobs: &[GpuJob]) -> Result<DeviceResult> {
        let jobs: Vec<(GpuJob, usize)> = jobs.iter().map(|job| (*job, 0)).collect();
        play(self, setting, &jobs)
    }

    /// Below this nothing that computes on the GPU of its number can come, in seconds.
    pub(super) fn bound(&self, gpu: Gpu, jobs: &[(GpuJob, usize)]) -> f64 {
        let sum = |on: Option<usize>, cost: &dyn Fn(&GpuJob) -> Nanos| {
            let here = jobs
                .iter()
                .filter(|(_, gpu)| on.is_none_or(|on| *gpu == on));
            let each = here.map(|(job, _)| cost(job).0.saturating_mul(job.chunks));
            each.fold(0, u64::saturating_add)
        };
        let transfer = |job: &GpuJob| self.transfer(job.chunk_bytes());
        let kernel = |job: &GpuJob| self.kernel(job.program, job.chunk_bytes());
        let mut bound = sum(None, &|job: &GpuJob| self.io(job.chunk_bytes()));
        for (_, number) in jobs {
            let (copies, kernels) = (sum(Some(*number), &transfer), sum(Some(*number), &kernel));
            let least = match gpu {
                Gpu::Overlap => copies.max(kernels),
                Gpu::Serial => copies.saturating_add(kernels),
            };
            bound = bound.max(least);
        }
        in_seconds(Nanos(bound))
    }
}

/// The setting in which the paper's gains come out: two processes without MPS, of which each has a task.
pub(super) const PAPERS: DeviceSetting = DeviceSetting {
    order: "spmario",
    tasks: 1,
    gpu: Gpu::Serial,
    freed: Freed::Kernel,
};

/// How long so many bytes take at so many MB/s.
fn at_rate(bytes: u64, rate: u64) -> Nanos {
    // ns = bytes / (MB/s · 10^6) · 10^9.
    Nanos(bytes.saturating_mul(1000) / rate.max(1))
}
