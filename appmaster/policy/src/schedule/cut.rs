//! How many slots a node's container is cut into.
//!
//! Source: as [`Hpe`](super::Hpe), §IV.A and Table 1. A GPU runs one task at a time; further map slots let other
//! tasks load their input and store their results meanwhile. The text says 3 map slots a node with a GPU, the table 4.

use super::element::has_gpu;
use super::{Bundle, Slot, Stage};

/// Slots for each stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// `slots.map`: for maps, on a node without a GPU.
    pub map: usize,
    /// `slots.map.gpu`: for maps, on a node with one.
    pub map_gpu: usize,
    /// `slots.reduce`: for reduces, on every node.
    pub reduce: usize,
}

impl Default for Cut {
    /// Table 1's.
    fn default() -> Self {
        Self {
            map: 4,
            map_gpu: 4,
            reduce: 1,
        }
    }
}

impl Cut {
    /// Slots of a node that has what `pool` counts: those for maps, then those for reduces.
    #[must_use]
    pub fn slots(&self, pool: &Bundle) -> Vec<Slot> {
        let maps = if has_gpu(pool) {
            self.map_gpu
        } else {
            self.map
        };
        let maps = std::iter::repeat_n(Slot::free(&[Stage::Map]), maps);
        let reduces = std::iter::repeat_n(Slot::free(&[Stage::Reduce]), self.reduce);
        maps.chain(reduces).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_with_a_gpu_has_map_slots_of_its_own_number() {
        let cut = Cut {
            map_gpu: 3,
            ..Cut::default()
        };
        let maps = |pool: &Bundle| {
            let slots = cut.slots(pool).into_iter();
            slots
                .filter(|slot| slot.stages.contains(&Stage::Map))
                .count()
        };
        assert_eq!(maps(&Bundle::new().with("acc/gpu", 1)), 3);
        assert_eq!(maps(&Bundle::new().with("yarn.io/gpu", 2)), 3);
        assert_eq!(maps(&Bundle::new().with("gpu", 1)), 3);
        assert_eq!(maps(&Bundle::new().with("acc/gpu", 0)), 4);
        assert_eq!(maps(&Bundle::new()), 4);
        assert_eq!(cut.slots(&Bundle::new()).len(), 5);
    }
}
