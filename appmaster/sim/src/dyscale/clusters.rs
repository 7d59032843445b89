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
}

/// Four cores of type 1.
pub const FAST: Cores = Cores {
    name: "fast",
    fast: 4,
    slow: 0,
    speeds: CoreSpeeds {
        fast: TYPE_1,
        slow: TYPE_3,
    },
};
/// Twenty-one cores of type 3.
pub const SLOW: Cores = Cores {
    name: "slow",
    fast: 0,
    slow: 21,
    speeds: CoreSpeeds {
        fast: TYPE_1,
        slow: TYPE_3,
    },
};
/// Three of type 2 and nine of type 3.
pub const HETEROGENEOUS: Cores = Cores {
    name: "heterogeneous",
    fast: 3,
    slow: 9,
    speeds: CoreSpeeds {
        fast: TYPE_2,
        slow: TYPE_3,
    },
};

impl Cores {
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
