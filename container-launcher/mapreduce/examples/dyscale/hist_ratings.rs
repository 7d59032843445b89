//! HistRatings: how many ratings of 1 there are, of 2, and so on to 5.
//!
//! A line of the input is a movie with its ratings.

use gerbil_mapreduce::Ready;
use gerbil_mapreduce::prelude::*;

use super::movie;

pub(crate) const NAME: &str = "histratings";

pub(crate) fn job() -> Ready<u64, u64> {
    super::application(NAME)
        .map(|| Ratings)
        .combine(|| Sum)
        .reduce(|| Sum)
}

struct Ratings;

impl Mapper for Ratings {
    type Input = TextLines;
    type Key = u64;
    type Value = u64;

    fn map(&mut self, _offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        let (_, ratings) = movie::read(line)?;
        ratings
            .iter()
            .try_for_each(|(_, rating)| out.emit(rating, &1))
    }
}
