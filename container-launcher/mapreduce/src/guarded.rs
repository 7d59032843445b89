//! Panics of libraries that read files, as errors: what is broken in a file is found by their checks, or by those of slices
//! and sums.

use std::any::Any;
use std::cell::Cell;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread becomes an error.
pub(crate) fn is_guarded() -> bool {
    cfg!(panic = "unwind") && IS_GUARDED.get()
}

/// What `read` says, or what it has panicked with. What it has read out of is dropped by the caller then.
pub(crate) fn guarded<R, E: Display>(read: impl FnOnce() -> Result<R, E>) -> Result<R, String> {
    IS_GUARDED.set(true);
    let said = catch_unwind(AssertUnwindSafe(read));
    IS_GUARDED.set(false);
    match said {
        Ok(said) => said.map_err(|error| error.to_string()),
        Err(panic) => Err(words(panic.as_ref()).to_owned()),
    }
}

fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("it is not known why")
}
