//! One line of PMI-1: `cmd=put kvsname=kvs key=k value=v`.
//!
//! ```text
//! line  = "cmd=" name *( SP+ key [ "=" value ] )
//! key   = 1*( letter | digit | "_" | "-" | "/" )
//! value = 1*( any byte but SP and NL; "\" takes the next byte along )
//! ```
//!
//! The grammar is that of MPICH's own wire code (versions 4 and 5). Escapes stay in the value: a
//! rank gets back what another one put, byte for byte, whether its library knows of escapes or not. Requests to spawn processes
//! have a form of several lines, `mcmd=spawn … endcmd`, of which only the frame is read here.

use thiserror::Error;

/// A line that is not PMI-1. The line is shown as far as it is text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LineError {
    /// It does not begin with a command.
    #[error("PMI line without cmd= at its start: {line:?}")]
    NoCommand {
        /// What was sent, lossy, at most 200 characters.
        line: String,
    },
    /// Something that is neither `key` nor `key=value`.
    #[error("PMI line with {found:?} where a key was expected: {line:?}")]
    NotAKey {
        /// The piece as it was sent.
        found: String,
        /// What was sent, lossy, at most 200 characters.
        line: String,
    },
    /// `key=` with nothing after it.
    #[error("PMI line without a value after {key}=: {line:?}")]
    NoValue {
        /// The key.
        key: String,
        /// What was sent, lossy, at most 200 characters.
        line: String,
    },
    /// Keys and values are text.
    #[error("PMI line that is not UTF-8: {line:?}")]
    NotText {
        /// What was sent, lossy, at most 200 characters.
        line: String,
    },
}

/// A parsed line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    name: String,
    arguments: Vec<(String, Option<String>)>,
}

impl Command {
    /// Reads one line, without its newline.
    ///
    /// The words of `cmd=abort … message=` reach to the end of the line, and so do names of services and
    /// ports: ranks send them with spaces in them.
    ///
    /// # Errors
    ///
    /// See [`LineError`].
    pub fn parse(line: &[u8]) -> Result<Self, LineError> {
        let Ok(text) = std::str::from_utf8(line) else {
            return Err(LineError::NotText { line: shown(line) });
        };
        let mut rest = text
            .strip_prefix("cmd=")
            .ok_or_else(|| LineError::NoCommand { line: shown(line) })?;
        let name = take_value(&mut rest).to_owned();
        if name.is_empty() {
            return Err(LineError::NoCommand { line: shown(line) });
        }
        let mut arguments = Vec::new();
        loop {
            rest = rest.trim_start_matches(' ');
            if rest.is_empty() {
                return Ok(Self { name, arguments });
            }
            let key_length = rest.find(|c| !is_key(c)).unwrap_or(rest.len());
            let (key, after) = rest.split_at(key_length);
            if key.is_empty() || !(after.is_empty() || after.starts_with([' ', '='])) {
                return Err(LineError::NotAKey {
                    found: shown(rest.split(' ').next().unwrap_or_default().as_bytes()),
                    line: shown(line),
                });
            }
            let Some(mut value) = after.strip_prefix('=') else {
                arguments.push((key.to_owned(), None));
                rest = after;
                continue;
            };
            let taken = match (name.as_str(), key) {
                ("publish_name", "service") => take_until(&mut value, " port="),
                ("abort", "message")
                | ("publish_name", "port")
                | ("lookup_name" | "unpublish_name", "service") => std::mem::take(&mut value),
                _ => take_value(&mut value),
            };
            if taken.is_empty() && key != "message" {
                return Err(LineError::NoValue {
                    key: key.to_owned(),
                    line: shown(line),
                });
            }
            arguments.push((key.to_owned(), Some(taken.to_owned())));
            rest = value;
        }
    }

    /// What is asked for: `put`, `barrier_in`, …
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value of a key; of several, the first.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&str> {
        self.arguments
            .iter()
            .find(|(name, _)| name == key)
            .and_then(|(_, value)| value.as_deref())
    }

    /// The value of a key as a number.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<i32> {
        self.value(key)?.parse().ok()
    }
}

/// Writes one line, newline included.
///
/// Blanks and newlines that are not escaped become underscores.
pub(crate) fn write(command: &str, arguments: &[(&str, &str)]) -> String {
    let mut line = format!("cmd={}", clean(command));
    for (key, value) in arguments {
        line.push(' ');
        line.push_str(key);
        line.push('=');
        line.push_str(&clean(value));
    }
    line.push('\n');
    line
}

fn clean(value: &str) -> String {
    let mut escaped = false;
    value
        .chars()
        .map(|c| {
            let keep = escaped && c == ' ';
            escaped = c == '\\' && !escaped;
            if !keep && (c.is_whitespace() || c.is_control()) {
                '_'
            } else {
                c
            }
        })
        .collect()
}

/// What a rank sent, for a message: text as far as it is text, at most 200 characters.
pub(crate) fn shown(line: &[u8]) -> String {
    const SHOWN_MAX: usize = 200;
    let head = line.get(..SHOWN_MAX.saturating_mul(4)).unwrap_or(line);
    let text = String::from_utf8_lossy(head);
    let mut shown: String = text.chars().take(SHOWN_MAX).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    shown
}

const fn is_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '/')
}

/// Takes a value off the front.
fn take_value<'a>(rest: &mut &'a str) -> &'a str {
    let mut escaped = false;
    let end = rest
        .find(|c| {
            let ends = c == ' ' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        })
        .unwrap_or(rest.len());
    let (value, tail) = rest.split_at(end);
    *rest = tail;
    value
}

/// Takes what comes before the last `mark` off the front, or all.
fn take_until<'a>(rest: &mut &'a str, mark: &str) -> &'a str {
    let end = rest.rfind(mark).unwrap_or(rest.len());
    let (value, tail) = rest.split_at(end);
    *rest = tail;
    value
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_lines_that_mpich_sends_are_read() {
        let put = Command::parse(b"cmd=put kvsname=kvs_1 key=-bcast-1-0 value=2F6465").unwrap();
        assert_eq!(put.name(), "put");
        assert_eq!(put.value("key"), Some("-bcast-1-0"));
        assert_eq!(put.value("value"), Some("2F6465"));
        assert_eq!(put.value("nothing"), None);
        let init = Command::parse(b"cmd=init pmi_version=1 pmi_subversion=1").unwrap();
        assert_eq!(init.number("pmi_version"), Some(1));
        let bare = Command::parse(b"cmd=barrier_in ").unwrap();
        assert_eq!(bare.name(), "barrier_in");
        let escaped = Command::parse(br"cmd=put key=a value=b\ c\\ k=v").unwrap();
        assert_eq!(escaped.value("value"), Some(r"b\ c\\"));
        assert_eq!(escaped.value("k"), Some("v"));
    }

    #[test]
    fn the_words_of_an_abort_reach_to_the_end_of_the_line() {
        let abort = Command::parse(b"cmd=abort exitcode=-3 message=rank 1: (no) way").unwrap();
        assert_eq!(abort.number("exitcode"), Some(-3));
        assert_eq!(abort.value("message"), Some("rank 1: (no) way"));
    }

    #[test]
    fn names_of_services_may_have_blanks() {
        let publish = b"cmd=publish_name service=a = service port=tag#0$host a$";
        let publish = Command::parse(publish).unwrap();
        assert_eq!(publish.value("service"), Some("a = service"));
        assert_eq!(publish.value("port"), Some("tag#0$host a$"));
        let lookup = Command::parse(b"cmd=lookup_name service=a = service").unwrap();
        assert_eq!(lookup.value("service"), Some("a = service"));
    }

    #[test]
    fn what_is_not_pmi_is_shown() {
        let error = Command::parse(b"hello\xffworld").unwrap_err();
        assert_eq!(
            error.to_string(),
            "PMI line that is not UTF-8: \"hello\u{fffd}world\""
        );
        let error = Command::parse(b"cmd=put (x").unwrap_err();
        assert_eq!(
            error.to_string(),
            "PMI line with \"(x\" where a key was expected: \"cmd=put (x\""
        );
        assert!(matches!(
            Command::parse(b"cmd=put key= value=1"),
            Err(LineError::NoValue { .. })
        ));
        assert!(matches!(
            Command::parse(b"cmd="),
            Err(LineError::NoCommand { .. })
        ));
        assert!(shown(&vec![b'x'; 100_000]).chars().count() <= 201);
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic(line in prop::collection::vec(any::<u8>(), 0..300)) {
            drop(Command::parse(&line));
        }

        #[test]
        fn nearly_right_lines_never_panic(line in r"cmd=[a-z]{0,5}( {0,2}[a-z/\\é_]{0,3}=?[a-zé\\(]{0,3}){0,5}") {
            drop(Command::parse(line.as_bytes()));
        }

        #[test]
        fn what_is_written_is_read_back(key in "[a-z]{1,8}", value in r"([!-\[\]-~]|\\ |\\\\){1,40}") {
            let line = write("put", &[(&key, &value)]);
            let command = Command::parse(line.strip_suffix('\n').unwrap().as_bytes()).unwrap();
            prop_assert_eq!(command.value(&key), Some(value.as_str()));
        }
    }
}
