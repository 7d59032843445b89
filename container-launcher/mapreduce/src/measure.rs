//! How fast the engine's steps are, one thread, in processor time; `cargo bench` prints it.

mod limits;

use std::fs::File;
use std::hint::black_box;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use gerbil_task::{Page, Piece};
use rustix::time::{ClockId, clock_gettime};

use crate::error::Result;
use crate::input::{Consumed, InputFormat as _, Source, TextLines, at_hand};
use crate::prelude::*;
use crate::settings::Settings;
use crate::sort::Collector;
use crate::sort::block::{BlockWriter, SortedRun};
use crate::sort::codec::Codec;
use crate::sort::collect::{Sizes, Spare};
use crate::sort::merge;
use crate::sort::radix;
use crate::sort::scratch::Scratch;
use limits::Sorted;

/// Times that each step is done; the best one counts.
const TIMES: u32 = 3;
/// Bytes of text and of records.
const BYTES: usize = 128 << 20;

/// One figure.
#[derive(Clone, Debug)]
pub struct MeasuredFigure {
    /// What was done.
    pub step: &'static str,
    /// Megabytes (10^6 bytes) a second of processor time.
    pub speed: f64,
    /// The same of what cannot be left out of it, and what that is.
    pub limit: Option<(&'static str, f64)>,
}

/// Seconds of processor time of this thread.
fn clock() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    std::time::Duration::new(
        now.tv_sec.unsigned_abs(),
        u32::try_from(now.tv_nsec).unwrap_or(0),
    )
    .as_secs_f64()
}

/// The best of some times, as megabytes a second.
fn speed(bytes: usize, mut work: impl FnMut() -> Result<f64>) -> Result<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..TIMES {
        least = least.min(work()?);
    }
    Ok(f64::from(u32::try_from(bytes / 1000).unwrap_or(u32::MAX)) / 1000.0 / least)
}

fn best(
    step: &'static str,
    bytes: usize,
    work: impl FnMut() -> Result<f64>,
) -> Result<MeasuredFigure> {
    Ok(MeasuredFigure {
        step,
        speed: speed(bytes, work)?,
        limit: None,
    })
}

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Lines of words, of which some come much more often than others.
pub fn text(bytes: usize) -> Vec<u8> {
    let mut state = 0x1234_5678_9ABC_DEF1;
    let mut text = Vec::with_capacity(bytes + 100);
    while text.len() < bytes {
        for _ in 0..12 {
            // Products of two numbers: many small words, few large ones.
            let (a, b) = (random(&mut state) % 230, random(&mut state) % 230);
            let word = a * b;
            text.extend_from_slice(format!("w{word:x} ").as_bytes());
        }
        text.push(b'\n');
    }
    text
}

struct MeasuredWords;

impl Mapper for MeasuredWords {
    type Input = TextLines;
    type Key = Text;
    type Value = u64;

    fn map(&mut self, _offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        line.split(|b| b.is_ascii_whitespace())
            .filter(|w| !w.is_empty())
            .try_for_each(|w| out.emit(w, &1))
    }
}

fn lines(text: &[u8]) -> Result<MeasuredFigure> {
    let mut file = memory()?;
    file.write_all(text)?;
    let size = text.len() as u64;
    let piece = Piece {
        name: "text".to_owned(),
        offset: 0,
        length: size,
        size,
    };
    let limit = speed(text.len(), || limits::ends_of_lines(&file))?;
    let figure = best("lines from a file in cache", text.len(), || {
        let source = Source::new(&at_hand(file.try_clone()?), &piece, &Consumed::default())?;
        let began = clock();
        let mut reader = TextLines::open(source, &Settings::default())?;
        let mut length = 0;
        while let Some((_, line)) = TextLines::next(&mut reader)? {
            length += line.len();
        }
        black_box(length);
        Ok(clock() - began)
    })?;
    Ok(figure.beside("read, find ends of lines", limit))
}

fn words(text: &[u8]) -> Result<MeasuredFigure> {
    best(
        "word count, map with combine and reduce",
        text.len(),
        || {
            let job = Job::new("words")
                .map(|| MeasuredWords)
                .combine(|| Sum)
                .reduce(|| Sum)
                .test()
                .input(text);
            let began = clock();
            black_box(job.run()?);
            Ok(clock() - began)
        },
    )
}

fn memory() -> Result<File> {
    Ok(rustix::fs::memfd_create("gerbil-measure", rustix::fs::MemfdFlags::CLOEXEC)?.into())
}

/// Records of 100 bytes: a random key of 10, and 90 that do not compress.
fn records(bytes: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15;
    let mut records = Vec::with_capacity(bytes + 100);
    while records.len() < bytes {
        for _ in 0..13 {
            records.extend_from_slice(&random(&mut state).to_le_bytes());
        }
        records.truncate(records.len() / 100 * 100);
    }
    records
}

fn sort(records: &[u8], sorted: &Sorted) -> Result<MeasuredFigure> {
    let mut room = Vec::new();
    let mut out: Vec<u8> = Vec::with_capacity(records.len());
    let limit = speed(records.len(), || Ok(sorted.copied(&mut out)))?;
    let figure = best("sort in memory, 100-byte records", records.len(), || {
        let began = clock();
        let key_of = |entry| {
            let (offset, length) = radix::place_of(entry);
            records.get(offset..offset + length).unwrap_or_default()
        };
        let places = (0_u32..).step_by(100).zip(records.chunks_exact(100));
        let mut entries: Vec<radix::SortEntry> = places
            .map(|(at, record)| radix::entry(record.get(..10).unwrap_or_default(), at, 10))
            .collect();
        radix::sort(&mut entries, &mut room, key_of);
        out.clear();
        for &entry in &entries {
            let (offset, _) = radix::place_of(entry);
            out.extend_from_slice(records.get(offset..offset + 100).unwrap_or_default());
        }
        black_box(&out);
        Ok(clock() - began)
    })?;
    Ok(figure.beside("copy in this order", limit))
}

fn scratch() -> Result<Arc<Scratch>> {
    let folder: OwnedFd = File::open(std::env::temp_dir())?.into();
    Ok(Arc::new(Scratch::new(folder, None)))
}

fn spill(
    step: &'static str,
    records: &[u8],
    sorted: &Sorted,
    codec: Codec,
) -> Result<MeasuredFigure> {
    let (page, _descriptor) = Page::create()?;
    let mut spare = Spare::default();
    let scratch = scratch()?;
    let limit = speed(records.len(), || sorted.written(scratch.on_disk()?))?;
    let figure = best(step, records.len(), || {
        let sizes = Sizes {
            arena: 256 << 20,
            record_max: 1 << 20,
            codec,
        };
        let place = crate::partition::hashed::<Text>(4, false);
        let began = clock();
        let mut collector =
            Collector::new(4, sizes, None, place, Arc::clone(&scratch), page.clone());
        collector.recycle(&mut spare);
        for record in records.chunks_exact(100) {
            let (key, value) = record.split_at(10);
            collector.emit(key, value)?;
        }
        black_box(collector.finish()?);
        collector.recycle(&mut spare);
        Ok(clock() - began)
    })?;
    Ok(figure.beside("copy in this order, checksum, write", limit))
}

fn merge_of_8(records: &[u8]) -> Result<MeasuredFigure> {
    let scratch = scratch()?;
    let (page, _descriptor) = Page::create()?;
    let mut all: Vec<&[u8]> = records.chunks_exact(100).collect();
    let mut spills = Vec::new();
    let share = all.len().div_ceil(8);
    for spill in all.chunks_mut(share) {
        spill.sort_unstable();
        let mut writer = BlockWriter::new(scratch.on_disk()?, Codec::None, &page)?;
        for record in spill {
            let (key, value) = record.split_at(10);
            writer.record(key, value)?;
        }
        writer.end_partition()?;
        let (file, places) = writer.finish();
        spills.push((Arc::new(file), places));
    }
    let limit = speed(records.len(), || {
        let files = spills.iter().map(|(file, _)| file.file());
        limits::copied_files(files, scratch.on_disk()?)
    })?;
    let figure = best("merge of 8 spills, file to file", records.len(), || {
        let runs = spills.iter().flat_map(|(file, places)| {
            places
                .iter()
                .map(|place| SortedRun::new(Arc::clone(file), place.offset, place.length, 1 << 20))
        });
        let runs = runs.collect();
        let mut writer = BlockWriter::new(scratch.on_disk()?, Codec::None, &page)?;
        let began = clock();
        merge::write(merge::Merge::new(runs), &mut writer, None)?;
        writer.end_partition()?;
        black_box(writer.finish());
        Ok(clock() - began)
    })?;
    Ok(figure.beside("read, checksum, copy, checksum, write", limit))
}

/// All figures.
///
/// # Errors
/// There is no memory or disk for it.
pub fn figures() -> Result<Vec<MeasuredFigure>> {
    let text = text(BYTES);
    let mut figures = vec![lines(&text)?, words(&text)?];
    drop(text);
    let records = records(BYTES);
    let sorted = Sorted::new(&records);
    figures.push(sort(&records, &sorted)?);
    for (step, codec) in [
        ("collect, sort, spill, plain", Codec::None),
        ("collect, sort, spill, lz4", Codec::Lz4),
    ] {
        figures.push(spill(step, &records, &sorted, codec)?);
    }
    drop(sorted);
    figures.push(merge_of_8(&records)?);
    Ok(figures)
}
