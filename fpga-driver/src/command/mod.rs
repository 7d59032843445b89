//! The sub-commands of `fpgad`.

pub mod bench;
pub mod check;
pub mod emulate;
pub mod exercise;
pub mod profile;
pub mod ps;
pub mod serve;

use std::io::Write;

/// Exit code: the command line makes no sense.
pub const USAGE: u8 = 64;
/// Exit code: the profile makes no sense.
pub const CONFIG: u8 = 78;
/// Exit code: no driver, no board.
pub const UNAVAILABLE: u8 = 69;
/// Exit code: a board does not do what it should.
pub const SOFTWARE: u8 = 70;

/// Why a command ends.
#[derive(Debug)]
pub struct CommandFailure {
    /// What the process returns.
    pub code: u8,
    /// One sentence.
    pub message: String,
}

/// Makes a failure of an error.
pub fn failed<E: std::fmt::Display>(code: u8) -> impl Fn(E) -> CommandFailure {
    move |error| CommandFailure {
        code,
        message: error.to_string(),
    }
}

/// Prints a line; a reader that has gone needs no more.
pub fn say(line: &str) {
    drop(writeln!(std::io::stdout().lock(), "{line}"));
}

/// Prints a line to standard error.
pub fn complain(line: &str) {
    drop(writeln!(std::io::stderr().lock(), "fpgad: {line}"));
}
