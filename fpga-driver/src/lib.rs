//! One accelerator, many processes, no kernel module.
//!
//! A board behind Xilinx's DMA driver can be used by one process at a time, which must know its
//! registers.  This crate puts a daemon between: `fpgad` owns the boards of a node and divides each into
//! virtual devices; processes lease one, write packets into a ring of shared memory, and read results
//! from another.
//!
//! ```text
//!  client ── lease ──▶ socket ─┐                     ┌─────────── board ───────────┐
//!  writer ── packet ─▶ input ring ─▶ sender ─▶ queue ─▶ registers, DMA ─▶ function  │
//!  reader ◀─ result ── output ring ◀─ receiver ◀──────── interrupts ◀───────────────┘
//! ```
//!
//! Source: HeteroYARN (Li et al., TPDS 2020), §3.3–3.5, whose driver is a kernel module.  What is ours:
//! a lease is a connected socket and dies with its holder; headers have a version, a sequence and
//! checksums; a card that loses a packet gets it again; a client can harm nobody but itself.
//!
//! | module      | what it is                                                          |
//! |-------------|---------------------------------------------------------------------|
//! | [`packet`]  | the header of a packet, drawn                                       |
//! | [`function`]| what accelerators compute, and what its packets must look like      |
//! | [`ring`]    | the memory that a lease shares with the driver, drawn               |
//! | [`board`]   | registers, and the boards: modelled, simulated, Xilinx's            |
//! | [`daemon`]  | the driver                                                          |
//! | [`client`]  | lease, writer, reader                                               |
//! | [`profile`] | `fpga.toml`                                                         |

pub mod bayes;
pub mod board;
pub mod client;
pub mod daemon;
pub mod echo;
pub mod fixed;
pub mod function;
pub mod kmeans;
pub mod packet;
pub mod profile;
pub mod ring;
pub mod status;
pub mod wire;

pub use function::Function;
pub use status::Status;
