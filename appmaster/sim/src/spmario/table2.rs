//! Table II: two jobs together, under round robin and under SPMario.

use anyhow::Result;

use super::device::{DeviceResult, DeviceSetting, Freed, Gpu};
use super::jobs::{GpuJob, KMC2K, KMC4K, LR2K, LR4K, MM16K};
use super::measures::active;
use super::time_line;
use super::world::{PAPERS, SpmarioWorld};
use crate::at_once;
use crate::chart;
use crate::figure::{Claim, Drawing, FigureRow, FigureTable, PaperFigure};
use crate::run::in_seconds;

/// The pairs, in the order of the table.
const PAIRS: [[GpuJob; 2]; 4] = [[MM16K, KMC2K], [MM16K, LR2K], [MM16K, KMC4K], [KMC2K, LR4K]];
/// By how many percent time falls, and GPU and I/O utilization rise.
const PAPER: [[f64; 4]; 3] = [
    [7.92, 12.59, 6.53, 13.54],
    [10.63, 1.80, 7.18, 12.27],
    [9.17, 11.65, 7.03, 14.92],
];
const RR16: &str = "rr:turn=16,wait=true";
const RR16_PASSING: &str = "rr:turn=16,wait=false";
const RR1: &str = "rr:turn=1,wait=true";
const LITERAL: &str = "spmario-literal";

/// A value of each pair.
type OfPairs = [f64; PAIRS.len()];

/// Readings of what the paper leaves open: what SPMario is compared with, tasks of a job, GPU, when buffers are free.
const READINGS: [(&str, u32, Gpu, Freed); 14] = [
    (RR16, 1, Gpu::Serial, Freed::Kernel),
    (RR16, 1, Gpu::Serial, Freed::Copy),
    (RR16, 3, Gpu::Serial, Freed::Kernel),
    (RR16, 3, Gpu::Serial, Freed::Copy),
    (RR16, 1, Gpu::Overlap, Freed::Kernel),
    (RR16, 1, Gpu::Overlap, Freed::Copy),
    (RR16_PASSING, 1, Gpu::Serial, Freed::Kernel),
    (RR16_PASSING, 1, Gpu::Serial, Freed::Copy),
    (RR1, 1, Gpu::Serial, Freed::Kernel),
    (RR1, 1, Gpu::Serial, Freed::Copy),
    (RR1, 3, Gpu::Serial, Freed::Kernel),
    (RR1, 1, Gpu::Overlap, Freed::Kernel),
    (LITERAL, 1, Gpu::Serial, Freed::Kernel),
    (LITERAL, 1, Gpu::Overlap, Freed::Kernel),
];

fn each(
    world: &SpmarioWorld,
    setting: DeviceSetting,
    measure: impl Fn(&DeviceResult) -> f64 + Sync,
) -> Result<OfPairs> {
    let measured = at_once::each(&PAIRS, |pair| {
        world.together(setting, pair).map(|result| measure(&result))
    })?;
    let mut values = [f64::NAN; PAIRS.len()];
    for (value, measured) in values.iter_mut().zip(measured) {
        *value = measured;
    }
    Ok(values)
}

fn ends(world: &SpmarioWorld, setting: DeviceSetting) -> Result<OfPairs> {
    each(world, setting, |result| in_seconds(result.end))
}

/// By how many percent `ours` is less.
fn less(base: OfPairs, ours: OfPairs) -> OfPairs {
    combined(base, ours, |base, ours| (1.0 - ours / base) * 100.0)
}

/// By how many percent `ours` is more.
fn more(base: OfPairs, ours: OfPairs) -> OfPairs {
    combined(base, ours, |base, ours| (ours / base - 1.0) * 100.0)
}

fn combined(mut base: OfPairs, ours: OfPairs, of: impl Fn(f64, f64) -> f64) -> OfPairs {
    for (base, ours) in base.iter_mut().zip(ours) {
        *base = of(*base, ours);
    }
    base
}

pub(super) fn figure(world: &SpmarioWorld) -> Result<PaperFigure> {
    let under = |order| DeviceSetting { order, ..PAPERS };
    let [rr16, rr1, literal, unit, ours] = [RR16, RR1, LITERAL, "spmario:backlog=unit", "spmario"]
        .map(|order| ends(world, under(order)));
    let (rr16, rr1, literal, unit, ours) = (rr16?, rr1?, literal?, unit?, ours?);
    let bound = PAIRS.map(|pair| world.bound(Gpu::Serial, &pair.map(|job| (job, 0))));
    let time = less(rr16, ours);
    let used = |kernels: bool| -> Result<OfPairs> {
        let measure = |result: &DeviceResult| {
            let spans = if kernels {
                &result.kernels
            } else {
                &result.reads
            };
            active(spans) / in_seconds(result.end)
        };
        let (base, ours) = (
            each(world, under(RR16), measure)?,
            each(world, under("spmario"), measure)?,
        );
        Ok(more(base, ours))
    };
    let (gpu, io) = (used(true)?, used(false)?);
    let columns: Vec<String> = PAIRS
        .map(|[one, other]| format!("{}, {}", one.name, other.name))
        .to_vec();
    let table = |title: &str, unit, rows: Vec<FigureRow>| FigureTable {
        title: title.to_owned(),
        unit,
        columns: columns.clone(),
        rows,
    };
    let row = |name: &str, values: OfPairs| FigureRow::new(name, values.to_vec());
    let [paper_time, paper_gpu, paper_io] = PAPER;
    let ends = table(
        "from begin to end of both jobs, serial, 1 task a job, buffer=kernel",
        "s",
        vec![
            row("rr:16 waiting", rr16),
            row("rr:1", rr1),
            row("spmario-literal", literal),
            row("spmario, backlog=unit", unit),
            row("spmario", ours),
            row("bound", bound),
        ],
    );
    let improved = table(
        "spmario over rr:16 waiting, the same setting",
        "%",
        vec![
            row("less time", time),
            row("less time, paper", paper_time),
            row("more GPU utilization", gpu),
            row("more GPU utilization, paper", paper_gpu),
            row("more I/O utilization", io),
            row("more I/O utilization, paper", paper_io),
        ],
    );
    let mut claims = Vec::new();
    for (what, ours, paper) in [
        ("takes less time", time, paper_time),
        ("uses the GPU more", gpu, paper_gpu),
        ("uses the disk more", io, paper_io),
    ] {
        for (column, (ours, paper)) in columns.iter().zip(ours.into_iter().zip(paper)) {
            claims.push(Claim::new(
                &format!("[{column}] {what} than under round robin (here: within a third)"),
                &format!("{paper:.2} %"),
                format!("{:.1} %", ours + 0.0),
                (ours / paper - 1.0).abs() <= 1.0 / 3.0,
            ));
        }
    }
    for (name, other) in [("rr:1", rr1), ("spmario-literal", literal)] {
        let times = combined(other, ours, |other, ours| ours / other);
        claims.push(Claim::new(
            &format!("spmario takes at most 1.01 times as long as {name}, of each pair"),
            "(ours)",
            times.map(|times| format!("{times:.3}")).join(", "),
            times.iter().all(|times| *times <= 1.01),
        ));
    }
    let [.., pair] = PAIRS;
    let mut drawings = vec![Drawing {
        name: "spmario-table2".to_owned(),
        svg: chart::svg(&improved),
    }];
    for (name, order) in [("rr16", RR16), ("spmario", "spmario")] {
        let result = world.together(under(order), &pair)?;
        let title = format!("KMC2K and LR4K together under {order}: the first seconds");
        drawings.push(time_line::drawing(
            &format!("spmario-time-line-{name}"),
            &title,
            &result,
            &pair,
        ));
    }
    let readings = table("spmario: less time (below 0: more)", "%", readings(world)?);
    Ok(PaperFigure {
        name: "table2",
        title: "two jobs together",
        caption: vec![
            world.caption(),
            "The paper says neither how many chunks a turn of its round robin has, nor whether the disk waits within a turn \
             for a buffer. Its gains come out where turns are of 16 chunks and the disk waits, with one task a job, so \
             that a job has two buffers. A round robin of one chunk is at the bound already, and so is one that passes on \
             if a buffer is free as soon as its chunk is copied. The second pair cannot gain under any order: both jobs are \
             bound by the disk, which is busy all the time."
                .to_owned(),
        ],
        tables: vec![improved, ends, readings],
        claims,
        drawings,
    })
}

fn readings(world: &SpmarioWorld) -> Result<Vec<FigureRow>> {
    let rows = READINGS.iter().map(|(order, tasks, gpu, freed)| {
        let base = DeviceSetting {
            order,
            tasks: *tasks,
            gpu: *gpu,
            freed: *freed,
        };
        let ours = DeviceSetting {
            order: "spmario",
            ..base
        };
        let gained = less(ends(world, base)?, ends(world, ours)?);
        let name = format!("{order}; {}", words(base));
        // No "-0.0".
        Ok(FigureRow::new(
            name,
            gained
                .map(|gain| (gain * 10.0).round() / 10.0 + 0.0)
                .to_vec(),
        ))
    });
    rows.collect()
}

/// `serial, 1 task a job, buffer=kernel`.
pub(super) fn words(setting: DeviceSetting) -> String {
    let gpu = match setting.gpu {
        Gpu::Overlap => "overlap",
        Gpu::Serial => "serial",
    };
    let freed = match setting.freed {
        Freed::Copy => "copy",
        Freed::Kernel => "kernel",
    };
    let tasks = match setting.tasks {
        1 => "1 task".to_owned(),
        tasks => format!("{tasks} tasks"),
    };
    format!("{gpu}, {tasks} a job, buffer={freed}")
}
