//! An engine's I/O thread beside `dd iflag=direct`: the same file, nothing held back, and a GPU that takes no time.

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicU64;

use anyhow::{Context as _, Result, ensure};
use gerbil_chunks::{
    ChunkFile, EngineSettings, Freed, IoMode, Line, Makespan, ModelledDevice, Overlap, TaskPiece,
};
use it::results::{Axis, Chart, Figure, Series, Setting, Spread, Table};
use read_broker::Broker;

use crate::command;
use crate::engine::GPU;
use crate::play::{input, seconds, settings};

const MIB: u64 = 1024;
const CHUNK: u64 = 8 << 20;

/// MB/s from the first read's begin to the last one's end, those of reads alone, and how the file was read.
fn engine(folder: &Path) -> Result<(f64, f64, IoMode)> {
    let broker = Broker::start(settings(folder, "spmario"), |_| (), |_| ())?;
    let settings = EngineSettings {
        broker: broker.socket().to_owned(),
        job: "disk".to_owned(),
        gpu: GPU.to_owned(),
        container: "shared".to_owned(),
        priority: 1,
        chunk: CHUNK,
        freed: Freed::Copy,
    };
    let source = ChunkFile::new(File::open(folder.join("input"))?, IoMode::Direct)?;
    let device = ModelledDevice {
        copies: Line::open(&folder.join("copies"))?,
        kernels: Line::open(&folder.join("kernels"))?,
        overlap: Overlap::Overlap,
        copy_rate: u64::MAX,
        kernel_rate: u64::MAX,
        sum: AtomicU64::new(0),
    };
    let pieces = TaskPiece::even(MIB << 20, CHUNK, 2);
    let result = gerbil_chunks::run(&settings, &source, &pieces, &device)?;
    let makespan = Makespan::of(&result.chunks, Overlap::Overlap);
    ensure!(makespan.bytes == MIB << 20, "{makespan:?}");
    let rates = [makespan.io_span, makespan.io].map(|ns| rate(seconds(ns)));
    let [all, reads] = rates;
    Ok((all, reads, source.mode()))
}

/// MB/s, by its own clock.
fn dd(folder: &Path) -> Result<f64> {
    let file = format!("if={}", folder.join("input").display());
    let dd = Command::new("dd")
        .args([&file, "of=/dev/null", "bs=8M", "iflag=direct"])
        .env("LC_ALL", "C")
        .output()
        .context("dd")?;
    let said = String::from_utf8_lossy(&dd.stderr);
    ensure!(dd.status.success(), "dd: {said}");
    let took = said.split(" copied, ").nth(1);
    let took = took.and_then(|rest| rest.split(' ').next()?.parse().ok());
    Ok(rate(took.with_context(|| format!("dd says {said:?}"))?))
}

fn rate(seconds: f64) -> f64 {
    let bytes = u32::try_from(MIB << 20).map_or(f64::NAN, f64::from);
    bytes / seconds / 1e6
}

pub(crate) fn figure(folder: &Path, rounds: u32, setting: Setting) -> Result<Figure> {
    input(folder, MIB)?;
    let (mut engines, mut reads, mut dds) = (Vec::new(), Vec::new(), Vec::new());
    let mut mode = IoMode::Direct;
    // One after the other, so that both have the same neighbours.
    for _ in 0..rounds.max(5) {
        let (all, read, how) = engine(folder)?;
        engines.push(all);
        reads.push(read);
        mode = how;
        dds.push(dd(folder)?);
    }
    let spread = |rates: &[f64]| Spread::of(rates).context("nothing was measured");
    let (engines, reads, dds) = (spread(&engines)?, spread(&reads)?, spread(&dds)?);
    let mut table = Table::new(&[
        "reader",
        "MB/s, median (least–most)",
        "median, of dd's",
        "most, of dd's",
    ]);
    for (name, rates) in [
        ("an engine's I/O thread", engines),
        ("while it reads", reads),
        ("dd", dds),
    ] {
        table.row([
            name.to_owned(),
            rates.whole(),
            format!("{:.3}", rates.median / dds.median),
            format!("{:.3}", rates.max / dds.max),
        ]);
    }
    let how = match mode {
        IoMode::Direct => "directly",
        IoMode::Buffered => "through the page cache, as the file system refuses direct reads",
    };
    Ok(Figure {
        name: "spmario-disk".to_owned(),
        title: "An engine's I/O thread beside dd".to_owned(),
        command: command("disk", rounds),
        method: format!(
            "A file of {MIB} MiB, in chunks of 8 MiB: read by an engine of two tasks by its broker's tokens, on a GPU that takes \
             no time, from the first read's begin to the last one's end; and by `dd bs=8M iflag=direct`, by its own clock. In \
             turn, {} times each. The engine read {how}.",
            rounds.max(5)
        ),
        paper: String::new(),
        findings: vec![format!(
            "The I/O thread's fastest run has {:.3} of the rate of dd's fastest, its median {:.3} of dd's; 0.95 is wanted.",
            engines.max / dds.max,
            engines.median / dds.median
        )],
        setting: setting.finish()?,
        table,
        chart: Chart {
            x: Axis::linear(""),
            y: Axis::linear("MB/s"),
            names: vec!["engine".to_owned(), "dd".to_owned()],
            stacked: false,
            series: vec![Series::spread("rate", &[(0.0, engines), (1.0, dds)])],
        },
    })
}
