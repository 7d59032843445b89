//! Jobs on this machine, as their users run them: examples as processes, and what an engine is to those who write for it.

#![cfg(test)]

mod accelerated;
mod bayes;
mod broken;
mod brought;
mod dealing;
mod determinism;
mod drivers;
mod dyscale;
mod edges;
mod failures;
mod formats;
mod how_it_fails;
mod inline;
mod inputs;
mod jobs;
mod kernels;
mod memory;
mod needs;
mod options;
mod orders;
mod pipes;
mod program;
mod protocol;
mod sdk;
mod turns;
