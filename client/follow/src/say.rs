//! What this command says of itself.

use std::fmt;
use std::io::Write as _;

/// One line on standard error, marked as ours: everything else there is the program's. Nobody may be
/// left to read it, which is no reason to stop.
pub fn say(sentence: impl fmt::Display) {
    let _heard = writeln!(std::io::stderr(), "gerbil-run: {sentence}").is_ok();
}
