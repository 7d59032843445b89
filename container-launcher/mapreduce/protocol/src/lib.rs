#![doc = include_str!("../README.md")]

mod blame;
mod blamed;
pub mod brought;
mod counters;
mod digest;
mod driver;
mod footprint;
mod frame;
mod index;
pub mod inputs;
mod json;
mod message;
pub mod nearest;
mod output_name;
pub mod pattern;
mod phases;
mod read_broker;
pub mod renamed;
pub mod said;
pub mod setting_values;
pub mod settings;
mod shared_page;
pub mod splits;

pub use blame::{Blame, Page, Phase};
pub use blamed::{Blamed, changed, how, vanished};
pub use counters::{
    COUNTER_NAME_MAX, Counters, CountersError, JOB_COUNTERS_MAX, TASK_COUNTERS_MAX, add,
    check_counters, count_written, own_counters_max,
};
pub use digest::records_digest;
pub use driver::{BroughtFile, FromDriver, Listed, Submission, ToDriver};
pub use footprint::Footprint;
pub use frame::{Connection, DRIVER_FRAME_MAX, FRAME_MAX, FrameError};
pub use index::{IndexError, check_index};
pub use message::{
    FromTask, MapOrder, Partition, Piece, Plan, PlannedInput, PlannedJob, ReduceOrder, Source,
    ToTask, Welcome,
};
pub use output_name::OutputOf;
pub use phases::{TaskPhase, count_phases, phases};
pub use read_broker::{BROKER_FRAME_MAX, FromEngine, ToEngine};

/// The version of the protocol that this crate speaks. Both sides name theirs in their first message, and
/// part with a sentence when they differ.
pub const VERSION: u32 = 2;

/// What a task process exits with that found no device of the kind that it needs. Its attempt does not count: the
/// task is queued again as one that needs such a device.
pub const NO_DEVICE: u8 = 86;

/// The variable in whose presence an executable takes a role: `plan`, `task` or `drive`.
pub const ROLE_VARIABLE: &str = "GERBIL_ROLE";

/// The variable that carries the launcher's process number, so that a task whose launcher died before the
/// task could ask the kernel to be told of it finds out nevertheless.
pub const LAUNCHER_VARIABLE: &str = "GERBIL_LAUNCHER";

/// The variable with the GPUs of the task's node, where it has some: `0@nvidia0,1@nvidia1`, each as the maker's
/// libraries name it in this process, and as the whole node does.
pub const DEVICES_VARIABLE: &str = "GERBIL_DEVICES";
/// The variable with how many tasks one of them runs at a time.
pub const DEVICE_WAYS_VARIABLE: &str = "GERBIL_DEVICE_WAYS";
/// The variable with the folder where the tasks of a node queue for them.
pub const DEVICE_TURNS_VARIABLE: &str = "GERBIL_DEVICE_TURNS";
/// The variable with how many tasks of one container use them at a time, where that is fewer than their ways are, and
/// the folder where they queue for that: `1@/data/container_42/permits`.
pub const DEVICE_PERMITS_VARIABLE: &str = "GERBIL_DEVICE_PERMITS";

/// The variable with the socket of the read broker of the task's GPU, which orders what engines read.
pub const READ_BROKER_VARIABLE: &str = "GERBIL_READ_BROKER";
/// The variable with the socket of the driver from which a task leases accelerators itself, where its launcher leases none:
/// in a run on one machine.
pub const LEASE_VARIABLE: &str = "GERBIL_LEASE_AT";
