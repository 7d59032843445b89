//! Seeded input: each number of the job's input is a file of lines.

use std::fmt::Write as _;

use gerbil_mapreduce::Ready;
use gerbil_mapreduce::prelude::*;

pub(crate) const NAME: &str = "make";

/// Users who rate movies, as many as there were in Netflix's prize.
const USERS: u64 = 480_189;
/// Movies of a file have ids of their own up to so many.
const MOVIES: u64 = 1 << 20;
/// Files, at most.
const FILES: u64 = 1 << 20;

pub(crate) fn job() -> Ready<(), Text> {
    Job::new(NAME)
        .option::<String>(
            "make",
            Some(""),
            "makes input: text, lists, edges, movies or points",
        )
        .option::<u64>("mb", Some("512"), "megabytes of input that is made")
        .option::<u64>("seed", Some("1"), "another one makes other input")
        .map(|| Lines)
        .map_only()
}

/// Refuses what cannot be made.
pub(crate) fn checked(run: &Run<'_>, files: &str) -> Result<()> {
    Data::named(&run.option::<String>("make")?)?;
    run.option::<u64>("mb")?;
    run.option::<u64>("seed")?;
    match files.parse() {
        Ok(1..=FILES) => Ok(()),
        Ok(_) | Err(_) => Err(Error::new(format!(
            "--make: {files} is no number of files, give one from 1 to {FILES}"
        ))),
    }
}

/// What lines are of.
#[derive(Clone, Copy, Debug)]
enum Data {
    /// Twelve words, small ones more often.
    Text,
    /// Twelve items in ascending order with commas between; of some lists only the last item is another one than before.
    Lists,
    /// Two vertices with a comma between, from and to; some have far more edges than others.
    Edges,
    /// A movie, a colon, and `user_rating` with commas between.
    Movies,
    /// Eight numbers with commas between, around one of eight centres.
    Points,
}

impl Data {
    fn named(word: &str) -> Result<Self> {
        match word {
            "text" => Ok(Self::Text),
            "lists" => Ok(Self::Lists),
            "edges" => Ok(Self::Edges),
            "movies" => Ok(Self::Movies),
            "points" => Ok(Self::Points),
            other => Err(Error::new(format!(
                "--make {other}: known are text, lists, edges, movies and points"
            ))),
        }
    }
}

/// Random numbers: SplitMix64.
pub(crate) struct Random(u64);

impl Random {
    /// Of one of many streams of a seed.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut random = Self(seed);
        let seed = random.next();
        Self(seed ^ stream.wrapping_mul(0xD1B5_4A32_D192_ED03))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to one less; 0 for 0.
    fn below(&mut self, end: u64) -> u64 {
        self.next().checked_rem(end).unwrap_or(0)
    }

    /// A product of two numbers: few large ones, many small ones.
    fn skewed(&mut self, end: u64) -> u64 {
        self.below(end) * self.below(end)
    }
}

/// Makes the files.
struct Lines;

impl Mapper for Lines {
    type Input = Numbers;
    type Key = ();
    type Value = Text;

    fn map(&mut self, file: u64, (): (), out: &mut Emit<'_, Self>) -> Result<()> {
        let data = Data::named(&out.option::<String>("make")?)?;
        let megabytes: u64 = out.option("mb")?;
        let files = out.split().iter().map(|piece| piece.size).max();
        let bytes = megabytes.saturating_mul(1_000_000) / files.unwrap_or(1).max(1);
        let mut random = Random::new(out.option("seed")?, file);
        let (mut line, mut list) = (String::new(), Vec::new());
        let (mut made, mut number) = (0, file.wrapping_mul(MOVIES));
        while made < bytes {
            line.clear();
            match data {
                Data::Text => words(&mut random, &mut line)?,
                Data::Lists => items(&mut random, &mut list, &mut line)?,
                Data::Edges => write!(line, "v{},v{}", random.skewed(700), random.skewed(700))?,
                Data::Movies => movie(&mut random, number, &mut line)?,
                Data::Points => point(&mut random, &mut line)?,
            }
            out.emit(&(), line.as_str())?;
            made += line.len() as u64 + 1;
            number = number.wrapping_add(1);
        }
        Ok(())
    }
}

fn words(random: &mut Random, line: &mut String) -> Result<()> {
    for at in 0..12 {
        let blank = if at > 0 { " " } else { "" };
        write!(line, "{blank}w{:x}", random.skewed(230))?;
    }
    Ok(())
}

fn items(random: &mut Random, list: &mut Vec<u64>, line: &mut String) -> Result<()> {
    if list.is_empty() || random.below(64) > 0 {
        list.clear();
        let mut item = 0;
        list.extend((0..11).map(|_| {
            item += 1 + random.below(80);
            item
        }));
    }
    for item in &*list {
        write!(line, "i{item},")?;
    }
    let last = list.last().map_or(0, |last| last + 1);
    write!(line, "i{}", last + random.below(80))?;
    Ok(())
}

/// From one rating to some two thousand, each of a user of its own; those of a movie are alike.
pub(crate) fn movie(random: &mut Random, id: u64, line: &mut String) -> Result<()> {
    write!(line, "{id}:")?;
    let step = USERS / (1 + random.skewed(32));
    let (mut user, quality) = (random.below(step), 1 + random.below(5));
    let mut comma = "";
    while user < USERS {
        let rating = (quality + random.below(3)).saturating_sub(1).clamp(1, 5);
        write!(line, "{comma}{user}_{rating}")?;
        comma = ",";
        user += 1 + random.below(step);
    }
    Ok(())
}

fn point(random: &mut Random, line: &mut String) -> Result<()> {
    let centre = random.below(8) * 1000;
    for at in 0..8 {
        let comma = if at > 0 { "," } else { "" };
        write!(line, "{comma}{}", centre + random.below(700))?;
    }
    Ok(())
}
