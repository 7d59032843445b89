//! Every order of steps, with a crash or a lost answer at each of them.

mod attempts;
mod jobs;
mod owners;
mod world;
