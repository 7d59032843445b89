//! Classification: the cluster of each movie, which is that of the centroid whose ratings are most like its own: the one
//! with the largest cosine, and of several the first.
//!
//! A line of the input is a movie with its ratings. Centroids are movies, too: those of `--centroids FILE`, or without it
//! the first `--clusters` that `--seed` makes.

use std::collections::HashMap;

use gerbil_mapreduce::Ready;
use gerbil_mapreduce::prelude::*;

use super::{make, movie};

pub(crate) const NAME: &str = "classification";

pub(crate) fn job() -> Ready<u32, u64> {
    super::application(NAME)
        .option::<String>("application", Some(""), "what is run")
        .option::<String>("centroids", Some(""), "a file of movies that are centroids")
        .option::<u32>("clusters", Some("6"), "centroids that are made")
        .map(Nearest::default)
        .reduce(|| Identity)
}

/// Lines of movies.
pub(crate) fn centroids(run: &Run<'_>) -> Result<Vec<String>> {
    let file: String = run.option("centroids")?;
    let lines: Vec<String> = match file.as_str() {
        "" => {
            // Of a stream that no file has.
            let mut random = make::Random::new(run.option("seed")?, u64::MAX);
            let line = |id| {
                let mut line = String::new();
                make::movie(&mut random, u64::from(id), &mut line).map(|()| line)
            };
            (0..run.option::<u32>("clusters")?)
                .map(line)
                .collect::<Result<_>>()?
        }
        file => run.read_text(file)?.lines().map(str::to_owned).collect(),
    };
    let is_rated = |line: &String| Ok(!movie::read(line.as_bytes())?.1.is_empty());
    let is_rated: Vec<bool> = lines.iter().map(is_rated).collect::<Result<_>>()?;
    match is_rated.contains(&false) || lines.is_empty() {
        false => Ok(lines),
        true => Err(Error::new(
            "one centroid at least is needed, and each with a rating: give --clusters or --centroids",
        )),
    }
}

#[derive(Default)]
struct Centroid {
    ratings: HashMap<u32, u64>,
    /// The square of its length.
    square: u64,
}

#[derive(Default)]
struct Nearest {
    centroids: Vec<Centroid>,
}

impl Mapper for Nearest {
    type Input = TextLines;
    /// The cluster, from 0.
    type Key = u32;
    /// The movie.
    type Value = u64;

    fn setup(&mut self, context: &mut Context) -> Result<()> {
        for line in context.params::<Vec<String>>()? {
            let (_, ratings) = movie::read(line.as_bytes())?;
            let ratings: HashMap<u32, u64> = ratings.into_iter().collect();
            let square = ratings.values().map(|rating| rating * rating).sum();
            self.centroids.push(Centroid { ratings, square });
        }
        Ok(())
    }

    fn map(&mut self, _offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        let (movie, ratings) = movie::read(line)?;
        let product = |centroid: &Centroid| -> u64 {
            let own = |user| centroid.ratings.get(user).copied().unwrap_or(0);
            ratings
                .iter()
                .map(|(user, rating)| own(user) * rating)
                .sum()
        };
        // Cosines are compared by their squares, times what both are divided by: exactly.
        let mut best: Option<(u32, u64, u64)> = None;
        for (number, centroid) in (0_u32..).zip(&self.centroids) {
            let (product, square) = (product(centroid), centroid.square);
            let is_better = best.is_none_or(|(_, best, of)| {
                let squared = |product| u128::from(product) * u128::from(product);
                squared(product) * u128::from(of) > squared(best) * u128::from(square)
            });
            if is_better {
                best = Some((number, product, square));
            }
        }
        best.map_or(Ok(()), |(cluster, ..)| out.emit(&cluster, &movie))
    }
}
