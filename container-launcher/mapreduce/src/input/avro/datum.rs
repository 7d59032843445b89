//! Avro's values, for serde: by the names of fields, and what a value is by its logical type.

use apache_avro::types::Value;
use serde::de::value::{MapDeserializer, SeqDeserializer, StringDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    Visitor,
};

use crate::typed::misfit::Misfit;
use crate::typed::times::{self, Unit};

/// A value; of a union what is in it.
#[derive(Clone, Copy)]
pub(super) struct Datum<'a>(&'a Value);

impl<'a> Datum<'a> {
    pub(super) fn new(mut value: &'a Value) -> Self {
        while let Value::Union(_, inner) = value {
            value = inner;
        }
        Self(value)
    }

    /// What has a text of its own: dates, times, decimals, UUIDs.
    fn text(self) -> Option<String> {
        let stamp = |since: i64, unit, is_instant| Some(times::timestamp(since, unit, is_instant));
        match self.0 {
            Value::Date(days) => Some(times::date((*days).into())),
            Value::TimeMillis(time) => Some(times::time((*time).into(), Unit::Millis)),
            Value::TimeMicros(time) => Some(times::time(*time, Unit::Micros)),
            Value::TimestampMillis(since) => stamp(*since, Unit::Millis, true),
            Value::TimestampMicros(since) => stamp(*since, Unit::Micros, true),
            Value::TimestampNanos(since) => stamp(*since, Unit::Nanos, true),
            Value::LocalTimestampMillis(since) => stamp(*since, Unit::Millis, false),
            Value::LocalTimestampMicros(since) => stamp(*since, Unit::Micros, false),
            Value::LocalTimestampNanos(since) => stamp(*since, Unit::Nanos, false),
            Value::BigDecimal(decimal) => Some(decimal.to_string()),
            Value::Uuid(uuid) => Some(uuid.to_string()),
            _ => None,
        }
    }

    fn number<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.0 {
            Value::Date(number) | Value::TimeMillis(number) => visitor.visit_i32(*number),
            Value::TimeMicros(number)
            | Value::TimestampMillis(number)
            | Value::TimestampMicros(number)
            | Value::TimestampNanos(number)
            | Value::LocalTimestampMillis(number)
            | Value::LocalTimestampMicros(number)
            | Value::LocalTimestampNanos(number) => visitor.visit_i64(*number),
            Value::BigDecimal(decimal) => {
                let text = decimal.to_string();
                match (text.parse::<i64>(), text.parse::<f64>()) {
                    (Ok(whole), _) => visitor.visit_i64(whole),
                    (_, Ok(number)) => visitor.visit_f64(number),
                    _ => self.deserialize_any(visitor),
                }
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn seq<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.0 {
            Value::Bytes(bytes) | Value::Fixed(_, bytes) => {
                visitor.visit_seq(SeqDeserializer::new(bytes.iter().copied()))
            }
            Value::Record(fields) => visitor.visit_seq(Fields { fields, next: 0 }),
            _ => self.deserialize_any(visitor),
        }
    }
}

/// How a record's fields are handed over, one after the other.
struct Fields<'a> {
    fields: &'a [(String, Value)],
    next: usize,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = Misfit;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Misfit> {
        let Some((name, _)) = self.fields.get(self.next) else {
            return Ok(None);
        };
        seed.deserialize(name.as_str().into_deserializer())
            .map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Misfit> {
        let field = self.fields.get(self.next);
        let (name, value) = field.ok_or_else(|| Misfit::custom("no field is left"))?;
        self.next += 1;
        let value = seed.deserialize(Datum::new(value));
        value.map_err(|misfit| misfit.within(name))
    }
}

impl<'de> SeqAccess<'de> for Fields<'_> {
    type Error = Misfit;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Misfit> {
        match self.next < self.fields.len() {
            true => self.next_value_seed(seed).map(Some),
            false => Ok(None),
        }
    }
}

impl<'de> IntoDeserializer<'de, Misfit> for Datum<'_> {
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
            match self.0 {
                Value::Bytes(bytes) | Value::Fixed(_, bytes) => match std::str::from_utf8(bytes) {
                    Ok(text) => visitor.visit_str(text),
                    Err(_) => Err(Misfit::invalid_type(Unexpected::Bytes(bytes), &visitor)),
                },
                _ => self.deserialize_any(visitor),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Datum<'_> {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        if let Some(text) = self.text() {
            return visitor.visit_string(text);
        }
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Boolean(value) => visitor.visit_bool(*value),
            Value::Int(number) => visitor.visit_i32(*number),
            Value::Long(number) => visitor.visit_i64(*number),
            Value::Float(number) => visitor.visit_f32(*number),
            Value::Double(number) => visitor.visit_f64(*number),
            Value::Bytes(bytes) | Value::Fixed(_, bytes) => visitor.visit_bytes(bytes),
            Value::String(text) | Value::Enum(_, text) => visitor.visit_str(text),
            Value::Array(values) => {
                visitor.visit_seq(SeqDeserializer::new(values.iter().map(Datum::new)))
            }
            Value::Map(entries) => {
                // In the order of their names: that of the file is not kept.
                let mut entries: Vec<_> = entries.iter().collect();
                entries.sort_unstable_by_key(|(name, _)| *name);
                let entries = entries.into_iter();
                visitor.visit_map(MapDeserializer::new(
                    entries.map(|(name, value)| (name.as_str(), Datum::new(value))),
                ))
            }
            Value::Record(fields) => visitor.visit_map(Fields { fields, next: 0 }),
            Value::Union(_, inner) => Datum::new(inner).deserialize_any(visitor),
            Value::Decimal(_) => Err(Misfit::custom(
                "a decimal, which is read here where its scale is part of the value (big-decimal) alone",
            )),
            Value::Duration(_) => Err(Misfit::custom("a duration, which is not read here")),
            // They have a text.
            _ => Err(Misfit::custom("it has no text")),
        }
    }

    numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64
    }

    texts! { deserialize_str deserialize_string deserialize_char deserialize_identifier }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        self.deserialize_unit(visitor)
    }

    /// A record is one of nothing that is asked for, too.
    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.0 {
            Value::Record(_) => visitor.visit_unit(),
            _ => self.deserialize_any(visitor),
        }
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
        match self.0 {
            Value::String(name) | Value::Enum(_, name) => {
                visitor.visit_enum(StringDeserializer::new(name.clone()))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    serde::forward_to_deserialize_any! { bool bytes byte_buf map struct }
}
