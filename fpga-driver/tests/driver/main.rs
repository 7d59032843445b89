//! The driver and those who use it: in this process, or as processes that this one starts.

#![cfg(test)]

mod bed;
mod driver;
mod examples;
mod faults;
mod limits;
mod processes;
mod rtl;
mod xdma;
