//! HistMovies: how many movies are rated 1 to 1.5 on average, 1.5 to 2, and so on to 5.
//!
//! A line of the input is a movie with its ratings; one without any is not counted.

use gerbil_mapreduce::Ready;
use gerbil_mapreduce::prelude::*;

use super::movie;

pub(crate) const NAME: &str = "histmovies";

pub(crate) fn job() -> Ready<Text, u64> {
    super::application(NAME)
        .map(|| Averages)
        .combine(|| Sum)
        .reduce(|| Sum)
}

/// In the order of halves from 1 to 4.5.
const BINS: [&str; 8] = [
    "1-1.5", "1.5-2", "2-2.5", "2.5-3", "3-3.5", "3.5-4", "4-4.5", "4.5-5",
];

struct Averages;

impl Mapper for Averages {
    type Input = TextLines;
    type Key = Text;
    type Value = u64;

    fn map(&mut self, _offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        let (_, ratings) = movie::read(line)?;
        let sum: u64 = ratings.iter().map(|(_, rating)| rating).sum();
        let Some(halves) = (2 * sum).checked_div(ratings.len() as u64) else {
            return Ok(());
        };
        // 5 itself is in the last one.
        let bin = usize::try_from(halves.saturating_sub(2))?.min(BINS.len() - 1);
        BINS.get(bin).map_or(Ok(()), |bin| out.emit(*bin, &1))
    }
}
