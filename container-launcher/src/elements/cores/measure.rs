//! How fast each core counts, where the kernel says nothing of that.

use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;
use std::sync::OnceLock;
use std::time::Duration;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use nix::unistd::Pid;

/// Of processor time, so that who else runs there does not count.
const SPAN: Duration = Duration::from_millis(50);
/// How often a core is looked at; the middle one counts.
const TIMES: usize = 3;
/// Steps between two looks at the clock.
const STEPS: u64 = 10_000;

/// Steps of each core in [`SPAN`]. A launcher looks once: nothing is had of a core to which it cannot go.
pub(super) fn counted(mask: &BTreeSet<u32>) -> BTreeMap<u32, u64> {
    static COUNTED: OnceLock<BTreeMap<u32, u64>> = OnceLock::new();
    let all = COUNTED.get_or_init(|| {
        let cores = mask.clone();
        // A thread of its own: the caller's mask stays.
        let counting = std::thread::spawn(move || all_of(&cores));
        counting.join().unwrap_or_default()
    });
    let own = all.iter().filter(|(core, _)| mask.contains(core));
    own.map(|(core, steps)| (*core, *steps)).collect()
}

/// One after the other: what counts at the same time on a neighbour makes both slower.
fn all_of(cores: &BTreeSet<u32>) -> BTreeMap<u32, u64> {
    let of = |core: &u32| {
        let mut set = CpuSet::new();
        set.set(usize::try_from(*core).ok()?).ok()?;
        sched_setaffinity(Pid::from_raw(0), &set).ok()?;
        let mut each: Vec<u64> = (0..TIMES).filter_map(|_| count()).collect();
        each.sort_unstable();
        Some((*core, *each.get(each.len() / 2)?))
    };
    cores.iter().filter_map(of).collect()
}

fn count() -> Option<u64> {
    let used = || {
        let usage = getrusage(UsageWho::RUSAGE_THREAD).ok()?;
        let all = usage.user_time() + usage.system_time();
        Some(Duration::from_micros(
            all.num_microseconds().try_into().ok()?,
        ))
    };
    let began = used()?;
    let (mut steps, mut state) = (0_u64, 1_u64);
    while used()?.saturating_sub(began) < SPAN {
        for _ in 0..STEPS {
            state = black_box(
                state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1),
            );
        }
        steps = steps.saturating_add(STEPS);
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::mask;

    #[test]
    fn every_core_of_the_mask_counts() {
        let own = mask();
        let counts = counted(&own);
        assert_eq!(counts.keys().copied().collect::<BTreeSet<u32>>(), own);
        assert!(counts.values().all(|steps| *steps > 0));
        // The thread that asks is where it was.
        assert_eq!(mask(), own);
    }
}
