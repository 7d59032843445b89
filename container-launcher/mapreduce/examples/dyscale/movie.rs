//! A line of a movie: its number, a colon, and `user_rating` with commas between.

use gerbil_mapreduce::prelude::*;

/// The movie's number, and each rating with the user whose it is.
pub(crate) fn read(line: &[u8]) -> Result<(u64, Vec<(u32, u64)>)> {
    let malformed =
        || Error::new("a movie is NUMBER:USER_RATING,USER_RATING, with ratings from 1 to 5");
    let line = std::str::from_utf8(line)?;
    let (movie, ratings) = line.split_once(':').ok_or_else(malformed)?;
    let movie = movie.parse().ok().ok_or_else(malformed)?;
    let rating = |word: &str| {
        let (user, rating) = word.split_once('_')?;
        let rating = rating
            .parse()
            .ok()
            .filter(|rating| (1..=5).contains(rating))?;
        Some((user.parse().ok()?, rating))
    };
    let ratings = ratings.split(',').filter(|word| !word.is_empty());
    let ratings = ratings.map(|word| rating(word).ok_or_else(malformed));
    Ok((movie, ratings.collect::<Result<_>>()?))
}
