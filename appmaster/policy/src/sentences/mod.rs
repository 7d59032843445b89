//! What was decided, in sentences for the user, with the option or setting to change.

mod cause;
mod memory;
mod rejection;

pub use cause::cause;
pub use rejection::rejection;
