//! One error for everything that user code and engine say: a sentence, and what it came from.

use std::fmt;

/// Result of user code and engine.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A sentence, made of any error by `?`, or of words by [`Error::new`]; context goes in front.
///
/// Like other errors that take any error in, it is no [`std::error::Error`] itself.
pub struct Error {
    sentence: String,
}

impl Error {
    /// An error that says `sentence`.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self {
            sentence: sentence.into(),
        }
    }

    /// The same error, with what was being done in front.
    #[must_use]
    pub fn context(self, what: impl fmt::Display) -> Self {
        Self {
            sentence: format!("{what}: {}", self.sentence),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl<E: std::error::Error> From<E> for Error {
    fn from(error: E) -> Self {
        let mut sentence = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let words = cause.to_string();
            // Many errors print their source themselves.
            if !sentence.contains(&words) {
                sentence = format!("{sentence}: {words}");
            }
            source = cause.source();
        }
        Self { sentence }
    }
}

/// Puts what was being done in front of an error.
pub trait Context<T> {
    /// The same result; its error says `what` first.
    ///
    /// # Errors
    /// The error that was there.
    fn context<W: fmt::Display>(self, what: impl FnOnce() -> W) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for std::result::Result<T, E> {
    fn context<W: fmt::Display>(self, what: impl FnOnce() -> W) -> Result<T> {
        self.map_err(|error| error.into().context(what()))
    }
}
