//! How large an application is that is submitted for a MapReduce program: slots of a container, and containers.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use policy::{MiB, Resources};

use crate::failure::Failure;
use crate::preflight::{Ground, NodeUse, WantedContainers, how_many};
use crate::subcommands::OwnApplication;
use crate::usage::UsageError;

/// How large it is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// What each slot is.
    pub slot: Resources,
    /// Slots of each container.
    pub slots: NonZeroU32,
    /// Containers at the least.
    pub containers: NonZeroU32,
    /// Containers that are asked for at the beginning.
    pub first: NonZeroU32,
    /// Containers at the most.
    pub most: NonZeroU32,
}

/// What its first job is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstJob {
    /// Tasks of it that can run at the same time.
    pub tasks: u32,
    /// What each slot is.
    pub slot: Resources,
    /// What the ApplicationMaster takes of some node.
    pub appmaster: MiB,
}

impl Size {
    /// As it was `given`, else as the first job wants it and the nodes have room now.
    ///
    /// # Errors
    /// The cluster could never give it.
    pub(crate) fn new(
        given: &OwnApplication,
        wanted: FirstJob,
        ground: &Ground,
    ) -> Result<Self, Failure> {
        let FirstJob { tasks, slot, .. } = wanted;
        let nodes = ground.nodes.iter();
        let large = nodes.filter(|node| node.capability.memory >= slot.memory);
        let large = large.map(|node| containers_of(node, ground.maximum.memory));
        let large = large.fold(0, u64::saturating_add);
        let large = NonZeroU32::new(u32::try_from(large).unwrap_or(u32::MAX));
        let containers = given.containers.unwrap_or(NonZeroU32::MIN);
        let most = match (given.max_containers, given.containers) {
            (Some(most), _) if most < containers => {
                return Err(UsageError::FewerThanContainers { most, containers }.into());
            }
            (Some(most), _) | (None, Some(most)) => most,
            (None, None) => large.unwrap_or(NonZeroU32::MIN),
        };
        let slots = given
            .slots_per_container
            .unwrap_or_else(|| slots(wanted, most, ground));
        let first = tasks.div_ceil(slots.get());
        let first = NonZeroU32::new(first).unwrap_or(NonZeroU32::MIN);
        ground.holds(&WantedContainers {
            containers,
            container: slot.times(slots.get()),
            exclude: &given.exclude,
        })?;
        Ok(Self {
            slot,
            slots,
            containers,
            first: first.clamp(containers, most),
            most,
        })
    }
}

/// How many containers a node may have, so that all of it can be had: one, but where the largest that YARN gives is
/// smaller than the node.
fn containers_of(node: &NodeUse, maximum: MiB) -> u64 {
    how_many(maximum, node.capability.memory).max(1)
}

/// So few that `most` containers have one for every task; where that is not possible, so many that there are as many
/// as possible.
fn slots(wanted: FirstJob, most: NonZeroU32, ground: &Ground) -> NonZeroU32 {
    let FirstJob {
        tasks,
        slot,
        appmaster,
    } = wanted;
    let in_memory = |memory: u64| memory / slot.memory.0.max(1);
    let one = u64::from(slot.vcores.0.max(1));
    let maximum = in_memory(ground.maximum.memory.0).min(u64::from(ground.maximum.vcores.0) / one);
    let room = |node: &NodeUse| {
        let taken = node.used.memory.0.saturating_add(appmaster.0);
        let free = node.capability.memory.0.saturating_sub(taken);
        let room = in_memory(free).min(u64::from(node.capability.vcores.0) / one);
        (room, containers_of(node, ground.maximum.memory))
    };
    let rooms: Vec<(u64, u64)> = ground.nodes.iter().map(room).collect();
    let few = rooms.iter().map(|(_, few)| *few);
    // More are wanted than that: as many as there is room for.
    let is_crowded = u64::from(most.get()) > few.fold(0, u64::saturating_add);
    // Containers of so many slots that all nodes have room for, each having no more than that.
    let containers = |slots: u64, each: u64| {
        let there = rooms.iter().map(|(room, few)| {
            let most = if is_crowded { u64::MAX } else { *few };
            let room = room.checked_div(slots).unwrap_or(0);
            room.min(most).min(each)
        });
        there.fold(0, u64::saturating_add).min(most.get().into())
    };
    let mut best = (0, 1);
    let nodes = u64::try_from(rooms.len()).unwrap_or(u64::MAX);
    let crowd = match is_crowded {
        true => u64::from(most.get()).div_ceil(nodes.max(1)),
        false => 1,
    };
    let sizes = rooms.iter().map(|(room, _)| (room / crowd).min(maximum));
    let sizes: BTreeSet<u64> = sort::set(sizes);
    for slots in sizes {
        // A second container of a node is for what one has no room for.
        let enough = u64::from(tasks).div_ceil(containers(slots, 1).max(1));
        let slots = slots.min(enough);
        let all = slots.saturating_mul(containers(slots, u64::MAX));
        let all = all.min(tasks.into());
        if all > best.0 {
            best = (all, slots);
        }
    }
    let slots = u32::try_from(best.1).unwrap_or(u32::MAX);
    let slots = slots.min(job::transport::JOBS_MAX);
    NonZeroU32::new(slots).unwrap_or(NonZeroU32::MIN)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proto_hadoop::ApplicationId;

    use super::*;

    /// Nodes of so much memory, of which so much is used.
    fn ground(nodes: &[(u64, u64)]) -> Ground {
        let node = |(all, used): &(u64, u64)| NodeUse {
            capability: Resources::new(*all, 8),
            used: Resources::new(*used, 1),
        };
        Ground {
            application: ApplicationId {
                cluster_timestamp: 1,
                id: 1,
            },
            excluded: Vec::new(),
            disks: BTreeMap::new(),
            maximum: Resources::new(8192, 4),
            nodes: nodes.iter().map(node).collect(),
        }
    }

    /// Slots of a container, containers: at the beginning, at the most.
    fn size(given: &OwnApplication, tasks: u32, ground: &Ground) -> Result<[u32; 3], String> {
        let wanted = FirstJob {
            tasks,
            slot: Resources::new(1024, 1),
            appmaster: MiB(1024),
        };
        let size = Size::new(given, wanted, ground).map_err(|why| why.to_string())?;
        Ok([size.slots, size.first, size.most].map(NonZeroU32::get))
    }

    #[test]
    fn the_first_job_has_a_slot_for_each_task_on_as_many_nodes_as_there_are() {
        let given = OwnApplication::default();
        let three = ground(&[(8192, 0); 3]);
        assert_eq!(size(&given, 1, &three), Ok([1, 1, 3]));
        assert_eq!(size(&given, 3, &three), Ok([1, 3, 3]));
        assert_eq!(size(&given, 7, &three), Ok([3, 3, 3]));
        // No container has more cores than the cluster gives.
        assert_eq!(size(&given, 1000, &three), Ok([4, 3, 3]));
        // The ApplicationMaster lies beside one of them.
        assert_eq!(size(&given, 1000, &ground(&[(4096, 0); 2])), Ok([3, 2, 2]));
        // Of a node that others use there is less; two large containers are more than three small ones.
        let used = ground(&[(8192, 6144), (8192, 0), (8192, 1024)]);
        assert_eq!(size(&given, 1000, &used), Ok([4, 3, 3]));
        assert_eq!(size(&given, 3, &used), Ok([1, 3, 3]));
        // What is full now may be free soon.
        assert_eq!(size(&given, 9, &ground(&[(8192, 8192)])), Ok([1, 1, 1]));
    }

    #[test]
    fn nodes_that_are_larger_than_any_container_have_several() {
        let mut small = ground(&[(8192, 0); 3]);
        small.maximum = Resources::new(2048, 4);
        let given = OwnApplication::default();
        assert_eq!(size(&given, 1, &small), Ok([1, 1, 12]));
        // The ApplicationMaster takes one slot of a node: no second container is there.
        assert_eq!(size(&given, 1000, &small), Ok([2, 12, 12]));
        assert_eq!(size(&given, 12, &small), Ok([2, 6, 12]));
        // More than the nodes need.
        let many = OwnApplication {
            max_containers: NonZeroU32::new(6),
            ..OwnApplication::default()
        };
        assert_eq!(size(&many, 1000, &ground(&[(8192, 0); 3])), Ok([3, 6, 6]));
    }

    #[test]
    fn what_is_given_stands_and_what_can_never_be_is_refused() {
        let three = ground(&[(8192, 0); 3]);
        let some = |number| NonZeroU32::new(number);
        let mut given = OwnApplication {
            containers: some(2),
            slots_per_container: some(2),
            ..OwnApplication::default()
        };
        assert_eq!(size(&given, 100, &three), Ok([2, 2, 2]));
        given.max_containers = some(3);
        assert_eq!(size(&given, 100, &three), Ok([2, 3, 3]));
        assert_eq!(size(&given, 1, &three), Ok([2, 2, 3]));
        given.containers = some(4);
        let refused = size(&given, 1, &three).unwrap_err();
        assert!(refused.contains("fewer than --containers 4"), "{refused}");
        given.max_containers = None;
        // Two of them lie on one node.
        assert_eq!(size(&given, 1, &three), Ok([2, 4, 4]));
        given.containers = some(13);
        let refused = size(&given, 1, &three).unwrap_err();
        assert!(refused.contains("can hold 12;"), "{refused}");
        given.containers = some(2);
        given.slots_per_container = some(5);
        let refused = size(&given, 1, &three).unwrap_err();
        assert!(refused.contains("at most 8192 MiB"), "{refused}");
    }
}
