//! A column of a row group, in memory until the group is full.

use parquet::basic::Type as Physical;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::errors::Result;
use parquet::file::writer::SerializedColumnWriter;
use parquet::schema::types::ColumnDescriptor;

use super::node::Unfit;
use crate::typed::tree::Tree;

/// Values of one column, and a level of each kind for each, and for each that is missing.
pub(super) struct Column {
    values: Values,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
    is_unsigned: bool,
    /// Of bytes that are all of one length.
    length: usize,
    bytes: usize,
}

enum Values {
    Bools(Vec<bool>),
    Ints(Vec<i32>),
    Longs(Vec<i64>),
    Floats(Vec<f32>),
    Doubles(Vec<f64>),
    Bytes(Vec<ByteArray>),
    Fixed(Vec<FixedLenByteArray>),
}

/// Bytes of memory that a value of bytes takes besides them: its owner, and a block of memory of its own.
const AROUND: usize = 64;

impl Column {
    pub(super) fn new(of: &ColumnDescriptor) -> std::result::Result<Self, Unfit> {
        use parquet::basic::ConvertedType as As;
        let kind = of.converted_type();
        let values = match of.physical_type() {
            _ if matches!(kind, As::DECIMAL | As::INTERVAL) => {
                return Err(Unfit::new(format!(
                    "column {}: {kind} is not written here",
                    of.path()
                )));
            }
            Physical::BOOLEAN => Values::Bools(Vec::new()),
            Physical::INT32 => Values::Ints(Vec::new()),
            Physical::INT64 => Values::Longs(Vec::new()),
            Physical::FLOAT => Values::Floats(Vec::new()),
            Physical::DOUBLE => Values::Doubles(Vec::new()),
            Physical::BYTE_ARRAY => Values::Bytes(Vec::new()),
            Physical::FIXED_LEN_BYTE_ARRAY => Values::Fixed(Vec::new()),
            Physical::INT96 => {
                return Err(Unfit::new(format!(
                    "column {}: INT96 is not written here",
                    of.path()
                )));
            }
        };
        Ok(Self {
            values,
            definitions: Vec::new(),
            repetitions: Vec::new(),
            is_unsigned: matches!(kind, As::UINT_8 | As::UINT_16 | As::UINT_32 | As::UINT_64),
            length: usize::try_from(of.type_length()).unwrap_or(0),
            bytes: 0,
        })
    }

    /// About how many bytes of memory it takes.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Nothing is there.
    pub(super) fn level(&mut self, definition: i16, repetition: i16) {
        self.definitions.push(definition);
        self.repetitions.push(repetition);
        self.bytes += 4;
    }

    pub(super) fn put(
        &mut self,
        value: &Tree,
        definition: i16,
        repetition: i16,
    ) -> std::result::Result<(), Unfit> {
        let unfit = |wanted| Unfit::new(format!("{wanted} is wanted, found {}", value.words()));
        match (&mut self.values, value) {
            (Values::Bools(values), Tree::Bool(value)) => values.push(*value),
            (Values::Bools(_), _) => return Err(unfit("BOOLEAN")),
            (Values::Ints(values), _) => {
                let number = match self.is_unsigned {
                    // As Parquet keeps them: the same bits.
                    true => unsigned(value)
                        .and_then(|number| u32::try_from(number).ok())
                        .map(u32::cast_signed),
                    false => signed(value).and_then(|number| i32::try_from(number).ok()),
                };
                values.push(number.ok_or_else(|| unfit("INT32"))?);
                self.bytes += 4;
            }
            (Values::Longs(values), _) => {
                let number = match self.is_unsigned {
                    true => unsigned(value).map(u64::cast_signed),
                    false => signed(value),
                };
                values.push(number.ok_or_else(|| unfit("INT64"))?);
                self.bytes += 8;
            }
            (Values::Floats(values), Tree::Float(value)) => {
                values.push(*value);
                self.bytes += 4;
            }
            (Values::Floats(_), _) => return Err(unfit("FLOAT")),
            (Values::Doubles(values), Tree::Double(value)) => {
                values.push(*value);
                self.bytes += 8;
            }
            (Values::Doubles(values), Tree::Float(value)) => {
                values.push((*value).into());
                self.bytes += 8;
            }
            (Values::Doubles(_), _) => return Err(unfit("DOUBLE")),
            (Values::Bytes(values), _) => {
                let bytes = bytes(value).ok_or_else(|| unfit("BINARY"))?;
                self.bytes += bytes.len() + AROUND;
                values.push(bytes.into());
            }
            (Values::Fixed(values), _) => {
                let bytes = bytes(value).filter(|bytes| bytes.len() == self.length);
                let bytes = bytes.ok_or_else(|| unfit("FIXED_LEN_BYTE_ARRAY of its length"))?;
                self.bytes += bytes.len() + AROUND;
                values.push(bytes.into());
            }
        }
        self.level(definition, repetition);
        Ok(())
    }

    /// Writes it, and is empty again.
    pub(super) fn write(&mut self, mut to: SerializedColumnWriter<'_>) -> Result<()> {
        let (definitions, repetitions) = (Some(&*self.definitions), Some(&*self.repetitions));
        macro_rules! write {
            ($($kind:ident $writer:ident)*) => {
                match (&mut self.values, to.untyped()) {
                    $((Values::$kind(values), ColumnWriter::$writer(to)) => {
                        to.write_batch(values, definitions, repetitions)?;
                        values.clear();
                    })*
                    _ => {
                        let words = "a column is of another type than its schema";
                        return Err(parquet::errors::ParquetError::General(words.to_owned()));
                    }
                }
            };
        }
        write! {
            Bools BoolColumnWriter
            Ints Int32ColumnWriter
            Longs Int64ColumnWriter
            Floats FloatColumnWriter
            Doubles DoubleColumnWriter
            Bytes ByteArrayColumnWriter
            Fixed FixedLenByteArrayColumnWriter
        }
        self.definitions.clear();
        self.repetitions.clear();
        self.bytes = 0;
        to.close()
    }
}

fn signed(value: &Tree) -> Option<i64> {
    match value {
        Tree::Signed(number) => Some(*number),
        Tree::Unsigned(number) => i64::try_from(*number).ok(),
        _ => None,
    }
}

fn unsigned(value: &Tree) -> Option<u64> {
    match value {
        Tree::Unsigned(number) => Some(*number),
        Tree::Signed(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}

/// Text, bytes, or bytes one by one.
fn bytes(value: &Tree) -> Option<Vec<u8>> {
    match value {
        Tree::Text(text) => Some(text.clone().into_bytes()),
        Tree::Bytes(bytes) => Some(bytes.clone()),
        Tree::List(elements) => elements
            .iter()
            .map(|element| unsigned(element).and_then(|byte| u8::try_from(byte).ok()))
            .collect(),
        _ => None,
    }
}
