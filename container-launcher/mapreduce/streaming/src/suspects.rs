//! Which record a command fails on, where such records may be left out: the command reads ahead of what it fails on.
//!
//! What it is given is kept in a file, too. When it has failed, others are started on halves of that, and on halves of
//! these, until it fails on one record behind all before it, and does not without it. What these print goes nowhere.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use gerbil_mapreduce::{Context, Error, ErrorContext as _, Result};

use crate::pump::Listener;
use crate::stage::Running;

/// Bytes of what is kept of a record beside it: where it begins there, its number, and where it begins in its file.
const ENTRY: usize = 24;
/// Bytes of a record that a sentence shows at the most.
const SHOWN: usize = 40;
/// Bytes that are handed over at once.
const PIECE: usize = 256 << 10;

/// What a command was given, record by record or group by group.
#[derive(Debug)]
pub(crate) struct SuspectRecords {
    bytes: BufWriter<File>,
    entries: BufWriter<File>,
    length: u64,
    count: u64,
}

/// Where a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Suspect {
    begins: u64,
    number: u64,
    offset: u64,
}

/// What a command fails on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Culprit {
    /// A record or group.
    Record {
        number: u64,
        /// The byte at which it begins.
        offset: u64,
        /// What it begins with, as it was handed over.
        begins: String,
    },
    /// No record, and why.
    None(&'static str),
}

impl SuspectRecords {
    /// Nothing yet; its files have no names, and lie where `folder` does.
    pub(crate) fn new(folder: &Path) -> Result<Self> {
        let file = || tempfile::tempfile_in(folder).context(|| folder.display().to_string());
        Ok(Self {
            bytes: BufWriter::new(file()?),
            entries: BufWriter::new(file()?),
            length: 0,
            count: 0,
        })
    }

    /// The record or group at hand of the task begins.
    pub(crate) fn begins(&mut self, (number, offset): (u64, u64)) -> Result<()> {
        for word in [self.length, number, offset] {
            self.entries.write_all(&word.to_be_bytes())?;
        }
        self.count += 1;
        Ok(())
    }

    /// It has these bytes.
    pub(crate) fn has(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes.write_all(bytes)?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Which one a command fails on that has failed when it was given all of them; others of it are started by `start`.
    pub(crate) fn find(
        &mut self,
        task: &mut Context,
        start: impl Fn(&Context) -> Result<Running>,
    ) -> Result<Culprit> {
        self.bytes.flush()?;
        self.entries.flush()?;
        if self.fails(0..0, task, &start)? {
            return Ok(Culprit::None("it fails without any record, too"));
        }
        if !self.fails(0..self.count, task, &start)? {
            return Ok(Culprit::None("it fails on the same records at times alone"));
        }
        let at = match self.alone(task, &start)? {
            Some(at) => at,
            None => self.behind_others(task, &start)?,
        };
        let found = self.suspect(at)?;
        let end = match at + 1 == self.count {
            true => self.length,
            false => self.suspect(at + 1)?.begins,
        };
        let shown = usize::try_from(end - found.begins)
            .unwrap_or(SHOWN)
            .min(SHOWN);
        let mut begins = vec![0; shown];
        self.bytes
            .get_ref()
            .read_exact_at(&mut begins, found.begins)?;
        let first = begins
            .split(|byte| *byte == b'\n')
            .next()
            .unwrap_or_default();
        Ok(Culprit::Record {
            number: found.number,
            offset: found.offset,
            begins: String::from_utf8_lossy(first).into_owned(),
        })
    }

    /// The first one on which a command fails that is given it without those before: in halves of halves, which is little
    /// work. None where commands need those before, as a first line with names.
    fn alone(
        &self,
        task: &mut Context,
        start: &impl Fn(&Context) -> Result<Running>,
    ) -> Result<Option<u64>> {
        let (mut from, mut to) = (0, self.count);
        while to - from > 1 {
            let middle = from + (to - from) / 2;
            if self.fails(from..middle, task, start)? {
                to = middle;
            } else if self.fails(middle..to, task, start)? {
                from = middle;
            } else {
                return Ok(None);
            }
        }
        let is_it = !self.fails(0..from, task, start)? && self.fails(0..to, task, start)?;
        Ok(Some(from).filter(|_| is_it))
    }

    /// The one with which a command fails that is given all before it, too, and not without.
    fn behind_others(
        &self,
        task: &mut Context,
        start: &impl Fn(&Context) -> Result<Running>,
    ) -> Result<u64> {
        let (mut passes, mut fails) = (0, self.count);
        while fails - passes > 1 {
            let middle = passes + (fails - passes) / 2;
            match self.fails(0..middle, task, start)? {
                true => fails = middle,
                false => passes = middle,
            }
        }
        Ok(passes)
    }

    fn suspect(&self, at: u64) -> Result<Suspect> {
        let mut words = [0; ENTRY];
        self.entries
            .get_ref()
            .read_exact_at(&mut words, at * ENTRY as u64)?;
        let (words, _) = words.as_chunks::<8>();
        match words
            .iter()
            .map(|word| u64::from_be_bytes(*word))
            .collect::<Vec<_>>()
            .as_slice()
        {
            [begins, number, offset] => Ok(Suspect {
                begins: *begins,
                number: *number,
                offset: *offset,
            }),
            _ => Err(Error::new("an entry has three words")),
        }
    }

    /// Whether a command fails that is given these.
    fn fails(
        &self,
        records: Range<u64>,
        task: &mut Context,
        start: impl Fn(&Context) -> Result<Running>,
    ) -> Result<bool> {
        let place = |at| match at == self.count {
            true => Ok(self.length),
            false => self.suspect(at).map(|found| found.begins),
        };
        let (mut from, end) = (place(records.start)?, place(records.end)?);
        let mut running = start(task)?;
        let mut to = MutedOutput { task };
        let mut done = Ok(());
        let mut piece = vec![0; PIECE];
        while done.is_ok() && from < end {
            let length = usize::try_from(end - from).unwrap_or(PIECE).min(PIECE);
            let some = piece.get_mut(..length).unwrap_or_default();
            self.bytes.get_ref().read_exact_at(some, from)?;
            done = running.pump.write(some, &mut to);
            from += length as u64;
        }
        match done.and_then(|()| running.pump.finish(&mut to)) {
            Ok(()) => Ok(false),
            Err(_) if running.pump.has_failed() => Ok(true),
            // As of one that hangs: nothing is known of its records.
            Err(error) => Err(error),
        }
    }
}

/// Hears nothing of what a command prints.
struct MutedOutput<'a> {
    task: &'a mut Context,
}

impl Listener for MutedOutput<'_> {
    fn line(&mut self, _: &[u8]) -> Result<()> {
        Ok(())
    }

    fn pair(&mut self, _: &[u8], _: &[u8]) -> Result<()> {
        Ok(())
    }

    fn task(&mut self) -> &mut Context {
        self.task
    }

    fn is_deaf(&self) -> bool {
        true
    }
}
