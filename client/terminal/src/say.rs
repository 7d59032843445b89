//! What this command says of itself.

use std::fmt;
use std::path::Path;
use std::sync::LazyLock;

use crate::escape::escaped_lines;
use crate::said::write_stderr;

/// The two names of the file; another one counts as the first.
const NAMES: [&str; 2] = ["gerbil-run", "gerbil"];
/// The longest that is said at once, bytes: the counters of a job, many times over. What others have said is cut before.
const SENTENCE_MAX: usize = 256 * 1024;

/// The one that it was started under.
static OWN: LazyLock<&str> = LazyLock::new(|| {
    let started = std::env::args_os().next().unwrap_or_default();
    let started = Path::new(&started).file_name().unwrap_or_default();
    let [first, _] = NAMES;
    let found = NAMES.into_iter().find(|name| started == *name);
    found.unwrap_or(first)
});

/// One line on standard error, marked as ours with the name that was typed: everything else there is the program's.
/// Nobody may be left to read it, which is no reason to stop.
pub fn say(sentence: impl fmt::Display) {
    write_stderr(line(&sentence.to_string()));
}

fn line(sentence: &str) -> String {
    let mut end = sentence.len().min(SENTENCE_MAX);
    while !sentence.is_char_boundary(end) {
        end -= 1;
    }
    let (sentence, rest) = sentence.split_at(end);
    let rest = match rest.len() {
        0 => String::new(),
        rest => format!("… ({rest} bytes more)"),
    };
    format!("{}: {}{rest}\n", *OWN, escaped_lines(sentence))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_said_is_obeyed_and_all_of_it_is_bounded() {
        assert_eq!(line("a\n\u{1b}[2Jb"), "gerbil-run: a\n\\x1b[2Jb\n");
        let long = line(&"ü".repeat(SENTENCE_MAX));
        assert!(long.len() < SENTENCE_MAX + 64, "{}", long.len());
        assert!(long.ends_with("ü… (262144 bytes more)\n"));
    }
}
