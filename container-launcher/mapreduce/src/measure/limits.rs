//! What cannot be left out of a step, done alone: its figure cannot be better than that of this.

use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt as _;

use super::{MeasuredFigure, clock};
use crate::error::Result;
use crate::sort::pages::{self, AHEAD};

/// Bytes that are read and written at once.
const PIECE: usize = 256 << 10;
/// Bytes of a record.
const RECORD: usize = 100;

/// Records, and where each begins in the order of their keys.
pub(super) struct Sorted {
    records: Vec<u8>,
    order: Vec<usize>,
}

impl Sorted {
    pub(super) fn new(of: &[u8]) -> Self {
        let mut records = Vec::new();
        pages::reserve(&mut records, of.len());
        records.extend_from_slice(of);
        let mut order: Vec<usize> = (0..records.len()).step_by(RECORD).collect();
        order.sort_unstable_by_key(|at| records.get(*at..at + RECORD));
        Self { records, order }
    }

    fn record(&self, at: usize) -> &[u8] {
        self.records.get(at..at + RECORD).unwrap_or_default()
    }

    /// Appends some records of the order.
    fn gather(&self, order: &[usize], out: &mut Vec<u8>) {
        for (number, at) in order.iter().enumerate() {
            if let Some(later) = order.get(number + AHEAD) {
                pages::ask_for(self.record(*later));
            }
            out.extend_from_slice(self.record(*at));
        }
    }

    /// Copies all of them in their order.
    pub(super) fn copied(&self, out: &mut Vec<u8>) -> f64 {
        out.clear();
        let began = clock();
        self.gather(&self.order, out);
        black_box(&out);
        clock() - began
    }

    /// Copies them to a file, with checksums.
    pub(super) fn written(&self, mut file: impl std::io::Write) -> Result<f64> {
        let mut block = Vec::with_capacity(PIECE);
        let began = clock();
        for order in self.order.chunks(PIECE / RECORD) {
            block.clear();
            self.gather(order, &mut block);
            black_box(crc32c::crc32c(&block));
            file.write_all(&block)?;
        }
        Ok(clock() - began)
    }
}

/// Reads a file in pieces, and looks for the ends of lines.
pub(super) fn ends_of_lines(file: &File) -> Result<f64> {
    let mut piece = vec![0; PIECE];
    let began = clock();
    let (mut at, mut ends) = (0, 0_usize);
    loop {
        let read = file.read_at(&mut piece, at)?;
        if read == 0 {
            break;
        }
        let read_bytes = piece.get(..read).unwrap_or_default();
        ends = memchr::memchr_iter(b'\n', read_bytes).fold(ends, usize::wrapping_add);
        at += read as u64;
    }
    black_box(ends);
    Ok(clock() - began)
}

/// Copies files to one, in pieces, with the checksums of what is read and of what is written.
pub(super) fn copied_files<'f>(
    files: impl Iterator<Item = &'f File>,
    mut to: impl std::io::Write,
) -> Result<f64> {
    let (mut piece, mut block) = (vec![0; PIECE], Vec::with_capacity(PIECE));
    let began = clock();
    for file in files {
        let mut at = 0;
        loop {
            let read = file.read_at(&mut piece, at)?;
            if read == 0 {
                break;
            }
            let read_bytes = piece.get(..read).unwrap_or_default();
            black_box(crc32c::crc32c(read_bytes));
            block.clear();
            block.extend_from_slice(read_bytes);
            black_box(crc32c::crc32c(&block));
            to.write_all(&block)?;
            at += read as u64;
        }
    }
    Ok(clock() - began)
}

impl MeasuredFigure {
    /// Says what this cannot be faster than.
    pub(super) const fn beside(mut self, of: &'static str, limit: f64) -> Self {
        self.limit = Some((of, limit));
        self
    }
}
