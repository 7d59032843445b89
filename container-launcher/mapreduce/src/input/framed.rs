//! Hadoop's frames around LZ4 and Snappy (`BlockDecompressorStream`).
//!
//! ```text
//!  +-----------------+--------------------+------------+--------------------+------------+--
//!  | raw bytes: u32  | stored bytes: u32  |  stored    | stored bytes: u32  |  stored    | … until the
//!  +-----------------+--------------------+------------+--------------------+------------+   raw bytes are there
//! ```
//!
//! All big-endian. Both codecs of Hadoop store pieces of 256 KiB by default; more than 64 MiB is no such file. Of what a
//! program writes at once, a whole part of a SequenceFile's block, the raw bytes are told once.

use std::io::{self, Read};

/// Most bytes that are stored in a piece.
const STORED_MAX: usize = 64 << 20;
/// Most raw bytes: what an array of Java's holds.
const RAW_MAX: usize = i32::MAX as usize;

/// Most bytes that a stored byte becomes: 255 in a run of LZ4, less in Snappy.
const EXPANSION: usize = 256;

/// What the frames hold.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Inner {
    Lz4,
    Snappy,
}

/// Takes the frames off.
pub(crate) struct Framed<R> {
    reader: R,
    inner: Inner,
    /// Raw bytes of the present block that are still to come.
    left: usize,
    stored: Vec<u8>,
    /// Longer than what is there, so that it is made once.
    raw: Vec<u8>,
    filled: usize,
    given: usize,
}

impl<R: Read> Framed<R> {
    pub(crate) const fn new(reader: R, inner: Inner) -> Self {
        Self {
            reader,
            inner,
            left: 0,
            stored: Vec::new(),
            raw: Vec::new(),
            filled: 0,
            given: 0,
        }
    }

    /// A length; `None` at a clean end.
    fn length(&mut self, may_end: bool, longest: usize) -> io::Result<Option<usize>> {
        let mut bytes = [0; 4];
        let mut filled = 0;
        while filled < 4 {
            match self.reader.read(&mut bytes[filled..]) {
                Ok(0) if filled == 0 && may_end => return Ok(None),
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => filled += read,
                // Whoever reads again begins with the first byte.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let length = u32::from_be_bytes(bytes) as usize;
        if length > longest {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("a block of {length} bytes"),
            ));
        }
        Ok(Some(length))
    }

    /// Fills `raw` with the next chunk; false at the end.
    fn chunk(&mut self) -> io::Result<bool> {
        while self.left == 0 {
            match self.length(true, RAW_MAX)? {
                None => return Ok(false),
                Some(length) => self.left = length,
            }
        }
        let stored = self.length(false, STORED_MAX)?.unwrap_or_default();
        self.stored.clear();
        // Grows with what comes, not with what is promised.
        (&mut self.reader)
            .take(stored as u64)
            .read_to_end(&mut self.stored)?;
        if self.stored.len() < stored {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let broken = |words: String| io::Error::new(io::ErrorKind::InvalidData, words);
        // Neither codec makes more of a byte than this, whatever the frame promises.
        let most = self.stored.len().saturating_mul(EXPANSION);
        let most = self.left.min(most);
        if self.raw.len() < most {
            self.raw.resize(most, 0);
        }
        let raw = self.raw.get_mut(..most).unwrap_or_default();
        let length = match self.inner {
            Inner::Lz4 => lz4_flex::block::decompress_into(&self.stored, raw)
                .map_err(|e| broken(e.to_string()))?,
            Inner::Snappy => snap::raw::Decoder::new()
                .decompress(&self.stored, raw)
                .map_err(|e| broken(e.to_string()))?,
        };
        if length == 0 {
            return Err(broken("a chunk that holds nothing".to_owned()));
        }
        self.filled = length;
        self.left -= length;
        self.given = 0;
        Ok(true)
    }
}

impl<R: Read> Read for Framed<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        while self.given == self.filled {
            if !self.chunk()? {
                return Ok(0);
            }
        }
        let rest = self.raw.get(self.given..self.filled).unwrap_or_default();
        let most = rest.len().min(into.len());
        into[..most].copy_from_slice(&rest[..most]);
        self.given += most;
        Ok(most)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::{Framed, Inner};

    fn frame(chunks: &[&[u8]], inner: Inner) -> Vec<u8> {
        let raw: usize = chunks.iter().map(|chunk| chunk.len()).sum();
        let mut out = u32::try_from(raw).unwrap().to_be_bytes().to_vec();
        for chunk in chunks {
            let stored = match inner {
                Inner::Lz4 => lz4_flex::block::compress(chunk),
                Inner::Snappy => snap::raw::Encoder::new().compress_vec(chunk).unwrap(),
            };
            out.extend_from_slice(&u32::try_from(stored.len()).unwrap().to_be_bytes());
            out.extend_from_slice(&stored);
        }
        out
    }

    #[test]
    fn blocks_of_several_chunks_are_read() {
        for inner in [Inner::Lz4, Inner::Snappy] {
            let framed = [frame(&[b"hello ", b"world"], inner), frame(&[b"!"], inner)].concat();
            let mut text = String::new();
            Framed::new(framed.as_slice(), inner)
                .read_to_string(&mut text)
                .unwrap();
            assert_eq!(text, "hello world!");
            let cut = &framed[..framed.len() - 1];
            assert!(
                Framed::new(cut, inner)
                    .read_to_string(&mut String::new())
                    .is_err()
            );
        }
    }

    #[test]
    fn what_a_frame_promises_is_not_asked_for_before_it_is_there() {
        for inner in [Inner::Lz4, Inner::Snappy] {
            // 64 MiB of five bytes; and as many zeros as a few bytes become in truth.
            let mut promised = (64_u32 << 20).to_be_bytes().to_vec();
            promised.extend([0, 0, 0, 5, 1, 2, 3, 4, 5]);
            let read = || Framed::new(promised.as_slice(), inner).read_to_end(&mut Vec::new());
            let (read, largest) = crate::allocated::largest(read);
            assert!(
                read.is_err() && largest < 10_000,
                "{inner:?}: {largest} bytes"
            );
            let zeros = vec![0; 4 << 20];
            let mut text = Vec::new();
            Framed::new(frame(&[&zeros], inner).as_slice(), inner)
                .read_to_end(&mut text)
                .unwrap();
            assert!(text == zeros);
        }
    }

    proptest::proptest! {
        #[test]
        fn whatever_comes_ends(bytes: Vec<u8>) {
            for inner in [Inner::Lz4, Inner::Snappy] {
                let read = || Framed::new(bytes.as_slice(), inner).read_to_end(&mut Vec::new());
                let (_, largest) = crate::allocated::largest(read);
                assert!(largest <= 2 * super::EXPANSION * bytes.len() + 10_000, "{largest} bytes");
            }
        }
    }
}
