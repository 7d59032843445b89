//! How much longer one of two things takes, from pairs of measurements of both.
//!
//! The two of a pair are measured one after the other, so that what the machine does besides touches
//! both. Each pair gives the logarithm of a ratio, in which twice and half weigh the same; their mean
//! has a bound by Student's t, since there are few of them and their spread is not known beforehand.

use anyhow::{Result, ensure};
use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// Of this share of such intervals the true mean is inside.
const CONFIDENCE: f64 = 0.95;

/// A mean ratio and the 95 % interval about it.
#[derive(Debug, Clone, Copy)]
pub struct Ratio {
    /// The geometric mean.
    pub mean: f64,
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

impl Ratio {
    /// Of ratios, each of one pair and above 0.
    ///
    /// # Errors
    ///
    /// There are fewer than two, or one is no ratio.
    pub fn of(ratios: &[f64]) -> Result<Self> {
        ensure!(ratios.len() > 1, "no bound without two pairs");
        for ratio in ratios {
            ensure!(ratio.is_finite() && *ratio > 0.0, "{ratio} is no ratio");
        }
        let count = ratios.len() as f64;
        let logs = || ratios.iter().map(|ratio| ratio.ln());
        let mean = logs().sum::<f64>() / count;
        let variance = logs().map(|log| (log - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let quantile = StudentsT::new(0.0, 1.0, count - 1.0)?.inverse_cdf(0.5 + CONFIDENCE / 2.0);
        let bound = quantile * (variance / count).sqrt();
        Ok(Self {
            mean: mean.exp(),
            low: (mean - bound).exp(),
            high: (mean + bound).exp(),
        })
    }

    /// The ratios of several pairs as one: their geometric mean.
    #[must_use]
    pub fn together(ratios: &[f64]) -> f64 {
        let logs = ratios.iter().map(|ratio| ratio.ln());
        (logs.sum::<f64>() / ratios.len() as f64).exp()
    }

    /// "+0.12 % (95 %: -0.05 to +0.29 %)"
    #[must_use]
    pub fn words(self) -> String {
        let percent = |ratio: f64| (ratio - 1.0) * 100.0;
        format!(
            "{:+.2} % (95 %: {:+.2} to {:+.2} %)",
            percent(self.mean),
            percent(self.low),
            percent(self.high)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Logarithms -1, 0 and 1 hundredths: mean 0, standard deviation 0.01, and 4.303 is the quantile for
    /// three values in any table.
    #[test]
    fn the_bound_is_that_of_the_tables() {
        let ratio = Ratio::of(&[0.01_f64.exp(), (-0.01_f64).exp(), 1.0]).unwrap();
        let bound = 4.302_653 * 0.01 / 3_f64.sqrt();
        assert!((ratio.mean - 1.0).abs() < 1e-12);
        assert!((ratio.high.ln() - bound).abs() < 1e-7, "{ratio:?}");
        assert!((ratio.low.ln() + bound).abs() < 1e-7, "{ratio:?}");
    }

    /// 2.093 for twenty values, half of which say +1 %, half nothing.
    #[test]
    fn many_pairs_narrow_the_bound() {
        let ratios: Vec<f64> = (0..20)
            .map(|pair| f64::from(pair % 2) * 0.01 + 1.0)
            .collect();
        let ratio = Ratio::of(&ratios).unwrap();
        let deviation = 1.01_f64.ln() * (0.25_f64 * 20.0 / 19.0).sqrt();
        let bound = 2.093_024 * deviation / 20_f64.sqrt();
        assert!(
            (ratio.high.ln() - ratio.mean.ln() - bound).abs() < 1e-8,
            "{ratio:?}"
        );
        assert_eq!(ratio.words(), "+0.50 % (95 %: +0.26 to +0.74 %)");
    }

    #[test]
    fn twice_and_half_are_nothing_together() {
        assert!((Ratio::together(&[2.0, 0.5]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn one_pair_says_nothing() {
        assert!(Ratio::of(&[1.0]).is_err());
        assert!(Ratio::of(&[1.0, 0.0]).is_err());
        assert!(Ratio::of(&[1.0, f64::NAN]).is_err());
    }
}
