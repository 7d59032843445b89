//! Exit codes: what `gerbil-run` returns, and how a rank's end becomes one.
//!
//! A program's own code passes through unchanged, so a code below can also be the program's; the
//! sentence on standard error tells which.

use crate::wire;

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
    /// The job was lost through no fault of the program: the AM, a node or a container is gone
    /// (`EX_SOFTWARE`).
    Lost,
    /// Files could not be staged (`EX_IOERR`).
    Staging,
    /// The Hadoop or gerbil settings are missing or wrong (`EX_CONFIG`).
    Config,
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
            Self::Config => 78,
            Self::NotExecutable => 126,
            Self::NotFound => 127,
            Self::Interrupted => 130,
            Self::Killed => 143,
        }
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It returned or called `exit`, 0..=255.
    Code(u8),
    /// A signal killed it.
    Signal(u8),
}

impl End {
    /// The code a shell gives: the program's own, or 128 + signal.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128u8.saturating_add(signal),
        }
    }

    /// Nothing to complain about.
    #[must_use]
    pub const fn is_success(self) -> bool {
        matches!(self, Self::Code(0))
    }

    /// As a sentence's predicate: "exited with code 7", "was killed by signal 11 (SIGSEGV)".
    #[must_use]
    pub fn predicate(self) -> String {
        match self {
            Self::Code(code) => format!("exited with code {code}"),
            Self::Signal(signal) => match signal_name(signal) {
                Some(name) => format!("was killed by signal {signal} ({name})"),
                None => format!("was killed by signal {signal}"),
            },
        }
    }

    /// Onto the wire.
    #[must_use]
    pub fn to_wire(self) -> wire::rank_ended::How {
        match self {
            Self::Code(code) => wire::rank_ended::How::ExitCode(i32::from(code)),
            Self::Signal(signal) => wire::rank_ended::How::Signal(i32::from(signal)),
        }
    }

    /// From the wire; `None` for numbers that no process can end with.
    #[must_use]
    pub fn from_wire(how: &wire::rank_ended::How) -> Option<Self> {
        match *how {
            wire::rank_ended::How::ExitCode(code) => u8::try_from(code).ok().map(Self::Code),
            wire::rank_ended::How::Signal(signal) => u8::try_from(signal).ok().map(Self::Signal),
        }
    }
}

/// Linux's names of the signals that end programs.
#[must_use]
pub const fn signal_name(signal: u8) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        10 => "SIGUSR1",
        11 => "SIGSEGV",
        12 => "SIGUSR2",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_become_the_codes_and_words_a_shell_user_knows() {
        assert_eq!(End::Code(7).code(), 7);
        assert_eq!(End::Signal(11).code(), 139);
        assert_eq!(
            End::Signal(11).predicate(),
            "was killed by signal 11 (SIGSEGV)"
        );
        assert!(End::Code(0).is_success());
        assert!(!End::Signal(15).is_success());
    }

    #[test]
    fn ends_survive_the_wire() {
        for end in [End::Code(0), End::Code(255), End::Signal(9)] {
            assert_eq!(End::from_wire(&end.to_wire()), Some(end));
        }
        assert_eq!(End::from_wire(&wire::rank_ended::How::ExitCode(-1)), None);
    }
}
