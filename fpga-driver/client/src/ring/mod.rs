//! The memory that a lease's holder and the driver share: a control page, an input and an output ring.
//!
//! One memfd, sealed against any change of its size, so that neither side can make the other fault:
//!
//! ```text
//!         0 ┌──────────────────────────────────────────────┐
//!           │ control page: layout, states, headers, ends  │
//!      4096 ├──────────────┬──────────────┬─────┬──────────┤
//!           │ input block 0│ input block 1│  …  │  blocks-1│
//!           ├──────────────┼──────────────┼─────┼──────────┤
//!           │ output blk. 0│ output blk. 1│  …  │  blocks-1│
//!           └──────────────┴──────────────┴─────┴──────────┘
//! ```
//!
//! The control page, offsets in bytes, little-endian:
//!
//! ```text
//!    0  magic "HAPR", version u16, blocks u16, block u64, ended u32 (1: the driver looks no more),
//!       starved u32 (1: the driver waits for an output block)
//!   64  state of each input block, u32
//!  128  state of each output block, u32
//!  256  what became of each output block: length u64, sequence u64, status u32, field u32, CRC u32, zero
//! 1024  header of each input block, 128 bytes
//! ```
//!
//! Both rings are used in their order: packet n lies in input block n mod blocks, its result in output
//! block n mod blocks.  So no index is ever exchanged, and none can be wrong.
//!
//! ```text
//! input   Free ─client─▶ Filling ─client─▶ Queued ─driver─▶ Sending ─driver, send done─▶ Free
//! output  Free ─driver─▶ Reserved ─driver─▶ Ready ─client─▶ Reading ─client─▶ Free
//! ```

pub mod layout;
pub mod memory;

pub use layout::{Geometry, InputBlockState, OutputBlockState, PacketVerdict};
pub use memory::{MemoryError, SharedMemory};
