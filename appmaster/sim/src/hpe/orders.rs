//! Orders in which jobs are submitted.

use std::collections::BTreeSet;

/// Every order of the letters of `jobs`, each once, by the alphabet of the first.
#[must_use]
pub fn orders(jobs: &str) -> Vec<String> {
    let mut letters: Vec<char> = jobs.chars().collect();
    letters.sort_unstable();
    let mut found = BTreeSet::new();
    extend(&mut String::new(), &mut letters, &mut found);
    found.into_iter().collect()
}

fn extend(begun: &mut String, left: &mut Vec<char>, found: &mut BTreeSet<String>) {
    if left.is_empty() {
        found.insert(begun.clone());
    }
    for at in 0..left.len() {
        let letter = left.remove(at);
        begun.push(letter);
        extend(begun, left, found);
        begun.pop();
        left.insert(at, letter);
    }
}

/// The largest less the smallest, in percent of the mean.
#[must_use]
pub fn spread(times: &[f64]) -> f64 {
    let least = times.iter().copied().fold(f64::INFINITY, f64::min);
    let most = times.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let count = u32::try_from(times.len()).map_or(f64::NAN, f64::from);
    (most - least) / (times.iter().sum::<f64>() / count) * 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_jobs_have_six_orders_and_three_twice_ninety() {
        assert_eq!(orders("MDW").len(), 6);
        assert_eq!(orders("MDWMDW").len(), 90);
        assert_eq!(orders("MDW")[0], "DMW");
    }

    #[test]
    fn a_spread_is_of_the_mean() {
        assert!((spread(&[90.0, 110.0, 100.0]) - 20.0).abs() < 1e-9);
        assert!(spread(&[5.0; 4]).abs() < 1e-9);
    }
}
