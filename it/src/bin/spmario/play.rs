//! Engines together, and what came of it.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use gerbil_chunks::{BLOCK, ChunkTimes, Makespan, Overlap, Span};
use read_broker::{Broker, BrokerSettings, IO_TIMEOUT};

use crate::engine::{EngineWords, GPU};

/// When what was done.
#[derive(Clone, Debug, Default)]
pub(crate) struct Played {
    pub(crate) chunks: Vec<ChunkTimes>,
    /// Most brokers that an engine has had.
    pub(crate) brokers: u64,
}

/// Of a run, in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measures {
    pub(crate) time: f64,
    pub(crate) gpu: f64,
    pub(crate) io: f64,
    pub(crate) io_chunk: f64,
}

impl Played {
    /// The bound is the model's, whatever overlaps.
    pub(crate) fn measures(&self) -> Measures {
        let makespan = Makespan::of(&self.chunks, Overlap::Overlap);
        Measures {
            time: seconds(makespan.span),
            gpu: seconds(makespan.kernel),
            io: seconds(makespan.io),
            io_chunk: seconds(makespan.io_chunk),
        }
    }
}

pub(crate) fn seconds(ns: u64) -> f64 {
    std::time::Duration::from_nanos(ns).as_secs_f64()
}

/// A file of so many MiB whose pages begin with their numbers, and is not in memory.
pub(crate) fn input(folder: &Path, mib: u64) -> Result<()> {
    let mut file = File::create(folder.join("input"))?;
    let mut piece = vec![0; 1 << 20];
    let mut number = 0_u64;
    for _ in 0..mib {
        for page in piece.chunks_mut(usize::try_from(BLOCK)?) {
            number += 1;
            if let Some(word) = page.first_chunk_mut() {
                *word = number.to_le_bytes();
            }
        }
        file.write_all(&piece)?;
    }
    file.sync_all()?;
    Ok(())
}

/// The numbers of an engine's pages, added up.
fn sum(words: &EngineWords) -> u64 {
    let pages = (words.mib << 20) / BLOCK;
    let (first, count) = (words.first * pages + 1, words.chunks * pages);
    (first..first + count).fold(0, u64::wrapping_add)
}

/// An engine that has not begun.
pub(crate) fn start(words: &[String]) -> Result<(Child, BufReader<ChildStdout>)> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let out = child.stdout.take().context("there is no pipe")?;
    let mut out = BufReader::new(out);
    let mut line = String::new();
    out.read_line(&mut line)?;
    ensure!(line == "ready\n", "an engine says {line:?}");
    Ok((child, out))
}

/// Lets it begin.
pub(crate) fn begin(child: &mut Child) -> Result<()> {
    let mut input = child.stdin.take().context("there is no pipe")?;
    input.write_all(b"\n")?;
    Ok(())
}

pub(crate) fn end(
    (mut child, mut out): (Child, BufReader<ChildStdout>),
    words: &EngineWords,
    played: &mut Played,
) -> Result<()> {
    let mut text = String::new();
    out.read_to_string(&mut text)?;
    let status = child.wait()?;
    ensure!(
        status.success(),
        "the engine of {} ends with {status}",
        words.job
    );
    for line in text.lines() {
        let mut parts = line.split(' ');
        let what = parts.next().unwrap_or_default();
        let mut number = || -> Result<u64> { Ok(parts.next().context("too few words")?.parse()?) };
        match what {
            "chunk" => {
                let bytes = number()?;
                let mut span = || -> Result<Span> {
                    let (begin, end) = (number()?, number()?);
                    Ok(Span { begin, end })
                };
                played.chunks.push(ChunkTimes {
                    bytes,
                    io: span()?,
                    h2d: span()?,
                    kernel: span()?,
                    d2h: span()?,
                    ..ChunkTimes::default()
                });
            }
            _ => {
                ensure!(
                    number()? == sum(words),
                    "{}: pages are lost, or computed twice",
                    words.job
                );
                played.brokers = played.brokers.max(number()?);
            }
        }
    }
    Ok(())
}

pub(crate) fn settings(folder: &Path, order: &str) -> BrokerSettings {
    BrokerSettings {
        folder: folder.to_owned(),
        key: GPU.to_owned(),
        order: order.to_owned(),
        io_timeout: IO_TIMEOUT,
    }
}

/// What comes of [`together`] at its best: the shortest of so many rounds.
pub(crate) fn at_best(
    folder: &Path,
    order: &str,
    engines: &[EngineWords],
    rounds: u32,
) -> Result<Measures> {
    let mut best = together(folder, order, engines)?.measures();
    for _ in 1..rounds {
        let next = together(folder, order, engines)?.measures();
        if next.time < best.time {
            best = next;
        }
    }
    Ok(best)
}

fn say(sentence: &str) {
    // It is said to a terminal, or to nobody.
    drop(writeln!(std::io::stderr(), "{sentence}"));
}

/// Plays engines to their end; each page has to be computed once.
fn together(folder: &Path, order: &str, engines: &[EngineWords]) -> Result<Played> {
    let broker = Broker::start(
        settings(folder, order),
        |hung| say(&format!("{hung:?} hangs")),
        say,
    )?;
    let mut running = Vec::new();
    for words in engines {
        running.push(start(&words.words())?);
    }
    for (child, _) in &mut running {
        begin(child)?;
    }
    let mut played = Played::default();
    for (engine, words) in running.into_iter().zip(engines) {
        end(engine, words, &mut played)?;
    }
    drop(broker);
    Ok(played)
}
