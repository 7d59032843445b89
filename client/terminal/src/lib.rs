//! What the user's terminal gives to the client and takes from it.
//!
//! A sentence on standard error is [`say`]'s, a [`table`] is aligned columns of text, [`signals`] are what the user
//! and the system ask of the command, and [`Raw`] is the terminal while it is rank 0's.

mod raw;
mod say;
pub mod signals;
pub mod table;
mod write_whole;

pub use raw::{Raw, described, size};
pub use say::say;
pub use write_whole::write_whole;
