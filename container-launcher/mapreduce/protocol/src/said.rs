//! Words of a task or driver, made fit for people. Such a process is the user's, or its engine's: its words may be long, or
//! hold characters that a terminal obeys or hides. Pure: launchers and clients call it where they take words in.

use std::fmt::{self, Write as _};

/// The longest sentence that is passed on, bytes.
pub const SENTENCE_MAX: usize = 8 << 10;
/// The longest name, bytes.
pub const NAME_MAX: usize = 255;
/// The longest beginning of a message out of place that is passed on, bytes.
const MESSAGE_MAX: usize = 300;

/// A sentence of at most [`SENTENCE_MAX`] bytes, in one line.
#[must_use]
pub fn sentence(said: &str) -> String {
    cut(said, SENTENCE_MAX)
}

/// One line of at most `most` bytes, and how many bytes are left out: breaks and tabs become blanks, and other characters
/// that are [unseen](is_unseen) are escaped as in Rust.
#[must_use]
pub fn cut(said: &str, most: usize) -> String {
    let mut shown = String::with_capacity(said.len().min(most));
    let mut letters = said.trim_end().char_indices();
    let left_out = letters.find_map(|(at, letter)| {
        let before = shown.len();
        match letter {
            '\n' | '\r' | '\t' => shown.push(' '),
            letter if is_unseen(letter) => shown.extend(letter.escape_default()),
            letter => shown.push(letter),
        }
        (shown.len() > most).then(|| {
            shown.truncate(before);
            at
        })
    });
    if let Some(at) = left_out {
        let rest = said.trim_end().len() - at;
        shown.push_str(&format!("... ({rest} bytes more)"));
    }
    shown
}

/// Whether a terminal obeys a character or hides it, instead of showing it: control characters, marks of direction,
/// separators of lines and paragraphs, blanks of no width, tags. What joins or parts the letters beside it, as Persian and
/// emoji need, is none of them.
#[must_use]
pub fn is_unseen(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The beginning of a message that is out of place.
#[must_use]
pub fn message(said: &impl fmt::Debug) -> String {
    let mut beginning = Beginning(String::new());
    let is_whole = write!(beginning, "{said:?}").is_ok();
    let mut shown = cut(&beginning.0, usize::MAX);
    if !is_whole {
        shown.push_str("...");
    }
    shown
}

/// Takes [`MESSAGE_MAX`] bytes, and fails at the next one.
struct Beginning(String);

impl fmt::Write for Beginning {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = MESSAGE_MAX.saturating_sub(self.0.len());
        let fits = text
            .char_indices()
            .take_while(|(at, letter)| at + letter.len_utf8() <= room);
        self.0.extend(fits.map(|(_, letter)| letter));
        match text.len() > room {
            true => Err(fmt::Error),
            false => Ok(()),
        }
    }
}

/// A name that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameError {
    /// It is empty.
    Empty,
    /// It has more bytes than names have.
    Long {
        /// How many.
        bytes: usize,
        /// Its beginning.
        begins: String,
    },
    /// It has a character that a terminal obeys or hides.
    Letter {
        /// The name.
        name: String,
    },
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "a name is empty"),
            Self::Long { bytes, begins } => write!(
                f,
                "the name {begins} has {bytes} bytes: {NAME_MAX} are the most"
            ),
            Self::Letter { name } => {
                write!(f, "the name {name} has characters that no terminal shows")
            }
        }
    }
}

impl std::error::Error for NameError {}

/// Refuses a name that is empty, long, or has characters that are [unseen](is_unseen).
///
/// # Errors
/// As [`NameError`] tells.
pub fn check_name(name: &str) -> Result<(), NameError> {
    if name.trim().is_empty() {
        return Err(NameError::Empty);
    }
    if name.len() > NAME_MAX {
        return Err(NameError::Long {
            bytes: name.len(),
            begins: cut(name, 40),
        });
    }
    match name.contains(is_unseen) {
        true => Err(NameError::Letter {
            name: cut(name, NAME_MAX),
        }),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_one_line_of_a_bounded_length_without_orders() {
        for (said, shown) in [
            ("line 3 is no number", "line 3 is no number"),
            ("é 日本 𝄞", "é 日本 𝄞"),
            ("boo \x1b[31m\n\0 ", r"boo \u{1b}[31m \u{0}"),
            ("left: 1\r\n\tright: 2\n", "left: 1   right: 2"),
            ("a\u{202e}b\u{9b}c", r"a\u{202e}b\u{9b}c"),
            (
                "می\u{200c}خواهم 👩\u{200d}🔬",
                "می\u{200c}خواهم 👩\u{200d}🔬",
            ),
            ("", ""),
        ] {
            assert_eq!(sentence(said), shown);
        }
        let long = "boo \x1b[31m\n\0 ".repeat(400_000);
        let shown = sentence(&long);
        assert!(shown.len() < SENTENCE_MAX + 40, "{}", shown.len());
        assert!(shown.ends_with(" bytes more)"), "{shown}");
        assert!(!shown.contains(char::is_control));
        for hidden in [
            '\u{ad}',
            '\u{61c}',
            '\u{200b}',
            '\u{2060}',
            '\u{2065}',
            '\u{206a}',
            '\u{206f}',
            '\u{feff}',
            '\u{e0000}',
            '\u{e0041}',
            '\u{e007f}',
        ] {
            let escaped = format!("a{}b", hidden.escape_default());
            assert_eq!(sentence(&format!("a{hidden}b")), escaped);
        }
        // A letter is whole, or not there.
        assert_eq!(cut("aé日", 3), "aé... (3 bytes more)");
        assert_eq!(cut("aé日", 6), "aé日");
        assert_eq!(cut("aé日", 0), "... (6 bytes more)");
    }

    #[test]
    fn a_message_is_known_by_its_beginning() {
        let text = "日\x1b".repeat(1 << 20);
        let shown = message(&Some(text));
        assert!(shown.starts_with("Some(\"日"), "{shown}");
        assert!(shown.ends_with("..."), "{shown}");
        assert!(shown.len() <= MESSAGE_MAX + 3, "{shown}");
        assert!(!shown.contains(char::is_control));
        assert_eq!(message(&Some(1)), "Some(1)");
    }

    #[test]
    fn a_name_is_short_and_can_be_shown() {
        assert_eq!(check_name("word count (é)"), Ok(()));
        assert_eq!(check_name("شمارش واژه\u{200c}ها 👩\u{200d}🔬"), Ok(()));
        assert_eq!(check_name(&"n".repeat(NAME_MAX)), Ok(()));
        assert_eq!(check_name(" "), Err(NameError::Empty));
        for (name, said) in [
            ("n".repeat(70_000), "has 70000 bytes: 255 are the most"),
            (
                "../\x1b[31m\n\"$(id)'".to_owned(),
                r"the name ../\u{1b}[31m",
            ),
            (
                "pay\u{ad}roll".to_owned(),
                r"pay\u{ad}roll has characters that no terminal shows",
            ),
        ] {
            let refused = check_name(&name).unwrap_err().to_string();
            assert!(refused.contains(said) && refused.len() < 400, "{refused}");
            assert!(!refused.contains(char::is_control), "{refused}");
        }
    }
}
