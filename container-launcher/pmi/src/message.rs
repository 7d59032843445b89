//! One message of PMI-2: `    21cmd=kvs-put;key=k;value=v;`.
//!
//! ```text
//! message = length "cmd=" name ";" *( key [ "=" value ] ";" )
//! length  = 6( SP | digit ), the bytes that follow it
//! value   = *( any byte but ";" )
//! ```
//!
//! The grammar is that of MPICH's own wire code (version 5), which knows of no escapes: what holds a
//! semicolon cannot be sent.

use crate::Pair;
use crate::text::{LineError, shown};

/// A parsed message, without its length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    name: String,
    pairs: Vec<Pair>,
}

impl Message {
    /// Reads one message, without its length.
    ///
    /// # Errors
    ///
    /// It is no text, or does not begin with a command.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, LineError> {
        let line = || shown(bytes);
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Err(LineError::NotText { line: line() });
        };
        let mut pieces = text.split(';');
        let command = pieces.next().and_then(|piece| piece.strip_prefix("cmd="));
        let Some(name) = command.filter(|name| !name.is_empty()) else {
            return Err(LineError::NoCommand { line: line() });
        };
        let pieces = pieces.filter(|piece| !piece.is_empty());
        let pairs = pieces.map(|piece| {
            let (key, value) = piece.split_once('=').unwrap_or((piece, ""));
            (key.to_owned(), value.to_owned())
        });
        Ok(Self {
            name: name.to_owned(),
            pairs: pairs.collect(),
        })
    }

    /// What is asked for: `kvs-put`, `kvs-fence`, …
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The value of a key; of several, the first.
    pub(crate) fn value(&self, key: &str) -> Option<&str> {
        let mut pairs = self.pairs.iter();
        pairs
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
    }

    /// All keys and values, in order.
    pub(crate) fn pairs(&self) -> &[Pair] {
        &self.pairs
    }
}

/// Writes one message, its length included. `thread` is what the request said of itself, by which a
/// rank with several threads finds who waits.
pub(crate) fn write(name: &str, thread: Option<&str>, pairs: &[(&str, &str)]) -> String {
    let mut text = format!("cmd={name};");
    let thread = thread.map(|thread| ("thrid", thread));
    for (key, value) in thread.iter().chain(pairs) {
        text.push_str(key);
        text.push('=');
        text.extend(value.chars().map(|c| if c == ';' { ',' } else { c }));
        text.push(';');
    }
    format!("{:6}{text}", text.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let written = write(
            "kvs-get-response",
            Some("0x7f"),
            &[("value", "a=b c"), ("rc", "0")],
        );
        assert_eq!(
            written,
            "    49cmd=kvs-get-response;thrid=0x7f;value=a=b c;rc=0;"
        );
        let message = Message::parse(&written.as_bytes()[6..]).unwrap();
        assert_eq!(message.name(), "kvs-get-response");
        assert_eq!(message.value("value"), Some("a=b c"));
        assert_eq!(message.pairs().len(), 3);
        assert_eq!(message.value("nothing"), None);
    }

    #[test]
    fn what_is_no_message_is_shown() {
        let error = Message::parse(b"key=value;").unwrap_err().to_string();
        assert!(error.contains("key=value;"), "{error}");
        assert!(Message::parse(b"cmd=;").is_err());
        assert!(Message::parse(b"cmd=\xff;").is_err());
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            drop(Message::parse(&bytes));
        }
    }
}
