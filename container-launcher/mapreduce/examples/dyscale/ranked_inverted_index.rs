//! RankedInvertedIndex: for each sequence of words the files that have it, those that have it most often first.
//!
//! A line of the input is `sequence|file TAB count`, which is what SequenceCount leaves.

use std::borrow::Cow;

use gerbil_mapreduce::prelude::*;
use gerbil_mapreduce::{Ready, Upright};

pub(crate) const NAME: &str = "rankedinvertedindex";

pub(crate) fn job() -> Ready<Text, Text> {
    super::application(NAME)
        .map(|| Counts)
        .group_by_first()
        .reduce(|| Ranked)
}

struct Counts;

impl Mapper for Counts {
    type Input = KeyValueText;
    /// The sequence, and its count: the largest comes first.
    type Key = (Text, Reverse<u64>);
    type Value = Text;

    fn map(&mut self, place: &[u8], count: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        let bar = place.iter().rposition(|byte| *byte == b'|');
        let count: Option<u64> = std::str::from_utf8(count)?.trim().parse().ok();
        let (Some(bar), Some(count)) = (bar, count) else {
            return Err(Error::new("a line is SEQUENCE|FILE, a tab, and a count"));
        };
        let (sequence, file) = place.split_at(bar);
        out.emit(
            &(sequence, Descending(count)),
            file.get(1..).unwrap_or_default(),
        )
    }
}

struct Ranked;

impl Reducer<(Text, Reverse<u64>), Text> for Ranked {
    type Key = Text;
    type Value = Text;

    fn reduce(
        &mut self,
        (sequence, _): (Cow<'_, [u8]>, Upright<u64>),
        files: &mut Values<'_, (Text, Reverse<u64>), Text>,
        out: &mut Output<'_, Text, Text>,
    ) -> Result<()> {
        while let Some(((_, count), file)) = files.next_pair()? {
            let count = count.key()?.to_string();
            out.emit(&sequence, &[count.as_bytes(), b"|", file].concat())?;
        }
        Ok(())
    }
}
