//! What `-D` can set of a paper's figures.

use std::fmt::{self, Display, Formatter};
use std::ops::RangeInclusive;
use std::str::FromStr;

use anyhow::{Context as _, Error, Result, anyhow};

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

/// The whole number that `key` is set to, where it is one of `wanted`: what is played has room for so many.
///
/// # Errors
///
/// It is no number, or below or above them: a sentence with the value and both ends.
pub fn whole<Number: FromStr + PartialOrd + Display>(
    key: &str,
    value: &str,
    wanted: RangeInclusive<Number>,
) -> Result<Number> {
    let number = value.parse().ok();
    let number = number.filter(|number| wanted.contains(number));
    number.with_context(|| {
        let (least, most) = (wanted.start(), wanted.end());
        format!("{key}={value}: a whole number from {least} to {most} is wanted")
    })
}
