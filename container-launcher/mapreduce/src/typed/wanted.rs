//! Which columns a type wants: the names of its own fields, as serde knows them.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Visitor};

/// Columns that are read of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Of a type that takes what there is, such as a map.
    All,
    /// Of a struct. None of a type without fields, which counts rows.
    Named(&'static [&'static str]),
}

impl Wanted {
    /// What `T` asks a deserializer for.
    pub(crate) fn of<'de, T: Deserialize<'de>>() -> Self {
        let mut wanted = Self::All;
        // It always fails: all that matters is how `T` begins.
        drop(T::deserialize(Asked(&mut wanted)));
        wanted
    }

    pub(crate) fn has(self, column: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => names.contains(&column),
        }
    }
}

/// A deserializer that is asked once, and says nothing.
struct Asked<'a>(&'a mut Wanted);

#[derive(Debug)]
struct Nothing;

impl fmt::Display for Nothing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing is read")
    }
}

impl std::error::Error for Nothing {}

impl serde::de::Error for Nothing {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

impl<'de> Deserializer<'de> for Asked<'_> {
    type Error = Nothing;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Nothing> {
        Err(Nothing)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Nothing> {
        *self.0 = Wanted::Named(fields);
        Err(Nothing)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Nothing> {
        *self.0 = Wanted::Named(&[]);
        Err(Nothing)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Nothing> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Nothing> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Nothing> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Nothing> {
        visitor.visit_some(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf seq tuple tuple_struct map
        enum identifier
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::Wanted;

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its fields' names are looked at")]
    struct Visit {
        #[serde(rename = "Site", alias = "host")]
        site: String,
        at: Option<u64>,
        #[serde(skip)]
        kept: bool,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its fields' names are looked at")]
    struct Around(Visit);

    #[derive(Deserialize)]
    struct Counted;

    #[test]
    fn a_type_wants_its_own_fields() {
        let Wanted::Named(names) = Wanted::of::<Visit>() else {
            panic!("a struct has names");
        };
        let mut names = names.to_vec();
        names.sort_unstable();
        assert_eq!(names, ["Site", "at", "host"]);
        assert_eq!(Wanted::of::<Around>(), Wanted::of::<Visit>());
        assert_eq!(Wanted::of::<Counted>(), Wanted::Named(&[]));
        assert_eq!(Wanted::of::<()>(), Wanted::Named(&[]));
        assert_eq!(Wanted::of::<BTreeMap<String, u64>>(), Wanted::All);
        assert_eq!(Wanted::of::<serde_json::Value>(), Wanted::All);
        assert_eq!(Wanted::of::<(u64, String)>(), Wanted::All);
    }
}
