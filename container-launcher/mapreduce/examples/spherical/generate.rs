//! Seeded vectors: lines of 128 numbers.

use std::fmt::Write as _;

use fpga_driver::fixed::from_q22;
use fpga_driver::kmeans;
use gerbil_mapreduce::prelude::*;

use super::DIMENSION;

/// Directions around which vectors lie.
const CLUSTERS: u32 = 32;
/// Vectors that are made at a time; all of a seed lie around the same directions, whatever number there are of them.
const TOGETHER: u64 = 1000;

/// A file each.
pub struct Vectors;

impl Mapper for Vectors {
    type Input = Numbers;
    type Key = ();
    type Value = Text;

    fn map(&mut self, file: u64, (): (), out: &mut Emit<'_, Self>) -> Result<()> {
        let (lines, seed): (u64, u64) = (out.option("lines")?, out.option("seed")?);
        let mut line = String::new();
        let mut left = lines;
        let mut part = 0;
        while left > 0 {
            let now = left.min(TOGETHER);
            let own = seed
                .wrapping_mul(0x1_0000_0000)
                .wrapping_add(file << 16)
                .wrapping_add(part);
            let vectors = kmeans::generate(own, usize::try_from(now)?, DIMENSION, CLUSTERS);
            for vector in vectors.chunks_exact(DIMENSION) {
                line.clear();
                for (at, element) in vector.iter().enumerate() {
                    let blank = if at > 0 { " " } else { "" };
                    write!(line, "{blank}{:.6}", from_q22(*element))?;
                }
                out.emit(&(), &line)?;
            }
            left -= now;
            part += 1;
        }
        Ok(())
    }
}
