//! Every order of steps, with a crash or a lost answer at each of them.

mod attempts;
mod inherited;
mod jobs;
mod late;
mod outputs;
mod owners;
mod records;
mod takeovers;

mod world;
