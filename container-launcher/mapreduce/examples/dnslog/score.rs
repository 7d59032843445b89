//! What is said of a server, from the counts of all files: whole numbers, so that nothing depends on their order.

use gerbil_mapreduce::cluster_resource;
use gerbil_mapreduce::prelude::*;

use crate::{COUNTS, LONGER, UNANSWERED};

/// Tenths of a millisecond after which half of the score is gone.
const HALF: u64 = 500;

/// Adds up, and says.
pub(crate) struct Scores;

// It is in one executable with a kernel.
#[cluster_resource("cpu")]
impl Reducer<u32, List<u32>> for Scores {
    type Key = Text;
    type Value = Text;

    fn reduce(
        &mut self,
        server: u32,
        values: &mut Values<'_, u32, List<u32>>,
        out: &mut Output<'_, Text, Text>,
    ) -> Result<()> {
        let mut counts = vec![0_u64; COUNTS];
        while let Some(pairs) = values.next()? {
            for pair in pairs.chunks_exact(2) {
                let counted = counts.get_mut(usize::try_from(pair[0])?);
                *counted.ok_or_else(|| Error::new("there is no such bucket"))? +=
                    u64::from(pair[1]);
            }
        }
        let letter = char::from(b'a'.saturating_add(u8::try_from(server)?));
        out.emit(&format!("{letter}.root-servers.net"), &words(&counts))
    }
}

/// `13 asked, 12 answered (92.3 %), median 23.4 ms, 95 % within 31.0 ms, score 62.9`
fn words(counts: &[u64]) -> String {
    let asked: u64 = counts.iter().sum();
    let answered = asked - counts[UNANSWERED];
    let ratio = 1_000 * answered / asked.max(1);
    let (Some(median), Some(most)) = (place(counts, answered, 50), place(counts, answered, 95))
    else {
        return format!("{asked} asked, none answered, score 0.0");
    };
    let score = 1_000 * answered * HALF / (asked * (HALF + median));
    let tenths = |number: u64| format!("{}.{}", number / 10, number % 10);
    let time = |bucket: u64| match usize::try_from(bucket) {
        Ok(LONGER) => "more than 1000 ms".to_owned(),
        _ => format!("{} ms", tenths(bucket)),
    };
    format!(
        "{asked} asked, {answered} answered ({} %), median {}, 95 % within {}, score {}",
        tenths(ratio),
        time(median),
        time(most),
        tenths(score)
    )
}

/// The lowest bucket that, with those below, has so much of what was answered.
fn place(counts: &[u64], answered: u64, percent: u64) -> Option<u64> {
    let wanted = (answered * percent).div_ceil(100).max(1);
    let mut before = 0;
    let buckets = (0..).zip(&counts[..=LONGER]);
    for (bucket, count) in buckets {
        before += count;
        if before >= wanted {
            return Some(bucket);
        }
    }
    None
}
