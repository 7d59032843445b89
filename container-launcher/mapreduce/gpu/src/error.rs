//! What does not work, in a sentence.

use std::fmt;

/// A sentence, and whether it says that there is no such device, or that it is too small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    sentence: String,
    no_device: bool,
    no_room: bool,
}

impl Error {
    pub(crate) fn new(sentence: impl Into<String>) -> Self {
        Self {
            sentence: sentence.into(),
            no_device: false,
            no_room: false,
        }
    }

    pub(crate) fn no_device(sentence: impl Into<String>) -> Self {
        Self {
            no_device: true,
            ..Self::new(sentence)
        }
    }

    /// The device `name` does not give so many bytes; `gives` tells what it does.
    #[cfg(any(feature = "cuda", feature = "opencl"))]
    pub(crate) fn no_room(bytes: usize, name: &str, gives: &str) -> Self {
        let wanted = bytes.div_ceil(1 << 20);
        Self {
            no_room: true,
            ..Self::new(format!("{wanted} MiB do not fit {name} ({gives})"))
        }
    }

    /// A kernel has another number of parameters than it is handed arguments.
    #[cfg(any(feature = "cuda", feature = "opencl"))]
    pub(crate) fn parameters(kernel: &str, parameters: usize, arguments: usize) -> Self {
        Self::new(format!(
            "the kernel {kernel} has {parameters} parameters, and is handed {arguments} arguments"
        ))
    }

    /// Whether the machine has no such device, or nothing that speaks to it.
    #[must_use]
    pub const fn is_no_device(&self) -> bool {
        self.no_device
    }

    /// Whether the device has too little memory for what was to be put there.
    #[must_use]
    pub const fn is_no_room(&self) -> bool {
        self.no_room
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for Error {}
