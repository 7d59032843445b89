//! What some runs say of all: their mean, and what it may be off by.

/// Student's t for 95 %, two-sided, by degrees of freedom from 1 on (any table of the distribution).
const STUDENT: [f64; 12] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179,
];
/// Beyond those: a little more than the 1.96 of very many.
const OF_MANY: f64 = 2.16;

/// A mean and half of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MeanWithin {
    /// NaN of nothing.
    pub(crate) mean: f64,
    /// NaN of fewer than two.
    pub(crate) within: f64,
}

impl MeanWithin {
    /// Of values that were drawn apart, in any unit.
    pub(crate) fn of(values: &[f64]) -> Self {
        let sum_of = |of: &dyn Fn(f64) -> f64| values.iter().map(|value| of(*value)).sum::<f64>();
        let count = sum_of(&|_| 1.0);
        let mean = sum_of(&|value| value) / count;
        let freedom = count - 1.0;
        let variance = sum_of(&|value| (value - mean).powi(2)) / freedom;
        let student = values.len().checked_sub(2).and_then(|at| STUDENT.get(at));
        let student = student.copied().unwrap_or(OF_MANY);
        Self {
            mean,
            within: student * (variance / count).sqrt(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_values_are_wide_apart() {
        // Deviation 1, so 4.303 / √3.
        let of = MeanWithin::of(&[1.0, 2.0, 3.0]);
        assert!((of.mean - 2.0).abs() < 1e-9 && (of.within - 2.4843).abs() < 1e-3);
        let same = MeanWithin::of(&[5.0, 5.0]);
        assert!((same.mean - 5.0).abs() < 1e-9 && same.within.abs() < 1e-9);
        assert!(MeanWithin::of(&[7.0]).within.is_nan());
        assert!(MeanWithin::of(&[]).mean.is_nan());
        let many: Vec<f64> = (0..100).map(|number| f64::from(number % 2)).collect();
        // Deviation 0.5025 of a hundred.
        assert!((MeanWithin::of(&many).within - 2.16 * 0.05025).abs() < 1e-4);
    }
}
