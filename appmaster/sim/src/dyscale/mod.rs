//! DyScale's Figures 2, 3, 11, 12, 13 and 14 on virtual time: fast, slow and mixed nodes of the same power; and beyond them
//! what stopping batch attempts gains (`park`).
//!
//! Source: F. Yan, L. Cherkasova, Z. Zhang, E. Smirni, "DyScale: A MapReduce Job Scheduler for Heterogeneous Multicore
//! Processors", IEEE Transactions on Cloud Computing 5(2), 2017, §3 and §5. [`clusters`] is its Tables 3 and 4, [`mix`] its
//! Table 1. The durations of its jobs it drew from distributions, as we do; what it leaves open each caption repeats.
//! What can be compared are the [`Claim`]s, each with the paper's words, our number, and whether it holds.
//!
//! A [`DyScaleWorld`] plays points: nodes, a policy and a gap between jobs, for some seeds, as many at a time as there are
//! cores.

mod arrivals;
mod clusters;
mod core_mixes;
mod isolated;
mod jobs;
mod losses;
mod mix;
mod slots;
mod world;

use anyhow::Result;

use crate::Keys;
pub use crate::figure::{Claim, Drawing, FigureRow, FigureTable, PaperFigure};
use crate::figure::{FigureWorld, Figures};
pub use clusters::{CoreWatts, Cores, FAST, HETEROGENEOUS, SLOW};
pub use mix::{Draw, Mix};
pub use world::DyScaleWorld;
use world::KEYS;

impl FigureWorld for DyScaleWorld {
    const NAME: &'static str = "dyscale";
    const KEYS: Keys = KEYS;
    const FIGURES: Figures<Self> = Figures(&[
        ("fig2", |_| slots::figure_2()),
        ("simple", |_| slots::simple()),
        ("fig3", isolated::figure_3),
        ("fig11", isolated::figure_11),
        ("fig12", arrivals::figure_12),
        ("fig13", arrivals::figure_13),
        ("fig14", arrivals::figure_14),
        ("park", arrivals::figure_park),
        ("mix", core_mixes::figure_mix),
        ("losses", losses::figure_losses),
    ]);

    fn set(&mut self, text: &str) -> Result<()> {
        self.set(text)
    }
}
