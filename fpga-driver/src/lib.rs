#![doc = include_str!("../README.md")]

pub mod bayes;
pub mod board;
mod c;
pub mod daemon;
pub mod fixed;
pub mod kmeans;
pub mod profile;

pub use fpga_client::{Function, Status, client, echo, function, packet, ring, status, wire, work};
