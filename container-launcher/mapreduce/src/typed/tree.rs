//! A value as a tree: what serde is told of it, before it becomes columns.

use std::fmt;

use serde::ser::{
    Error as _, Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple,
    SerializeTupleStruct, Serializer,
};

/// What is in a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tree {
    Null,
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    Float(f32),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
    List(Vec<Self>),
    Map(Vec<(Self, Self)>),
    Struct(Vec<(&'static str, Self)>),
}

impl Tree {
    pub(crate) fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, Unserial> {
        value.serialize(Planter)
    }

    /// What it is, in words.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(value) => value.to_string(),
            Self::Signed(number) => number.to_string(),
            Self::Unsigned(number) => number.to_string(),
            Self::Float(number) => number.to_string(),
            Self::Double(number) => number.to_string(),
            Self::Text(text) => format!("the text {}", crate::sentence::quoted(text)),
            Self::Bytes(bytes) => format!("{} bytes", bytes.len()),
            Self::List(_) => "a list".to_owned(),
            Self::Map(_) => "a map".to_owned(),
            Self::Struct(_) => "a struct".to_owned(),
        }
    }
}

/// Why a value is no tree.
#[derive(Debug)]
pub(crate) struct Unserial(String);

impl fmt::Display for Unserial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unserial {}

impl serde::ser::Error for Unserial {
    fn custom<T: fmt::Display>(says: T) -> Self {
        Self(says.to_string())
    }
}

struct Planter;

type Never = Impossible<Tree, Unserial>;

fn variants() -> Unserial {
    Unserial::custom("an enum whose variants have fields has no columns")
}

macro_rules! leaves {
    ($($method:ident $of:ty, $leaf:ident;)*) => {$(
        fn $method(self, value: $of) -> Result<Tree, Unserial> {
            Ok(Tree::$leaf(value.into()))
        }
    )*};
}

impl Serializer for Planter {
    type Ok = Tree;
    type Error = Unserial;
    type SerializeSeq = Branch;
    type SerializeTuple = Branch;
    type SerializeTupleStruct = Branch;
    type SerializeTupleVariant = Never;
    type SerializeMap = Entries;
    type SerializeStruct = Fields;
    type SerializeStructVariant = Never;

    leaves! {
        serialize_bool bool, Bool;
        serialize_i8 i8, Signed;
        serialize_i16 i16, Signed;
        serialize_i32 i32, Signed;
        serialize_i64 i64, Signed;
        serialize_u8 u8, Unsigned;
        serialize_u16 u16, Unsigned;
        serialize_u32 u32, Unsigned;
        serialize_u64 u64, Unsigned;
        serialize_f32 f32, Float;
        serialize_f64 f64, Double;
        serialize_char char, Text;
        serialize_str &str, Text;
        serialize_bytes &[u8], Bytes;
    }

    fn serialize_none(self) -> Result<Tree, Unserial> {
        Ok(Tree::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Tree, Unserial> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Tree, Unserial> {
        Ok(Tree::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Tree, Unserial> {
        Ok(Tree::Null)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Tree, Unserial> {
        Ok(Tree::Text(variant.to_owned()))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Tree, Unserial> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<Tree, Unserial> {
        Err(variants())
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Branch, Unserial> {
        Ok(Branch(Vec::with_capacity(length.unwrap_or(0).min(1024))))
    }

    fn serialize_tuple(self, length: usize) -> Result<Branch, Unserial> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_struct(self, _: &'static str, length: usize) -> Result<Branch, Unserial> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Never, Unserial> {
        Err(variants())
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Entries, Unserial> {
        Ok(Entries(Vec::new(), None))
    }

    fn serialize_struct(self, _: &'static str, length: usize) -> Result<Fields, Unserial> {
        Ok(Fields(Vec::with_capacity(length)))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Never, Unserial> {
        Err(variants())
    }
}

/// A list that grows.
struct Branch(Vec<Tree>);

impl SerializeSeq for Branch {
    type Ok = Tree;
    type Error = Unserial;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unserial> {
        self.0.push(Tree::of(value)?);
        Ok(())
    }

    fn end(self) -> Result<Tree, Unserial> {
        Ok(Tree::List(self.0))
    }
}

impl SerializeTuple for Branch {
    type Ok = Tree;
    type Error = Unserial;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unserial> {
        SerializeSeq::serialize_element(self, value)
    }

    fn end(self) -> Result<Tree, Unserial> {
        SerializeSeq::end(self)
    }
}

impl SerializeTupleStruct for Branch {
    type Ok = Tree;
    type Error = Unserial;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unserial> {
        SerializeSeq::serialize_element(self, value)
    }

    fn end(self) -> Result<Tree, Unserial> {
        SerializeSeq::end(self)
    }
}

/// A map that grows, and a key whose value is to come.
struct Entries(Vec<(Tree, Tree)>, Option<Tree>);

impl SerializeMap for Entries {
    type Ok = Tree;
    type Error = Unserial;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Unserial> {
        self.1 = Some(Tree::of(key)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unserial> {
        let key = self.1.take();
        let key = key.ok_or_else(|| Unserial::custom("a value comes before its key"))?;
        self.0.push((key, Tree::of(value)?));
        Ok(())
    }

    fn end(self) -> Result<Tree, Unserial> {
        Ok(Tree::Map(self.0))
    }
}

/// A struct that grows.
struct Fields(Vec<(&'static str, Tree)>);

impl SerializeStruct for Fields {
    type Ok = Tree;
    type Error = Unserial;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Unserial> {
        self.0.push((name, Tree::of(value)?));
        Ok(())
    }

    fn end(self) -> Result<Tree, Unserial> {
        Ok(Tree::Struct(self.0))
    }
}
