//! What the library is told: values under the keys of the PMIx standard.

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Flag(bool),
    Short(u16),
    Number(u32),
    Rank(u32),
    Text(String),
    /// Of a group: its name, and a rank of it.
    Proc(String, u32),
    Array(Vec<Attribute>),
}

/// A value and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attribute {
    pub(crate) key: &'static str,
    pub(crate) value: Value,
}

impl Attribute {
    pub(crate) const fn new(key: &'static str, value: Value) -> Self {
        Self { key, value }
    }

    pub(crate) fn text(key: &'static str, text: impl Into<String>) -> Self {
        Self::new(key, Value::Text(text.into()))
    }

    pub(crate) const fn number(key: &'static str, number: u32) -> Self {
        Self::new(key, Value::Number(number))
    }
}
