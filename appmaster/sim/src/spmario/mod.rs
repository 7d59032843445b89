//! SPMario's Figures 2, 3 and 4 and its Table II on virtual time: GPU jobs that are fed from one disk.
//!
//! Source: Y. Liu, H.-W. Tseng, S. Swanson, "SPMario: Scale Up MapReduce with I/O-Oriented Scheduling for the GPU", §V.
//! [`jobs`] is its Table I, [`world`] its machine, [`device`] what happens to a chunk; which chunk is read next is decided
//! by [`policy::read_order`]. The paper gives no times of kernels: those of [`world`] are ours, as every caption says.
//! What can be compared are the [`Claim`]s: each is printed with the paper's number, ours, and whether it holds.
//!
//! [`predicted`] says the same of jobs that are run for real. [`table2`] prints each reading of what the paper leaves open; [`many`] and [`chunk`] go beyond it.

mod chunk;
mod device;
mod disk;
mod fig2;
mod fig3;
mod fig4;
mod jobs;
mod many;
mod measures;
mod predicted;
mod singles;
mod table2;
mod time_line;
mod world;

use anyhow::Result;

use crate::Keys;
pub use crate::figure::{Claim, PaperFigure};
use crate::figure::{FigureWorld, Figures};
pub use predicted::{Predicted, PredictedJob, PredictedSetting};
use world::KEYS;
pub use world::SpmarioWorld;

impl FigureWorld for SpmarioWorld {
    const NAME: &'static str = "spmario";
    const KEYS: Keys = KEYS;
    const FIGURES: Figures<Self> = Figures(&[
        ("fig2", fig2::figure),
        ("fig3", fig3::figure),
        ("fig4", fig4::figure),
        ("table2", table2::figure),
        ("chunk", chunk::figure),
        ("many", many::figure),
    ]);

    fn set(&mut self, text: &str) -> Result<()> {
        self.set(text)
    }
}
