//! Tables 3 and 4: cores, and nodes of 84 W made of them.

use crate::workload::{AlikeNodes, CoreSpeeds, SlotSpeed, StageSpeeds, TASK_MB};

/// Type 1 of Table 3, an i7-2600: the core that seconds are told for.
const TYPE_1: StageSpeeds = StageSpeeds {
    map: 1000,
    reduce: 1000,
};
/// Type 2, an i5-670.
const TYPE_2: StageSpeeds = StageSpeeds {
    map: 920,
    reduce: 980,
};
/// Type 3, an AtomD.
const TYPE_3: StageSpeeds = StageSpeeds {
    map: 450,
    reduce: 830,
};

/// Watts of a core of each class (Table 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreWatts {
    /// Of a fast one.
    pub fast: u32,
    /// Of a slow one.
    pub slow: u32,
}

/// What a node is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cores {
    /// As in the tables.
    pub name: &'static str,
    /// Fast cores of a node.
    pub fast: usize,
    /// Slow ones.
    pub slow: usize,
    /// How fast they are.
    pub speeds: CoreSpeeds,
    /// What they draw.
    pub watts: CoreWatts,
}

/// Cores of type 1, and of type 3.
const fn of_type_1(name: &'static str, fast: usize, slow: usize) -> Cores {
    Cores {
        name,
        fast,
        slow,
        speeds: CoreSpeeds {
            fast: TYPE_1,
            slow: TYPE_3,
        },
        watts: CoreWatts { fast: 21, slow: 4 },
    }
}

/// Cores of type 2, and of type 3.
const fn of_type_2(name: &'static str, fast: usize, slow: usize) -> Cores {
    Cores {
        name,
        fast,
        slow,
        speeds: CoreSpeeds {
            fast: TYPE_2,
            slow: TYPE_3,
        },
        watts: CoreWatts { fast: 16, slow: 4 },
    }
}

/// Four cores of type 1.
pub const FAST: Cores = of_type_1("fast", 4, 0);
/// Twenty-one cores of type 3.
pub const SLOW: Cores = of_type_1("slow", 0, 21);
/// Three of type 2 and nine of type 3.
pub const HETEROGENEOUS: Cores = of_type_2("heterogeneous", 3, 9);

/// What a node may draw, W.
pub(super) const BUDGET: usize = 84;

/// Every node of one type of fast cores and as many slow ones as [`BUDGET`] leaves, from fast to slow. Those of type 2 draw
/// all of it, those of type 1 with slow ones beside them 1 to 3 W less.
pub(super) const MIXES: [Cores; 10] = [
    of_type_1("4 T1", 4, 0),
    of_type_1("3 T1 + 5 T3", 3, 5),
    of_type_1("2 T1 + 10 T3", 2, 10),
    of_type_1("1 T1 + 15 T3", 1, 15),
    of_type_2("5 T2 + 1 T3", 5, 1),
    of_type_2("4 T2 + 5 T3", 4, 5),
    of_type_2("3 T2 + 9 T3", 3, 9),
    of_type_2("2 T2 + 13 T3", 2, 13),
    of_type_2("1 T2 + 17 T3", 1, 17),
    of_type_1("21 T3", 0, 21),
];

impl Cores {
    /// What a node draws while all its cores work, W.
    pub(super) const fn watts_of_node(&self) -> usize {
        let (fast, slow) = (self.watts.fast as usize, self.watts.slow as usize);
        self.fast
            .saturating_mul(fast)
            .saturating_add(self.slow.saturating_mul(slow))
    }

    /// So many such nodes, with a map and a reduce slot a core.
    pub(super) fn nodes(&self, count: u32) -> AlikeNodes {
        let (map_slots, reduce_slots, speed) = match self.fast {
            0 => (self.slow, self.slow, SlotSpeed::Slow),
            fast => (fast, fast, SlotSpeed::Fast),
        };
        let beside = if self.fast == 0 { 0 } else { self.slow };
        AlikeNodes {
            count,
            rack: String::new(),
            map_slots,
            reduce_slots,
            slots: 0,
            slow_map_slots: beside,
            slow_reduce_slots: beside,
            speed: Some(speed),
            memory_mb: MEMORY,
            has: std::collections::BTreeMap::new(),
            ways: 1,
        }
    }
}

/// Memory of a node, enough for every slot of it (footnote 4), MiB.
const MEMORY: u64 = 1 << 20;

const _: () = assert!(MEMORY >= 2 * 21 * TASK_MB, "every slot has its memory");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixes_are_all_that_leave_less_than_a_slow_core() {
        let one_more = of_type_1("", 0, 1).watts_of_node();
        for mix in MIXES {
            let watts = mix.watts_of_node();
            assert!(watts <= BUDGET && watts + one_more > BUDGET, "{mix:?}");
            assert!(mix.watts.fast == 21 || watts == BUDGET, "{mix:?}");
        }
        let of = |watts| {
            let mixes = MIXES.iter().filter(|mix| mix.watts.fast == watts);
            mixes.map(|mix| mix.fast).collect::<Vec<usize>>()
        };
        assert_eq!((of(21), of(16)), (vec![4, 3, 2, 1, 0], vec![5, 4, 3, 2, 1]));
        for known in [FAST, SLOW, HETEROGENEOUS] {
            let same = |mix: &&Cores| {
                Cores {
                    name: known.name,
                    ..**mix
                } == known
            };
            assert!(MIXES.iter().any(|mix| same(&mix)), "{known:?}");
        }
    }
}
