//! Brings this binary, the program and its libraries to where the nodes fetch them.

pub mod archive;
#[cfg(test)]
mod crafted;
pub mod digest;
pub mod elf;
pub mod error;
pub mod libraries;
pub mod program;
pub mod rules;
pub mod search;
