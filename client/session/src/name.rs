//! Names of sessions.

use std::fmt;
use std::str::FromStr;

use proto_hadoop::ApplicationId;

/// The first that is tried where the user gives none.
const DEFAULT: &str = "default";
/// Characters of a name.
const LENGTH_MAX: usize = 64;

/// By what its user calls a session: letters, digits, `-`, `_` and `.`, which it does not begin with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(String);

impl Name {
    /// Those that a session may get whose user gives none: `default`, `default-2`, `default-3`, …
    pub fn of_nobody() -> impl Iterator<Item = Self> {
        let numbered = (2_u32..).map(|number| Self(format!("{DEFAULT}-{number}")));
        std::iter::once(Self::default()).chain(numbered)
    }

    /// That of a session which no user calls by a name: its application's.
    #[must_use]
    pub fn of_application(id: ApplicationId) -> Self {
        Self(id.to_string())
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Name {
    /// The first of those.
    fn default() -> Self {
        Self(DEFAULT.to_owned())
    }
}

impl FromStr for Name {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let begins = text
            .bytes()
            .next()
            .is_some_and(|first| first.is_ascii_alphanumeric());
        match begins && text.len() <= LENGTH_MAX && text.bytes().all(fits) {
            true => Ok(Self(text.to_owned())),
            false => Err(format!(
                "{text:?} is no name of a session; write at most {LENGTH_MAX} letters, digits, -, _ and ., a \
                 letter or digit first"
            )),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_part_of_a_path_and_nothing_else() {
        for good in ["default", "a", "night-2.b_C", "0"] {
            assert_eq!(good.parse::<Name>().unwrap().as_str(), good);
        }
        for bad in [
            "",
            ".",
            "..",
            ".x",
            "-x",
            "a/b",
            "a b",
            "ä",
            &"x".repeat(65),
        ] {
            let refused = bad.parse::<Name>().unwrap_err();
            assert!(refused.contains("is no name of a session"), "{refused}");
        }
    }

    #[test]
    fn who_gives_no_name_gets_the_default_and_then_numbered_ones() {
        let first: Vec<String> = Name::of_nobody()
            .take(3)
            .map(|name| name.to_string())
            .collect();
        assert_eq!(first, ["default", "default-2", "default-3"]);
    }
}
