//! Where the outputs of maps lie, and which partitions have gathered them.

use std::collections::{BTreeMap, BTreeSet};

use super::map_set::MapSet;
use super::messages::Digest;
use crate::schedule::{AttemptIx, ContainerIx, TaskIx};

/// The output of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MapOutputPlace {
    pub attempt: AttemptIx,
    pub at: ContainerIx,
    pub digest: Digest,
}

/// Outputs by map, and what is gathered of them.
#[derive(Clone, Debug)]
pub(super) struct Outputs {
    by_map: Vec<Option<MapOutputPlace>>,
    /// The digest of the output that was last there, whether it still is.
    known: Vec<Option<Digest>>,
    /// Maps whose output a partition has gathered, by partition.
    gathered: Vec<MapSet>,
    by_attempt: BTreeMap<AttemptIx, TaskIx>,
}

impl Outputs {
    pub(super) fn new(maps: u32, partitions: u32) -> Self {
        let (maps, partitions) = (maps as usize, partitions as usize);
        Self {
            by_map: vec![None; maps],
            known: vec![None; maps],
            gathered: vec![MapSet::default(); partitions],
            by_attempt: BTreeMap::new(),
        }
    }

    /// How many maps there are.
    pub(super) fn maps(&self) -> u32 {
        u32::try_from(self.by_map.len()).unwrap_or(u32::MAX)
    }

    /// An output is there; the digest of the one before it, if there was one.
    pub(super) fn put(&mut self, map: TaskIx, output: MapOutputPlace) -> Option<Digest> {
        let before = self.known.get_mut(map.0 as usize)?.replace(output.digest);
        if let Some(place) = self.by_map.get_mut(map.0 as usize) {
            *place = Some(output);
        }
        self.by_attempt.insert(output.attempt, map);
        before
    }

    pub(super) fn of(&self, map: TaskIx) -> Option<MapOutputPlace> {
        self.by_map.get(map.0 as usize).copied().flatten()
    }

    /// Every map has one.
    pub(super) fn are_all_there(&self) -> bool {
        self.by_attempt.len() == self.by_map.len()
    }

    /// The map whose present output is that of `attempt`.
    pub(super) fn map_of(&self, attempt: AttemptIx) -> Option<TaskIx> {
        let map = self.by_attempt.get(&attempt).copied()?;
        self.of(map)
            .is_some_and(|output| output.attempt == attempt)
            .then_some(map)
    }

    /// The outputs that lie at a launcher.
    pub(super) fn at(&self, launcher: ContainerIx) -> Vec<TaskIx> {
        let all = (0..).map(TaskIx).zip(&self.by_map);
        let there = all.filter(|(_, output)| output.is_some_and(|output| output.at == launcher));
        there.map(|(map, _)| map).collect()
    }

    /// The launchers that have some.
    pub(super) fn launchers(&self) -> BTreeSet<ContainerIx> {
        self.by_map.iter().flatten().map(|of| of.at).collect()
    }

    /// An output is gone; who it was.
    pub(super) fn lose(&mut self, map: TaskIx) -> Option<MapOutputPlace> {
        let output = self.by_map.get_mut(map.0 as usize)?.take()?;
        self.by_attempt.remove(&output.attempt);
        Some(output)
    }

    /// A partition has gathered a map's output; whether that completes its input.
    pub(super) fn gather(&mut self, partition: u32, map: TaskIx) -> bool {
        let maps = self.by_map.len();
        let Some(gathered) = self.gathered.get_mut(partition as usize) else {
            return false;
        };
        gathered.insert(map) && gathered.len() == maps
    }

    pub(super) fn has(&self, partition: u32, map: TaskIx) -> bool {
        let gathered = self.gathered.get(partition as usize);
        gathered.is_some_and(|gathered| gathered.contains(map))
    }

    pub(super) fn is_complete(&self, partition: u32) -> bool {
        let gathered = self.gathered.get(partition as usize);
        gathered.is_some_and(|gathered| gathered.len() == self.by_map.len())
    }

    /// A partition has nothing any more; which maps it had whose output is gone.
    pub(super) fn drop_partition(&mut self, partition: u32) -> Vec<TaskIx> {
        let Some(gathered) = self.gathered.get_mut(partition as usize) else {
            return Vec::new();
        };
        let had = std::mem::take(gathered);
        let gone = had.iter().filter(|map| self.of(*map).is_none());
        gone.collect()
    }

    /// A partition forgets one map's output.
    pub(super) fn forget(&mut self, partition: u32, map: TaskIx) {
        if let Some(gathered) = self.gathered.get_mut(partition as usize) {
            gathered.remove(map);
        }
    }
}
