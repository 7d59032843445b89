//! Engines that read real files by a real broker's tokens.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as the tests do")]

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gerbil_chunks::{
    BLOCK, ChunkBuffer, ChunkFile, Device, EngineResult, EngineSettings, Freed, IoMode, Line,
    Makespan, ModelledDevice, Overlap, Span, Stream, TaskPiece, run,
};
use read_broker::{Broker, BrokerSettings, IO_TIMEOUT};

const CHUNK: u64 = 4 * BLOCK;

fn broker(folder: &Path, order: &str) -> Broker {
    let settings = BrokerSettings {
        folder: folder.to_owned(),
        key: "gpu0".to_owned(),
        order: order.to_owned(),
        io_timeout: IO_TIMEOUT,
    };
    Broker::start(settings, |_| (), |_| ()).unwrap()
}

/// Pages that begin with their numbers, from 1 on.
fn pages(folder: &Path, count: u64) -> File {
    let path = folder.join("pages");
    let mut file = File::create(&path).unwrap();
    for number in 1..=count {
        let mut page = [0; 4096];
        page[..8].copy_from_slice(&number.to_le_bytes());
        file.write_all(&page).unwrap();
    }
    File::open(path).unwrap()
}

fn device(folder: &Path, overlap: Overlap) -> ModelledDevice {
    ModelledDevice {
        copies: Line::open(&folder.join("copies")).unwrap(),
        kernels: Line::open(&folder.join("kernels")).unwrap(),
        overlap,
        copy_rate: 1 << 30,
        kernel_rate: 1 << 29,
        sum: AtomicU64::new(0),
    }
}

fn settings(broker: &Broker, job: &str, freed: Freed) -> EngineSettings {
    EngineSettings {
        broker: broker.socket().to_owned(),
        job: job.to_owned(),
        gpu: "gpu0".to_owned(),
        container: "shared".to_owned(),
        priority: 1,
        chunk: CHUNK,
        freed,
    }
}

/// The sum of the pages' numbers that were computed.
fn play(folder: &Path, order: &str, tasks: u64, freed: Freed) -> (u64, EngineResult) {
    let broker = broker(folder, order);
    // The last chunk is short.
    let file = pages(folder, 4 * 10 + 3);
    let source = ChunkFile::new(&file, IoMode::Direct).unwrap();
    let device = device(folder, Overlap::Overlap);
    let pieces = TaskPiece::even(43 * BLOCK, CHUNK, tasks);
    let settings = settings(&broker, "a", freed);
    let result = run(&settings, &source, &pieces, &device).unwrap();
    (device.sum.load(Ordering::Relaxed), result)
}

#[test]
fn every_page_is_computed_once() {
    for order in ["spmario", "rr:turn=1", "gpmr", "spmario-literal"] {
        for (tasks, freed) in [(1, Freed::Copy), (3, Freed::Kernel), (8, Freed::Copy)] {
            let folder = tempfile::tempdir().unwrap();
            let (sum, result) = play(folder.path(), order, tasks, freed);
            assert_eq!(sum, 43 * 44 / 2, "{order} {tasks} {freed:?}");
            assert_eq!(result.chunks.len(), 11);
            for chunk in &result.chunks {
                let stages = [chunk.io, chunk.h2d, chunk.kernel, chunk.d2h];
                let in_order = stages.windows(2).all(|pair| pair[0].end <= pair[1].begin);
                assert!(in_order, "{order} {tasks}: {chunk:?}");
            }
            let makespan = Makespan::of(&result.chunks, Overlap::Overlap);
            assert_eq!((makespan.chunks, makespan.bytes), (11, 43 * BLOCK));
            assert!(makespan.bound <= makespan.span, "{makespan:?}");
            if order == "gpmr" {
                continue;
            }
            let mut reads: Vec<Span> = result.chunks.iter().map(|chunk| chunk.io).collect();
            reads.sort_unstable();
            let one_at_a_time = reads.windows(2).all(|pair| pair[0].end <= pair[1].begin);
            assert!(one_at_a_time, "{order} {tasks}: {reads:?}");
        }
    }
}

#[test]
fn engines_of_two_jobs_share_the_disk_and_go_on_with_the_next_broker() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let first = broker(folder, "spmario");
    let file = pages(folder, 4 * 200);
    let source = ChunkFile::new(&file, IoMode::Direct).unwrap();
    let device = device(folder, Overlap::Serial);
    let pieces = TaskPiece::even(800 * BLOCK, CHUNK, 2);
    let engines = ["a", "b"].map(|job| settings(&first, job, Freed::Copy));
    let results = std::thread::scope(|scope| {
        let engines = engines
            .each_ref()
            .map(|settings| scope.spawn(|| run(settings, &source, &pieces, &device).unwrap()));
        let half = 800 * 801 / 2;
        let runs = || !engines.iter().any(|engine| engine.is_finished());
        while device.sum.load(Ordering::Relaxed) < half / 4 && runs() {
            std::thread::yield_now();
        }
        let second = broker(folder, "spmario");
        drop(first);
        let results = engines.map(|engine| engine.join().unwrap());
        drop(second);
        results
    });
    assert_eq!(device.sum.load(Ordering::Relaxed), 800 * 801);
    for result in &results {
        assert_eq!((result.chunks.len(), result.brokers), (200, 2));
    }
}

/// A device that has no room, or fails later.
struct FailingDevice {
    has_room: bool,
    panics: bool,
}

impl Device for FailingDevice {
    fn stream(&self, bytes: usize) -> io::Result<Box<dyn Stream + '_>> {
        match self.has_room {
            true => Ok(Box::new(FailingStream {
                panics: self.panics,
            })),
            false => Err(io::Error::other(format!("no room for {bytes} bytes"))),
        }
    }
}

struct FailingStream {
    panics: bool,
}

impl Stream for FailingStream {
    fn copy(&mut self, offset: u64, _chunk: &[u8]) -> io::Result<Span> {
        assert!(!self.panics, "as the test wants");
        Err(io::Error::other(format!("it is lost at {offset}")))
    }

    fn map(&mut self) -> io::Result<Span> {
        Ok(Span::default())
    }

    fn copy_back(&mut self) -> io::Result<Span> {
        Ok(Span::default())
    }
}

/// Nobody waits for a device that is lost.
#[test]
fn what_a_device_says_ends_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let broker = broker(folder.path(), "spmario");
    // More than a task has buffers.
    let file = tempfile::tempfile_in(folder.path()).unwrap();
    file.set_len(1000 * CHUNK).unwrap();
    let source = ChunkFile::new(&file, IoMode::Direct).unwrap();
    let settings = settings(&broker, "a", Freed::Copy);
    let pieces = TaskPiece::even(1000 * CHUNK, CHUNK, 2);
    let run = |has_room, panics| {
        let device = FailingDevice { has_room, panics };
        run(&settings, &source, &pieces, &device)
    };
    let said = |has_room| run(has_room, false).unwrap_err().to_string();
    assert_eq!(said(false), "the device: no room for 16384 bytes");
    let lost = said(true);
    assert!(lost.starts_with("the device: it is lost at "), "{lost}");
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(true, true)));
    assert!(panicked.is_err());
}

/// Pins buffers, or refuses.
struct PinningDevice<'a> {
    device: ModelledDevice,
    refuses: bool,
    /// Buffers that are pinned now.
    pinned: &'a Arc<AtomicU64>,
}

/// What keeps a buffer pinned.
struct Pinned(Arc<AtomicU64>);

impl Drop for Pinned {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Device for PinningDevice<'_> {
    fn stream(&self, bytes: usize) -> io::Result<Box<dyn Stream + '_>> {
        self.device.stream(bytes)
    }

    fn pin(&self, buffers: &mut [ChunkBuffer]) -> io::Result<()> {
        if self.refuses {
            return Err(io::Error::other("cuMemHostRegister: not permitted"));
        }
        let block = usize::try_from(BLOCK).unwrap();
        buffers.iter_mut().try_for_each(|buffer| {
            buffer.pin(|address, bytes| {
                assert_eq!((address as usize % block, bytes % block), (0, 0));
                self.pinned.fetch_add(1, Ordering::Relaxed);
                Ok(Some(Pinned(Arc::clone(self.pinned))))
            })
        })
    }
}

#[test]
fn buffers_are_pinned_while_the_engine_runs_and_a_refusal_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let broker = broker(folder, "spmario");
    let file = pages(folder, 40);
    let source = ChunkFile::new(&file, IoMode::Direct).unwrap();
    let pieces = TaskPiece::even(40 * BLOCK, CHUNK, 2);
    let pinned = Arc::new(AtomicU64::new(0));
    for refuses in [false, true] {
        let device = PinningDevice {
            device: device(folder, Overlap::Overlap),
            refuses,
            pinned: &pinned,
        };
        let result = run(
            &settings(&broker, "a", Freed::Copy),
            &source,
            &pieces,
            &device,
        )
        .unwrap();
        assert_eq!(device.device.sum.load(Ordering::Relaxed), 40 * 41 / 2);
        let wanted = "degraded: copies do not overlap: cuMemHostRegister: not permitted";
        assert_eq!(result.degraded.as_deref(), refuses.then_some(wanted));
        // All are given back.
        assert_eq!(pinned.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn settings_that_make_no_sense_are_refused_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let broker = broker(folder.path(), "spmario");
    let file = pages(folder.path(), 1);
    let source = ChunkFile::new(&file, IoMode::Buffered).unwrap();
    let device = device(folder.path(), Overlap::Overlap);
    let pieces = TaskPiece::even(BLOCK, CHUNK, 1);
    let good = settings(&broker, "a", Freed::Copy);
    let said = |settings: &EngineSettings, pieces: &[TaskPiece]| {
        let refused = run(settings, &source, pieces, &device);
        refused.unwrap_err().to_string()
    };
    let odd = EngineSettings {
        chunk: 5000,
        ..good.clone()
    };
    assert_eq!(
        said(&odd, &pieces),
        "chunk=5000: a multiple of 4096 bytes is wanted"
    );
    assert_eq!(said(&good, &[]), "gpu.tasks=0: 1 to 8 are wanted");
    let long = EngineSettings {
        job: "j".repeat(300),
        ..good
    };
    assert_eq!(
        said(&long, &pieces),
        "the read broker parts with this engine: a name of more than 256 bytes"
    );
}
