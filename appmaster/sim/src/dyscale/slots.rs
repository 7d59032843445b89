//! Figure 2, and the simple way: one job on more and more slots.

use anyhow::{Context as _, Result};
use policy::schedule::named;

use crate::figure::{Claim, FigureRow, FigureTable, PaperFigure};
use crate::run::WorkloadRun;
use crate::workload::{
    AlikeNodes, AlikeTasks, CoreSpeeds, SlotSpeed, StageSpeeds, Workload, WorkloadJob,
};

/// Seconds of a map on a fast core: T.
const T: f64 = 100.0;
/// Maps of the paper's Job1 and Job2.
const LARGE: u32 = 4_800;
const SMALL: u32 = 50;

/// Slots that a job has.
#[derive(Clone, Copy)]
struct Slots {
    fast: usize,
    slow: usize,
}

/// When a job of so many maps is done, in T.
fn end(maps: u32, slots: Slots, policy: &str) -> Result<f64> {
    let Slots { fast, slow } = slots;
    let (map_slots, speed, beside) = match fast {
        0 => (slow, SlotSpeed::Slow, 0),
        fast => (fast, SlotSpeed::Fast, slow),
    };
    // Half as fast, as the example has them.
    let speed_of = |all| StageSpeeds {
        map: all,
        reduce: all,
    };
    let workload = Workload {
        nodes: vec![AlikeNodes {
            count: 1,
            rack: String::new(),
            map_slots,
            reduce_slots: 0,
            slots: 0,
            slow_map_slots: beside,
            slow_reduce_slots: 0,
            speed: Some(speed),
            memory_mb: 1 << 20,
            has: std::collections::BTreeMap::new(),
            ways: 1,
        }],
        jobs: vec![WorkloadJob {
            name: "job".to_owned(),
            submit_s: 0.0,
            user: String::new(),
            queue: String::new(),
            priority: 0,
            deadline_s: None,
            maps: Some(AlikeTasks::of(maps, T)),
            reduces: None,
            ranks: None,
        }],
        losses: Vec::new(),
        speeds: CoreSpeeds {
            fast: speed_of(1000),
            slow: speed_of(500),
        },
        start_ms: 0,
    };
    let result = WorkloadRun::new(&workload, named(policy)?).lean().play()?;
    let job = result.jobs.first().context("the job is gone")?;
    Ok(job.end_s / T)
}

const FAST: [usize; 5] = [10, 25, 50, 100, 200];
const SLOW: [usize; 7] = [10, 25, 50, 100, 200, 400, 600];

pub(super) fn figure_2() -> Result<PaperFigure> {
    let fast = |maps| FAST.map(|fast| end(maps, Slots { fast, slow: 0 }, "fifo"));
    let slow = |maps| SLOW.map(|slow| end(maps, Slots { fast: 0, slow }, "fifo"));
    let table = |title: &str, columns: &[usize], rows: [(&str, Vec<Result<f64>>); 2]| {
        let rows = rows.into_iter().map(|(name, values)| {
            let values = values.into_iter().collect::<Result<Vec<f64>>>()?;
            Ok(FigureRow::new(name, values))
        });
        anyhow::Ok(FigureTable {
            title: title.to_owned(),
            unit: "T",
            columns: columns.iter().map(usize::to_string).collect(),
            rows: rows.collect::<Result<Vec<_>>>()?,
        })
    };
    let (large, small) = ("Job1, 4,800 maps", "Job2, 50 maps");
    let tables = vec![
        table(
            "ends by the number of fast slots",
            &FAST,
            [(large, fast(LARGE).into()), (small, fast(SMALL).into())],
        )?,
        table(
            "ends by the number of slow slots",
            &SLOW,
            [(large, slow(LARGE).into()), (small, slow(SMALL).into())],
        )?,
    ];
    let all_fast = Slots { fast: 200, slow: 0 };
    let all_slow = Slots { fast: 0, slow: 600 };
    let [large_fast, large_slow, small_fast, small_slow] = [
        end(LARGE, all_fast, "fifo")?,
        end(LARGE, all_slow, "fifo")?,
        end(SMALL, all_fast, "fifo")?,
        end(SMALL, all_slow, "fifo")?,
    ];
    let is = |one: f64, other: f64| (one - other).abs() < 1e-6;
    Ok(PaperFigure {
        name: "fig2",
        title: "a large and a small job on fast or on slow slots",
        caption: vec![
            "100 nodes of 2 fast or of 6 slow cores; a map takes T on a fast core and 2 T on a slow one. Each end is played, \
             and none is reckoned."
                .to_owned(),
        ],
        tables,
        claims: vec![
            Claim::new(
                "Job1 on all 200 fast slots, on all 600 slow ones",
                "24 T, 16 T",
                format!("{large_fast} T, {large_slow} T"),
                is(large_fast, 24.0) && is(large_slow, 16.0),
            ),
            Claim::new(
                "Job2 on fast slots, on slow ones",
                "T, 2 T",
                format!("{small_fast} T, {small_slow} T"),
                is(small_fast, 1.0) && is(small_slow, 2.0),
            ),
        ],
        drawings: Vec::new(),
    })
}

/// Maps on fast cores alone, where each node has two of them and six slow ones (§5.2).
pub(super) fn simple() -> Result<PaperFigure> {
    let mixed = Slots {
        fast: 200,
        slow: 600,
    };
    let slow = Slots { fast: 0, slow: 600 };
    let rows = [
        ("maps-fast, 2 fast and 6 slow", mixed, "maps-fast"),
        ("slow ones alone", slow, "fifo"),
        ("dyscale-basic, 2 fast and 6 slow", mixed, "dyscale-basic"),
    ];
    let mut ends = Vec::new();
    for (name, slots, policy) in rows {
        ends.push((name, end(LARGE, slots, policy)?));
    }
    let of = |at: usize| ends.get(at).map_or(f64::NAN, |(_, end)| *end);
    let (simple, slow, dyscale) = (of(0), of(1), of(2));
    Ok(PaperFigure {
        name: "simple",
        title: "maps on fast cores, reduces on slow ones",
        caption: vec![
            "100 nodes, a job of 4,800 maps, which take T on a fast core and 2 T on a slow one."
                .to_owned(),
        ],
        tables: vec![FigureTable {
            title: "the job's end".to_owned(),
            unit: "T",
            columns: vec!["end".to_owned()],
            rows: ends
                .iter()
                .map(|(name, end)| FigureRow::new(*name, vec![*end]))
                .collect(),
        }],
        claims: vec![Claim::new(
            "the simple way is worse for a large job than slow cores alone",
            "24 T against 16 T",
            format!("{simple} T against {slow} T; with dyscale-basic {dyscale:.2} T"),
            simple > slow,
        )],
        drawings: Vec::new(),
    })
}
