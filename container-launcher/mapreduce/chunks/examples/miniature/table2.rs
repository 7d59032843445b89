//! Table II: two jobs together, two processes without MPS of a task each, whose buffers are free by the kernel.

use anyhow::Result;
use sim::spmario::{PredictedJob, PredictedSetting};

use crate::engine::EngineWords;
use crate::figures::{PROGRAMS, world};
use crate::play::{at_best, input};

/// Program, chunks and MiB of a chunk.
type PairedJob = (&'static str, u64, u64);

/// A quarter of the paper's chunks, a sixteenth of their bytes.
const PAIRS: [(&str, [PairedJob; 2]); 4] = [
    ("MM16K, KMC2K", [("MM", 64, 4), ("KMC", 64, 8)]),
    ("MM16K, LR2K", [("MM", 64, 4), ("LR", 32, 8)]),
    ("MM16K, KMC4K", [("MM", 64, 4), ("KMC", 128, 8)]),
    ("KMC2K, LR4K", [("KMC", 64, 8), ("LR", 64, 8)]),
];
const ORDERS: [&str; 3] = ["rr:turn=16,wait=true", "rr:turn=1,wait=true", "spmario"];

pub(crate) fn print() -> Result<()> {
    let folder = tempfile::tempdir()?;
    input(folder.path(), 128 * 8)?;
    let world = world()?;
    println!(
        "seconds, the shortest of three rounds, and (simulated); bound / time; less time than rr:turn=16"
    );
    for (name, pair) in PAIRS {
        let mut first = None;
        for order in ORDERS {
            let kernel = |program: &str| {
                let mut known = PROGRAMS.iter();
                known
                    .find(|(known, _)| *known == program)
                    .map_or(1, |of| of.1)
            };
            let engines = pair.map(|(program, chunks, mib)| EngineWords {
                folder: folder.path().to_owned(),
                job: program.to_owned(),
                mib,
                first: 0,
                chunks,
                tasks: 1,
                overlap: false,
                by_copy: false,
                kernel: kernel(program),
            });
            let found = at_best(folder.path(), order, &engines)?;
            let setting = PredictedSetting {
                order,
                tasks: 1,
                overlap: false,
                by_copy: false,
            };
            let jobs = pair.map(|(program, chunks, mib)| PredictedJob {
                program,
                chunks,
                mib,
            });
            let said = world.predict(setting, &jobs)?;
            let (base, base_said) = *first.get_or_insert((found.time, said.time));
            let less = |base: f64, time: f64| (1.0 - time / base) * 100.0;
            println!(
                "{name:<13} {order:<21} {:>7.3} ({:>7.3}) {:>6.3} {:>6.1} % ({:>4.1} %)",
                found.time,
                said.time,
                said.bound / found.time,
                less(base, found.time),
                less(base_said, said.time),
            );
        }
    }
    Ok(())
}
