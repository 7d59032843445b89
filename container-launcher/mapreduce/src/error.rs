//! One error for everything that user code and engine say: a sentence, and what it came from.

use std::fmt;

use gerbil_task::settings::SPLIT_MAX;

/// Result of user code and engine.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A sentence, made of any error by `?`, or of words by [`Error::new`]; context goes in front.
///
/// Like other errors that take any error in, it is no [`std::error::Error`] itself.
pub struct Error {
    sentence: String,
    /// What the node has no device of, as needs are named.
    missing: Option<String>,
    /// The device has too little memory.
    no_room: bool,
    /// It says which records it is of: the one at hand is not to blame.
    is_placed: bool,
    /// The record that is to blame, or the group, with where it begins, where that is not the one at hand.
    record: Option<(u64, u64)>,
    /// The operating system has said it of a file.
    is_io: bool,
}

/// What a missing device is of whose kind nothing is said.
const GPU: &str = "gpu";

/// CUDA's `CUDA_ERROR_NO_DEVICE`.
const CUDA_NO_DEVICE: i32 = 100;
/// OpenCL's `CL_DEVICE_NOT_FOUND`, and `CL_PLATFORM_NOT_FOUND_KHR`.
const OPENCL_NO_DEVICE: [i32; 2] = [-1, -1001];
/// CUDA's `CUDA_ERROR_OUT_OF_MEMORY`.
const CUDA_NO_ROOM: i32 = 2;
/// OpenCL's `CL_MEM_OBJECT_ALLOCATION_FAILURE`, and `CL_INVALID_BUFFER_SIZE`.
const OPENCL_NO_ROOM: [i32; 2] = [-4, -61];

impl Error {
    /// An error that says `sentence`.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self {
            sentence: sentence.into(),
            missing: None,
            no_room: false,
            is_placed: false,
            record: None,
            is_io: false,
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
            missing: Some(need.into()),
            ..Self::new(sentence)
        }
    }

    /// An error that says that what was put on the task's device does not fit there, and what makes it smaller. On a
    /// cluster the attempt counts, and the next one goes where a device has more memory, if any has.
    pub fn no_room(sentence: impl fmt::Display) -> Self {
        Self::no_room_for(sentence, format_args!("-D {SPLIT_MAX}"))
    }

    /// The same of what is smaller where something else than the length of splits is lowered, as `what` names it.
    pub fn no_room_for(sentence: impl fmt::Display, what: impl fmt::Display) -> Self {
        Self {
            no_room: true,
            ..Self::new(format!("{sentence}: lower {what}"))
        }
    }

    /// What a call of CUDA's driver means that has returned `code` (a `CUresult`), `what` being what it was to do;
    /// 100 is [no device](Self::no_device), 2 is [no room](Self::no_room) there.
    #[must_use]
    pub fn of_cuda(code: i32, what: impl fmt::Display) -> Self {
        let sentence = format!("{what}: CUDA error {code}");
        match code {
            CUDA_NO_DEVICE => Self::no_device(sentence),
            CUDA_NO_ROOM => Self::no_room(sentence),
            _ => Self::new(sentence),
        }
    }

    /// The same of OpenCL; -1 and -1001 are [no device](Self::no_device), -4 and -61 [no room](Self::no_room) there.
    #[must_use]
    pub fn of_opencl(code: i32, what: impl fmt::Display) -> Self {
        let sentence = format!("{what}: OpenCL error {code}");
        match code {
            code if OPENCL_NO_DEVICE.contains(&code) => Self::no_device(sentence),
            code if OPENCL_NO_ROOM.contains(&code) => Self::no_room(sentence),
            _ => Self::new(sentence),
        }
    }

    /// Whether there was no device of the kind that the task needs.
    #[must_use]
    pub const fn is_no_device(&self) -> bool {
        self.missing.is_some()
    }

    /// Whether the task's device has too little memory for what was put there.
    #[must_use]
    pub const fn is_no_room(&self) -> bool {
        self.no_room
    }

    /// The same error, for which a record before the one at hand is to blame: by its number, or that of its group, and the
    /// byte at which it begins, as [`Context::at`](crate::Context::at) had them. With `--skip-bad` that is what is left out.
    #[must_use]
    pub fn on_record(self, number: u64, offset: u64) -> Self {
        Self {
            record: Some((number, offset)),
            ..self
        }
    }

    /// The record that is to blame where that is not the one at hand.
    pub(crate) const fn record(&self) -> Option<(u64, u64)> {
        self.record
    }

    /// The same error, for which no record is to blame, or which says itself which ones are: `--skip-bad` leaves none out.
    #[must_use]
    pub fn placed(self) -> Self {
        Self {
            is_placed: true,
            ..self
        }
    }

    /// Whether it says itself which records it is of.
    pub(crate) const fn is_placed(&self) -> bool {
        self.is_placed
    }

    /// Whether the operating system has said it of a file.
    pub(crate) const fn is_io(&self) -> bool {
        self.is_io
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

impl<E: std::error::Error + 'static> From<E> for Error {
    fn from(error: E) -> Self {
        let no_room = is_no_room(&error);
        let is_io = (&error as &(dyn std::error::Error + 'static)).is::<std::io::Error>();
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
        match no_room {
            true => Self::no_room(sentence),
            false => Self {
                is_io,
                ..Self::new(sentence)
            },
        }
    }
}

/// Whether this is what a device says that has too little memory.
#[cfg(any(feature = "cuda", feature = "opencl"))]
fn is_no_room(error: &(dyn std::error::Error + 'static)) -> bool {
    let of_device = error.downcast_ref::<gerbil_gpu::Error>();
    of_device.is_some_and(gerbil_gpu::Error::is_no_room)
}

/// Whether this is what a device says that has too little memory.
#[cfg(not(any(feature = "cuda", feature = "opencl")))]
const fn is_no_room(_: &(dyn std::error::Error + 'static)) -> bool {
    false
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
        let full = Error::of_cuda(2, "cuMemAlloc").context("setup");
        assert!(full.is_no_room() && !full.is_no_device());
        assert_eq!(
            full.to_string(),
            "setup: cuMemAlloc: CUDA error 2: lower -D mapreduce.input.fileinputformat.split.maxsize"
        );
        for (code, is_it) in [(-4, true), (-61, true), (-5, false), (-1, false)] {
            assert_eq!(
                Error::of_opencl(code, "clCreateBuffer").is_no_room(),
                is_it,
                "{code}"
            );
        }
        let fpga = Error::no_device_of("fpga", "no card here").context("setup");
        assert_eq!((fpga.is_no_device(), fpga.missing()), (true, Some("fpga")));
    }
}
