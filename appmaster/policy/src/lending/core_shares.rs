//! How the launchers of one node share its cores out: each core is one launcher's.
//!
//! ```text
//! cores fast=0-1 slow=2-5, two launchers     fast=0 slow=2,4 and fast=1 slow=3,5
//! cores fast=0   slow=1-3, two launchers     fast=0 slow=1,3 and fast=- slow=2
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::CoreClass;
use crate::schedule::Speed;

/// What each has of the cores that it may use, in this order: of each class as many as the others, or one more; those
/// that come first have more. A class of which there are fewer cores than launchers is empty for the last of them.
#[must_use]
pub fn share_cores(launchers: &[Vec<CoreClass>]) -> Vec<Vec<CoreClass>> {
    let mut owned: BTreeMap<(Speed, u32), usize> = BTreeMap::new();
    let all = launchers.iter().flatten();
    let speeds: BTreeSet<Speed> = all.clone().map(|class| class.speed).collect();
    for speed in speeds {
        let of_class = all.clone().filter(|class| class.speed == speed);
        let cores: BTreeSet<u32> = of_class.flat_map(|class| &class.cpus).copied().collect();
        let mut counts = vec![0_usize; launchers.len()];
        for core in cores {
            let may = launchers.iter().enumerate().filter(|(_, classes)| {
                let mut classes = classes.iter();
                classes.any(|class| class.speed == speed && class.cpus.contains(&core))
            });
            let owner = may
                .map(|(at, _)| at)
                .min_by_key(|at| counts.get(*at).copied());
            if let Some(owner) = owner {
                owned.insert((speed, core), owner);
                if let Some(count) = counts.get_mut(owner) {
                    *count = count.saturating_add(1);
                }
            }
        }
    }
    let shares = launchers.iter().enumerate().map(|(at, classes)| {
        let classes = classes.iter().map(|class| {
            let own = class.cpus.iter().copied();
            let own = own.filter(|core| owned.get(&(class.speed, *core)) == Some(&at));
            CoreClass {
                speed: class.speed,
                cpus: own.collect(),
            }
        });
        classes.collect()
    });
    shares.collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn classes(fast: &[u32], slow: &[u32]) -> Vec<CoreClass> {
        let of = |speed, cpus: &[u32]| CoreClass {
            speed,
            cpus: cpus.to_vec(),
        };
        vec![of(Speed::Fast, fast), of(Speed::Slow, slow)]
    }

    #[test]
    fn each_core_is_one_launchers() {
        let node = classes(&[0, 1], &[2, 3, 4, 5]);
        let alone = std::slice::from_ref(&node);
        assert_eq!(share_cores(alone), alone);
        assert_eq!(
            share_cores(&[node.clone(), node]),
            [classes(&[0], &[2, 4]), classes(&[1], &[3, 5])]
        );
        let few = classes(&[0], &[1, 2, 3]);
        assert_eq!(
            share_cores(&[few.clone(), few]),
            [classes(&[0], &[1, 3]), classes(&[], &[2])]
        );
        assert_eq!(share_cores(&[]), Vec::<Vec<CoreClass>>::new());
    }

    /// Where a control group leaves a launcher other cores than its neighbour, each has its own.
    #[test]
    fn a_launcher_has_only_cores_that_it_may_use() {
        let (one, other) = (classes(&[0], &[2]), classes(&[0, 1], &[2, 3]));
        let shares = share_cores(&[one, other]);
        assert_eq!(shares, [classes(&[0], &[2]), classes(&[1], &[3])]);
    }

    proptest! {
        #[test]
        fn no_core_is_two_launchers_and_none_is_left(count in 1..6_usize, masks in prop::collection::vec(any::<u16>(), 5)) {
            let of = |mask: u16| {
                let has = |core: &u32| mask & (1 << core) != 0;
                let (fast, slow): (Vec<u32>, Vec<u32>) = (0..16_u32).filter(has).partition(|core| *core < 4);
                classes(&fast, &slow)
            };
            let launchers: Vec<_> = masks.into_iter().cycle().take(count).map(of).collect();
            let shares = share_cores(&launchers);
            prop_assert_eq!(shares.len(), count);
            let all = |of: &[Vec<CoreClass>]| {
                let cores = of.iter().flatten().flat_map(|class| class.cpus.clone());
                let mut cores: Vec<u32> = cores.collect();
                cores.sort_unstable();
                cores
            };
            let mut there = all(&launchers);
            there.dedup();
            prop_assert_eq!(all(&shares), there);
            for (share, own) in shares.iter().flatten().zip(launchers.iter().flatten()) {
                prop_assert!(share.cpus.iter().all(|core| own.cpus.contains(core)));
            }
        }

        #[test]
        fn launchers_of_the_same_cores_have_as_many(count in 1..6_usize, fast in 0..5_u32, slow in 0..9_u32) {
            let (fast, slow): (Vec<u32>, Vec<u32>) = ((0..fast).collect(), (10..10 + slow).collect());
            let shares = share_cores(&vec![classes(&fast, &slow); count]);
            for class in 0..2 {
                let counts: Vec<usize> = shares.iter().map(|of| of[class].cpus.len()).collect();
                prop_assert!(counts.is_sorted_by(|one, other| one >= other));
                prop_assert!(counts[0] - counts[count - 1] <= 1);
            }
        }
    }
}
