//! What does not work, in a sentence.

use std::fmt;

/// A sentence, and whether it says that there is no such device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    sentence: String,
    no_device: bool,
}

impl Error {
    pub(crate) fn new(sentence: impl Into<String>) -> Self {
        Self {
            sentence: sentence.into(),
            no_device: false,
        }
    }

    pub(crate) fn no_device(sentence: impl Into<String>) -> Self {
        Self {
            sentence: sentence.into(),
            no_device: true,
        }
    }

    /// Whether the machine has no such device, or nothing that speaks to it.
    #[must_use]
    pub const fn is_no_device(&self) -> bool {
        self.no_device
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for Error {}
