//! Shares of a whole, compared exactly.
//!
//! Source: A. Ghodsi et al., "Dominant Resource Fairness", NSDI 2011, §4.1: the dominant share is the
//! largest of a user's shares of each resource.

use std::cmp::Ordering;

use super::Bundle;

/// The fraction `part` of `whole`. A part of nothing is larger than any other.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// What is held, in units of the resource.
    pub part: u64,
    /// What there is in all, in the same unit; may be 0.
    pub whole: u64,
}

impl Ord for Share {
    fn cmp(&self, other: &Self) -> Ordering {
        // No overflow: 64 by 64 bits are 128.
        let mine = u128::from(self.part).saturating_mul(u128::from(other.whole));
        let theirs = u128::from(other.part).saturating_mul(u128::from(self.whole));
        mine.cmp(&theirs)
    }
}

impl PartialOrd for Share {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Share {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Share {}

/// The largest share that `used` has of any resource of `total`.
#[must_use]
pub fn dominant(used: &Bundle, total: &Bundle) -> Share {
    let shares = used.iter().filter(|(_, part)| *part > 0);
    let shares = shares.map(|(name, part)| Share {
        part,
        whole: total.amount(name),
    });
    shares.max().unwrap_or(Share { part: 0, whole: 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the paper's §4.1: 9 CPUs and 18 GB; A's tasks take 1 and 4, B's 3 and 1.
    #[test]
    fn shares_are_those_of_the_papers_example() {
        let total = Bundle::new().with("cpu", 9).with("gb", 18);
        let three_of_a = Bundle::new().with("cpu", 3).with("gb", 12);
        let two_of_b = Bundle::new().with("cpu", 6).with("gb", 2);
        assert_eq!(dominant(&three_of_a, &total), Share { part: 2, whole: 3 });
        assert_eq!(dominant(&two_of_b, &total), dominant(&three_of_a, &total));
    }

    #[test]
    fn fractions_that_differ_beyond_a_doubles_digits_are_told_apart() {
        let less = Share {
            part: u64::MAX - 2,
            whole: u64::MAX,
        };
        let more = Share {
            part: u64::MAX - 1,
            whole: u64::MAX,
        };
        assert!(less < more);
    }

    #[test]
    fn nothing_used_is_the_smallest_share() {
        let total = Bundle::new().with("cpu", 4);
        assert!(dominant(&Bundle::new(), &total) < dominant(&Bundle::new().with("cpu", 1), &total));
    }
}
