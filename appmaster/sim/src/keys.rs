//! What `-D` can set of a paper's figures.

use std::fmt::{self, Display, Formatter};

use anyhow::{Error, anyhow};

/// Keys, and what each is, with its value if it is not given.
#[derive(Clone, Copy, Debug)]
pub struct Keys(pub &'static [(&'static str, &'static str)]);

impl Keys {
    /// Why `key` is refused.
    pub(crate) fn unknown(self, key: &str) -> Error {
        let keys: Vec<&str> = self.0.iter().map(|(key, _)| *key).collect();
        anyhow!("{key:?} cannot be set; there are {}", keys.join(", "))
    }
}

/// A line each.
impl Display for Keys {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (key, what) in self.0 {
            writeln!(f, "  {key:<14} {what}")?;
        }
        Ok(())
    }
}
