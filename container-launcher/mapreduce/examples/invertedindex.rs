//! Which files have a word: the inverted index of Lin and Dyer's book, and of Hadoop's tutorials.
//!
//! `cargo run --release --example invertedindex -- --local IN OUT`

use std::collections::BTreeSet;

use gerbil_mapreduce::prelude::*;

struct Places;

impl Mapper for Places {
    type Input = TextLines;
    type Key = Text;
    type Value = Text;

    fn map(&mut self, _offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        let file = out.input().to_owned();
        line.split(|b| !b.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty())
            .try_for_each(|word| out.emit(&word.to_ascii_lowercase(), file.as_bytes()))
    }
}

struct Postings;

impl Reducer<Text, Text> for Postings {
    type Key = Text;
    type Value = Text;

    fn reduce(
        &mut self,
        word: &[u8],
        files: &mut Values<'_, Text, Text>,
        out: &mut Output<'_, Text, Text>,
    ) -> Result<()> {
        let mut all: BTreeSet<Vec<u8>> = BTreeSet::new();
        while let Some(file) = files.next()? {
            if !all.contains(file) {
                all.insert(file.to_vec());
            }
        }
        out.emit(word, &all.into_iter().collect::<Vec<_>>().join(&b' '))
    }
}

fn main() -> ExitCode {
    Job::new("invertedindex")
        .map(|| Places)
        .reduce(|| Postings)
        .main()
}
