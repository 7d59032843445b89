//! Cases that try one thing many times over, of which a run tries a part: `it/test` chooses it by the commit, so that
//! successive commits try all of them, and `it/test --all` takes them whole.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context as _, Error, Result, bail, ensure};

/// The variable that says which: `2/3` is the second of three. Without it all cases run.
pub const VARIABLE: &str = "GERBIL_IT_SLICE";

/// Of `all`, what this run tries, and how many it leaves out.
#[must_use]
pub fn tried<T>(all: Vec<T>) -> (Vec<T>, usize) {
    // A variable that says nothing is refused by the suite that asks.
    let Ok(Some(slice)) = Slice::from_environment() else {
        return (all, 0);
    };
    let count = all.len();
    let places = all.into_iter().enumerate();
    let tried: Vec<T> = places
        .filter_map(|(place, one)| slice.has(place).then_some(one))
        .collect();
    let left_out = count - tried.len();
    (tried, left_out)
}

/// One of several parts, dealt out as cards are: each has cases of all kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// From 1.
    number: usize,
    of: usize,
}

impl Slice {
    /// The one that [`VARIABLE`] names.
    ///
    /// # Errors
    ///
    /// If it names none.
    pub fn from_environment() -> Result<Option<Self>> {
        match std::env::var(VARIABLE) {
            Ok(named) if named.is_empty() => Ok(None),
            Ok(named) => named.parse().map(Some).context(VARIABLE),
            Err(std::env::VarError::NotPresent) => Ok(None),
            Err(error) => bail!("{VARIABLE}: {error}"),
        }
    }

    /// Whether the case at that place of its list, from 0, is one of it.
    #[must_use]
    pub fn has(self, index: usize) -> bool {
        index % self.of == self.number - 1
    }
}

impl FromStr for Slice {
    type Err = Error;

    fn from_str(named: &str) -> Result<Self> {
        let expected = || format!("{named} is no slice: NUMBER/OF, as in 2/3");
        let (number, of) = named.split_once('/').with_context(expected)?;
        let number = number.parse().with_context(expected)?;
        let of = of.parse().with_context(expected)?;
        ensure!((1..=of).contains(&number), expected());
        Ok(Self { number, of })
    }
}

impl fmt::Display for Slice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.number, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_case_is_of_one_slice() {
        let slices: Vec<Slice> = ["1/3", "2/3", "3/3"]
            .map(|named| named.parse().unwrap())
            .into();
        for index in 0..20 {
            let having = slices.iter().filter(|slice| slice.has(index)).count();
            assert_eq!(having, 1, "{index}");
        }
    }

    #[test]
    fn what_names_no_slice_is_refused() {
        for named in ["", "1", "0/3", "4/3", "1/0", "a/b", "-1/3", "1/3/3"] {
            let error = named.parse::<Slice>().unwrap_err().to_string();
            assert!(error.contains("NUMBER/OF"), "{named}: {error}");
        }
    }
}
