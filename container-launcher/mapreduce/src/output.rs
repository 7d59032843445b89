//! How records become files.

#[cfg(feature = "avro")]
mod avro;
mod compress;
mod fixed;
mod framed;
#[cfg(feature = "parquet")]
mod parquet;
mod sequence_file;
mod sink;
pub(crate) mod sync;
mod text;

use std::fs::File;
use std::sync::Arc;

#[cfg(feature = "avro")]
pub use avro::AvroOutput;
pub(crate) use compress::Encoder;
pub use fixed::FixedOutput;
#[cfg(feature = "parquet")]
pub use parquet::ParquetOutput;
pub use sequence_file::SequenceFileOutput;
pub use text::TextOutput;

use crate::datum::Value;
use crate::error::Result;
use crate::settings::Settings;

/// What writes the records of one file; keys and values come as their types lay them out.
pub trait RecordWriter {
    /// Writes a record.
    ///
    /// # Errors
    /// A disk is full.
    fn write(&mut self, key: &[u8], value: &[u8]) -> Result<()>;

    /// All records are there: closes the file.
    ///
    /// # Errors
    /// A disk is full.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// A way to write records of `K` and `V`.
pub trait OutputFormat<K: Value, V: Value>: 'static {
    /// What is written to a new file.
    ///
    /// # Errors
    /// A setting makes no sense.
    fn writer(file: File, settings: &Settings) -> Result<Box<dyn RecordWriter>>;

    /// What a file of the output `name`, `part` among them, is called: of the map (`m`) or reduce (`r`) of this number,
    /// without what it ends with.
    #[must_use]
    fn file(name: &str, stage: char, number: u32) -> String {
        format!("{name}-{stage}-{number:05}")
    }

    /// Whether a task that writes nothing leaves no file.
    ///
    /// # Errors
    /// A setting makes no sense.
    fn is_lazy(_settings: &Settings) -> Result<bool> {
        Ok(false)
    }

    /// What names of files end with, such as `.gz`.
    ///
    /// # Errors
    /// A setting makes no sense.
    fn suffix(settings: &Settings) -> Result<String> {
        let _ = settings;
        Ok(String::new())
    }
}

type Make = dyn Fn(File, &Settings) -> Result<Box<dyn RecordWriter>>;
type Lazy = fn(&Settings) -> Result<bool>;
type Suffix = dyn Fn(&Settings) -> Result<String>;

/// An output format of some types, to hand about.
#[derive(Clone)]
pub(crate) struct WriterOf {
    pub(crate) make: Arc<Make>,
    pub(crate) suffix: Arc<Suffix>,
    pub(crate) file: fn(&str, char, u32) -> String,
    pub(crate) lazy: Lazy,
    pub(crate) name: &'static str,
}

impl WriterOf {
    pub(crate) fn new<O: OutputFormat<K, V>, K: Value, V: Value>() -> Self {
        Self {
            make: Arc::new(<O as OutputFormat<K, V>>::writer),
            suffix: Arc::new(<O as OutputFormat<K, V>>::suffix),
            file: <O as OutputFormat<K, V>>::file,
            lazy: <O as OutputFormat<K, V>>::is_lazy,
            name: std::any::type_name::<O>(),
        }
    }
}
