//! Exit codes: what `gerbil-run` returns, and how a rank's end becomes one.
//!
//! A program's own code passes through unchanged, so a code below can also be the program's; the
//! sentence on standard error tells which.

use crate::wire;
pub use policy::End;

/// `gerbil-run`'s own codes, after BSD's `sysexits.h` where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Every rank returned 0.
    Success,
    /// The command line makes no sense (`EX_USAGE`).
    Usage,
    /// The cluster can never give what was asked (`EX_DATAERR`).
    Impossible,
    /// ResourceManager, NameNode or ApplicationMaster cannot be reached (`EX_UNAVAILABLE`).
    Unavailable,
    /// The job was lost through no fault of the program: the AM, a node or a container is gone; or some of
    /// what a program printed that did well (`EX_SOFTWARE`).
    Lost,
    /// Files could not be staged (`EX_IOERR`).
    Staging,
    /// The cluster did not give in time what it could give at another (`EX_TEMPFAIL`).
    NotInTime,
    /// The Hadoop or gerbil settings are missing or wrong (`EX_CONFIG`).
    Config,
    /// The program ran for longer than the user allowed, as coreutils' `timeout` says it.
    TimedOut,
    /// The program was found but cannot be executed here, as shells say it.
    NotExecutable,
    /// The program was not found, as shells say it.
    NotFound,
    /// Ended by Ctrl-C (128 + SIGINT).
    Interrupted,
    /// Killed by somebody else through YARN (128 + SIGTERM).
    Killed,
}

impl Exit {
    /// The code.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Usage => 64,
            Self::Impossible => 65,
            Self::Unavailable => 69,
            Self::Lost => 70,
            Self::Staging => 74,
            Self::NotInTime => 75,
            Self::Config => 78,
            Self::TimedOut => 124,
            Self::NotExecutable => 126,
            Self::NotFound => 127,
            Self::Interrupted => 130,
            Self::Killed => 143,
        }
    }

    /// The one that has this code.
    #[must_use]
    pub fn of_code(code: u8) -> Option<Self> {
        let all = [
            Self::Success,
            Self::Usage,
            Self::Impossible,
            Self::Unavailable,
            Self::Lost,
            Self::Staging,
            Self::NotInTime,
            Self::Config,
            Self::TimedOut,
            Self::NotExecutable,
            Self::NotFound,
            Self::Interrupted,
            Self::Killed,
        ];
        all.into_iter().find(|exit| exit.code() == code)
    }
}

/// What YARN is told of a job's end: the sentence, and the code for a client that hears it from
/// YARN alone.
#[must_use]
pub fn diagnostics(sentence: &str, code: u8) -> String {
    match code {
        0 => sentence.to_owned(),
        code => format!("{sentence} (exit code {code})"),
    }
}

/// The code that [`diagnostics`] put into a text that YARN may have wrapped in its own words.
#[must_use]
pub fn code_in_diagnostics(text: &str) -> Option<u8> {
    let (_, after) = text.rsplit_once("(exit code ")?;
    let (code, _) = after.split_once(')')?;
    code.parse().ok()
}

/// A number on the wire that no process can end with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a process cannot end with {how:?}")]
pub struct NoSuchEnd {
    /// What the wire said.
    pub how: wire::rank_ended::How,
}

impl From<End> for wire::rank_ended::How {
    fn from(end: End) -> Self {
        match end {
            End::Code(code) => Self::ExitCode(i32::from(code)),
            End::Signal(signal) => Self::Signal(i32::from(signal)),
        }
    }
}

impl TryFrom<wire::rank_ended::How> for End {
    type Error = NoSuchEnd;

    fn try_from(how: wire::rank_ended::How) -> Result<Self, NoSuchEnd> {
        let end = match how {
            wire::rank_ended::How::ExitCode(code) => u8::try_from(code).map(Self::Code),
            wire::rank_ended::How::Signal(signal) => u8::try_from(signal).map(Self::Signal),
        };
        end.map_err(|_out_of_range| NoSuchEnd { how })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_survives_yarn() {
        let told = diagnostics("rank 3 on n2 exited with code 7", 7);
        assert_eq!(code_in_diagnostics(&format!("YARN: {told}. ")), Some(7));
        assert_eq!(code_in_diagnostics("AM Container exited"), None);
    }

    #[test]
    fn ends_survive_the_wire() {
        for end in [End::Code(0), End::Code(255), End::Signal(9)] {
            assert_eq!(End::try_from(wire::rank_ended::How::from(end)), Ok(end));
        }
        assert!(End::try_from(wire::rank_ended::How::ExitCode(-1)).is_err());
    }
}
