//! How large a chunk has to be: from 1 to 256 MiB.

use anyhow::Result;

use super::device::{DeviceResult, DeviceSetting, Freed, Gpu};
use super::jobs::{GpuJob, KMC2K, LR2K, MM16K};
use super::measures::active;
use super::world::SpmarioWorld;
use crate::at_once;
use crate::chart;
use crate::figure::{Claim, Drawing, FigureRow, FigureTable, PaperFigure};
use crate::run::in_seconds;

const MIB: [u64; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
/// Each program reads as much, in MiB.
const INPUT: u64 = 16 * 1024;
/// Of what the disk gives at most.
const SATURATED: f64 = 99.0;

pub(super) fn figure(world: &SpmarioWorld) -> Result<PaperFigure> {
    let world = SpmarioWorld {
        latency: world.chunk_latency,
        ..world.clone()
    };
    let of_disk = |result: &DeviceResult, job: &GpuJob| {
        let bytes = u32::try_from(job.chunks * job.mib).map_or(f64::NAN, f64::from);
        let rate = bytes * 1.048_576 / active(&result.reads);
        rate / u32::try_from(world.disk).map_or(f64::NAN, f64::from) * 100.0
    };
    let (mut rates, mut ends) = (Vec::new(), Vec::new());
    for (name, like) in [("MM", MM16K), ("KMC", KMC2K), ("LR", LR2K)] {
        let played = at_once::each(&MIB, |mib| {
            let job = GpuJob {
                chunks: INPUT / mib,
                mib: *mib,
                ..like
            };
            let setting = DeviceSetting {
                order: "spmario",
                tasks: 1,
                gpu: Gpu::Overlap,
                freed: Freed::Copy,
            };
            let result = world.together(setting, &[job])?;
            Ok((of_disk(&result, &job), in_seconds(result.end)))
        })?;
        let (rate, end): (Vec<f64>, Vec<f64>) = played.into_iter().unzip();
        rates.push(FigureRow::new(name, rate));
        ends.push(FigureRow::new(name, end));
    }
    let at = |wanted: u64| {
        let at = MIB.iter().position(|mib| *mib == wanted);
        let values = rates.iter().filter_map(|row| row.values.get(at?).copied());
        values.fold(f64::INFINITY, f64::min)
    };
    let claims = [64, 128].map(|mib| {
        Claim::new(
            &format!("chunks of {mib} MB saturate the disk (here: at least 99 % of its rate while it reads)"),
            "yes",
            format!("{:.1} %", at(mib)),
            at(mib) >= SATURATED,
        )
    });
    let columns: Vec<String> = MIB.iter().map(|mib| format!("{mib} MiB")).collect();
    let rate = FigureTable {
        title: "the disk's rate while it reads, of its best".to_owned(),
        unit: "%",
        columns: columns.clone(),
        rows: rates,
    };
    Ok(PaperFigure {
        name: "chunk",
        title: "how large a chunk has to be",
        caption: vec![
            world.caption(),
            format!(
                "Beside its bytes a read costs {:.1} ms (ours: the paper says nothing of it). Each program reads 16 GiB, one task. \
                 Larger chunks read faster, and leave more of the first read and the last kernel without anything beside them.",
                in_seconds(world.latency) * 1000.0
            ),
        ],
        claims: claims.to_vec(),
        drawings: vec![Drawing {
            name: "spmario-chunk".to_owned(),
            svg: chart::svg(&rate),
        }],
        tables: vec![
            rate,
            FigureTable {
                title: "from begin to end".to_owned(),
                unit: "s",
                columns,
                rows: ends,
            },
        ],
    })
}
