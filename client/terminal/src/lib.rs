//! What the user's terminal gives to the client and takes from it.
//!
//! Everything that a command prints goes through here: a sentence on standard error is [`say()`]'s, text on standard
//! output is [`print()`]'s, and a [`table`] is aligned columns of it. Words that others have chosen (names of jobs,
//! hosts and queues, what a task said last) are [`Foreign`]: no control character of theirs reaches the terminal, and
//! no more of them than a person reads. [`signals`] are what the user and the system ask of the command, and
//! [`interruptible()`] is how each wait hears them. [`Raw`] is the terminal while it is rank 0's. A child of the command
//! that [`ends_with_us()`] ends with it, whatever ends the command.
//!
//! Invariants: no task of the runtime waits for a reader of ours, a thread does; what is printed and cannot be written is
//! the command's failure, unless the reader has left, who has seen enough.

mod child;
mod escape;
mod foreign;
mod interruptible;
mod print;
mod raw;
mod said;
mod say;
pub mod signals;
pub mod table;
mod write_whole;

pub use child::{Orphan, ends_with_us};
pub use foreign::Foreign;
pub use interruptible::{blocking, interruptible};
pub use print::{PrintError, Text, print, print_at_once};
pub use raw::{Raw, described, size};
pub use said::{begin, flushed, said_so_far, write_stderr};
pub use say::say;
pub use write_whole::write_whole;
