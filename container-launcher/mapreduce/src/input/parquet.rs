//! Parquet: rows of which only the columns that are asked for are read.
//!
//! A split has the row groups whose first byte lies in it, so that each is of one split, however files are cut; one that no
//! group begins in has no rows. Of a file its footer is read, once a split, and of each group the columns that the type's
//! fields name, as they are stored: these lie in memory while the group's rows are read.

mod cell;
mod chunks;
mod footer;
#[cfg(test)]
mod tests;

use std::marker::PhantomData;
use std::sync::Arc;

use parquet::file::metadata::ParquetMetaData;
use parquet::file::properties::{ReaderProperties, ReaderPropertiesPtr};
use parquet::file::serialized_reader::SerializedRowGroupReader;
use parquet::record::Row;
use parquet::record::reader::{ReaderIter, TreeBuilder};
use serde::de::DeserializeOwned;

use super::{Granule, InputFormat, Places, Source};
use crate::error::{Error, Result};
use crate::guarded::guarded;
use crate::settings::Settings;
use crate::typed::misfit::{Misfit, Why};
use crate::typed::wanted::Wanted;
use cell::Columns;
use chunks::Chunks;
use footer::Chosen;

/// Parquet files, a `T` a row; the key is the row's number in its file, from 0.
///
/// The columns that are read are the fields of `T`, by serde's names; a type without fields, such as `()`, counts rows, and
/// one that takes what there is, such as a map, or a struct with `flatten`, has all columns. Of a column that is a group all
/// of it is read. A field that a file has no column for is an error that says which columns there are, unless it is an
/// `Option` or has a default.
///
/// | column | field |
/// |---|---|
/// | integers, floats, `BOOLEAN` | numbers that hold the value, `bool` |
/// | text, `ENUM`, `JSON`, `BINARY` that is UTF-8 | `String`, an enum whose variants have no fields |
/// | `BINARY`, `FIXED_LEN_BYTE_ARRAY`, `UUID` | `Vec<u8>` |
/// | `DECIMAL` | `String` (`-12.50`), `f64`, or an integer where it is whole |
/// | `DATE` | an integer (days since 1970), or `String` (`2026-11-29`) |
/// | `TIME` | an integer (in the column's unit, since midnight), or `String` (`12:30:00.250`) |
/// | `TIMESTAMP` | an integer (in the column's unit, since 1970), or `String` (`2026-11-29T12:30:00.250Z`; without `Z` where the column has no time zone) |
/// | `INT96` | the same in milliseconds: what is below them is lost |
/// | optional columns | `Option` |
/// | `LIST`, repeated columns | `Vec`, tuples |
/// | `MAP` | maps |
/// | groups | structs, maps |
#[derive(Debug)]
pub struct Parquet<T>(PhantomData<fn(T)>);

/// Reads a split's row groups of a Parquet file.
pub struct ParquetReader<T> {
    name: String,
    places: Places,
    metadata: ParquetMetaData,
    chosen: Chosen,
    properties: ReaderPropertiesPtr,
    /// Row groups that are to be read: their index, and the number of their first row. The last is the next.
    groups: Vec<(usize, u64)>,
    rows: Option<ReaderIter>,
    /// Rows of the group that were not read.
    left: u64,
    /// The number of the next row.
    row: u64,
    /// Where its group begins.
    position: u64,
    of: PhantomData<fn(T)>,
}

impl<T> std::fmt::Debug for ParquetReader<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rows of {} at {}", self.name, self.row)
    }
}

impl<T: DeserializeOwned> ParquetReader<T> {
    fn open(source: &Source) -> Result<Self> {
        let (name, places) = (source.name.clone(), source.places()?);
        let metadata = footer::footer(&places, &name)?;
        let chosen = footer::choose(&metadata, Wanted::of::<T>(), &name)?;
        let (mut groups, mut row) = (Vec::new(), 0_u64);
        for (index, group) in metadata.row_groups().iter().enumerate() {
            let rows = u64::try_from(group.num_rows()).unwrap_or(0);
            let begins = footer::begins(group).filter(|at| *at < places.size());
            let begins = begins.ok_or_else(|| {
                Error::new(format!(
                    "{name}: row group {index} would lie outside of the file"
                ))
            })?;
            if (source.offset..source.end).contains(&begins) {
                groups.push((index, row));
            }
            row = row.saturating_add(rows);
        }
        groups.reverse();
        Ok(Self {
            position: source.offset,
            name,
            places,
            metadata,
            chosen,
            properties: Arc::new(
                ReaderProperties::builder()
                    .set_read_bloom_filter(false)
                    .build(),
            ),
            groups,
            rows: None,
            left: 0,
            row: 0,
            of: PhantomData,
        })
    }

    /// Goes to the next row group; false where there is none.
    fn advance(&mut self) -> Result<bool> {
        // The columns of the last one go before those of the next come.
        self.rows = None;
        let Some((index, first)) = self.groups.pop() else {
            return Ok(false);
        };
        let group = self.metadata.row_group(index);
        self.left = u64::try_from(group.num_rows()).unwrap_or(0);
        self.row = first;
        self.position = footer::begins(group).unwrap_or(self.position);
        if self.chosen.leaves.is_empty() || self.left == 0 {
            return Ok(true);
        }
        let stretches = footer::stretches(group, &self.chosen.leaves, self.places.size());
        let stretches = stretches.map_err(|error| error.context(&self.name))?;
        let chunks = Chunks::read(&self.places, stretches)?;
        let pages = self.metadata.page_index_for_row_group(index);
        let rows = guarded(|| {
            let properties = Arc::clone(&self.properties);
            let group = SerializedRowGroupReader::new(Arc::new(chunks), group, pages, properties)?;
            TreeBuilder::new().as_iter(Arc::clone(&self.chosen.schema), &group)
        });
        self.rows = Some(rows.map_err(|error| self.broken(&error))?);
        Ok(true)
    }

    fn broken(&self, error: &dyn std::fmt::Display) -> Error {
        let (name, row) = (&self.name, self.row);
        Error::new(format!(
            "{name}, row {row}: its columns are broken: {error}"
        ))
    }

    fn misfit(&self, misfit: &Misfit) -> Error {
        let (name, row, column) = (&self.name, self.row, misfit.column());
        Error::new(match (&misfit.why, column) {
            (Why::Missing(field), None) => {
                let columns = self.metadata.file_metadata().schema().get_fields();
                let columns: Vec<&str> = columns.iter().map(|column| column.name()).collect();
                let columns = columns.join(", ");
                let wants = std::any::type_name::<T>();
                format!("{name} has no column {field}, which {wants} wants: it has {columns}")
            }
            (Why::Missing(field), Some(column)) => {
                format!("{name}, row {row}, column {column}: it has no {field}")
            }
            (Why::Says(words), Some(column)) => {
                format!("{name}, row {row}, column {column}: {words}")
            }
            (Why::Says(words), None) => format!("{name}, row {row}: {words}"),
        })
    }

    fn next(&mut self) -> Result<Option<(u64, T)>> {
        while self.left == 0 {
            if !self.advance()? {
                return Ok(None);
            }
        }
        let row = match &mut self.rows {
            None => Row::new(Vec::new()),
            Some(rows) => match guarded(|| rows.next().transpose()) {
                Ok(Some(row)) => row,
                Ok(None) => return Err(self.broken(&"they end before the row group does")),
                Err(error) => return Err(self.broken(&error)),
            },
        };
        let columns = Columns {
            row: &row,
            of: Some(self.chosen.schema.root_schema()),
        };
        let value = T::deserialize(columns).map_err(|misfit| self.misfit(&misfit))?;
        let number = self.row;
        self.row += 1;
        self.left -= 1;
        Ok(Some((number, value)))
    }
}

impl<T: DeserializeOwned + 'static> InputFormat for Parquet<T> {
    type Key<'a> = u64;
    type Value<'a> = T;
    type Reader = ParquetReader<T>;

    const PLACES: bool = true;

    fn granule(_: &Settings) -> Result<Granule> {
        Ok(Granule::Byte)
    }

    fn takes(name: &str) -> Result<()> {
        super::source::has_places(name)
    }

    fn open(source: Source, _: &Settings) -> Result<ParquetReader<T>> {
        ParquetReader::open(&source)
    }

    fn position(reader: &ParquetReader<T>) -> u64 {
        reader.position
    }

    fn next(reader: &mut ParquetReader<T>) -> Result<Option<(u64, T)>> {
        reader.next()
    }
}
