//! Mappers and reducers that compute on the node's accelerators.
//!
//! ```text
//!  attempt's thread                    send thread                      receive thread
//!  records ─▶ map ─▶ packet ─bounded─▶ serialise, input ring ─▶ board ─▶ output ring, deserialise ─▶ answer
//!     ▲                                                                                                │
//!     └────────────────────── answer(), in the order of the packets ◀──────────bounded────────────────┘
//! ```
//!
//! Source: HeteroYARN (Li et al., TPDS 2020), §4.2, Table 1 and Listing 1. What is ours: records are made into packets on
//! the thread that reads them, so that a bad record is named, and may be left out; answers come back to that thread, in the
//! order of the packets, so that what is emitted does not depend on threads; and each mapper has a version for the
//! processor, which computes the same bits where there is no device.
//!
//! | paper, Table 1               | here                                                       |
//! |------------------------------|------------------------------------------------------------|
//! | `setJobTag`                  | [`Job::tag`](crate::Job::tag)                              |
//! | `setAcceleratedMapper`       | [`Job::accelerated_map`](crate::Job::accelerated_map)      |
//! | `setMapAcceleratorNums`      | [`AcceleratedMapper::DEVICES`]                             |
//! | `setAcceleratedReducer`      | [`Mapped::accelerated_reduce`](crate::Mapped::accelerated_reduce) |
//! | `setReduceAcceleratorNums`   | [`AcceleratedReducer::DEVICES`]                            |
//! | `setMapSerializer`           | [`AcceleratedMapper::Packet`]                              |
//! | `setMapDeserializer`         | [`AcceleratedMapper::Answer`]                              |
//! | `isMapperAccelerated`        | `-D needs.map=cpu` says no                                 |

mod exchange;
mod job;
mod leases;
mod mapper;
mod reducer;
mod rules;
mod serial;
mod table;
mod traffic;

pub use mapper::{Accelerated, AcceleratedMapper};
pub use reducer::{AcceleratedReducer, AcceleratedReduction};
pub use table::Table;
pub use traffic::{Ordered, Receiving, Sending, Traffic};

use fpga_client::Function;
use fpga_client::Status;
use fpga_client::client::AcceleratorError;

use crate::error::Error;

/// Before the name of a function, that of the type by which YARN counts it.
const TYPE: &str = "acc/";

/// The type by which YARN counts devices of a function.
pub(crate) fn counted(function: Function) -> String {
    format!("{TYPE}{function}")
}

/// What a stage needs that computes with so many devices of a function.
pub(crate) fn need(function: Function, devices: u32) -> String {
    match devices {
        0 | 1 => counted(function),
        more => format!("{}={more}", counted(function)),
    }
}

/// The function that a need names, and how many devices of it: `acc/kmeans-map=2`.
pub(crate) fn named(need: &str) -> Option<(Function, u32)> {
    let (name, count) = need.split_once('=').unwrap_or((need, "1"));
    let function = name.trim().strip_prefix(TYPE)?.parse().ok()?;
    Some((function, count.trim().parse().ok()?))
}

/// Why a packet has no answer: the program is wrong, or there is no device any more.
fn unanswered(function: Function, error: &AcceleratorError) -> Error {
    let counted = counted(function);
    match error {
        AcceleratorError::Packet { status, .. } if *status != Status::Lost => {
            Error::new(format!("{counted}: {error}"))
        }
        AcceleratorError::TooLarge { .. }
        | AcceleratorError::Unfit(_)
        | AcceleratorError::TooMuchWork(_)
        | AcceleratorError::Result { .. } => Error::new(format!("{counted}: {error}")),
        _ => Error::no_device_of(&*counted, format!("no {counted}: {error}")),
    }
}
