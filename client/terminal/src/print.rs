//! Text on standard output.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd as _;

use job::exit::Exit;

use crate::escape::{escaped_json, escaped_line};
use crate::write_whole::write_whole;

/// What is printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Text {
    /// Lines for a person, without their ends.
    Lines(Vec<String>),
    /// For a program, as JSON, without the last end of line.
    Json(String),
    /// A text of our own making that is printed as it is: a manual page, a key, a picture.
    Whole(Vec<u8>),
}

/// Standard output takes no more.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to standard output: {source}")]
pub struct PrintError {
    #[from]
    source: io::Error,
}

impl PrintError {
    /// What the command returns.
    #[must_use]
    pub const fn exit(&self) -> Exit {
        Exit::Staging
    }
}

impl Text {
    /// The lines of a text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self::Lines(text.lines().map(str::to_owned).collect())
    }

    fn bytes(self) -> Vec<u8> {
        let text = match self {
            Self::Lines(lines) => {
                let lines = lines.iter().map(|line| escaped_line(line) + "\n");
                lines.collect::<String>()
            }
            Self::Json(text) => escaped_json(&text) + "\n",
            Self::Whole(bytes) => return bytes,
        };
        text.into_bytes()
    }
}

/// Prints, in a thread of its own: whoever reads may let it wait for ever, so that the wait is to be one that a signal
/// ends. A reader that has left has seen enough.
///
/// # Errors
///
/// It cannot be written.
pub async fn print(text: Text) -> Result<(), PrintError> {
    let written = tokio::task::spawn_blocking(move || print_at_once(text)).await;
    written.unwrap_or_else(|broken| {
        Err(PrintError {
            source: broken.into(),
        })
    })
}

/// The same where nobody listens to signals, so that they end the process.
///
/// # Errors
///
/// It cannot be written.
pub fn print_at_once(text: Text) -> Result<(), PrintError> {
    match written(&text.bytes()) {
        Err(source) if source.kind() != ErrorKind::BrokenPipe => Err(PrintError { source }),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// By its descriptor: nothing is kept back that the end of the process would have to write.
fn written(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    write_whole(&mut stdout, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_for_people_and_for_programs_ends_its_last_line() {
        let bytes = |text: Text| String::from_utf8(text.bytes()).unwrap();
        let lines = vec!["\ta".to_owned(), "b\n\u{1b}c".to_owned()];
        assert_eq!(bytes(Text::Lines(lines)), "\ta\nb\\n\\x1bc\n");
        assert_eq!(bytes(Text::of("a\n\u{1b}b")), "a\n\\x1bb\n");
        assert_eq!(
            bytes(Text::Json("{\"a\":\"\u{9b}\"}".into())),
            "{\"a\":\"\\u009b\"}\n"
        );
        assert_eq!(bytes(Text::Whole(b"as it is".to_vec())), "as it is");
    }
}
