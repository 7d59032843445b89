//! A word behind an option that may have a value, or none: its value, or the program?
//!
//! `--local 3 ./cpi` and `--explain what.txt ./cpi` look as if the word were the value, and `--kill-on-bad-exit true
//! sh -c …` runs `/bin/true` where it is not. A switch takes such a word as its value. Any other option takes a value
//! behind `=` alone, and a word that may be either is refused with both spellings.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use super::values::yes_or_no;

/// A word that is read as yes or no. A program of such a name stands behind `--`.
pub(crate) fn is_yes_or_no(word: &OsStr) -> bool {
    word.to_str().is_some_and(|word| yes_or_no(word).is_ok())
}

/// No program is called so, but many a value is.
fn is_number(word: &OsStr) -> bool {
    let bytes = word.as_bytes();
    !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit)
}

/// What stands behind an option without its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NextWord<'a> {
    /// The word.
    pub word: &'a OsStr,
    /// Whether it is the last one: a value would leave no program.
    pub is_last: bool,
    /// Whether the option takes any word as its value, as one does that names a file, and none is a program of this
    /// name.
    pub is_rather_value: bool,
    /// What it is if it is no value.
    pub noun: &'static str,
}

impl NextWord<'_> {
    /// Why the word behind `option` is not taken, as one sentence, where it may be the option's value.
    ///
    /// # Errors
    /// The sentence.
    pub(crate) fn refuse_value(self, option: &str) -> Result<(), String> {
        let word = self.word.display();
        if self.word.as_bytes().starts_with(b"-") || self.word.as_bytes() == b":" {
            return Ok(());
        }
        if self.is_rather_value {
            return Err(format!(
                "{option} {word}: no program is called {word}; the value of {option} stands behind =, as in \
                 {option}={word}"
            ));
        }
        if is_number(self.word) || (is_yes_or_no(self.word) && !self.is_last) {
            return Err(format!(
                "{option} {word}: write {option}={word} if {word} is a value, and {option} -- {word} if it is the {}",
                self.noun
            ));
        }
        Ok(())
    }
}

/// The same of the words behind the `option` of a command of clap's, where it is one that takes a value behind `=`
/// alone; what is no value is a `noun`.
///
/// # Errors
/// The sentence.
pub(crate) fn refuse_value(
    definition: &clap::Command,
    option: &str,
    rest: &[OsString],
    noun: &'static str,
) -> Result<(), String> {
    let is_it = |argument: &clap::Arg| {
        argument.is_require_equals_set()
            && argument
                .get_long()
                .is_some_and(|long| option.strip_prefix("--") == Some(long))
    };
    match rest.first() {
        Some(word) if definition.get_arguments().any(is_it) => {
            let next = NextWord {
                word,
                is_last: rest.len() == 1 && noun == PROGRAM,
                is_rather_value: false,
                noun,
            };
            next.refuse_value(option)
        }
        Some(_) | None => Ok(()),
    }
}

/// What begins behind the options of `gerbil-run` and `gerbil mr`.
pub(crate) const PROGRAM: &str = "program";

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(word: &str, is_last: bool, is_rather_value: bool) -> Option<String> {
        let next = NextWord {
            word: word.as_ref(),
            is_last,
            is_rather_value,
            noun: PROGRAM,
        };
        next.refuse_value("--local").err()
    }

    #[test]
    fn a_word_that_may_be_the_value_is_refused_with_both_spellings() {
        for (word, is_last, is_rather_value, wanted) in [
            (
                "4",
                true,
                false,
                Some("write --local=4 if 4 is a value, and --local -- 4"),
            ),
            (
                "true",
                false,
                false,
                Some("and --local -- true if it is the program"),
            ),
            ("true", true, false, None),
            ("log", false, true, Some("as in --local=log")),
            ("log", false, false, None),
            ("-n", false, true, None),
            (":", false, true, None),
        ] {
            let found = refused(word, is_last, is_rather_value);
            match (&found, wanted) {
                (None, None) => {}
                (Some(found), Some(wanted)) => assert!(found.contains(wanted), "{word}: {found}"),
                _ => panic!("{word}: {found:?}, not {wanted:?}"),
            }
        }
    }
}
