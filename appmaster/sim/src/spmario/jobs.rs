//! The paper's jobs: Table I.

/// What a job computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    /// Matrix multiplication.
    Mm,
    /// K-means clustering.
    Kmc,
    /// Linear regression.
    Lr,
}

/// A job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GpuJob {
    pub(super) name: &'static str,
    pub(super) program: Program,
    pub(super) chunks: u64,
    /// Of a chunk.
    pub(super) mib: u64,
}

impl GpuJob {
    pub(super) const fn chunk_bytes(&self) -> u64 {
        self.mib << 20
    }
}

const fn job(name: &'static str, program: Program, chunks: u64, mib: u64) -> GpuJob {
    GpuJob {
        name,
        program,
        chunks,
        mib,
    }
}

pub(super) const MM16K: GpuJob = job("MM16K", Program::Mm, 256, 64);
pub(super) const MM32K: GpuJob = job("MM32K", Program::Mm, 1024, 128);
pub(super) const KMC2K: GpuJob = job("KMC2K", Program::Kmc, 256, 128);
pub(super) const KMC4K: GpuJob = job("KMC4K", Program::Kmc, 512, 128);
pub(super) const LR2K: GpuJob = job("LR2K", Program::Lr, 128, 128);
pub(super) const LR4K: GpuJob = job("LR4K", Program::Lr, 256, 128);

/// In the order of the table.
pub(super) const JOBS: [GpuJob; 6] = [MM16K, MM32K, KMC2K, KMC4K, LR2K, LR4K];
