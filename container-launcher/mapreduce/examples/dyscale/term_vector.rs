//! TermVector: for each host the words that its files have often, those that they have most often first.
//!
//! The input is text; a file is a host's.

use std::borrow::Cow;
use std::cmp::Reverse as Descending;

use gerbil_mapreduce::Ready;
use gerbil_mapreduce::prelude::*;

pub(crate) const NAME: &str = "termvector";

/// A word that comes less often is left out.
const CUTOFF: u64 = 10;

pub(crate) fn job() -> Ready<Text, Text> {
    super::application(NAME)
        .map(|| Terms)
        .combine(|| Sum)
        .group_by_first()
        .reduce(|| Vector)
}

struct Terms;

impl Mapper for Terms {
    type Input = TextLines;
    /// The host and the word.
    type Key = (Text, Text);
    type Value = u64;

    fn map(&mut self, _offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        let host = super::file_name(out.input()).to_owned();
        line.split(|b| b.is_ascii_whitespace())
            .filter(|word| !word.is_empty())
            .try_for_each(|word| out.emit(&(host.as_str(), word), &1))
    }
}

struct Vector;

impl Reducer<(Text, Text), u64> for Vector {
    type Key = Text;
    type Value = Text;

    fn reduce(
        &mut self,
        (host, _): (Cow<'_, [u8]>, &[u8]),
        counts: &mut Values<'_, (Text, Text), u64>,
        out: &mut Output<'_, Text, Text>,
    ) -> Result<()> {
        // Words come in order: only the last one may come again.
        let mut terms: Vec<(Vec<u8>, u64)> = Vec::new();
        while let Some(((_, word), count)) = counts.next_pair()? {
            match terms.last_mut() {
                Some((last, sum)) if last == word => *sum += count,
                Some(_) | None => {
                    terms.pop_if(|(_, sum)| *sum < CUTOFF);
                    terms.push((word.to_vec(), count));
                }
            }
        }
        terms.pop_if(|(_, sum)| *sum < CUTOFF);
        // What comes equally often stays in order.
        terms.sort_by_key(|(_, sum)| Descending(*sum));
        for (word, sum) in &terms {
            let sum = sum.to_string();
            out.emit(&host, &[word.as_slice(), b":", sum.as_bytes()].concat())?;
        }
        Ok(())
    }
}
