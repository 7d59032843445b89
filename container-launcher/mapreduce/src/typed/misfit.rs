//! Why a row is no `T`.

use std::fmt;

use crate::sentence::quoted;
use serde::de::{Error, Expected, Unexpected};

/// What does not fit, and in which column.
#[derive(Debug)]
pub(crate) struct Misfit {
    /// The innermost name is the last.
    path: Vec<String>,
    pub(crate) why: Why,
}

#[derive(Debug)]
pub(crate) enum Why {
    /// There is no such column.
    Missing(&'static str),
    Says(String),
}

impl Misfit {
    pub(crate) fn within(mut self, name: &str) -> Self {
        self.path.insert(0, name.to_owned());
        self
    }

    /// The column's names from the row on, with points between; none where it is the row itself.
    pub(crate) fn column(&self) -> Option<String> {
        Some(self.path.join(".")).filter(|path| !path.is_empty())
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            Why::Missing(name) => write!(f, "no column {name}"),
            Why::Says(words) => f.write_str(words),
        }
    }
}

impl std::error::Error for Misfit {}

/// A value as words: the beginning of a long one.
fn words(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Str(text) => format!("the text {}", quoted(text)),
        Unexpected::Bytes(bytes) => format!("{} bytes", bytes.len()),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a group".to_owned(),
        Unexpected::Signed(number) => number.to_string(),
        Unexpected::Unsigned(number) => number.to_string(),
        Unexpected::Unit => "null".to_owned(),
        other => other.to_string(),
    }
}

impl Error for Misfit {
    fn custom<T: fmt::Display>(says: T) -> Self {
        Self {
            path: Vec::new(),
            why: Why::Says(says.to_string()),
        }
    }

    fn invalid_type(found: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        Self::custom(format_args!("{wanted} is wanted, found {}", words(found)))
    }

    fn invalid_value(found: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        Self::invalid_type(found, wanted)
    }

    fn missing_field(name: &'static str) -> Self {
        Self {
            path: Vec::new(),
            why: Why::Missing(name),
        }
    }
}
