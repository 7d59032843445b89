//! How a container's slots are cut: all alike, or by the classes of its node's cores.
//!
//! ```text
//! PerCore 1:1, cores fast=0 slow=1,2, room 3    fast map, fast reduce, slow map ×2, slow reduce ×2
//! ByClass fast=1:1 slow=3:3                     fast map, fast reduce, slow map ×3, slow reduce ×3
//! one class of cores                            the same, and no slot is fast or slow
//! ```

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::schedule::{Slot, Speed, Stage};

/// What may run on slots of a container whose slots are all alike.
const ALL: [Stage; 3] = [Stage::Map, Stage::Reduce, Stage::Gang];

/// A slot that a container offers: a right to a core, whatever memory is taken with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedSlot {
    /// What may run on it.
    pub stages: Vec<Stage>,
    /// Of its cores.
    pub speed: Speed,
    /// Cores that an attempt there is bound to; empty: it is not bound.
    pub cpus: Vec<u32>,
}

impl OfferedSlot {
    /// So many that run everything.
    #[must_use]
    pub fn alike(count: u32) -> Vec<Self> {
        let one = Self {
            stages: ALL.to_vec(),
            speed: Speed::Plain,
            cpus: Vec::new(),
        };
        (0..count).map(|_| one.clone()).collect()
    }

    pub(super) fn free(&self) -> Slot {
        Slot {
            speed: self.speed,
            cpus: self.cpus.clone(),
            ..Slot::free(&self.stages)
        }
    }
}

/// Cores of a node that are as fast as each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoreClass {
    /// Beside the node's other cores.
    pub speed: Speed,
    /// Their numbers.
    pub cpus: Vec<u32>,
}

/// Slots for maps and for reduces: `1:1`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageSlots {
    /// For maps; gangs may have these, too.
    pub maps: u32,
    /// For reduces.
    pub reduces: u32,
}

impl StageSlots {
    const fn times(self, cores: u32) -> Self {
        Self {
            maps: self.maps.saturating_mul(cores),
            reduces: self.reduces.saturating_mul(cores),
        }
    }

    const fn and(self, other: Self) -> Self {
        Self {
            maps: self.maps.saturating_add(other.maps),
            reduces: self.reduces.saturating_add(other.reduces),
        }
    }

    /// This many hundredths of it, each kind rounded up.
    fn hundredths(self, share: u64) -> Self {
        let of = |count: u32| {
            let part = u64::from(count).saturating_mul(share).div_ceil(100);
            u32::try_from(part).unwrap_or(u32::MAX)
        };
        Self {
            maps: of(self.maps),
            reduces: of(self.reduces),
        }
    }

    /// Tasks for which memory is asked: as many as there are maps, or reduces, at a time.
    #[must_use]
    pub fn most(self) -> u32 {
        self.maps.max(self.reduces)
    }
}

impl fmt::Display for StageSlots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.maps, self.reduces)
    }
}

impl FromStr for StageSlots {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once(':').and_then(|(maps, reduces)| {
            Some(Self {
                maps: number(maps)?,
                reduces: number(reduces)?,
            })
        });
        parsed.filter(|of| of.maps > 0).ok_or_else(|| {
            format!("{text:?} is no MAPS:REDUCES such as 1:1, with at least one map and at most {MOST} of each")
        })
    }
}

/// Most slots of a kind that a class has, or a core.
const MOST: u32 = 1_000;

fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number| *number <= MOST)
}

/// How many slots cores of each class have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SlotCut {
    /// So many a core, of as many cores as a container has slots.
    PerCore(StageSlots),
    /// So many of a container, whatever number of cores a class has.
    ByClass {
        /// On fast cores.
        fast: StageSlots,
        /// On slow cores.
        slow: StageSlots,
    },
}

impl SlotCut {
    /// The same, unless no class has a slot for reduces: a job with some would wait for ever.
    ///
    /// # Errors
    /// It is so.
    pub fn with_reduces(self) -> Result<Self, String> {
        let (of, sample) = match self {
            Self::PerCore(each) => (each, "1:1"),
            Self::ByClass { fast, slow } => (fast.and(slow), "fast=1:1,slow=3:3"),
        };
        match of.reduces {
            0 => Err(format!(
                "no reduce would find a slot: give at least one of MAPS:REDUCES, as in {sample}"
            )),
            _ => Ok(self),
        }
    }

    /// Tasks for which a container's memory is asked, with those that are stopped in `parked` hundredths of a place for each
    /// fast slot; `None`: its cores do not say.
    #[must_use]
    pub fn room(self, parked: u64) -> Option<u32> {
        match self {
            Self::PerCore(_) => None,
            Self::ByClass { fast, slow } => {
                let stopped = fast.hundredths(parked).most();
                Some(fast.and(slow).most().saturating_add(stopped))
            }
        }
    }
}

/// `fast=1:1,slow=3:3`.
impl FromStr for SlotCut {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (mut fast, mut slow) = (None, None);
        for part in text.split(',') {
            let (class, slots) = part.split_once('=').unwrap_or((part, ""));
            let of = match class {
                "fast" => &mut fast,
                "slow" => &mut slow,
                _ => {
                    return Err(format!(
                        "{class:?} is no class of cores: fast=MAPS:REDUCES,slow=MAPS:REDUCES"
                    ));
                }
            };
            if of.replace(slots.parse()?).is_some() {
                return Err(format!("slots of {class} cores are given twice"));
            }
        }
        match (fast, slow) {
            (Some(fast), Some(slow)) => Self::ByClass { fast, slow }.with_reduces(),
            (Some(_), None) => Err("slow=MAPS:REDUCES is missing".to_owned()),
            (None, _) => Err("fast=MAPS:REDUCES is missing".to_owned()),
        }
    }
}

/// What an attempt is bound to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SlotBinding {
    /// One core of its slot's class, which its slot has with few others.
    Core,
    /// All cores of its slot's class.
    #[default]
    Class,
}

impl FromStr for SlotBinding {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "core" => Ok(Self::Core),
            "class" => Ok(Self::Class),
            _ => Err(format!(
                "{text} is neither core (a slot has one core) nor class (all cores of its class)"
            )),
        }
    }
}

/// The slots of a session's containers by the classes of their cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoreSlots {
    /// How many.
    pub cut: SlotCut,
    /// What their attempts are bound to.
    pub bind: SlotBinding,
}

impl CoreSlots {
    /// The slots of a container that has memory for `room` tasks and these classes of cores of its node: the fast ones
    /// first, maps before reduces. A class of the node of which it has no core has no slots.
    #[must_use]
    pub fn slots(&self, classes: &[CoreClass], room: u32) -> Vec<OfferedSlot> {
        let of = |speed| {
            let found = classes.iter().find(|class| class.speed == speed);
            found.map(|class| class.cpus.as_slice())
        };
        let (Some(fast), Some(slow)) = (of(Speed::Fast), of(Speed::Slow)) else {
            let all: usize = classes.iter().map(|class| class.cpus.len()).sum();
            let slots = match self.cut {
                SlotCut::PerCore(each) => each.times(count(all).clamp(1, room.max(1))),
                SlotCut::ByClass { fast, slow } => fast.and(slow),
            };
            return self.of_class(Speed::Plain, &[], slots);
        };
        let (of_fast, of_slow) = match self.cut {
            SlotCut::ByClass {
                fast: of_fast,
                slow: of_slow,
            } => {
                let there = |cpus: &[u32]| u32::from(!cpus.is_empty());
                (of_fast.times(there(fast)), of_slow.times(there(slow)))
            }
            SlotCut::PerCore(each) => {
                let (fast, slow) = shared(count(fast.len()), count(slow.len()), room);
                (each.times(fast), each.times(slow))
            }
        };
        let mut slots = self.of_class(Speed::Fast, fast, of_fast);
        slots.extend(self.of_class(Speed::Slow, slow, of_slow));
        slots
    }

    fn of_class(&self, speed: Speed, cpus: &[u32], slots: StageSlots) -> Vec<OfferedSlot> {
        let bound_to = |place: u32| match self.bind {
            SlotBinding::Class => cpus.to_vec(),
            SlotBinding::Core => {
                let place = usize::try_from(place).unwrap_or(0);
                let core = place.checked_rem(cpus.len()).and_then(|at| cpus.get(at));
                core.copied().into_iter().collect()
            }
        };
        let of = |stages: &'static [Stage], number: u32| {
            (0..number).map(move |place| OfferedSlot {
                stages: stages.to_vec(),
                speed,
                cpus: bound_to(place),
            })
        };
        let maps = of(&[Stage::Map, Stage::Gang], slots.maps);
        maps.chain(of(&[Stage::Reduce], slots.reduces)).collect()
    }
}

/// How many fast and slow cores a container of `room` tasks has its slots of, where there are so many: at least one of
/// each, the rest in proportion.
fn shared(fast: u32, slow: u32, room: u32) -> (u32, u32) {
    if fast == 0 || slow == 0 {
        return (fast.min(room.max(1)), slow.min(room.max(1)));
    }
    let all = u64::from(fast).saturating_add(slow.into());
    let of = u64::from(room.max(2)).min(all);
    let part = of.saturating_mul(fast.into()).checked_div(all).unwrap_or(0);
    let part = part.clamp(1, of.saturating_sub(1).max(1));
    let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    (narrow(part), narrow(of.saturating_sub(part)))
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
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

    fn cut(text: &str) -> CoreSlots {
        CoreSlots {
            cut: text.parse().unwrap(),
            bind: SlotBinding::Class,
        }
    }

    fn shown(slots: &[OfferedSlot]) -> Vec<(Stage, Speed, Vec<u32>)> {
        let shown = slots.iter();
        shown
            .map(|slot| (slot.stages[0], slot.speed, slot.cpus.clone()))
            .collect()
    }

    #[test]
    fn slots_of_a_class_run_on_its_cores() {
        use Speed::{Fast, Slow};
        use Stage::{Map, Reduce};
        let slots = cut("fast=1:1,slow=2:1").slots(&classes(&[0], &[1, 2]), 3);
        let expected = [
            (Map, Fast, vec![0]),
            (Reduce, Fast, vec![0]),
            (Map, Slow, vec![1, 2]),
            (Map, Slow, vec![1, 2]),
            (Reduce, Slow, vec![1, 2]),
        ];
        assert_eq!(shown(&slots), expected);
        let each = CoreSlots {
            cut: SlotCut::PerCore(StageSlots {
                maps: 1,
                reduces: 1,
            }),
            bind: SlotBinding::Core,
        };
        let slots = each.slots(&classes(&[0], &[1, 2]), 8);
        let maps: Vec<_> = shown(&slots).into_iter().filter(|of| of.0 == Map).collect();
        let expected = [
            (Map, Fast, vec![0]),
            (Map, Slow, vec![1]),
            (Map, Slow, vec![2]),
        ];
        assert_eq!(maps, expected);
        assert_eq!(slots.len(), 6);
    }

    #[test]
    fn where_all_cores_are_alike_no_slot_is_fast_or_slow() {
        let alike = [CoreClass {
            speed: Speed::Plain,
            cpus: vec![0, 1],
        }];
        for of in [&alike[..], &[]] {
            let slots = cut("fast=1:1,slow=3:2").slots(of, 4);
            assert_eq!(slots.len(), 7);
            assert!(
                slots
                    .iter()
                    .all(|slot| slot.speed == Speed::Plain && slot.cpus.is_empty())
            );
        }
    }

    #[test]
    fn a_container_has_slots_of_as_many_cores_as_it_has_room() {
        assert_eq!(shared(4, 8, 12), (4, 8));
        assert_eq!(shared(4, 8, 6), (2, 4));
        assert_eq!(shared(1, 63, 4), (1, 3));
        assert_eq!(shared(63, 1, 4), (3, 1));
        assert_eq!(shared(1, 1, 1), (1, 1));
    }

    #[test]
    fn a_container_without_a_core_of_a_class_has_no_slots_of_it() {
        let each: StageSlots = "1:1".parse().unwrap();
        let per_core = CoreSlots {
            cut: SlotCut::PerCore(each),
            bind: SlotBinding::Class,
        };
        for cut in [cut("fast=1:1,slow=1:1"), per_core] {
            let slots = cut.slots(&classes(&[], &[2]), 3);
            let speeds: Vec<Speed> = slots.iter().map(|slot| slot.speed).collect();
            assert_eq!(speeds, [Speed::Slow; 2]);
            assert_eq!(cut.slots(&classes(&[], &[]), 3), []);
        }
    }

    proptest! {
        #[test]
        fn both_classes_have_cores_and_none_more_than_there_are(fast in 1..100_u32, slow in 1..100_u32, room in 0..300_u32) {
            let (of_fast, of_slow) = shared(fast, slow, room);
            prop_assert!((1..=fast).contains(&of_fast) && (1..=slow).contains(&of_slow), "{of_fast} {of_slow}");
        }
    }

    #[test]
    fn what_is_no_cut_is_refused_with_what_is_wrong() {
        let refused = |text: &str| text.parse::<SlotCut>().unwrap_err();
        assert_eq!(refused("fast=1:1"), "slow=MAPS:REDUCES is missing");
        assert_eq!(refused("slow=1:1"), "fast=MAPS:REDUCES is missing");
        assert_eq!(
            refused("fast=1:1,fast=1:1"),
            "slots of fast cores are given twice"
        );
        assert!(refused("quick=1:1").starts_with("\"quick\" is no class of cores"));
        for odd in [
            "fast=1,slow=1:1",
            "fast=0:1,slow=1:1",
            "fast=1:1001,slow=1:1",
            "",
        ] {
            assert!(!refused(odd).is_empty());
        }
    }
}
