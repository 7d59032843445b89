//! Sorts the lines of text: all part files together are in order.
//!
//! `cargo run --release --example sortlines -- --local IN OUT`

use gerbil_mapreduce::prelude::*;

struct Lines;

impl Mapper for Lines {
    type Input = TextLines;
    type Key = Text;
    type Value = ();

    fn map(&mut self, _offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        out.emit(line, &())
    }
}

fn main() -> ExitCode {
    Job::new("sortlines")
        .map(|| Lines)
        .total_order()
        .reduce(|| Identity)
        .main()
}
