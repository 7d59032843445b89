//! The deserializer that asks a type what it is made of.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};

use super::Shape;

/// Structs inside of structs; a type that holds itself has no end.
const DEEPEST: usize = 48;

/// Why a type does not tell what it is made of.
#[derive(Debug)]
pub(super) struct Untold(String);

impl fmt::Display for Untold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Untold {}

impl serde::de::Error for Untold {
    fn custom<T: fmt::Display>(says: T) -> Self {
        Self(says.to_string())
    }
}

/// Hands a type one of what it asks for, and keeps what that was.
pub(super) struct Traced<'a> {
    shape: &'a mut Shape,
    depth: usize,
}

impl<'a> Traced<'a> {
    pub(super) const fn new(shape: &'a mut Shape) -> Self {
        Self { shape, depth: 0 }
    }
}

impl Traced<'_> {
    fn is<R>(self, shape: Shape, value: R) -> R {
        *self.shape = shape;
        value
    }

    fn deeper(&self) -> Result<usize, Untold> {
        match self.depth {
            DEEPEST => Err(Untold::custom("it holds itself, so that it has no end")),
            depth => Ok(depth + 1),
        }
    }
}

macro_rules! told {
    ($($method:ident $shape:expr, $visit:ident $value:expr;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Untold> {
            self.is($shape, visitor.$visit($value))
        }
    )*};
}

macro_rules! untold {
    ($($method:ident $what:literal;)*) => {$(
        fn $method<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Untold> {
            Err(Untold::custom($what))
        }
    )*};
}

impl<'de> Deserializer<'de> for Traced<'_> {
    type Error = Untold;

    // One is a value of types that have no zero, too.
    told! {
        deserialize_bool Shape::Bool, visit_bool true;
        deserialize_i8 Shape::Integer(8, true), visit_i8 1;
        deserialize_i16 Shape::Integer(16, true), visit_i16 1;
        deserialize_i32 Shape::Integer(32, true), visit_i32 1;
        deserialize_i64 Shape::Integer(64, true), visit_i64 1;
        deserialize_u8 Shape::Integer(8, false), visit_u8 1;
        deserialize_u16 Shape::Integer(16, false), visit_u16 1;
        deserialize_u32 Shape::Integer(32, false), visit_u32 1;
        deserialize_u64 Shape::Integer(64, false), visit_u64 1;
        deserialize_f32 Shape::Float, visit_f32 1.0;
        deserialize_f64 Shape::Double, visit_f64 1.0;
        deserialize_char Shape::Text, visit_char 'a';
        deserialize_str Shape::Text, visit_str "";
        deserialize_string Shape::Text, visit_str "";
        deserialize_bytes Shape::Bytes, visit_bytes b"";
        deserialize_byte_buf Shape::Bytes, visit_bytes b"";
    }

    untold! {
        deserialize_any "a type that takes what there is has no columns of its own";
        deserialize_ignored_any "what is ignored has no columns";
        deserialize_identifier "a name is no value";
        deserialize_i128 "integers of 128 bits have no columns";
        deserialize_u128 "integers of 128 bits have no columns";
        deserialize_unit "a unit has no columns";
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Untold> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Untold> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Untold> {
        let depth = self.deeper()?;
        let mut shape = Shape::Unknown;
        let value = visitor.visit_some(Traced {
            shape: &mut shape,
            depth,
        });
        let shape = match shape {
            Shape::Optional(inner) => Shape::Optional(inner),
            inner => Shape::Optional(Box::new(inner)),
        };
        self.is(shape, value)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Untold> {
        self.list(1, visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Untold> {
        self.list(length, visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Untold> {
        self.list(length, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Untold> {
        let mut each = Each::new(&[""], self.deeper()?);
        let value = visitor.visit_map(&mut each)?;
        let (key, inner) = (each.key.take(), each.told.pop());
        match key {
            Some(Shape::Text) => {}
            _ => return Err(Untold::custom("a map's keys are text")),
        }
        let inner = inner.map(|(_, inner)| inner).unwrap_or_default();
        Ok(self.is(Shape::Map(Box::new(inner)), value))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Untold> {
        let mut each = Each::new(fields, self.deeper()?);
        let value = visitor.visit_map(&mut each)?;
        Ok(self.is(Shape::Struct(name, each.told), value))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Untold> {
        let value = visitor.visit_enum(First(variants.first().copied().unwrap_or_default()))?;
        Ok(self.is(Shape::Word(name, variants), value))
    }
}

impl<'a> Traced<'a> {
    fn list<'de, V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Untold> {
        let mut each = Elements {
            left: length,
            shape: Shape::Unknown,
            depth: self.deeper()?,
        };
        let value = visitor.visit_seq(&mut each)?;
        // serde hands bytes over one by one.
        let shape = match each.shape {
            Shape::Integer(8, false) => Shape::Bytes,
            shape => Shape::List(Box::new(shape)),
        };
        Ok(self.is(shape, value))
    }
}

/// Elements of a list, which are all of one shape.
struct Elements {
    left: usize,
    shape: Shape,
    depth: usize,
}

impl<'de> SeqAccess<'de> for &mut Elements {
    type Error = Untold;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Untold> {
        let Some(left) = self.left.checked_sub(1) else {
            return Ok(None);
        };
        self.left = left;
        let mut shape = Shape::Unknown;
        let value = seed.deserialize(Traced {
            shape: &mut shape,
            depth: self.depth,
        })?;
        match self.shape == Shape::Unknown || self.shape == shape {
            true => self.shape = shape,
            false => return Err(Untold::custom("a tuple has values of several types")),
        }
        Ok(Some(value))
    }
}

/// Fields of a struct, or the one entry of a map.
struct Each {
    fields: &'static [&'static str],
    key: Option<Shape>,
    told: Vec<(&'static str, Shape)>,
    depth: usize,
}

impl Each {
    const fn new(fields: &'static [&'static str], depth: usize) -> Self {
        Self {
            fields,
            key: None,
            told: Vec::new(),
            depth,
        }
    }
}

impl<'de> MapAccess<'de> for &mut Each {
    type Error = Untold;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Untold> {
        match self.fields.get(self.told.len()) {
            None => Ok(None),
            Some(name) => {
                let key = self.key.insert(Shape::Unknown);
                seed.deserialize(Named(name, key)).map(Some)
            }
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Untold> {
        let mut shape = Shape::Unknown;
        let name = self.fields.get(self.told.len()).copied();
        let name = name.unwrap_or_default();
        let value = seed.deserialize(Traced {
            shape: &mut shape,
            depth: self.depth,
        });
        let value = value.map_err(|Untold(why)| Untold(format!("{name}: {why}")))?;
        self.told.push((name, shape));
        Ok(value)
    }
}

/// A field's name, or a map's key, of which its shape is kept.
struct Named<'a>(&'static str, &'a mut Shape);

impl<'de> Deserializer<'de> for Named<'_> {
    type Error = Untold;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Untold> {
        *self.1 = Shape::Text;
        visitor.visit_borrowed_str(self.0)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Untold> {
        visitor.visit_newtype_struct(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq
        tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// The first variant of an enum.
struct First(&'static str);

impl<'de> EnumAccess<'de> for First {
    type Error = Untold;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Untold> {
        let name: StrDeserializer<'_, Untold> = self.0.into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

fn variants() -> Untold {
    Untold::custom("an enum whose variants have fields has no columns")
}

impl<'de> VariantAccess<'de> for First {
    type Error = Untold;

    fn unit_variant(self) -> Result<(), Untold> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _: T) -> Result<T::Value, Untold> {
        Err(variants())
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Untold> {
        Err(variants())
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Untold> {
        Err(variants())
    }
}
