//! Figures 2, 3 and 4: each job alone.

use anyhow::Result;
use sim::spmario::{PredictedJob, PredictedSetting, SpmarioWorld};

use crate::engine::EngineWords;
use crate::play::{at_best, input};

/// Programs, and kernel / io of each in percent.
pub(crate) const PROGRAMS: [(&str, u64); 3] = [("MM", 45), ("KMC", 102), ("LR", 5)];
const CHUNKS: u64 = 48;
pub(crate) const MIB: u64 = 8;
/// Order, and processes or tasks: those of the paper's figures.
const ROWS: [(&str, u32); 6] = [
    ("gpmr", 1),
    ("gpmr", 2),
    ("gpmr", 4),
    ("spmario", 1),
    ("spmario", 2),
    ("spmario", 3),
];

/// The simulator's machine, as slow as the modelled one.
pub(crate) fn world() -> Result<SpmarioWorld> {
    let mut world = SpmarioWorld::default();
    world.set("disk=200")?;
    world.set("pcie=727")?;
    Ok(world)
}

pub(crate) fn print() -> Result<()> {
    let folder = tempfile::tempdir()?;
    input(folder.path(), CHUNKS * MIB)?;
    let world = world()?;
    println!(
        "{CHUNKS} chunks of {MIB} MiB, a disk of 200 MB/s; seconds, the shortest of three rounds, and (simulated); GPU, I/O: % of the time; \
         efficiency: bound / time"
    );
    println!(
        "{:<4} {:<10} {:>16} {:>15} {:>15} {:>17} {:>11}",
        "", "", "time", "GPU", "I/O", "I/O a chunk, ms", "efficiency"
    );
    for (program, kernel) in PROGRAMS {
        let (mut flat, mut rows) = (Vec::new(), Vec::new());
        for (order, count) in ROWS {
            let baseline = order == "gpmr";
            // The baseline's are processes with a task each, SPMario's are threads of one.
            let processes = if baseline { u64::from(count) } else { 1 };
            let share = CHUNKS / processes;
            let engines: Vec<EngineWords> = (0..processes)
                .map(|number| EngineWords {
                    folder: folder.path().to_owned(),
                    job: program.to_owned(),
                    mib: MIB,
                    first: number * share,
                    chunks: share,
                    tasks: if baseline { 1 } else { u64::from(count) },
                    overlap: !baseline,
                    by_copy: true,
                    kernel,
                })
                .collect();
            let found = at_best(folder.path(), order, &engines)?;
            let setting = PredictedSetting {
                order,
                tasks: count,
                overlap: !baseline,
                by_copy: true,
            };
            let job = PredictedJob {
                program,
                chunks: CHUNKS,
                mib: MIB,
            };
            let said = world.predict(setting, &[job])?;
            let of = |part: f64, whole: f64| part / whole * 100.0;
            println!(
                "{program:<4} {:<10} {:>7.3} ({:>6.3}) {:>6.1} ({:>5.1}) {:>6.1} ({:>5.1}) {:>7.1} ({:>6.1}) {:>11.3}",
                format!("{order} {count}"),
                found.time,
                said.time,
                of(found.gpu, found.time),
                of(said.gpu, said.time),
                of(found.io, found.time),
                of(said.io, said.time),
                found.io_chunk * 1000.0,
                said.io_chunk * 1000.0,
                said.bound / found.time,
            );
            if !baseline {
                flat.push(found.io_chunk);
                rows.push(said.bound / found.time);
            }
        }
        if let [one, .., three] = flat[..] {
            let least = rows.into_iter().fold(f64::INFINITY, f64::min);
            println!(
                "{program:<4} I/O a chunk at 3 tasks: {:.3} of that at 1 (at most 1.05); efficiency at least {least:.3} (0.95)",
                three / one
            );
        }
    }
    Ok(())
}
