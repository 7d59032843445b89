//! Engines together, and what came of it.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use gerbil_chunks::{BLOCK, Span};
use read_broker::{Broker, BrokerSettings, IO_TIMEOUT};

use crate::engine::{EngineWords, GPU};

/// When what was done.
#[derive(Clone, Debug, Default)]
pub(crate) struct Played {
    pub(crate) reads: Vec<Span>,
    pub(crate) copies: Vec<Span>,
    pub(crate) kernels: Vec<Span>,
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
    pub(crate) fn measures(&self) -> Measures {
        let begin = self.reads.iter().map(|span| span.begin).min();
        let end = self.kernels.iter().map(|span| span.end).max();
        let time = end.unwrap_or(0).saturating_sub(begin.unwrap_or(0));
        let sum: u64 = self.reads.iter().map(Span::length).sum();
        let count = u64::try_from(self.reads.len()).unwrap_or(1).max(1);
        Measures {
            time: seconds(time),
            gpu: seconds(active(&self.kernels)),
            io: seconds(active(&self.reads)),
            io_chunk: seconds(sum / count),
        }
    }
}

pub(crate) fn seconds(ns: u64) -> f64 {
    std::time::Duration::from_nanos(ns).as_secs_f64()
}

/// How long at least one of the spans goes on: the paper's footnote 1.
fn active(spans: &[Span]) -> u64 {
    let mut ordered = spans.to_vec();
    ordered.sort_unstable();
    let (mut sum, mut until) = (0, 0);
    for span in ordered {
        sum += span.end.saturating_sub(span.begin.max(until));
        until = until.max(span.end);
    }
    sum
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
        let (begin, end) = (number()?, number()?);
        let span = Span { begin, end };
        match what {
            "read" => played.reads.push(span),
            "copy" => played.copies.push(span),
            "kernel" => played.kernels.push(span),
            _ => {
                ensure!(
                    begin == sum(words),
                    "{}: pages are lost, or computed twice",
                    words.job
                );
                played.brokers = played.brokers.max(end);
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

/// The shortest of so many rounds: what else the machine does makes them longer, never shorter.
const ROUNDS: u32 = 3;

/// What comes of [`together`] at its best.
pub(crate) fn at_best(folder: &Path, order: &str, engines: &[EngineWords]) -> Result<Measures> {
    let mut best = together(folder, order, engines)?.measures();
    for _ in 1..ROUNDS {
        let next = together(folder, order, engines)?.measures();
        if next.time < best.time {
            best = next;
        }
    }
    Ok(best)
}

/// Plays engines to their end; each page has to be computed once.
fn together(folder: &Path, order: &str, engines: &[EngineWords]) -> Result<Played> {
    let broker = Broker::start(
        settings(folder, order),
        |hung| eprintln!("{hung:?} hangs"),
        |sentence| eprintln!("{sentence}"),
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
