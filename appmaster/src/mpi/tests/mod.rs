//! A job's whole life without a cluster, on a clock that the test moves.

mod bed;
mod checkpoints;
mod clients;
mod drain;
mod farewell;
mod in_place;
mod repeat;
mod results;
