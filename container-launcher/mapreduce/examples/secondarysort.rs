//! Pairs of numbers, grouped by the first and in each group sorted by the second: Hadoop's
//! `hadoop-mapreduce-examples secondarysort`.
//!
//! `cargo run --release --example secondarysort -- --local IN OUT`

use gerbil_mapreduce::prelude::*;

struct Pairs;

impl Mapper for Pairs {
    type Input = TextLines;
    type Key = (i32, i32);
    type Value = i32;

    fn map(&mut self, _offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        let line = std::str::from_utf8(line)?;
        let mut words = line.split_whitespace();
        let Some(left) = words.next() else {
            return Ok(());
        };
        let (left, right) = (
            left.parse::<i32>()?,
            words.next().map_or(Ok(0), str::parse::<i32>)?,
        );
        out.emit(&(left, right), &right)
    }
}

struct Groups;

impl Reducer<(i32, i32), i32> for Groups {
    type Key = Text;
    type Value = Text;

    fn reduce(
        &mut self,
        (left, _): (i32, i32),
        rights: &mut Values<'_, (i32, i32), i32>,
        out: &mut Output<'_, Text, Text>,
    ) -> Result<()> {
        out.emit("------------------------------------------------", "")?;
        let left = left.to_string();
        while let Some(right) = rights.next()? {
            out.emit(&left, &right.to_string())?;
        }
        Ok(())
    }
}

fn main() -> ExitCode {
    Job::new("secondarysort")
        .map(|| Pairs)
        .group_by_first()
        .reduce(|| Groups)
        .main()
}
