//! SequenceCount: how often each file has each three words that follow each other in a line.
//!
//! The input is text.

use gerbil_mapreduce::Ready;
use gerbil_mapreduce::prelude::*;

pub(crate) const NAME: &str = "sequencecount";

pub(crate) fn job() -> Ready<Text, u64> {
    super::application(NAME)
        .map(Sequences::default)
        .combine(|| Sum)
        .reduce(|| Sum)
}

#[derive(Default)]
struct Sequences {
    key: Vec<u8>,
}

impl Mapper for Sequences {
    type Input = TextLines;
    /// The words and the file, with bars between.
    type Key = Text;
    type Value = u64;

    fn map(&mut self, _offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        let file = super::file_name(out.input()).to_owned();
        let words = line.split(|b| b.is_ascii_whitespace());
        let words: Vec<&[u8]> = words.filter(|word| !word.is_empty()).collect();
        for three in words.windows(3) {
            self.key.clear();
            for word in three {
                self.key.extend_from_slice(word);
                self.key.push(b'|');
            }
            self.key.extend_from_slice(file.as_bytes());
            out.emit(self.key.as_slice(), &1)?;
        }
        Ok(())
    }
}
