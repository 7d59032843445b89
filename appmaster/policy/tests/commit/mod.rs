//! Every order of steps, with a crash or a lost answer at each of them.

mod attempts;
mod inherited;
mod jobs;
mod late;
mod owners;
mod records;
mod withdrawals;
mod world;
