//! What came out of some rounds: the mean, and how far they reach.

use anyhow::{Context as _, Result};
use it::results::{Series, Spread};

use crate::recorded::mean;

/// Values of some rounds: their mean, and how far they reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reach {
    pub(crate) mean: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Reach {
    pub(crate) fn of(values: &[f64]) -> Result<Self> {
        let spread = Spread::of(values).context("no round")?;
        Ok(Self {
            mean: mean(values.iter().copied()),
            least: spread.min,
            most: spread.max,
        })
    }

    /// "1.95 (1.90–2.01)"
    pub(crate) fn words(self) -> String {
        format!("{:.2} ({:.2}–{:.2})", self.mean, self.least, self.most)
    }
}

/// Bars of means, with the least and the most.
pub(super) fn series(name: &str, of: &[(&str, Reach)]) -> Series {
    let means = of.iter().enumerate();
    let means = means.map(|(place, (_, reach))| (place as f64, reach.mean));
    Series {
        spread: of
            .iter()
            .map(|(_, reach)| (reach.least, reach.most))
            .collect(),
        ..Series::measured(name, means.collect())
    }
}
