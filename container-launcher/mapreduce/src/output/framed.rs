//! LZ4 and Snappy in Hadoop's frames (`BlockCompressorStream`): see the reader for how they are laid out.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use crate::codecs::Encode;
use crate::input::Inner;

/// Bytes of the buffers that Hadoop reads a chunk through, stored and raw: it holds one that is longer for broken.
const BUFFER: usize = 256 << 10;

/// Most raw bytes of a chunk, so that it fits in the buffer even where it becomes longer; those of Hadoop's codecs.
const fn most(inner: Inner) -> usize {
    match inner {
        Inner::Lz4 => BUFFER - (BUFFER / 255 + 16),
        Inner::Snappy => BUFFER - (BUFFER / 6 + 32),
    }
}

/// Appends `raw` as one block.
pub(super) fn compress(inner: Inner, raw: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    out.extend_from_slice(&length(raw.len())?);
    for chunk in raw.chunks(most(inner)) {
        let at = out.len();
        let start = at + 4;
        out.resize(start + longest(inner, chunk.len()), 0);
        let stored = match inner {
            Inner::Lz4 => lz4_flex::block::compress_into(chunk, &mut out[start..])
                .map_err(io::Error::other)?,
            Inner::Snappy => snap::raw::Encoder::new()
                .compress(chunk, &mut out[start..])
                .map_err(io::Error::other)?,
        };
        out.truncate(start + stored);
        out[at..start].copy_from_slice(&length(stored)?);
    }
    Ok(())
}

/// Room that the library wants for so many bytes.
fn longest(inner: Inner, raw: usize) -> usize {
    match inner {
        Inner::Lz4 => lz4_flex::block::get_maximum_output_size(raw),
        Inner::Snappy => snap::raw::max_compress_len(raw),
    }
}

/// As Java writes an `int`.
fn length(bytes: usize) -> io::Result<[u8; 4]> {
    let length = i32::try_from(bytes).map_err(|_long| {
        let words = format!("{bytes} bytes are more than a block of Hadoop's holds");
        io::Error::new(io::ErrorKind::InvalidInput, words)
    })?;
    Ok(length.to_be_bytes())
}

/// A file of blocks that have a chunk each.
pub(super) struct Frames {
    file: BufWriter<File>,
    inner: Inner,
    raw: Vec<u8>,
    stored: Vec<u8>,
    is_begun: bool,
}

impl Frames {
    pub(super) const fn new(file: BufWriter<File>, inner: Inner) -> Self {
        Self {
            file,
            inner,
            raw: Vec::new(),
            stored: Vec::new(),
            is_begun: false,
        }
    }

    fn end_block(&mut self) -> io::Result<()> {
        self.stored.clear();
        compress(self.inner, &self.raw, &mut self.stored)?;
        self.raw.clear();
        self.is_begun = true;
        self.file.write_all(&self.stored)
    }
}

impl Write for Frames {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let most = most(self.inner);
        if self.raw.len() >= most {
            self.end_block()?;
        }
        let taken = bytes.len().min(most - self.raw.len());
        self.raw.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.raw.is_empty() {
            self.end_block()?;
        }
        self.file.flush()
    }
}

impl Encode for Frames {
    /// A file of nothing has a block of no bytes, which Hadoop takes for the end: no other has one.
    fn finish(mut self: Box<Self>) -> io::Result<BufWriter<File>> {
        if !self.raw.is_empty() || !self.is_begun {
            self.end_block()?;
        }
        Ok(self.file)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Seek as _};

    use super::*;
    use crate::input::Framed;

    /// Bytes that no codec makes shorter, or such as it does.
    fn bytes(length: usize, is_random: bool) -> Vec<u8> {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[3]
        };
        match is_random {
            true => (0..length).map(|_| next()).collect(),
            false => (0_u8..=20).cycle().take(length).collect(),
        }
    }

    /// What a file of these bytes, which are written in such pieces, has in it.
    fn written(inner: Inner, raw: &[u8], piece: usize) -> Vec<u8> {
        let mut file = tempfile::tempfile().unwrap();
        let writer = BufWriter::new(file.try_clone().unwrap());
        let mut frames = Box::new(Frames::new(writer, inner));
        for piece in raw.chunks(piece) {
            frames.write_all(piece).unwrap();
        }
        frames.finish().unwrap().flush().unwrap();
        file.rewind().unwrap();
        let mut stored = Vec::new();
        file.read_to_end(&mut stored).unwrap();
        stored
    }

    fn read(inner: Inner, stored: &[u8]) -> Vec<u8> {
        let mut raw = Vec::new();
        Framed::new(stored, inner).read_to_end(&mut raw).unwrap();
        raw
    }

    /// Raw bytes of each block, and stored bytes of its chunks.
    fn blocks(inner: Inner, mut stored: &[u8]) -> Vec<(usize, Vec<usize>)> {
        fn length(stored: &mut &[u8]) -> usize {
            let (length, rest) = stored.split_first_chunk().unwrap();
            *stored = rest;
            u32::from_be_bytes(*length) as usize
        }
        let mut blocks = Vec::new();
        while !stored.is_empty() {
            let raw = length(&mut stored);
            let mut chunks = Vec::new();
            for _ in 0..raw.div_ceil(most(inner)) {
                let length = length(&mut stored);
                chunks.push(length);
                stored = &stored[length..];
            }
            blocks.push((raw, chunks));
        }
        blocks
    }

    #[test]
    fn a_file_of_nothing_is_a_block_of_no_bytes() {
        for inner in [Inner::Lz4, Inner::Snappy] {
            assert_eq!(written(inner, b"", 1), [0; 4]);
            let mut block = Vec::new();
            compress(inner, b"", &mut block).unwrap();
            assert_eq!(block, [0; 4]);
        }
    }

    #[test]
    fn chunks_are_as_long_as_those_of_hadoops_codecs() {
        assert_eq!([Inner::Lz4, Inner::Snappy].map(most), [261_100, 218_422]);
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]
        #[test]
        fn what_is_written_is_read_and_no_chunk_is_too_long_for_hadoop(
            chunks in 0_usize..3, around in -2_isize..3, is_random: bool, is_lz4: bool, piece in 1_usize..400_000,
        ) {
            let inner = if is_lz4 { Inner::Lz4 } else { Inner::Snappy };
            let raw = bytes((chunks * most(inner)).saturating_add_signed(around), is_random);
            let stored = written(inner, &raw, piece);
            proptest::prop_assert!(read(inner, &stored) == raw);
            let blocks_of_file = blocks(inner, &stored);
            let of_blocks: usize = blocks_of_file.iter().map(|(raw, _)| raw).sum();
            proptest::prop_assert_eq!(of_blocks, raw.len());
            proptest::prop_assert!(blocks_of_file.iter().all(|(_, chunks)| chunks.len() == usize::from(!raw.is_empty())));

            let mut stored = Vec::new();
            compress(inner, &raw, &mut stored).unwrap();
            proptest::prop_assert!(read(inner, &stored) == raw);
            let one = blocks(inner, &stored);
            proptest::prop_assert!(matches!(one.as_slice(), [(length, _)] if *length == raw.len()));
            let all = one.iter().chain(&blocks_of_file).flat_map(|(_, chunks)| chunks);
            proptest::prop_assert!(all.max().is_none_or(|longest| *longest <= BUFFER));
        }
    }
}
