//! One error for everything that user code and engine say: a sentence, and what it came from.

use std::fmt;

/// Result of user code and engine.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A sentence, made of any error by `?`, or of words by [`Error::new`]; context goes in front.
///
/// Like other errors that take any error in, it is no [`std::error::Error`] itself.
pub struct Error {
    sentence: String,
    /// What the node has no device of, as needs are named.
    missing: Option<String>,
}

/// What a missing device is of whose kind nothing is said.
const GPU: &str = "gpu";

/// CUDA's `CUDA_ERROR_NO_DEVICE`.
const CUDA_NO_DEVICE: i32 = 100;
/// OpenCL's `CL_DEVICE_NOT_FOUND`, and `CL_PLATFORM_NOT_FOUND_KHR`.
const OPENCL_NO_DEVICE: [i32; 2] = [-1, -1001];

impl Error {
    /// An error that says `sentence`.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self {
            sentence: sentence.into(),
            missing: None,
        }
    }

    /// An error that says that there is no GPU, which the task needs. On a cluster the task is queued again as one that
    /// needs it, and its attempt does not count.
    pub fn no_device(sentence: impl Into<String>) -> Self {
        Self::no_device_of(GPU, sentence)
    }

    /// The same of another kind of device, as [`Mapper::NEED`](crate::Mapper::NEED) names it: `fpga`, or a type that the
    /// cluster counts.
    pub fn no_device_of(need: impl Into<String>, sentence: impl Into<String>) -> Self {
        Self {
            sentence: sentence.into(),
            missing: Some(need.into()),
        }
    }

    /// What a call of CUDA's driver means that has returned `code` (a `CUresult`), `what` being what it was to do;
    /// 100 is [no device](Self::no_device).
    #[must_use]
    pub fn of_cuda(code: i32, what: impl fmt::Display) -> Self {
        Self {
            sentence: format!("{what}: CUDA error {code}"),
            missing: (code == CUDA_NO_DEVICE).then(|| GPU.to_owned()),
        }
    }

    /// The same of OpenCL; -1 and -1001 are [no device](Self::no_device).
    #[must_use]
    pub fn of_opencl(code: i32, what: impl fmt::Display) -> Self {
        Self {
            sentence: format!("{what}: OpenCL error {code}"),
            missing: OPENCL_NO_DEVICE.contains(&code).then(|| GPU.to_owned()),
        }
    }

    /// Whether there was no device of the kind that the task needs.
    #[must_use]
    pub const fn is_no_device(&self) -> bool {
        self.missing.is_some()
    }

    /// The kind of device that was missing, as needs are named.
    pub(crate) fn missing(&self) -> Option<&str> {
        self.missing.as_deref()
    }

    /// The same error, with what was being done in front.
    #[must_use]
    pub fn context(self, what: impl fmt::Display) -> Self {
        Self {
            sentence: format!("{what}: {}", self.sentence),
            ..self
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
        Self {
            sentence,
            missing: None,
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_that_mean_no_device_are_told_from_others_whatever_stands_in_front() {
        let cuda = Error::of_cuda(100, "cuInit");
        assert_eq!(cuda.to_string(), "cuInit: CUDA error 100");
        assert!(cuda.context("setup").is_no_device());
        assert!(!Error::of_cuda(2, "cuMemAlloc").is_no_device());
        for (code, is_it) in [(-1, true), (-1001, true), (-5, false), (100, false)] {
            assert_eq!(
                Error::of_opencl(code, "clGetDeviceIDs").is_no_device(),
                is_it,
                "{code}"
            );
        }
        assert!(Error::no_device("no GPU here").is_no_device());
        assert!(!Error::new("no GPU here").is_no_device());
        let fpga = Error::no_device_of("fpga", "no card here").context("setup");
        assert_eq!((fpga.is_no_device(), fpga.missing()), (true, Some("fpga")));
    }
}
