//! The vectors of the first lines, as the first centroids.

use std::borrow::Cow;

use fpga_driver::kmeans::Parser;
use gerbil_mapreduce::prelude::*;

use super::DIMENSION;

/// So many of each split: they may all be the first.
#[derive(Default)]
pub struct First {
    wanted: usize,
}

impl Mapper for First {
    type Input = TextLines;
    /// File and byte.
    type Key = (Text, u64);
    type Value = List<i32>;

    fn setup(&mut self, context: &mut Context) -> Result<()> {
        self.wanted = context.params()?;
        Ok(())
    }

    fn map(&mut self, offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        let mut vector = Vec::new();
        // A line that is none is named, or left out, by the rounds.
        if self.wanted > 0 && Parser::new("", DIMENSION).line(line, &mut vector).is_ok() {
            self.wanted -= 1;
            let file = out.input().to_owned();
            out.emit(&(file.as_str(), offset), &vector)?;
        }
        Ok(())
    }
}

/// The lowest of all.
#[derive(Default)]
pub struct Lowest {
    wanted: u32,
    taken: u32,
}

impl Reducer<(Text, u64), List<i32>> for Lowest {
    type Key = u32;
    type Value = List<i32>;

    fn setup(&mut self, context: &mut Context) -> Result<()> {
        self.wanted = context.params()?;
        Ok(())
    }

    fn reduce(
        &mut self,
        _: (Cow<'_, [u8]>, u64),
        vectors: &mut Values<'_, (Text, u64), List<i32>>,
        out: &mut Output<'_, u32, List<i32>>,
    ) -> Result<()> {
        while let Some(vector) = vectors.next()? {
            if self.taken < self.wanted {
                out.emit(&self.taken, &vector)?;
                self.taken += 1;
            }
        }
        Ok(())
    }
}
