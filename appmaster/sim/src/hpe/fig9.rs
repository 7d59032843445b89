//! Figure 9: what the order of submission does to the queue.

use anyhow::Result;

use super::clusters::{E2, E3};
use super::jobs::Version;
use super::orders::{orders, spread};
use super::world::{HpeWorld, Policy};
use crate::chart;
use crate::figure::{Claim, Drawing, FigureRow, FigureTable, PaperFigure};

/// Ends under HPE on E3 and under the default on E2, in each order.
pub(super) struct Both {
    pub(super) hpe: Vec<f64>,
    pub(super) base: Vec<f64>,
}

impl Both {
    pub(super) fn play(world: &HpeWorld, queues: &[String]) -> Result<Self> {
        let each = |cluster, policy| {
            let ends = queues
                .iter()
                .map(|queue| world.ends(cluster, policy, Version::Gpu, queue));
            ends.collect::<Result<Vec<f64>>>()
        };
        Ok(Self {
            hpe: each(E3, Policy::Hpe)?,
            base: each(E2, Policy::Barrier)?,
        })
    }

    /// Of HPE, then of the default, in percent.
    pub(super) fn spreads(&self) -> (f64, f64) {
        (spread(&self.hpe), spread(&self.base))
    }

    fn table(&self, title: &str, columns: Vec<String>) -> FigureTable {
        FigureTable {
            title: title.to_owned(),
            unit: "s",
            columns,
            rows: vec![
                FigureRow::new("E2, fifo-barrier", self.base.clone()),
                FigureRow::new("E3, hpe", self.hpe.clone()),
            ],
        }
    }

    fn claim(&self, text: &str) -> Claim {
        let (hpe, base) = self.spreads();
        Claim::new(
            text,
            "not affected by the order",
            format!("{hpe:.1} against {base:.1} %"),
            hpe < base,
        )
    }
}

/// Every order of three jobs.
pub(super) fn three() -> Vec<String> {
    orders("MDW")
}

pub(super) fn figure(world: &HpeWorld) -> Result<PaperFigure> {
    let of_three = three();
    let twice: Vec<String> = of_three.iter().map(|order| order.repeat(2)).collect();
    let a = Both::play(world, &of_three)?;
    let b = Both::play(world, &twice)?;
    let all = Both::play(world, &orders("MDWMDW"))?;
    let (ours, base) = a.spreads();
    let earlier = a.hpe.iter().zip(&a.base).filter(|(hpe, base)| hpe < base);
    let earlier = earlier.count();
    let spreads = [&a, &b, &all].map(Both::spreads);
    let tables = vec![
        a.table("a: six orders of three jobs", of_three),
        b.table("b: the same orders, each twice over", twice),
        FigureTable {
            title: "the largest less the smallest, of the mean".to_owned(),
            unit: "%",
            columns: ["a", "b", "all 90 orders of six"]
                .map(String::from)
                .to_vec(),
            rows: vec![
                FigureRow::new("E2, fifo-barrier", spreads.map(|(_, base)| base).to_vec()),
                FigureRow::new("E3, hpe", spreads.map(|(hpe, _)| hpe).to_vec()),
            ],
        },
    ];
    let drawings = tables.iter().zip(["fig9a", "fig9b"]);
    let drawings = drawings.map(|(table, name)| Drawing {
        name: name.to_owned(),
        svg: chart::svg(table),
    });
    Ok(PaperFigure {
        name: "fig9",
        title: "the queue by the order of submission",
        caption: vec![
            world.caption(),
            "Jobs are queued in each order, all at 0. The paper's axes do not begin at 0, these do.".to_owned(),
        ],
        claims: vec![
            a.claim("a: of 6 orders of 3 jobs, HPE's spread is below the default's"),
            Claim::new(
                "and at most half of it",
                "not affected by the order",
                format!("{ours:.1} against {base:.1} %"),
                ours <= base / 2.0,
            ),
            Claim::new(
                "a: E3 with HPE ends before E2 overall",
                "better",
                format!("in {earlier} of {} orders", a.hpe.len()),
                a.hpe.iter().sum::<f64>() < a.base.iter().sum::<f64>(),
            ),
            b.claim("b: the same at 6 jobs, each order twice over"),
            all.claim("b: the same over all 90 orders"),
        ],
        drawings: drawings.collect(),
        tables,
    })
}
