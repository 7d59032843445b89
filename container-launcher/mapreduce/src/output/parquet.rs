//! Parquet: rows of a serde type, in row groups that are made in memory.

mod column;
mod node;
mod schema;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::BufWriter;
use std::marker::PhantomData;
use std::sync::Arc;

use parquet::basic::{Compression, GzipLevel};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{SchemaDescriptor, TypePtr};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{OutputFormat, RecordWriter};
use crate::datum::Value;
use crate::error::{Context as _, Error, Result};
use crate::settings::{CODEC, COMPRESS, Settings};
use crate::typed::shape::Shape;
use crate::typed::tree::Tree;
use column::Column;
use node::{Levels, Node};

/// Parquet files of values that are structs of serde's: [`Json<T>`](crate::Json), or derived values that are `Serialize` and
/// `Deserialize`, too. Keys are left out, as with Hadoop's `ParquetOutputFormat`.
///
/// The columns are the fields, in their order: integers with their widths and signs, `FLOAT`, `DOUBLE`, `BOOLEAN`, text (also of
/// enums whose variants have no fields), `BINARY` of `Vec<u8>`, optional columns of `Option`, `LIST`, `MAP` (from text), groups.
/// `-D parquet.example.schema="message visit { required int32 day (DATE); … }"` says other ones, by the fields' names: numbers
/// go to dates and times as they are. `DECIMAL`, `INT96` and `INTERVAL` are not written.
///
/// A row group is written where its rows take `parquet.block.size` bytes (134217728) in memory; `parquet.page.size`,
/// `parquet.enable.dictionary` and `parquet.compression` (`UNCOMPRESSED`, `SNAPPY`, `GZIP`, `LZ4_RAW`, and with the feature
/// `zstd` `ZSTD`) are Hadoop's. Without the last one, what compresses other output compresses columns.
#[derive(Debug)]
pub struct ParquetOutput;

const SCHEMA: &str = "parquet.example.schema";
const BLOCK: &str = "parquet.block.size";
const PAGE: &str = "parquet.page.size";
const DICTIONARY: &str = "parquet.enable.dictionary";
const COMPRESSION: &str = "parquet.compression";

/// Bytes of rows in memory that make a row group, as in Hadoop.
const BLOCK_BYTES: usize = 128 << 20;
/// Bytes of a page, as in Hadoop.
const PAGE_BYTES: usize = 1 << 20;
/// Rows whose size is looked at together.
const ROWS: u64 = 64;

/// What pages are compressed with, and what files are called for it.
fn codec(settings: &Settings) -> Result<(Compression, &'static str)> {
    let none = (Compression::UNCOMPRESSED, "");
    let name = match settings.get(COMPRESSION) {
        Some(name) => name,
        None if settings.parse::<bool>(COMPRESS)? => settings.get(CODEC).unwrap_or("gzip"),
        None => "UNCOMPRESSED",
    };
    let short = name.strip_prefix("org.apache.hadoop.io.compress.");
    let short = short.and_then(|class| class.strip_suffix("Codec"));
    match short.unwrap_or(name).to_ascii_uppercase().as_str() {
        "UNCOMPRESSED" | "NONE" => Ok(none),
        "SNAPPY" => Ok((Compression::SNAPPY, ".snappy")),
        "GZIP" => Ok((Compression::GZIP(GzipLevel::default()), ".gz")),
        "LZ4_RAW" => Ok((Compression::LZ4_RAW, ".lz4raw")),
        "ZSTD" | "ZSTANDARD" => {
            crate::codecs::zstd::there()?;
            let level = parquet::basic::ZstdLevel::default();
            Ok((Compression::ZSTD(level), ".zstd"))
        }
        _ => Err(Error::new(format!(
            "Parquet is not written with {name}: {COMPRESSION} is UNCOMPRESSED, SNAPPY, GZIP, LZ4_RAW or ZSTD"
        ))),
    }
}

/// The schema that the settings say, or that of the type.
fn schema<T: DeserializeOwned>(settings: &Settings) -> Result<TypePtr> {
    match settings.get(SCHEMA) {
        Some(text) => parse_message_type(text)
            .map(Arc::new)
            .context(|| format!("{SCHEMA}={text}")),
        None => match Shape::of::<T>()? {
            Shape::Struct(name, fields) => schema::message(name, &fields)
                .context(|| format!("the columns of {}", std::any::type_name::<T>())),
            _ => Err(Error::new("rows are made of structs")),
        },
    }
}

/// A schema's columns.
fn columns(of: &TypePtr) -> Result<(Node, Vec<Column>)> {
    let mut count = 0;
    let root = Node::of(of, &mut count).map_err(|unfit| Error::new(unfit.to_string()))?;
    let descriptor = SchemaDescriptor::new(Arc::clone(of));
    let columns = descriptor.columns().iter();
    let columns = columns.map(|column| Column::new(column));
    let columns = columns.collect::<std::result::Result<_, _>>();
    Ok((
        root,
        columns.map_err(|unfit| Error::new(unfit.to_string()))?,
    ))
}

struct ParquetWriter<V> {
    file: SerializedFileWriter<BufWriter<File>>,
    root: Node,
    columns: Vec<Column>,
    /// Rows that were written, and those of them that lie in memory.
    rows: u64,
    waiting: u64,
    block: usize,
    of: PhantomData<fn(V)>,
}

impl<V> ParquetWriter<V> {
    /// Writes a row group of what lies in memory.
    fn flush(&mut self) -> Result<()> {
        if self.waiting == 0 {
            return Ok(());
        }
        self.waiting = 0;
        let columns = &mut self.columns;
        let written = self.file.next_row_group().and_then(|mut group| {
            for column in columns.iter_mut() {
                if let Some(to) = group.next_column()? {
                    column.write(to)?;
                }
            }
            group.close()
        });
        written.map(drop).context(|| "writing output")
    }
}

impl<K: Value, V: Value> OutputFormat<K, V> for ParquetOutput
where
    for<'a> V::View<'a>: Serialize + DeserializeOwned,
{
    fn writer(file: File, settings: &Settings) -> Result<Box<dyn RecordWriter>> {
        let schema = schema::<V::View<'static>>(settings)?;
        let (root, columns) = columns(&schema)?;
        let properties = WriterProperties::builder()
            .set_created_by(
                concat!("gerbil-mapreduce version ", env!("CARGO_PKG_VERSION")).to_owned(),
            )
            .set_compression(codec(settings)?.0)
            .set_dictionary_enabled(settings.parse_if(DICTIONARY)?.unwrap_or(true))
            .set_data_page_size_limit(settings.parse_if(PAGE)?.unwrap_or(PAGE_BYTES))
            .set_max_row_group_row_count(None)
            .build();
        let file = BufWriter::with_capacity(256 << 10, file);
        let file = SerializedFileWriter::new(file, schema, Arc::new(properties));
        Ok(Box::new(ParquetWriter::<V> {
            file: file.context(|| "writing output")?,
            root,
            columns,
            rows: 0,
            waiting: 0,
            block: settings.parse_if(BLOCK)?.unwrap_or(BLOCK_BYTES),
            of: PhantomData,
        }))
    }

    /// As Hadoop calls them; what could not be written is said here, before there is a task.
    fn suffix(settings: &Settings) -> Result<String> {
        columns(&schema::<V::View<'static>>(settings)?)?;
        Ok(format!("{}.parquet", codec(settings)?.1))
    }
}

impl<V: Value> RecordWriter for ParquetWriter<V>
where
    for<'a> V::View<'a>: Serialize,
{
    fn write(&mut self, _: &[u8], value: &[u8]) -> Result<()> {
        let row = Tree::of(&V::decode(value)?).context(|| format!("row {}", self.rows))?;
        let put = self.root.put(Some(&row), Levels::ROW, &mut self.columns);
        put.map_err(|unfit| Error::new(format!("row {} of Parquet, {unfit}", self.rows)))?;
        self.rows += 1;
        self.waiting += 1;
        if self.waiting.is_multiple_of(ROWS) {
            let bytes: usize = self.columns.iter().map(Column::bytes).sum();
            if bytes >= self.block {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.flush()?;
        let closed = self.file.into_inner();
        let mut file = closed.context(|| "writing output")?;
        std::io::Write::flush(&mut file).context(|| "writing output")
    }
}
