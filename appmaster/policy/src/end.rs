//! How a process ended, and the words for it.

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
}

/// Linux's names of the signals that end programs.
const fn signal_name(signal: u8) -> Option<&'static str> {
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
}
