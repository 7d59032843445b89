//! Counts words: Hadoop's `hadoop-mapreduce-examples wordcount`.
//!
//! `cargo run --release --example wordcount -- --local IN OUT`

use gerbil_mapreduce::prelude::*;

struct Words;

impl Mapper for Words {
    type Input = TextLines;
    type Key = Text;
    type Value = u64;

    fn map(&mut self, _offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        line.split(|b| b.is_ascii_whitespace())
            .filter(|w| !w.is_empty())
            .try_for_each(|w| out.emit(w, &1))
    }
}

fn main() -> ExitCode {
    Job::new("wordcount")
        .map(|| Words)
        .combine(|| Sum)
        .reduce(|| Sum)
        .main()
}
