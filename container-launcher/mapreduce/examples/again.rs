//! Counts lines, by a reducer none of whose first attempts succeeds; the tests of commits run it.
//!
//! `cargo run --example again -- --local IN OUT`

use gerbil_mapreduce::prelude::*;

struct Lines;

impl Mapper for Lines {
    type Input = TextLines;
    type Key = Text;
    type Value = u64;

    fn map(&mut self, _offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        out.emit(line, &1)
    }
}

struct AgainSum;

impl Reducer<Text, u64> for AgainSum {
    type Key = Text;
    type Value = u64;

    fn reduce(
        &mut self,
        line: &[u8],
        values: &mut Values<'_, Text, u64>,
        out: &mut Output<'_, Text, u64>,
    ) -> Result<()> {
        if out.attempt() == 0 {
            return Err(Error::new("not at first"));
        }
        let sum = values.fold(0, |sum, more| Ok(sum + more))?;
        out.emit(line, &sum)
    }
}

fn main() -> ExitCode {
    Job::new("again")
        .map(|| Lines)
        .combine(|| Sum)
        .reduce(|| AgainSum)
        .main()
}
