//! DyScale's Figures 2, 3, 11, 12, 13 and 14 on virtual time: fast, slow and mixed nodes of the same power.
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
mod isolated;
mod mix;
mod slots;
mod world;

use anyhow::{Result, bail};

pub use crate::figure::{Claim, Drawing, FigureRow, FigureTable, PaperFigure};
pub use clusters::{Cores, FAST, HETEROGENEOUS, SLOW};
pub use mix::Mix;
pub use world::DyScaleWorld;

/// The figures, by what they are called on the command line.
pub const FIGURES: [&str; 7] = ["fig2", "simple", "fig3", "fig11", "fig12", "fig13", "fig14"];

/// The figure of this name, or all of them.
///
/// # Errors
///
/// There is no such figure, or a run does not come to its end.
pub fn figures(name: &str, world: &DyScaleWorld) -> Result<Vec<PaperFigure>> {
    match name {
        "fig2" => Ok(vec![slots::figure_2()?]),
        "simple" => Ok(vec![slots::simple()?]),
        "fig3" => Ok(vec![isolated::figure_3(world)?]),
        "fig11" => Ok(vec![isolated::figure_11(world)?]),
        "fig12" => Ok(vec![arrivals::figure_12(world)?]),
        "fig13" => Ok(vec![arrivals::figure_13(world)?]),
        "fig14" => Ok(vec![arrivals::figure_14(world)?]),
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
