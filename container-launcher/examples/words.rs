//! A job of tasks for the tests of this crate: counts words.

use gerbil_mapreduce::prelude::*;

struct Words;

impl Mapper for Words {
    type Input = TextLines;
    type Key = Text;
    type Value = u64;

    fn map(&mut self, _offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        line.split(|b| b.is_ascii_whitespace())
            .filter(|word| !word.is_empty())
            .try_for_each(|word| out.emit(word, &1))
    }
}

fn main() -> ExitCode {
    Job::new("words").map(|| Words).reduce(|| Sum).main()
}
