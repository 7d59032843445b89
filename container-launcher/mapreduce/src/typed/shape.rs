//! What a type is made of, as its own `Deserialize` tells: it is handed one of everything that it asks for.

mod traced;

use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use traced::Traced;

/// What a type is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Nothing was asked for.
    #[default]
    Unknown,
    Bool,
    /// An integer of so many bits; signed, or not.
    Integer(u8, bool),
    Float,
    Double,
    Text,
    Bytes,
    /// One of these words.
    Word(&'static str, &'static [&'static str]),
    Optional(Box<Self>),
    List(Box<Self>),
    /// From text.
    Map(Box<Self>),
    Struct(&'static str, Vec<(&'static str, Self)>),
}

impl Shape {
    /// What a struct `T` is made of.
    pub(crate) fn of<T: DeserializeOwned>() -> Result<Self> {
        let mut shape = Self::Unknown;
        let name = std::any::type_name::<T>();
        let traced = T::deserialize(Traced::new(&mut shape));
        match (traced, shape) {
            (Ok(_), Self::Struct(name, fields)) if !fields.is_empty() => {
                Ok(Self::Struct(name, fields))
            }
            (Ok(_), _) => Err(Error::new(format!(
                "{name} is no struct with fields, which rows are made of"
            ))),
            (Err(why), _) => Err(Error::new(format!("what columns {name} has: {why}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::Shape;

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only what it is made of is looked at")]
    struct Page {
        site: String,
        at: Option<std::num::NonZeroU32>,
        bytes: Vec<u8>,
        links: Vec<Link>,
        counts: BTreeMap<String, f32>,
        kind: Kind,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only what it is made of is looked at")]
    struct Link(Option<Option<i64>>);

    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        Plain,
        #[serde(rename = "HTML")]
        Html,
    }

    #[test]
    fn a_struct_tells_its_fields() {
        let optional = |shape| Shape::Optional(Box::new(shape));
        let fields = vec![
            ("site", Shape::Text),
            ("at", optional(Shape::Integer(32, false))),
            ("bytes", Shape::Bytes),
            (
                "links",
                Shape::List(Box::new(optional(Shape::Integer(64, true)))),
            ),
            ("counts", Shape::Map(Box::new(Shape::Float))),
            ("kind", Shape::Word("Kind", &["plain", "HTML"])),
        ];
        assert_eq!(Shape::of::<Page>().unwrap(), Shape::Struct("Page", fields));
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only what it is made of is looked at")]
    struct Loop {
        next: Option<Box<Self>>,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only what it is made of is looked at")]
    struct Loose {
        what: serde_json::Value,
    }

    #[test]
    fn what_does_not_tell_is_named() {
        let words = |told: crate::Result<Shape>| told.unwrap_err().to_string();
        let of = std::any::type_name::<Loose>();
        let why = "a type that takes what there is has no columns of its own";
        let said = words(Shape::of::<Loose>());
        assert_eq!(said, format!("what columns {of} has: what: {why}"));
        let said = words(Shape::of::<Loop>());
        assert!(
            said.ends_with("it holds itself, so that it has no end"),
            "{said}"
        );
        let said = words(Shape::of::<u64>());
        assert_eq!(said, "u64 is no struct with fields, which rows are made of");
    }
}
