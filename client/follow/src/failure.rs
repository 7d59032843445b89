//! What ends a run early: one sentence and an exit code.

use std::fmt;
use std::io::Write as _;

use job::exit::Exit;
use proto_hadoop::CallError;

/// Why the run cannot go on.
#[derive(Debug)]
pub struct Failure {
    /// What the command returns.
    pub exit: Exit,
    /// What is said.
    pub sentence: String,
}

impl Failure {
    /// A failure of this exit code and sentence.
    pub fn new(exit: Exit, sentence: impl fmt::Display) -> Self {
        Self {
            exit,
            sentence: sentence.to_string(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for Failure {}

/// The ResourceManager does not answer, or answers nonsense.
pub fn unavailable(error: &CallError) -> Failure {
    Failure::new(Exit::Unavailable, format!("the ResourceManager: {error}"))
}

/// One line on standard error, marked as ours: everything else there is the program's. Nobody may be
/// left to read it, which is no reason to stop.
pub fn say(sentence: impl fmt::Display) {
    let _heard = writeln!(std::io::stderr(), "gerbil-run: {sentence}").is_ok();
}
