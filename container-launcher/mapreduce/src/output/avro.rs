//! Avro's object container files: see the reader for how they are laid out.

mod record;
mod schema;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::sync::{SYNC, sync_of_file};
use super::{OutputFormat, RecordWriter};
use crate::datum::Value;
use crate::error::{Context as _, Error, Result};
use crate::guarded::guarded;
use crate::settings::{CODEC, COMPRESS, Settings};
use crate::typed::shape::Shape;
use crate::typed::tree::Tree;
use record::{counted, long};

/// Avro files of values that are structs of serde's: [`Json<T>`](crate::Json), or derived values that are `Serialize` and
/// `Deserialize`, too. Keys are left out.
///
/// The schema is that of the type: records, arrays, maps (from text), enums (of variants without fields), `["null", …]` of
/// `Option`, `bytes` of `Vec<u8>`, `int` and `long`, which have signs: an unsigned number is refused where it does not fit.
///
/// `avro.output.codec` (`null`, `deflate`, `snappy`, and with the feature `zstd` `zstandard`) and `avro.mapred.sync.interval`
/// (64000 bytes a block) are Avro's. Without the former, what compresses other output compresses blocks.
#[derive(Debug)]
pub struct AvroOutput;

const AVRO_CODEC: &str = "avro.output.codec";
const INTERVAL: &str = "avro.mapred.sync.interval";
/// Bytes of records that make a block, as in Avro for Java.
const BLOCK: usize = 64_000;

/// What blocks are compressed with.
#[derive(Clone, Copy, Debug)]
enum Codec {
    Null,
    Deflate,
    Snappy,
    Zstd,
}

impl Codec {
    fn of(settings: &Settings) -> Result<Self> {
        let name = match settings.get(AVRO_CODEC) {
            Some(name) => name,
            None if settings.parse::<bool>(COMPRESS)? => settings.get(CODEC).unwrap_or("deflate"),
            None => "null",
        };
        let short = name.strip_prefix("org.apache.hadoop.io.compress.");
        let short = short.and_then(|class| class.strip_suffix("Codec"));
        match short.unwrap_or(name).to_ascii_lowercase().as_str() {
            "null" => Ok(Self::Null),
            // Avro for Java takes Hadoop's default codec for it, too.
            "deflate" | "default" | "gzip" => Ok(Self::Deflate),
            "snappy" => Ok(Self::Snappy),
            "zstandard" | "zstd" => crate::codecs::zstd::there().map(|()| Self::Zstd),
            _ => Err(Error::new(format!(
                "Avro is not written with {name}: {AVRO_CODEC} is null, deflate, snappy or zstandard"
            ))),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Deflate => "deflate",
            Self::Snappy => "snappy",
            Self::Zstd => "zstandard",
        }
    }

    fn deflate(self, block: &[u8], out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Null => out.extend_from_slice(block),
            Self::Deflate => {
                let level = flate2::Compression::default();
                let mut writer = flate2::write::DeflateEncoder::new(out, level);
                writer.write_all(block)?;
                writer.finish()?;
            }
            Self::Snappy => {
                *out = snap::raw::Encoder::new().compress_vec(block)?;
                let mut crc = flate2::Crc::new();
                crc.update(block);
                out.extend_from_slice(&crc.sum().to_be_bytes());
            }
            Self::Zstd => crate::codecs::zstd::compress(block, out)?,
        }
        Ok(())
    }
}

/// What `T` is made of, and its schema.
fn schema<T: DeserializeOwned>() -> Result<(Shape, String)> {
    let shape = Shape::of::<T>()?;
    let text = schema::Named::default().schema(&shape).to_string();
    // Names that Avro does not take are said by its library.
    guarded(|| apache_avro::Schema::parse_str(&text)).map_err(|why| {
        Error::new(format!(
            "the schema of {}: {why}",
            std::any::type_name::<T>()
        ))
    })?;
    Ok((shape, text))
}

struct AvroWriter<V> {
    file: BufWriter<File>,
    sync: [u8; SYNC],
    shape: Shape,
    codec: Codec,
    interval: usize,
    /// Records of the block at hand, and how many.
    block: Vec<u8>,
    records: i64,
    stored: Vec<u8>,
    of: PhantomData<fn(V)>,
}

impl<V> AvroWriter<V> {
    fn flush(&mut self) -> Result<()> {
        if self.records == 0 {
            return Ok(());
        }
        self.stored.clear();
        self.codec.deflate(&self.block, &mut self.stored)?;
        let mut head = Vec::new();
        long(self.records, &mut head);
        long(i64::try_from(self.stored.len())?, &mut head);
        let parts = [head.as_slice(), &self.stored, &self.sync];
        let file = &mut self.file;
        let written = parts.iter().try_for_each(|part| file.write_all(part));
        self.block.clear();
        self.records = 0;
        written.context(|| "writing output")
    }
}

impl<K: Value, V: Value> OutputFormat<K, V> for AvroOutput
where
    for<'a> V::View<'a>: Serialize + DeserializeOwned,
{
    fn writer(file: File, settings: &Settings) -> Result<Box<dyn RecordWriter>> {
        let (shape, text) = schema::<V::View<'static>>()?;
        let codec = Codec::of(settings)?;
        let sync = sync_of_file(settings)?;
        let mut header = b"Obj\x01".to_vec();
        long(2, &mut header);
        counted(b"avro.schema", &mut header);
        counted(text.as_bytes(), &mut header);
        counted(b"avro.codec", &mut header);
        counted(codec.name().as_bytes(), &mut header);
        long(0, &mut header);
        header.extend_from_slice(&sync);
        let mut file = BufWriter::with_capacity(256 << 10, file);
        file.write_all(&header).context(|| "writing output")?;
        Ok(Box::new(AvroWriter::<V> {
            file,
            sync,
            shape,
            codec,
            interval: settings.parse_if(INTERVAL)?.unwrap_or(BLOCK),
            block: Vec::new(),
            records: 0,
            stored: Vec::new(),
            of: PhantomData,
        }))
    }

    /// What could not be written is said here, before there is a task.
    fn suffix(settings: &Settings) -> Result<String> {
        schema::<V::View<'static>>()?;
        Codec::of(settings)?;
        Ok(".avro".to_owned())
    }
}

impl<V: Value> RecordWriter for AvroWriter<V>
where
    for<'a> V::View<'a>: Serialize,
{
    fn write(&mut self, _: &[u8], value: &[u8]) -> Result<()> {
        let record = Tree::of(&V::decode(value)?)?;
        record::append(&record, &self.shape, &mut self.block)
            .map_err(|why| Error::new(format!("a record of Avro, {why}")))?;
        self.records += 1;
        match self.block.len() >= self.interval {
            true => self.flush(),
            false => Ok(()),
        }
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.flush()?;
        self.file.flush().context(|| "writing output")
    }
}
