//! The process of an engine.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context as _, Result, bail};
use gerbil_chunks::{
    ChunkFile, EngineSettings, Freed, IoMode, Line, ModelledDevice, ModelledDisk, Overlap,
    TaskPiece,
};

/// Bytes a second.
pub(crate) const DISK: u64 = 200_000_000;
/// Bytes a second, as far above the disk as the paper's 8 GB/s are.
pub(crate) const COPY: u64 = 727_000_000;
/// What the GPU is called.
pub(crate) const GPU: &str = "gpu0";

/// The words of an engine.
#[derive(Clone, Debug)]
pub(crate) struct EngineWords {
    pub(crate) folder: PathBuf,
    pub(crate) job: String,
    pub(crate) mib: u64,
    /// Of the file.
    pub(crate) first: u64,
    pub(crate) chunks: u64,
    pub(crate) tasks: u64,
    pub(crate) overlap: bool,
    pub(crate) by_copy: bool,
    /// Kernel / io, in percent.
    pub(crate) kernel: u64,
}

impl EngineWords {
    pub(crate) fn words(&self) -> Vec<String> {
        let numbers = [
            self.mib,
            self.first,
            self.chunks,
            self.tasks,
            u64::from(self.overlap),
            u64::from(self.by_copy),
            self.kernel,
        ];
        let folder = self.folder.display().to_string();
        let head = ["engine".to_owned(), folder, self.job.clone()];
        let numbers = numbers.iter().map(u64::to_string);
        head.into_iter().chain(numbers).collect()
    }
}

#[expect(clippy::print_stdout, reason = "its parent listens to what it prints")]
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let [folder, job, numbers @ ..] = words else {
        bail!("a folder and a job are wanted");
    };
    let numbers: Vec<u64> = numbers
        .iter()
        .map(|word| word.parse())
        .collect::<Result<_, _>>()?;
    let [mib, first, chunks, tasks, overlap, by_copy, kernel] = numbers[..] else {
        bail!("seven numbers are wanted");
    };
    let (folder, chunk) = (Path::new(folder), mib << 20);
    let line = |name: &str| Line::open(&folder.join(name)).context("a line");
    let file = File::open(folder.join("input"))?;
    let disk = ModelledDisk {
        source: ChunkFile::new(&file, IoMode::Direct)?,
        line: line("disk")?,
        rate: DISK,
    };
    let device = ModelledDevice {
        copies: line("copies")?,
        kernels: line("kernels")?,
        overlap: match overlap {
            0 => Overlap::Serial,
            _ => Overlap::Overlap,
        },
        copy_rate: COPY,
        kernel_rate: DISK * 100 / kernel,
        sum: AtomicU64::new(0),
    };
    let settings = EngineSettings {
        broker: read_broker::socket(folder, GPU),
        job: (*job).to_owned(),
        gpu: GPU.to_owned(),
        container: "shared".to_owned(),
        priority: 1,
        chunk,
        freed: match by_copy {
            0 => Freed::Kernel,
            _ => Freed::Copy,
        },
    };
    let mut pieces = TaskPiece::even(chunks * chunk, chunk, tasks);
    for piece in &mut pieces {
        piece.offset += first * chunk;
    }
    println!("ready");
    // All engines begin at once.
    std::io::stdin().read_exact(&mut [0])?;
    let result = gerbil_chunks::run(&settings, &disk, &pieces, &device)?;
    for chunk in &result.chunks {
        let spans = [chunk.io, chunk.h2d, chunk.kernel, chunk.d2h];
        let spans = spans.map(|span| format!("{} {}", span.begin, span.end));
        println!("chunk {} {}", chunk.bytes, spans.join(" "));
    }
    println!(
        "sum {} {}",
        device.sum.load(Ordering::Relaxed),
        result.brokers
    );
    Ok(())
}
