//! What the operating system does not give this process.

use std::io;

use job::exit::Exit;

/// One sentence.
#[derive(Debug, thiserror::Error)]
#[error("cannot {doing}: {source}")]
pub(crate) struct SystemError {
    /// "start threads", …
    doing: &'static str,
    /// What it said.
    source: io::Error,
    /// What the command returns.
    pub exit: Exit,
}

/// Of an error of the operating system; `exit` is what the command returns.
pub(crate) fn system(doing: &'static str, exit: Exit) -> impl FnOnce(io::Error) -> SystemError {
    move |source| SystemError {
        doing,
        source,
        exit,
    }
}
