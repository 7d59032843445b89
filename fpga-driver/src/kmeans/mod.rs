//! Spherical K-means: vectors and centroids have length 1, so that the nearest centroid is the one with
//! the largest dot product.
//!
//! Source: HeteroYARN §4.3.2, equation (1).  With |d| = |c| = 1, Σ|d_i − c_i|² = 2 − 2 d·c: the least
//! distance is the largest product.  Ties go to the lowest centroid.
//!
//! | paper   | here                    | unit, shape                                  |
//! |---------|-------------------------|----------------------------------------------|
//! | d_i     | an element of a vector  | Q1.22 in i32; `dimension` of them            |
//! | c_i     | an element of a centroid| Q1.22 in i32; k × `dimension`                |
//! | Combine | [`Sums`]                | per centroid: count u64, sums i64            |
//!
//! Cost of a round: vectors × k × dimension products; on the card, vectors × max(dimension, k) cycles.

mod cpu;
mod decimal;
mod packets;
mod parse;

pub use cpu::{assign, generate, nearest, next_centroids};
pub use packets::{Assignments, Keyed, MapPacket, ReducePacket, Sums};
pub use parse::{ParseError, Parser, Reason, normalise, parse_line};
