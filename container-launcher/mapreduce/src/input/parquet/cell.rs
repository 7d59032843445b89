//! What is in a row, for serde: a group is a struct or a map, a list a sequence, a value what its annotation says.

use parquet::basic::{LogicalType, TimeUnit};
use parquet::data_type::Decimal;
use parquet::record::{Field, Row};
use parquet::schema::types::Type;
use serde::de::value::{SeqDeserializer, StringDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    Visitor,
};

use crate::typed::misfit::Misfit;
use crate::typed::times::{self, Unit};

/// Whether a column's timestamps are instants, which they are unless it says something else.
fn is_instant(column: Option<&Type>) -> bool {
    let logical = column.and_then(|column| column.get_basic_info().logical_type_ref());
    match logical {
        Some(LogicalType::Timestamp(of)) => of.is_adjusted_to_u_t_c,
        _ => true,
    }
}

const fn unit(of: TimeUnit) -> Unit {
    match of {
        TimeUnit::MILLIS => Unit::Millis,
        TimeUnit::MICROS => Unit::Micros,
        TimeUnit::NANOS => Unit::Nanos,
    }
}

fn decimal(of: &Decimal) -> String {
    times::decimal(of.data(), usize::try_from(of.scale()).unwrap_or(0))
}

/// The columns of a row, or of a group inside of one.
pub(super) struct Columns<'a> {
    pub(super) row: &'a Row,
    pub(super) of: Option<&'a Type>,
}

/// One value, and its column's type where that is known.
struct Cell<'a> {
    field: &'a Field,
    of: Option<&'a Type>,
}

/// How a group's columns are handed over, one after the other.
struct Each<'a> {
    columns: Vec<(&'a str, Cell<'a>)>,
    next: usize,
}

impl<'a> Columns<'a> {
    fn each(self) -> Each<'a> {
        let types = self.of.filter(|of| of.is_group()).map(Type::get_fields);
        let columns = self.row.get_column_iter().enumerate();
        let columns = columns.map(|(index, (name, field))| {
            let of = types.and_then(|types| types.get(index)).map(AsRef::as_ref);
            (name.as_str(), Cell { field, of })
        });
        Each {
            columns: columns.collect(),
            next: 0,
        }
    }
}

impl<'a> Each<'a> {
    fn take(&mut self) -> Option<(&'a str, Cell<'a>)> {
        let (name, cell) = self.columns.get(self.next)?;
        self.next += 1;
        Some((name, cell.again()))
    }
}

impl<'de, 'a> MapAccess<'de> for Each<'a> {
    type Error = Misfit;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Misfit> {
        let Some((name, _)) = self.columns.get(self.next) else {
            return Ok(None);
        };
        seed.deserialize((*name).into_deserializer()).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Misfit> {
        let (name, cell) = self
            .take()
            .ok_or_else(|| Misfit::custom("no column is left"))?;
        seed.deserialize(cell).map_err(|misfit| misfit.within(name))
    }
}

impl<'de, 'a> SeqAccess<'de> for Each<'a> {
    type Error = Misfit;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Misfit> {
        let Some((name, cell)) = self.take() else {
            return Ok(None);
        };
        let value = seed.deserialize(cell).map_err(|misfit| misfit.within(name));
        value.map(Some)
    }
}

impl<'de> Deserializer<'de> for Columns<'_> {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_map(self.each())
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_seq(self.each())
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_seq(self.each())
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        visitor.visit_seq(self.each())
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        visitor.visit_unit()
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        visitor.visit_newtype_struct(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf map struct enum identifier
        ignored_any
    }
}

impl<'a> Cell<'a> {
    const fn again(&self) -> Self {
        Self {
            field: self.field,
            of: self.of,
        }
    }

    /// What has a text of its own: dates, times, decimals.
    fn text(&self) -> Option<String> {
        let timestamp = |since, unit| Some(times::timestamp(since, unit, is_instant(self.of)));
        match self.field {
            Field::Decimal(of) => Some(decimal(of)),
            Field::Date(days) => Some(times::date((*days).into())),
            Field::TimeMillis(time) => Some(times::time((*time).into(), Unit::Millis)),
            Field::TimeMicros(time) => Some(times::time(*time, Unit::Micros)),
            Field::TimestampMillis(since) => timestamp(*since, Unit::Millis),
            Field::TimestampMicros(since) => timestamp(*since, Unit::Micros),
            Field::Long(number) => match self.of?.get_basic_info().logical_type_ref()? {
                LogicalType::Timestamp(of) => timestamp(*number, unit(of.unit)),
                LogicalType::Time(of) => Some(times::time(*number, unit(of.unit))),
                _ => None,
            },
            _ => None,
        }
    }

    /// The type of a list's elements.
    fn element(&self) -> Option<&'a Type> {
        let of = self.of?;
        // A repeated column that is no list.
        if of.is_primitive() || of.get_fields().len() != 1 {
            return Some(of);
        }
        let repeated = of.get_fields().first()?;
        match repeated.is_group() {
            true if repeated.get_fields().len() == 1 => {
                repeated.get_fields().first().map(AsRef::as_ref)
            }
            _ => Some(repeated),
        }
    }

    /// A value that is a number: of dates and times what is stored, of a decimal what it is.
    fn number<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.field {
            Field::Date(days) => visitor.visit_i32(*days),
            Field::TimeMillis(time) => visitor.visit_i32(*time),
            Field::TimeMicros(time) => visitor.visit_i64(*time),
            Field::TimestampMillis(since) | Field::TimestampMicros(since) => {
                visitor.visit_i64(*since)
            }
            Field::Long(number) => visitor.visit_i64(*number),
            Field::Decimal(of) => {
                let text = decimal(of);
                if let Ok(whole) = text.parse::<i64>() {
                    return visitor.visit_i64(whole);
                }
                match text.parse::<f64>() {
                    Ok(number) => visitor.visit_f64(number),
                    Err(_) => self.deserialize_any(visitor),
                }
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn seq<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.field {
            Field::Group(row) => visitor.visit_seq(Columns { row, of: self.of }.each()),
            Field::Bytes(bytes) => {
                visitor.visit_seq(SeqDeserializer::new(bytes.data().iter().copied()))
            }
            _ => self.deserialize_any(visitor),
        }
    }
}

impl<'de> IntoDeserializer<'de, Misfit> for Cell<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! numbers {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
            self.number(visitor)
        }
    )*};
}

macro_rules! texts {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
            match self.field {
                // Older writers annotate no text.
                Field::Bytes(bytes) => match bytes.as_utf8() {
                    Ok(text) => visitor.visit_str(text),
                    Err(_) => Err(Misfit::invalid_type(Unexpected::Bytes(bytes.data()), &visitor)),
                },
                _ => self.deserialize_any(visitor),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Cell<'_> {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        if let Some(text) = self.text() {
            return visitor.visit_string(text);
        }
        match self.field {
            Field::Null => visitor.visit_unit(),
            Field::Bool(value) => visitor.visit_bool(*value),
            Field::Byte(number) => visitor.visit_i8(*number),
            Field::Short(number) => visitor.visit_i16(*number),
            Field::Int(number) => visitor.visit_i32(*number),
            Field::Long(number) => visitor.visit_i64(*number),
            Field::UByte(number) => visitor.visit_u8(*number),
            Field::UShort(number) => visitor.visit_u16(*number),
            Field::UInt(number) => visitor.visit_u32(*number),
            Field::ULong(number) => visitor.visit_u64(*number),
            Field::Float16(number) => visitor.visit_f32(number.to_f32()),
            Field::Float(number) => visitor.visit_f32(*number),
            Field::Double(number) => visitor.visit_f64(*number),
            Field::Str(text) => visitor.visit_str(text),
            Field::Bytes(bytes) => visitor.visit_bytes(bytes.data()),
            Field::Group(row) => visitor.visit_map(Columns { row, of: self.of }.each()),
            Field::ListInternal(list) => {
                let of = self.element();
                let elements = list.elements().iter();
                visitor.visit_seq(SeqDeserializer::new(
                    elements.map(|field| Cell { field, of }),
                ))
            }
            Field::MapInternal(map) => {
                let pair = self.of.filter(|of| of.is_group()).map(Type::get_fields);
                let pair = pair.and_then(<[_]>::first).filter(|of| of.is_group());
                let at = |index| pair.and_then(|of| of.get_fields().get(index));
                let (key, value) = (at(0).map(AsRef::as_ref), at(1).map(AsRef::as_ref));
                let entries = map.entries().iter();
                let entries = entries.map(|(name, field)| {
                    let name = Cell {
                        field: name,
                        of: key,
                    };
                    (name, Cell { field, of: value })
                });
                visitor.visit_map(serde::de::value::MapDeserializer::new(entries))
            }
            // They have a text.
            Field::Decimal(_)
            | Field::Date(_)
            | Field::TimeMillis(_)
            | Field::TimeMicros(_)
            | Field::TimestampMillis(_)
            | Field::TimestampMicros(_) => Err(Misfit::custom("it has no text")),
        }
    }

    numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64
    }

    texts! { deserialize_str deserialize_string deserialize_char deserialize_identifier }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.field {
            Field::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        self.deserialize_any(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        self.seq(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Misfit> {
        self.seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        self.seq(visitor)
    }

    /// A variant without fields, by its name.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        let name = match self.field {
            Field::Str(name) => name.clone(),
            Field::Bytes(bytes) => String::from_utf8_lossy(bytes.data()).into_owned(),
            _ => return self.deserialize_any(visitor),
        };
        visitor.visit_enum(StringDeserializer::new(name))
    }

    serde::forward_to_deserialize_any! { bool bytes byte_buf unit_struct map struct }
}
