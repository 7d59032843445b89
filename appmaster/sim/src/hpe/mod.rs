//! Pamar's Figures 4, 7, 8 and 9 on virtual time: HPE where only some nodes have GPUs, beside Hadoop's way where all
//! have one.
//!
//! Source: Y. S. Tan et al., "A Map-Reduce Based Framework for Heterogeneous Processing Element Cluster
//! Environments", §IV. [`clusters`] is its Table 1. How many tasks its jobs have and how long they take it does not
//! say: those of [`jobs`] are ours, as every caption repeats. So the figures' numbers are a model's, and what can be
//! compared with the paper is the [`Claim`]s: each is printed with the paper's number, ours, and whether it holds.
//!
//! An [`HpeWorld`] plays queues; [`fig4`], [`fig7`], [`fig8`], [`fig9`] and [`sweep`] make an [`PaperFigure`] each of what
//! comes out. All jobs of a queue are submitted at 0, and `age` is 0, as in the paper, unless it is told otherwise.

mod clusters;
mod fig4;
mod fig7;
mod fig8;
mod fig9;
mod heat;
mod jobs;
mod orders;
pub mod region;
mod settings;
mod sweep;
mod world;

use anyhow::Result;

pub use crate::figure::{Claim, Drawing, FigureRow, FigureTable, PaperFigure};
use settings::KEYS;

use crate::Keys;
use crate::figure::{FigureWorld, Figures};
pub use clusters::{E1, E2, E3, HpeCluster};
pub use jobs::Version;
pub use orders::{orders, spread};
pub use world::{HpeWorld, Policy, gain};

impl FigureWorld for HpeWorld {
    const NAME: &'static str = "hpe";
    const KEYS: Keys = KEYS;
    const FIGURES: Figures<Self> = Figures(&[
        ("fig4", fig4::figure),
        ("fig7", fig7::figure),
        ("fig8", fig8::figure),
        ("fig9", fig9::figure),
        ("sweep", sweep::figure),
        ("region", region::figure),
    ]);

    fn set(&mut self, text: &str) -> Result<()> {
        self.set(text)
    }

    fn set_job(&mut self, text: &str) -> Result<()> {
        self.set_job(text)
    }
}
