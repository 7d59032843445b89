//! Where an axis has its marks.

/// Marks at the most.
const MOST: u32 = 8;

/// Round times from the first to the last, at most some: multiples of 1, 2 or 5 of a power of ten, in seconds, and how
/// many places behind the point they have.
#[must_use]
pub fn ticks(from_s: f64, to_s: f64) -> (Vec<f64>, usize) {
    let span = to_s - from_s;
    if !(span > 0.0 && span.is_finite()) {
        return (vec![from_s], 1);
    }
    let least = span / f64::from(MOST);
    let power = least.log10().floor();
    let base = 10_f64.powf(power);
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * base);
    let step = steps.into_iter().find(|step| *step >= least);
    let step = step.unwrap_or(base * 10.0);
    let places = [0_usize, 1, 2, 3].into_iter().find(|places| {
        let shift = [1.0, 10.0, 100.0, 1000.0]
            .get(*places)
            .copied()
            .unwrap_or(1.0);
        ((step * shift).round() - step * shift).abs() < 1e-6
    });
    let first = (from_s / step).ceil();
    let all = (0..=MOST).map(|number| (first + f64::from(number)) * step);
    let all = all.filter(|at| *at <= to_s + step * 1e-9).collect();
    (all, places.unwrap_or(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_few() {
        for (from, to, wanted, places) in [
            (
                0.0,
                8.0,
                vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0],
                0,
            ),
            (10.0, 20.0, vec![10.0, 12.0, 14.0, 16.0, 18.0, 20.0], 0),
            (0.0, 3.9, vec![0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5], 1),
            (
                0.0,
                1234.0,
                vec![0.0, 200.0, 400.0, 600.0, 800.0, 1000.0, 1200.0],
                0,
            ),
            (5.0, 5.0, vec![5.0], 1),
        ] {
            let (all, found) = ticks(from, to);
            assert_eq!(found, places, "{from} to {to}");
            assert_eq!(all.len(), wanted.len(), "{all:?}");
            assert!(
                all.iter()
                    .zip(&wanted)
                    .all(|(one, other)| (one - other).abs() < 1e-9),
                "{all:?}"
            );
        }
    }
}
