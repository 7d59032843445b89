//! The footer of a Parquet file: its schema, and where its row groups and their columns are.
//!
//! ```text
//!  "PAR1" | pages of columns, row group after row group | footer | its length: u32, little-endian | "PAR1"
//! ```

use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Repetition};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use parquet::schema::types::{SchemaDescPtr, SchemaDescriptor, Type, TypePtr};

use crate::error::{Error, Result};
use crate::guarded::guarded;
use crate::input::Places;
use crate::typed::wanted::Wanted;

/// Bytes behind the footer: its length, and the magic.
const TAIL: u64 = 8;

/// Reads the footer, and no other byte.
pub(super) fn footer(places: &Places, name: &str) -> Result<ParquetMetaData> {
    let broken = |why: &dyn std::fmt::Display| Error::new(format!("{name} is no Parquet: {why}"));
    let size = places.size();
    let behind = size
        .checked_sub(TAIL)
        .ok_or_else(|| broken(&format_args!("it has {size} bytes")))?;
    let tail = places.read(behind, TAIL)?;
    let length = match tail.as_slice() {
        [a, b, c, d, b'P', b'A', b'R', b'1'] => u32::from_le_bytes([*a, *b, *c, *d]),
        [.., b'P', b'A', b'R', b'E'] => {
            return Err(Error::new(format!(
                "{name}: its footer is encrypted, which is not read here"
            )));
        }
        _ => return Err(broken(&"it does not end with PAR1")),
    };
    let from = behind.checked_sub(length.into());
    let from = from.ok_or_else(|| broken(&format_args!("its footer would have {length} bytes")))?;
    let footer = places.read(from, length.into())?;
    guarded(|| ParquetMetaDataReader::decode_metadata(&footer))
        .map_err(|error| broken(&format_args!("its footer is broken: {error}")))
}

/// The columns of a file that are wanted, as a schema of their own; and where they are among all leaves.
pub(super) struct Chosen {
    pub(super) schema: SchemaDescPtr,
    pub(super) leaves: Vec<usize>,
}

/// Chooses the columns that are wanted.
pub(super) fn choose(metadata: &ParquetMetaData, wanted: Wanted, name: &str) -> Result<Chosen> {
    let all = metadata.file_metadata().schema_descr();
    let root = all.root_schema();
    let fields: Vec<TypePtr> = root
        .get_fields()
        .iter()
        .filter(|column| wanted.has(column.name()))
        .cloned()
        .collect();
    for column in &fields {
        readable(column, true)
            .map_err(|why| Error::new(format!("{name}: column {}: {why}", column.name())))?;
    }
    let leaves = all.columns().iter().enumerate().filter(|(_, column)| {
        let first = column.path().parts().first();
        first.is_some_and(|first| wanted.has(first))
    });
    let leaves = leaves.map(|(index, _)| index).collect();
    let chosen = Type::group_type_builder(root.name())
        .with_fields(fields)
        .build()
        .map_err(|error| Error::new(format!("{name}: its schema is broken: {error}")))?;
    Ok(Chosen {
        schema: Arc::new(SchemaDescriptor::new(Arc::new(chosen))),
        leaves,
    })
}

/// Whether a column is one that rows are made of; what else there is would not be read as what it is.
fn readable(column: &Type, is_top: bool) -> std::result::Result<(), String> {
    let info = column.get_basic_info();
    let is_repeated = |column: &Type| {
        let info = column.get_basic_info();
        info.has_repetition() && info.repetition() == Repetition::REPEATED
    };
    let kind = info.converted_type();
    if column.is_primitive() {
        return match kind {
            ConvertedType::INTERVAL => Err("an INTERVAL, which is not read here".to_owned()),
            _ => Ok(()),
        };
    }
    let fields = column.get_fields();
    let one = match fields {
        [one] if is_repeated(one) => Some(one),
        _ => None,
    };
    match kind {
        ConvertedType::LIST => {
            let one = one.ok_or("a LIST that is none")?;
            match one.is_primitive() {
                true => readable(one, false),
                false if one.get_fields().is_empty() => Err("a LIST of nothing".to_owned()),
                false => one
                    .get_fields()
                    .iter()
                    .try_for_each(|of| readable(of, false)),
            }
        }
        ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE => {
            let pair = one.filter(|one| one.is_group());
            let pair = pair.map_or(&[][..], |pair| pair.get_fields());
            match pair.len() {
                1 | 2 => pair.iter().try_for_each(|of| readable(of, false)),
                _ => Err("a MAP that is none".to_owned()),
            }
        }
        _ if is_repeated(column) && !is_top => {
            Err("a repeated group inside of another, which is no LIST".to_owned())
        }
        _ => fields.iter().try_for_each(|of| readable(of, false)),
    }
}

/// Where a row group begins: what the split that holds this byte reads.
pub(super) fn begins(group: &RowGroupMetaData) -> Option<u64> {
    let columns = group.columns().iter();
    let starts = columns.map(|column| {
        let data = column.data_page_offset();
        // A writer that says 0 has none.
        let dictionary = column.dictionary_page_offset().filter(|at| *at > 0);
        u64::try_from(dictionary.map_or(data, |dictionary| dictionary.min(data))).ok()
    });
    starts.min().flatten()
}

/// The stretches (from, to) of a group's columns.
pub(super) fn stretches(
    group: &RowGroupMetaData,
    leaves: &[usize],
    size: u64,
) -> Result<Vec<(u64, u64)>> {
    let columns = leaves.iter().filter_map(|leaf| group.columns().get(*leaf));
    let stretches = columns.map(|column| {
        let what = column.column_path().string();
        is_there(column.compression()).map_err(|error| error.context(&what))?;
        if column.file_path().is_some() {
            return Err(Error::new(format!(
                "{what}: it lies in another file, which is not read here"
            )));
        }
        let from = column
            .dictionary_page_offset()
            .unwrap_or_else(|| column.data_page_offset());
        let from = u64::try_from(from).ok();
        let to = from
            .zip(u64::try_from(column.compressed_size()).ok())
            .and_then(|(from, length)| from.checked_add(length));
        match from.zip(to).filter(|(_, to)| *to <= size) {
            Some(stretch) => Ok(stretch),
            None => Err(Error::new(format!(
                "{what}: its pages would lie outside of the file's {size} bytes"
            ))),
        }
    });
    stretches.collect()
}

/// Whether this program has the codec.
fn is_there(codec: Compression) -> Result<()> {
    match codec {
        Compression::UNCOMPRESSED
        | Compression::SNAPPY
        | Compression::GZIP(_)
        | Compression::LZ4
        | Compression::LZ4_RAW => Ok(()),
        Compression::ZSTD(_) => crate::codecs::zstd::there(),
        Compression::BROTLI(_) | Compression::LZO => Err(Error::new(format!(
            "it is compressed with {codec}, which is not read here"
        ))),
    }
}
