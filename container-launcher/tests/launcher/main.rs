//! Launchers as processes of their own, told by an ApplicationMaster that does what a test says.

#![cfg(test)]

mod elements;
mod functions;
mod groups;
mod hostile_ranks;
mod jobs;
mod lanes;
mod life;
mod moves;
mod mpich;
mod peers;
mod pressure;
mod sampling;
mod shuffled;
#[path = "../support/mod.rs"]
mod support;
mod tasks;
mod tasks_on_hdfs;
mod topology;
mod yielding;
