//! How files become records.
//!
//! An [`InputFormat`] reads one piece of a split at a time, out of a [`Source`] that is the file itself or
//! what its compression hides.

#[cfg(feature = "avro")]
mod avro;
mod blocks;
mod bzip2_blocks;
mod columnar;
mod decompress;
mod fixed;
mod framed;
mod key_value;
mod lines;
mod marked;
mod numbers;
#[cfg(feature = "parquet")]
mod parquet;
mod sequence_file;
mod source;
pub(crate) mod splits;
mod whole;

use gerbil_task::Piece;

#[cfg(feature = "avro")]
pub use avro::{Avro, AvroReader};
pub use blocks::LineBlocks;
pub(crate) use decompress::Compression;
pub use fixed::FixedLength;
#[cfg(test)]
pub(crate) use framed::Framed;
pub(crate) use framed::Inner;
pub use key_value::KeyValueText;
pub use lines::{NLines, TextLines};
pub use marked::MarkedRecords;
pub use numbers::Numbers;
#[cfg(feature = "parquet")]
pub use parquet::{Parquet, ParquetReader};
pub use sequence_file::{SequenceFile, SequenceFileAsText, SequenceFileRaw, Wire};
pub(crate) use source::{Consumed, Open, Opened, at_hand};
pub use source::{Places, Source, Stretch};
pub use whole::WholeFile;

use crate::error::Result;
use crate::settings::Settings;

/// How a format's files may be cut into splits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Granule {
    /// Anywhere; the reader finds the next record.
    Byte,
    /// Anywhere, and files of bzip2, too: of formats that hand their [`Source`] on to one of lines of this crate, such as
    /// [`TextLines`], which finds the blocks that are the piece's.
    Line,
    /// Only at multiples of so many bytes.
    Record(u64),
    /// After so many lines, and nowhere else.
    Lines(u64),
    /// Nowhere: each file is one split.
    File,
}

/// How a format's files become splits.
#[derive(Clone, Copy)]
pub(crate) struct Cutting {
    pub(crate) granule: fn(&Settings) -> Result<Granule>,
    pub(crate) takes: fn(&str) -> Result<()>,
    pub(crate) map_files: fn(&Settings) -> Result<bool>,
}

impl Cutting {
    pub(crate) fn of<I: InputFormat>() -> Self {
        Self {
            granule: I::granule,
            takes: I::takes,
            map_files: I::map_files,
        }
    }
}

/// A way to read files.
pub trait InputFormat: 'static {
    /// The key that a mapper is handed.
    type Key<'a>;
    /// The value that a mapper is handed.
    type Value<'a>;
    /// What reads one piece.
    type Reader;

    /// Whether pieces are parts of files. If not, nothing is opened, and [`splits`](Self::splits) makes them.
    const FILES: bool = true;

    /// Whether the format goes to [places](Source::places) of its files instead of reading each from where the piece begins:
    /// then nothing is opened before the format asks for it.
    const PLACES: bool = false;

    /// Whether a folder with `data` and `index`, a MapFile of Hadoop's, stands for its data alone: the format reads
    /// SequenceFiles. Such folders are read inside of an input folder, too.
    const MAP_FILES: bool = false;

    /// The same of a format whose settings say what its files are.
    ///
    /// # Errors
    /// A setting makes no sense.
    fn map_files(settings: &Settings) -> Result<bool> {
        let _ = settings;
        Ok(Self::MAP_FILES)
    }

    /// The splits of inputs that are no files.
    ///
    /// # Errors
    /// The inputs make no sense.
    fn splits(inputs: &[String], settings: &Settings) -> Result<Vec<Vec<Piece>>> {
        let (_, _) = (inputs, settings);
        Err(crate::Error::new("this input format reads files"))
    }

    /// How files may be cut.
    ///
    /// # Errors
    /// A setting makes no sense.
    fn granule(settings: &Settings) -> Result<Granule>;

    /// Whether a file of this name may be one of the format's, said before there is a task.
    ///
    /// # Errors
    /// It is of another format, as its name says.
    fn takes(name: &str) -> Result<()> {
        let _ = name;
        Ok(())
    }

    /// Opens a piece of a split.
    ///
    /// # Errors
    /// It cannot be read.
    fn open(source: Source, settings: &Settings) -> Result<Self::Reader>;

    /// Where the next record begins, bytes from the start of the file (of the uncompressed, if it is).
    fn position(reader: &Self::Reader) -> u64;

    /// How many records the last one stands for: of a format that hands out several at once.
    fn records(reader: &Self::Reader) -> u64 {
        let _ = reader;
        1
    }

    /// The next record.
    ///
    /// # Errors
    /// It cannot be read, or is none.
    fn next<'a>(reader: &'a mut Self::Reader) -> Result<Option<(Self::Key<'a>, Self::Value<'a>)>>;
}
