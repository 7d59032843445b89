//! HeteroYARN's Figures 7 to 10 and its Table 3 on virtual time, and how jobs of several kinds share a cluster.
//!
//! Source: HeteroYARN, §5. [`world`] has its cluster, two workers of 16 threads and a board each, and the throughputs of
//! its Table 3. The paper gives no times of tasks: a node reads, packs and sends at those throughputs one after the
//! other, and the version without a board is as fast as the last point of Figure 7 says. So the ends of the curves are
//! the paper's by construction, their shapes are the model's, and what can be compared are the [`Claim`]s.
//!
//! [`shares`] goes beyond the paper: jobs for boards of unlike functions, for a GPU, and plain ones, of two users.

mod fig10;
mod fig7;
mod fig8;
mod fig9;
mod shares;
mod table3;
mod world;

use anyhow::Result;

use crate::Keys;
pub use crate::figure::{Claim, PaperFigure};
use crate::figure::{FigureWorld, Figures};
pub use world::HeteroWorld;
use world::KEYS;

impl FigureWorld for HeteroWorld {
    const NAME: &'static str = "hetero";
    const KEYS: Keys = KEYS;
    const FIGURES: Figures<Self> = Figures(&[
        ("fig7", fig7::figure),
        ("fig8", fig8::figure),
        ("fig9", fig9::figure),
        ("fig10", fig10::figure),
        ("table3", |_| Ok(table3::figure())),
        ("shares", shares::figure),
    ]);

    fn set(&mut self, text: &str) -> Result<()> {
        self.set(text)
    }
}
