//! What this command says of itself.

use std::fmt;
use std::io::Write as _;
use std::path::Path;
use std::sync::LazyLock;

/// The two names of the file; another one counts as the first.
const NAMES: [&str; 2] = ["gerbil-run", "gerbil"];

/// The one that it was started under.
static OWN: LazyLock<&str> = LazyLock::new(|| {
    let started = std::env::args_os().next().unwrap_or_default();
    let started = Path::new(&started).file_name().unwrap_or_default();
    let [first, _] = NAMES;
    let found = NAMES.into_iter().find(|name| started == *name);
    found.unwrap_or(first)
});

/// One line on standard error, marked as ours with the name that was typed: everything else there is the program's.
/// Nobody may be left to read it, which is no reason to stop.
pub fn say(sentence: impl fmt::Display) {
    let _heard = writeln!(std::io::stderr(), "{}: {sentence}", *OWN).is_ok();
}
