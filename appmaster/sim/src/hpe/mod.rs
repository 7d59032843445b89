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

mod chart;
mod clusters;
mod fig4;
mod fig7;
mod fig8;
mod fig9;
mod jobs;
mod orders;
mod settings;
mod sweep;
mod world;

use anyhow::{Result, bail};

pub use crate::figure::{Claim, Drawing, FigureRow, FigureTable, PaperFigure};
pub use clusters::{E1, E2, E3, HpeCluster};
pub use jobs::Version;
pub use orders::{orders, spread};
pub use world::{HpeWorld, Policy, gain};

/// The figures, by what they are called on the command line.
pub const FIGURES: [&str; 5] = ["fig4", "fig7", "fig8", "fig9", "sweep"];

/// The figure of this name, or all of them.
///
/// # Errors
///
/// There is no such figure, or a run does not come to its end.
pub fn figures(name: &str, world: &HpeWorld) -> Result<Vec<PaperFigure>> {
    match name {
        "fig4" => Ok(vec![fig4::figure(world)?]),
        "fig7" => Ok(vec![fig7::figure(world)?]),
        "fig8" => Ok(vec![fig8::figure(world)?]),
        "fig9" => Ok(vec![fig9::figure(world)?]),
        "sweep" => Ok(vec![sweep::figure(world)?]),
        "all" => {
            let all = FIGURES.iter().map(|name| figures(name, world));
            Ok(all
                .collect::<Result<Vec<_>>>()?
                .into_iter()
                .flatten()
                .collect())
        }
        other => bail!(
            "{other:?} is no figure; there are {} and all",
            FIGURES.join(", ")
        ),
    }
}
