//! Characters that a terminal obeys or hides instead of showing them, written out.

use std::fmt::Write as _;

/// Nothing that is seen, or something that changes how what stands beside it is seen.
pub(crate) fn is_hidden(c: char) -> bool {
    gerbil_task::said::is_unseen(c)
}

/// Writes a character that is hidden as a program's text has it: `\n`, `\x1b`, `\u{202e}`.
pub(crate) fn push_hidden(to: &mut String, c: char) {
    match c {
        '\n' => to.push_str("\\n"),
        '\r' => to.push_str("\\r"),
        '\t' => to.push_str("\\t"),
        c if c.is_ascii() => push(to, format_args!("\\x{:02x}", u32::from(c))),
        c => push(to, format_args!("\\u{{{:x}}}", u32::from(c))),
    }
}

/// Writes a byte that is no text.
pub(crate) fn push_byte(to: &mut String, byte: u8) {
    push(to, format_args!("\\x{byte:02x}"));
}

fn push(to: &mut String, what: std::fmt::Arguments<'_>) {
    // A string takes everything.
    let _taken = to.write_fmt(what).is_ok();
}

/// Lines of our own, in which something of others may stand: ends of lines and tabulators stay.
pub(crate) fn escaped_lines(text: &str) -> String {
    with(text, |to, c| match c {
        '\n' | '\t' => to.push(c),
        c => push_hidden(to, c),
    })
}

/// One line of our own, in which something of others may stand: tabulators stay.
pub(crate) fn escaped_line(text: &str) -> String {
    with(text, |to, c| match c {
        '\t' => to.push(c),
        c => push_hidden(to, c),
    })
}

/// JSON, which stays the same to a program: what a terminal would obey or hide stands in its strings alone, and is
/// escaped there as JSON has it.
pub(crate) fn escaped_json(text: &str) -> String {
    with(text, |to, c| match c {
        // Between its words.
        '\n' | '\t' | '\r' => to.push(c),
        c => {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                push(to, format_args!("\\u{unit:04x}"));
            }
        }
    })
}

fn with(text: &str, hidden: impl Fn(&mut String, char)) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match is_hidden(c) {
            true => hidden(&mut shown, c),
            false => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_lines_and_nothing_else_is_obeyed() {
        assert_eq!(
            escaped_lines("a\tb\n\u{1b}[31mred\r\u{9b}1m\0\u{202e}x\u{e0041}"),
            "a\tb\n\\x1b[31mred\\r\\u{9b}1m\\x00\\u{202e}x\\u{e0041}"
        );
        let plain = "Grüße, 日本語, क्‍ष, 👩‍🔬 \\n";
        assert_eq!(escaped_lines(plain), plain);
        assert_eq!(escaped_lines(&escaped_lines("\u{1b}")), "\\x1b");
    }

    #[test]
    fn json_is_the_same_to_a_program() {
        let value = serde_json::json!({ "na\u{9b}me": "\u{1b}[2J\u{202e}\n\u{7f}\u{e0041} ü" });
        for text in [
            value.to_string(),
            serde_json::to_string_pretty(&value).unwrap(),
        ] {
            let shown = escaped_json(&text);
            assert!(!shown.replace('\n', "").chars().any(is_hidden), "{shown}");
            let read: serde_json::Value = serde_json::from_str(&shown).unwrap();
            assert_eq!(read, value);
        }
    }
}
