//! A session: an application that holds containers and runs whatever jobs are submitted to it.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use policy::lending::CoreSlots;
use policy::{Millis, ResourceTypes, Resources};
use serde::{Deserialize, Serialize};
use storage::Address;

use crate::element::{Scan, Trust};

/// What a session is started with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionPlan {
    /// By which its user calls it.
    pub name: String,
    /// How many containers it holds at the least, at most one on a node.
    pub containers: NonZeroU32,
    /// How many it asks for at its beginning, between the least and the most: what its first job is expected
    /// to use.
    pub first: NonZeroU32,
    /// How many it holds at the most, while its jobs lack slots.
    pub most: NonZeroU32,
    /// What no job has used for so long is given back, above the least.
    pub idle_container: Millis,
    /// Slots of each container: processes that run there at the same time.
    pub slots: NonZeroU32,
    /// The same of one on a node with GPUs, as far as its memory reaches.
    pub gpu_slots: NonZeroU32,
    /// Slots that a container's memory is asked for where YARN counts no GPU.
    pub room: NonZeroU32,
    /// What each slot is, counts by `types`; a container is `room` times as much.
    pub slot: Resources,
    /// The countable types that the client knows of the cluster.
    pub types: ResourceTypes,
    /// Which job has slots first, as `policy::schedule` reads it; starting whole jobs is added.
    pub policy: String,
    /// Slots by the classes of their cores; `None`: all run everything, on whatever core.
    pub core_slots: Option<CoreSlots>,
    /// It ends where a node that joins has no slots on fast and on slow cores, though they are wanted of it.
    pub is_strict: bool,
    /// Jobs that have slots at the same time at the most, of each queue or user that the policy shares out among, if it
    /// does; `None`: as many as there is room for.
    pub running: Option<NonZeroU32>,
    /// Without jobs for so long it ends; `None`: never.
    pub idle: Option<Millis>,
    /// How launchers look for elements of their nodes.
    pub scan: Scan,
    /// Whose count of elements holds.
    pub elements: Trust,
    /// MiB that tasks of MapReduce jobs may have on the disks of a container's node, all of the container's together;
    /// 0: as much as there is.
    pub local_disk: u64,
    /// The same on some hosts, as their nodes registered them.
    pub local_disks: BTreeMap<String, u64>,
    /// Hundredths of a disk that may be taken, by whomever, before these tasks leave it; 0: all.
    pub disk_percent: u8,
    /// One client owns it, and it ends with that client.
    pub is_owned: bool,
    /// It ends with its first job, and what became of that YARN records as what became of the application.
    pub ends_with_job: bool,
    /// Hosts that it takes no container on, as their nodes registered them.
    pub exclude: Vec<String>,
    /// Of whoever has started it.
    pub staging: StagingFolder,
    /// Where what its policy is told and decides is written down; `None`: nowhere.
    pub record: Option<RecordFile>,
}

/// A file that is not there yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordFile {
    /// Its file system.
    pub address: Address,
    /// Absolute.
    pub path: String,
}

/// The staging folder of a user, where an ApplicationMaster keeps what others are to find.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagingFolder {
    /// Its file system.
    pub address: Address,
    /// Absolute.
    pub path: String,
}
