//! `gerbil-run` and `gerbil` as their users start them, with clusters that are a process, or a part of this one.

#![cfg(test)]

mod clean;
mod command_line;
mod data;
mod hostile;
mod interrupted;
mod local;
mod mr;
mod much_output;
mod probe;
mod session;
mod terminal;
