//! Sentences that users' code makes longer than anybody reads: shortened, so that each of them can be sent, kept and shown.

use std::borrow::Cow;

/// Most bytes of what a task or a driver says of its failure.
const SENTENCE: usize = 8 << 10;
/// Most characters of a key, or of another text of the input, within a sentence.
const SHOWN: usize = 200;
/// Most bytes of what a task says of itself.
pub(crate) const STATUS: usize = 512;

/// A sentence with its beginning and its end: what was being done stands in front, and the reason behind.
pub(crate) fn bounded(sentence: &str) -> Cow<'_, str> {
    if sentence.len() <= SENTENCE {
        return Cow::Borrowed(sentence);
    }
    let mark = " [and so on] ";
    let half = (SENTENCE - mark.len()) / 2;
    let (head, tail) = (beginning(sentence, half), end(sentence, half));
    Cow::Owned(format!("{head}{mark}{tail}"))
}

/// The first characters of a text of the input, in quotes, and how long it is where that is not all.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => format!("{text:?}"),
        Some((at, _)) => format!(
            "{:?} and so on, {} bytes",
            text.get(..at).unwrap_or_default(),
            text.len()
        ),
    }
}

/// At most so many bytes of the beginning, and no character in part.
pub(crate) fn beginning(text: &str, most: usize) -> &str {
    let mut cuts = (0..=most.min(text.len())).rev();
    cuts.find_map(|cut| text.get(..cut)).unwrap_or_default()
}

/// At most so many bytes of the end, and no character in part.
fn end(text: &str, most: usize) -> &str {
    let mut cuts = text.len().saturating_sub(most)..=text.len();
    cuts.find_map(|cut| text.get(cut..)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{SENTENCE, beginning, bounded, quoted};

    #[test]
    fn a_long_sentence_keeps_its_beginning_and_its_end() {
        assert_eq!(bounded("short"), "short");
        let all = "x".repeat(SENTENCE);
        assert_eq!(bounded(&all), all);
        for filler in ["x", "\u{e9}", "\u{10ffff}"] {
            let long = format!("group 7: {}: the reason", filler.repeat(1 << 20));
            let short = bounded(&long);
            assert!(
                short.len() <= SENTENCE && short.len() > SENTENCE - 10,
                "{}",
                short.len()
            );
            assert!(
                short.starts_with("group 7: ") && short.ends_with(": the reason"),
                "{short}"
            );
            assert!(short.contains(" [and so on] "));
        }
    }

    #[test]
    fn a_long_key_is_shown_in_part() {
        assert_eq!(quoted("k\n"), r#""k\n""#);
        let all = "\u{e9}".repeat(200);
        assert_eq!(quoted(&all), format!("{all:?}"));
        assert_eq!(
            quoted(&format!("{all}z")),
            format!("{all:?} and so on, 401 bytes")
        );
        assert_eq!(beginning("a\u{e9}b", 2), "a");
        assert_eq!(beginning("ab", 5), "ab");
    }
}
