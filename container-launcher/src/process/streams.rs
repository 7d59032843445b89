//! What a process reads and writes: its own ends, and those that stay with the launcher.

use std::io::{PipeReader, PipeWriter};
use std::os::fd::OwnedFd;

use job::wire::Terminal;

use crate::terminal;

/// A process's own ends.
#[derive(Debug)]
pub(crate) enum ProcessStreams {
    /// Three that have nothing to do with each other.
    Plain {
        /// None: `/dev/null`.
        stdin: Option<OwnedFd>,
        stdout: OwnedFd,
        stderr: OwnedFd,
    },
    /// Of a terminal, which is then the one of its session.
    Terminal(OwnedFd),
}

/// The launcher's ends.
#[derive(Debug)]
pub(crate) enum Outer {
    Pipes {
        stdin: Option<PipeWriter>,
        stdout: PipeReader,
        stderr: PipeReader,
    },
    /// What the process writes is all of one stream.
    Terminal(OwnedFd),
}

/// Pipes; without `input` the process reads nothing.
///
/// # Errors
///
/// No more files may be open.
pub(crate) fn pipes(input: bool) -> std::io::Result<(ProcessStreams, Outer)> {
    let (stdin, to_stdin) = match input {
        true => {
            let (reader, writer) = std::io::pipe()?;
            (Some(reader.into()), Some(writer))
        }
        false => (None, None),
    };
    let (of_stdout, stdout) = std::io::pipe()?;
    let (of_stderr, stderr) = std::io::pipe()?;
    let streams = ProcessStreams::Plain {
        stdin,
        stdout: stdout.into(),
        stderr: stderr.into(),
    };
    let outer = Outer::Pipes {
        stdin: to_stdin,
        stdout: of_stdout,
        stderr: of_stderr,
    };
    Ok((streams, outer))
}

/// A terminal.
///
/// # Errors
///
/// The kernel has none left.
pub(crate) fn terminal(terminal: &Terminal) -> std::io::Result<(ProcessStreams, Outer)> {
    let (outer, own) = terminal::open(terminal.size.unwrap_or_default())?;
    Ok((ProcessStreams::Terminal(own), Outer::Terminal(outer)))
}
