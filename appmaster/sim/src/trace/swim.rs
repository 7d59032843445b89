//! Traces of SWIM: Y. Chen, A. Ganapathi, R. Griffith, R. Katz, "The Case for Evaluating MapReduce Performance Using Workload
//! Suites", MASCOTS 2011, and its repository of workloads, a day of Facebook's clusters of 2009 and of 2010 each
//! (`FB-2009_samples_24_times_1hr_0.tsv`).
//!
//! A line is a job, its fields end with tabs: name, seconds until its submission since the trace began, seconds since the job
//! before, bytes of map input, of the shuffle, of the output. What tasks take it does not say. Here tasks have a share of
//! the bytes each, and take as long as these do at the [`Rates`] that are given.

use anyhow::{Context as _, Result, ensure};
use policy::schedule::Nanos;
use policy::schedule::trace::{TracedJob, traced_name};

use crate::{Keys, whole};

/// How bytes become tasks, and times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// MB of input of a map.
    pub map_mb: u64,
    /// MB of the shuffle and the output of a reduce: SWIM's own replay makes reduces so.
    pub reduce_mb: u64,
    /// MB that a task reads, computes and writes in a second.
    pub task_mb_s: u64,
    /// MB that a reduce fetches in a second.
    pub shuffle_mb_s: u64,
    /// What a task takes whatever its bytes, ms.
    pub start_ms: u64,
}

impl Default for Rates {
    fn default() -> Self {
        Self {
            map_mb: 64,
            reduce_mb: 1_024,
            task_mb_s: 10,
            shuffle_mb_s: 20,
            start_ms: 1_000,
        }
    }
}

/// Keys of `-D`, and what each is.
pub const KEYS: Keys = Keys(&[
    ("map.mb", "MB of input of a map (64)"),
    ("reduce.mb", "MB of shuffle and output of a reduce (1024)"),
    ("task.mb-s", "MB that a task gets through in a second (10)"),
    ("shuffle.mb-s", "MB that a reduce fetches in a second (20)"),
    ("start.ms", "what a task takes whatever its bytes (1000)"),
]);

/// Bytes in a MB of such keys.
const MB: u64 = 1_000_000;
/// The most of each.
const MOST: u64 = 1_000_000;
/// Maps of a job, and reduces, at the most.
const TASKS: u64 = 1_000_000;

impl Rates {
    /// `map.mb=128`.
    ///
    /// # Errors
    ///
    /// There is no such key, or the value makes no sense for it.
    pub fn set(&mut self, text: &str) -> Result<()> {
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        let of = match key {
            "map.mb" => &mut self.map_mb,
            "reduce.mb" => &mut self.reduce_mb,
            "task.mb-s" => &mut self.task_mb_s,
            "shuffle.mb-s" => &mut self.shuffle_mb_s,
            "start.ms" => &mut self.start_ms,
            _ => return Err(KEYS.unknown(key)),
        };
        *of = whole(key, value, 1..=MOST)?;
        Ok(())
    }

    fn job(&self, line: &str) -> Result<TracedJob> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, submit, _gap, input, shuffle, output, ..] = fields[..] else {
            anyhow::bail!(
                "it has {} fields, ended by tabs, and not the six of a job",
                fields.len()
            );
        };
        let number = |what: &str, text: &str| {
            let number = text.trim().parse::<u64>();
            number.with_context(|| format!("{what} {text:?} is no whole number"))
        };
        let submit = number("submission", submit)?;
        let input = number("map input", input)?;
        let shuffle = number("shuffle", shuffle)?;
        let output = number("output", output)?;
        let maps = input.div_ceil(self.map_mb * MB).clamp(1, TASKS);
        // Without a shuffle the maps write the output.
        let reduces = match shuffle {
            0 => 0,
            _ => (shuffle.saturating_add(output) / (self.reduce_mb * MB)).clamp(1, TASKS),
        };
        let of_maps = if reduces == 0 { output } else { 0 };
        let of_reduce = |bytes: u64| bytes.checked_div(reduces).unwrap_or(0);
        let start = Nanos::from_millis(self.start_ms);
        let map = input.saturating_add(of_maps) / maps;
        let reduce = of_reduce(shuffle.saturating_add(output));
        let of_some = |time: Nanos| if reduces == 0 { Nanos(0) } else { time };
        Ok(TracedJob {
            name: traced_name(name),
            submit: Nanos::from_secs(submit),
            class: None,
            maps: u32::try_from(maps)?,
            reduces: u32::try_from(reduces)?,
            map: start.plus(at(map, self.task_mb_s)),
            shuffle: at(of_reduce(shuffle), self.shuffle_mb_s),
            reduce: of_some(start.plus(at(reduce, self.task_mb_s))),
        })
    }
}

/// How long so many bytes take at so many MB a second.
fn at(bytes: u64, mb_s: u64) -> Nanos {
    let nanos = u128::from(bytes) * 1_000 / u128::from(mb_s.max(1));
    Nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// The jobs of a trace of SWIM's.
///
/// # Errors
///
/// A line says no job: a sentence with its number.
pub fn jobs(text: &str, rates: Rates) -> Result<Vec<TracedJob>> {
    let lines = (1_usize..).zip(text.lines());
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    let jobs = lines.map(|(number, line)| {
        let job = rates.job(line);
        job.with_context(|| format!("line {number}"))
    });
    let jobs: Vec<TracedJob> = jobs.collect::<Result<_>>()?;
    ensure!(!jobs.is_empty(), "it has no job");
    Ok(jobs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_tasks_that_take_as_long_as_their_share() {
        // A job that writes from its maps, one without input, and one that shuffles more than it reads.
        let text = "a\t49\t49\t128000000\t0\t64000000\nb\t50\t1\t0\t0\t0\nc\t60\t10\t640000000\t4096000000\t1024000000\n";
        let jobs = jobs(text, Rates::default()).unwrap();
        let shown: Vec<String> = jobs.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                // Two maps of 64 + 32 MB at 10 MB/s.
                "a,49000,,2,0,10600,0,0",
                "b,50000,,1,0,1000,0,0",
                // Five reduces, each of which fetches 819.2 MB, and gets through 1024.
                "c,60000,,10,5,7400,40960,103400",
            ]
        );
    }

    #[test]
    fn keys_and_lines_that_say_nothing_are_refused() {
        let mut rates = Rates::default();
        rates.set("map.mb=128").unwrap();
        assert_eq!(rates.map_mb, 128);
        assert!(
            rates
                .set("map=1")
                .unwrap_err()
                .to_string()
                .contains("map.mb")
        );
        assert!(rates.set("map.mb=0").is_err());
        let refused = |text: &str| format!("{:#}", jobs(text, Rates::default()).unwrap_err());
        assert!(refused("a\t1\t1\t1\t0\t0\nb\t1\n").starts_with("line 2: it has 2 fields"));
        assert!(refused("a\t1\t1\tx\t0\t0\n").contains("map input \"x\""));
        assert_eq!(refused("\n"), "it has no job");
    }
}
