//! SelfJoin: candidates for associations of k + 1 items, of lists of k: two lists that differ in the last item alone make
//! one.
//!
//! A line of the input is a list of items with commas between; the same list twice is one.

use std::borrow::Cow;

use gerbil_mapreduce::Ready;
use gerbil_mapreduce::prelude::*;

pub(crate) const NAME: &str = "selfjoin";

pub(crate) fn job() -> Ready<Text, Text> {
    super::application(NAME)
        .map(|| Lists)
        .combine(|| super::Once)
        .group_by_first()
        .reduce(|| Candidates)
}

struct Lists;

impl Mapper for Lists {
    type Input = TextLines;
    /// All items but the last, and the last.
    type Key = (Text, Text);
    type Value = ();

    fn map(&mut self, _offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        let Some(comma) = line.iter().rposition(|byte| *byte == b',') else {
            return Err(Error::new(
                "a list has two items at least, with a comma between",
            ));
        };
        let (items, last) = line.split_at(comma);
        out.emit(&(items, last.get(1..).unwrap_or_default()), &())
    }
}

struct Candidates;

impl Reducer<(Text, Text), ()> for Candidates {
    type Key = Text;
    type Value = Text;

    fn reduce(
        &mut self,
        (items, _): (Cow<'_, [u8]>, &[u8]),
        lasts: &mut Values<'_, (Text, Text), ()>,
        out: &mut Output<'_, Text, Text>,
    ) -> Result<()> {
        let mut before: Vec<Vec<u8>> = Vec::new();
        while let Some(((_, last), ())) = lasts.next_pair()? {
            if before.last().is_some_and(|before| before == last) {
                continue;
            }
            for one in &before {
                out.emit(&items, &[one, b",".as_slice(), last].concat())?;
            }
            before.push(last.to_vec());
        }
        Ok(())
    }
}
