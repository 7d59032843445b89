//! Files whose names say that they are compressed.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use gerbil_task::Piece;
use gerbil_task::splits::ends_with;

use super::Consumed;
use super::bzip2_blocks::{Blocks, Owned};
use super::framed::{Framed, Inner};
use super::source::Raw;
use crate::codecs::streams::zlib;
use crate::codecs::{bzip2, zstd};
use crate::error::{Context as _, Result};

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Gzip,
    Deflate,
    Bzip2,
    Zstd,
    /// Hadoop's own frames around LZ4 blocks.
    Lz4,
    /// Hadoop's own frames around Snappy blocks.
    Snappy,
}

impl Compression {
    /// By the ending of a name, in capitals or not, as Hadoop's `CompressionCodecFactory`.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let endings = [
            (".gz", Self::Gzip),
            (".deflate", Self::Deflate),
            (".bz2", Self::Bzip2),
            (".zst", Self::Zstd),
            (".lz4", Self::Lz4),
            (".snappy", Self::Snappy),
        ];
        endings
            .iter()
            .find(|(ending, _)| ends_with(name, ending))
            .map(|(_, compression)| *compression)
    }

    /// Whether this program can read such a file.
    pub(crate) fn there(self) -> Result<()> {
        match self {
            Self::Bzip2 => bzip2::there(),
            Self::Zstd => zstd::there(),
            Self::Gzip | Self::Deflate | Self::Lz4 | Self::Snappy => Ok(()),
        }
    }

    /// Whether files are cut into pieces, of text.
    pub(crate) const fn has_blocks(self) -> bool {
        matches!(self, Self::Bzip2)
    }

    /// What is inside of the blocks that begin in a piece, whose end it tells, and behind them; `raw` begins with the piece.
    pub(crate) fn blocks(
        raw: Raw,
        piece: &Piece,
        consumed: &Consumed,
        owned: &Owned,
    ) -> Box<dyn Read> {
        let place = (piece.offset, piece.offset.saturating_add(piece.length));
        let start = consumed.load(Ordering::Relaxed).wrapping_sub(piece.offset);
        Box::new(NamedDecompressor {
            inner: Box::new(Blocks::new(raw, place, Owned::clone(owned))),
            name: piece.name.clone(),
            kind: Self::Bzip2,
            consumed: Arc::clone(consumed),
            start,
        })
    }

    /// What is inside of `raw`.
    pub(crate) fn reader(self, raw: Raw, name: &str, consumed: &Consumed) -> Result<Box<dyn Read>> {
        let empty = raw.size == 0;
        // Before a decoder reads: gzip's begins at once.
        let start = consumed.load(Ordering::Relaxed);
        let raw = io::BufReader::with_capacity(256 << 10, raw);
        let inner: Box<dyn Read> = match self {
            // A file of no bytes is what a job leaves that had nothing to say: an empty one.
            _ if empty => Box::new(io::empty()),
            Self::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(raw)),
            Self::Deflate => Box::new(zlib(raw)),
            Self::Bzip2 => bzip2::reader(raw).context(|| name.to_owned())?,
            Self::Zstd => zstd::reader(raw).context(|| name.to_owned())?,
            Self::Lz4 => Box::new(Framed::new(raw, Inner::Lz4)),
            Self::Snappy => Box::new(Framed::new(raw, Inner::Snappy)),
        };
        Ok(Box::new(NamedDecompressor {
            inner,
            name: name.to_owned(),
            kind: self,
            consumed: Arc::clone(consumed),
            start,
        }))
    }
}

/// A decompressor whose errors say in which file and about where.
struct NamedDecompressor {
    inner: Box<dyn Read>,
    name: String,
    kind: Compression,
    consumed: Consumed,
    start: u64,
}

impl Read for NamedDecompressor {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.inner.read(into).map_err(|error| {
            if error.kind() == io::ErrorKind::Interrupted {
                return error;
            }
            let at = self
                .consumed
                .load(Ordering::Relaxed)
                .wrapping_sub(self.start);
            let words = format!(
                "{:?} data of {} are broken before byte {at}: {error}",
                self.kind, self.name
            );
            io::Error::new(io::ErrorKind::InvalidData, words)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read as _, Write as _};

    use gerbil_task::Piece;
    use rustix::fs::{MemfdFlags, memfd_create};

    use super::Compression::{self, Bzip2, Deflate, Gzip, Lz4, Snappy, Zstd};
    use crate::input::{Consumed, Source, at_hand};

    const ALL: [(&str, Compression); 6] = [
        ("gz", Gzip),
        ("deflate", Deflate),
        ("bz2", Bzip2),
        ("zst", Zstd),
        ("lz4", Lz4),
        ("snappy", Snappy),
    ];

    /// One stream that holds `text`, as the codec's own writer leaves it.
    fn stream(codec: Compression, text: &[u8]) -> Vec<u8> {
        let framed = |stored: Vec<u8>| {
            let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap().to_be_bytes();
            match text {
                [] => length(text).to_vec(),
                _ => [&length(text)[..], &length(&stored), &stored].concat(),
            }
        };
        let level = flate2::Compression::fast();
        match codec {
            Gzip => {
                let mut writer = flate2::write::GzEncoder::new(Vec::new(), level);
                writer.write_all(text).unwrap();
                writer.finish().unwrap()
            }
            Deflate => {
                let mut writer = flate2::write::ZlibEncoder::new(Vec::new(), level);
                writer.write_all(text).unwrap();
                writer.finish().unwrap()
            }
            Bzip2 => {
                let level = bzip2::Compression::fast();
                let mut writer = bzip2::write::BzEncoder::new(Vec::new(), level);
                writer.write_all(text).unwrap();
                writer.finish().unwrap()
            }
            Zstd => zstd::encode_all(text, 1).unwrap(),
            Lz4 => framed(lz4_flex::block::compress(text)),
            Snappy => framed(snap::raw::Encoder::new().compress_vec(text).unwrap()),
        }
    }

    /// What is read of a file of this name; or why it is not.
    fn read(name: &str, bytes: &[u8]) -> Result<Vec<u8>, String> {
        let mut file = File::from(memfd_create("codec", MemfdFlags::CLOEXEC).unwrap());
        file.write_all(bytes).unwrap();
        let size = bytes.len() as u64;
        let piece = Piece {
            name: name.to_owned(),
            offset: 0,
            length: size,
            size,
        };
        let source = Source::new(&at_hand(file), &piece, &Consumed::default());
        let mut text = Vec::new();
        let mut reader = source.map_err(|error| error.to_string())?.reader;
        let read = reader.read_to_end(&mut text);
        read.map(|_| text).map_err(|error| error.to_string())
    }

    /// All streams of all codecs, as Hadoop reads them. Zeros may be behind those of bzip2, and are frames of nothing;
    /// Hadoop passes over whatever else is behind bzip2's, which may be a stream that is broken.
    #[test]
    fn all_streams_of_a_file_are_read_and_nothing_else_may_be_behind_them() {
        for (ending, codec) in ALL {
            let name = format!("f.{ending}");
            let one: Vec<u8> = (0_u32..9000).flat_map(u32::to_be_bytes).collect();
            let (first, second) = (stream(codec, &one), stream(codec, b"two"));
            let both = [&one[..], b"two"].concat();
            let streams = [&first[..], &second].concat();
            assert_eq!(read(&name, &first), Ok(one.clone()), "{codec:?}");
            assert_eq!(read(&name, &streams), Ok(both.clone()), "{codec:?}");
            let empty = stream(codec, b"");
            assert_eq!(read(&name, &empty), Ok(Vec::new()), "{codec:?}");
            let around = [&empty[..], &first, &empty, &empty, &second, &empty].concat();
            assert_eq!(read(&name, &around), Ok(both.clone()), "{codec:?}");
            assert_eq!(read(&name, b""), Ok(Vec::new()), "{codec:?}");

            let zeros = [&streams[..], &[0; 100]].concat();
            let is_padded = matches!(codec, Bzip2 | Lz4 | Snappy);
            assert_eq!(read(&name, &zeros).is_ok(), is_padded, "{codec:?}");
            let between = [&first[..], &[0; 4], &second].concat();
            match is_padded {
                true => assert_eq!(read(&name, &between), Ok(both.clone()), "{codec:?}"),
                false => assert!(read(&name, &between).is_err(), "{codec:?}"),
            }
            for behind in ["x", "rubbish, and more than a header of it"] {
                let garbage = [&streams[..], behind.as_bytes()].concat();
                let words = read(&name, &garbage).unwrap_err();
                let place = garbage.len();
                let begins = format!("{codec:?} data of {name} are broken before byte {place}: ");
                assert!(words.starts_with(&begins), "{words}");
            }
        }
    }

    #[test]
    fn a_file_that_is_cut_anywhere_is_an_error_or_ends_with_a_stream() {
        for (ending, codec) in ALL {
            let name = format!("f.{ending}");
            let (first, second) = (stream(codec, b"one "), stream(codec, b"two"));
            let streams = [&first[..], &second].concat();
            for cut in 1..streams.len() {
                let read = read(&name, &streams[..cut]);
                match cut == first.len() {
                    true => assert_eq!(read, Ok(b"one ".to_vec()), "{codec:?}"),
                    false => assert!(read.is_err(), "{codec:?}, {cut} bytes: {read:?}"),
                }
            }
        }
    }

    #[test]
    fn capitals_of_an_ending_do_not_matter() {
        for (ending, codec) in ALL {
            let capital = ending[..1].to_uppercase() + &ending[1..];
            for name in [ending, &ending.to_uppercase(), &capital] {
                let found = Compression::of_name(&format!("/in/F.{name}"));
                assert_eq!(found, Some(codec), "{name}");
                assert!(gerbil_task::splits::is_compressed(&format!("F.{name}")));
            }
        }
        for name in ["gz", "f.gzip", "f.gz.txt", "f.tgz", "é.g", "fgz"] {
            assert_eq!(Compression::of_name(name), None, "{name}");
            assert!(!gerbil_task::splits::is_compressed(name), "{name}");
        }
    }
}
