//! Words that others have chosen, as a person may be shown them.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;

use crate::escape::{is_hidden, push_byte, push_hidden};

/// Characters of a name: of a job, an application, a queue, a host, a user, a file.
const NAME_MAX: usize = 200;
/// Characters of a cell that stands before others in a row, and of the last one.
const CELL_MAX: usize = 80;
const LAST_MAX: usize = 1000;
/// Characters of a sentence: why a task failed, what a job waits for.
const SENTENCE_MAX: usize = 4000;

/// Text whose author is another: another user, a program, another host. It is shown in one line, with escapes in place of
/// what a terminal would obey or hide, and is cut where it is longer than what it is for.
#[derive(Clone, Copy, Debug)]
pub struct Foreign<'a> {
    bytes: &'a [u8],
    most: usize,
}

impl<'a> Foreign<'a> {
    /// What somebody or something is called.
    pub fn name(text: &'a (impl AsRef<OsStr> + ?Sized)) -> Self {
        Self {
            bytes: text.as_ref().as_bytes(),
            most: NAME_MAX,
        }
    }

    /// What stands in a cell, which makes all of its column as wide unless it is the last of its row.
    pub(crate) fn cell(text: &'a str, is_last: bool) -> Self {
        Self {
            bytes: text.as_bytes(),
            most: if is_last { LAST_MAX } else { CELL_MAX },
        }
    }

    /// What was said.
    pub fn sentence(text: &'a (impl AsRef<OsStr> + ?Sized)) -> Self {
        Self {
            bytes: text.as_ref().as_bytes(),
            most: SENTENCE_MAX,
        }
    }
}

impl fmt::Display for Foreign<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = String::new();
        let mut left = self.most;
        for chunk in self.bytes.utf8_chunks() {
            for c in chunk.valid().chars() {
                if left == 0 {
                    return self.cut(f, &shown);
                }
                left -= 1;
                match is_hidden(c) {
                    true => push_hidden(&mut shown, c),
                    false => shown.push(c),
                }
            }
            for byte in chunk.invalid() {
                if left == 0 {
                    return self.cut(f, &shown);
                }
                left -= 1;
                push_byte(&mut shown, *byte);
            }
        }
        f.pad(&shown)
    }
}

impl Foreign<'_> {
    fn cut(&self, f: &mut fmt::Formatter<'_>, shown: &str) -> fmt::Result {
        write!(f, "{shown}… ({} bytes)", self.bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_words_are_one_line_that_nothing_obeys() {
        for (text, shown) in [
            (&b"cpi"[..], "cpi"),
            (b"", ""),
            (b"a\x1b[31m\nb\0", "a\\x1b[31m\\nb\\x00"),
            (b"\xc2\x9b1m", "\\u{9b}1m"),
            (b"latin \xfcber", "latin \\xfcber"),
            ("gpj\u{202e}exe.sh".as_bytes(), "gpj\\u{202e}exe.sh"),
            ("ünïcode 日本".as_bytes(), "ünïcode 日本"),
        ] {
            assert_eq!(Foreign::name(OsStr::from_bytes(text)).to_string(), shown);
            assert_eq!(
                Foreign::sentence(OsStr::from_bytes(text)).to_string(),
                shown
            );
        }
        assert_eq!(format!("{:>5}|", Foreign::name("ab")), "   ab|");
    }

    #[test]
    fn a_megabyte_is_cut_and_its_length_is_said() {
        let long = "boo \u{1b}[31m\n\0 ".repeat(400_000);
        for (foreign, most) in [
            (Foreign::name(&long), NAME_MAX),
            (Foreign::sentence(&long), SENTENCE_MAX),
        ] {
            let shown = foreign.to_string();
            assert!(shown.len() < 4 * most + 32, "{}", shown.len());
            assert!(
                shown.ends_with(&format!("… ({} bytes)", long.len())),
                "{shown}"
            );
            assert!(!shown.chars().any(is_hidden));
        }
        let just = "x".repeat(NAME_MAX);
        assert_eq!(Foreign::name(&just).to_string(), just);
    }
}
