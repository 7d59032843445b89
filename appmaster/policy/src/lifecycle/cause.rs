//! Why a job did not succeed. The first cause stands; its consequences never overwrite it.

mod memory;

use std::fmt;

pub use memory::{Limit, OutOfMemory, Seen};

use super::shortfall::{self, Missing};
use super::words::Who;
use crate::{ContainerId, End, MiB, Millis, Rank, Rejection};

/// The root cause of a job's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A rank returned something else than 0, or a signal killed it.
    RankFailed {
        /// Which.
        rank: Who,
        /// Where.
        host: String,
        /// How.
        end: End,
    },
    /// A rank called `MPI_Abort`.
    Aborted {
        /// Which.
        rank: Who,
        /// Where.
        host: String,
        /// The code it gave.
        code: i32,
    },
    /// A rank did not speak PMI as it should.
    Broke {
        /// Which.
        rank: Who,
        /// Where.
        host: String,
        /// What it did.
        what: String,
    },
    /// A rank returned 0 between `MPI_Init` and `MPI_Finalize`.
    LeftEarly {
        /// Which.
        rank: Who,
        /// Where.
        host: String,
    },
    /// A rank returned 0 without `MPI_Init`, while others were in it.
    NeverInitialized {
        /// Which.
        rank: Who,
        /// Where.
        host: String,
    },
    /// A launcher could not start the program.
    Refused {
        /// Its sentence.
        sentence: String,
        /// The fitting exit code.
        code: u8,
    },
    /// A NodeManager did not start the container.
    StartFailed {
        /// Where.
        host: String,
        /// What came back.
        why: String,
    },
    /// Launchers did not dial in.
    NotJoined {
        /// Where.
        hosts: Vec<String>,
        /// How long they had.
        waited: Millis,
    },
    /// YARN ended a container, or its process died.
    ContainerEnded {
        /// Which.
        container: ContainerId,
        /// Where.
        host: String,
        /// YARN's exit status.
        status: i32,
        /// YARN's words.
        diagnostics: String,
    },
    /// The link to a launcher broke and YARN has not said why.
    LinkLost {
        /// Its container.
        container: ContainerId,
        /// Where.
        host: String,
    },
    /// A launcher broke the rules of our own protocol.
    Misbehaved {
        /// Where.
        host: String,
        /// What it did.
        what: String,
    },
    /// The cluster can never give what the job wants.
    Impossible(Rejection),
    /// The ResourceManager does not take the requests.
    RequestsRefused {
        /// Its words.
        words: String,
    },
    /// Some containers did not come in time.
    NotInTime {
        /// How long the job had waited.
        waited: Millis,
        /// Those that did not come.
        missing: Vec<Missing>,
        /// How many came.
        held: usize,
    },
    /// There never was room to ask for.
    NoRoomInTime {
        /// How long the job had waited.
        waited: Millis,
        /// What was missing, by the last look.
        why: String,
    },
    /// It ran for longer than it may.
    TimedOut {
        /// For how long it may run.
        after: Millis,
    },
    /// Ranks ran on for too long after the first had ended.
    Outlived {
        /// For how long they may.
        after: Millis,
        /// How many still ran.
        left: usize,
    },
    /// A container was lost, and the program could not be started again.
    NotRepeated {
        /// How it was lost.
        lost: Box<Self>,
        /// Why not.
        why: Box<Self>,
    },
    /// The program has been given input that cannot be given again.
    InputUsed,
    /// Every rank returned 0, but the results could not be handed over.
    Results {
        /// What was wrong.
        sentence: String,
    },
    /// Somebody ended it.
    Killed(KillReason),
    /// The ResourceManager is gone.
    ResourceManagerLost {
        /// The silence.
        silent: Millis,
    },
}

/// Who wants the job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillReason {
    /// Ctrl-C, or another signal that ends the client in order.
    Interrupted,
    /// What reads the client's output takes no more.
    NoReader,
    /// The client that follows the job is gone.
    ClientLost,
    /// YARN, or the operating system, ends the ApplicationMaster.
    Terminated,
}

impl Cause {
    /// Whether one rank's end is all of it, which need not be the others'.
    pub(super) const fn is_of_one_rank(&self) -> bool {
        matches!(
            self,
            Self::RankFailed { .. } | Self::LeftEarly { .. } | Self::NeverInitialized { .. }
        )
    }

    /// Whether it is what the ranks, or one of them, did.
    pub(super) const fn is_of_ranks(&self) -> bool {
        self.is_of_one_rank() || matches!(self, Self::Aborted { .. } | Self::Broke { .. })
    }

    /// The rank that did it.
    pub(super) const fn rank(&self) -> Option<Rank> {
        match self {
            Self::RankFailed { rank, .. }
            | Self::Aborted { rank, .. }
            | Self::Broke { rank, .. }
            | Self::LeftEarly { rank, .. }
            | Self::NeverInitialized { rank, .. } => Some(rank.number),
            _ => None,
        }
    }

    /// Whether the program had no part in it, so that it may be started again: a container, its
    /// launcher or its node is lost.
    #[must_use]
    pub const fn is_loss(&self) -> bool {
        match self {
            Self::LinkLost { .. } | Self::StartFailed { .. } => true,
            // Taken back, node or disks lost, preempted, ended by an administrator or YARN, not
            // started; its launcher was killed, or did not reach us. Too much memory, or too large
            // a log, would be so again.
            Self::ContainerEnded { status, .. } => matches!(
                status,
                -100 | -101 | -102 | -105 | -106 | -108 | -1000 | 69 | 70 | 137 | 143
            ),
            _ => false,
        }
    }

    /// The container that YARN killed for memory, and which limit it was over.
    #[must_use]
    pub fn killed_for_memory(&self) -> Option<(&ContainerId, Limit)> {
        match self {
            Self::ContainerEnded {
                container, status, ..
            } => Some((container, Limit::of(*status)?)),
            _ => None,
        }
    }

    /// One sentence, with what was seen of the ranks where it explains the cause.
    #[must_use]
    pub fn sentence(&self, seen: Seen) -> String {
        match self {
            Self::ContainerEnded {
                container,
                host,
                status,
                diagnostics,
            } => {
                let ended = ended(*status, diagnostics, seen.largest);
                format!("container {container} on {host} {ended}")
            }
            Self::RankFailed {
                end: End::Signal(9),
                ..
            } => format!("{self}{}", seen.out_of_memory.addition()),
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RankFailed { rank, host, end } => {
                write!(f, "{rank} on {host} {}", end.predicate())
            }
            Self::Aborted { rank, host, code } => {
                write!(f, "{rank} on {host} called MPI_Abort with code {code}")
            }
            Self::Broke { rank, host, what } => write!(
                f,
                "{rank} on {host} was killed because it broke the process manager's protocol: \
                 {what}"
            ),
            Self::LeftEarly { rank, host } => write!(
                f,
                "{rank} on {host} exited with code 0 after MPI_Init but without MPI_Finalize"
            ),
            Self::NeverInitialized { rank, host } => write!(
                f,
                "{rank} on {host} exited with code 0 before MPI_Init, in which the other \
                 ranks wait for it"
            ),
            Self::Refused { sentence, .. } | Self::Results { sentence } => f.write_str(sentence),
            Self::StartFailed { host, why } => write!(
                f,
                "the NodeManager of {host} did not start the job's container: {why}"
            ),
            Self::NotJoined { hosts, waited } => write!(
                f,
                "no word from the launcher on {} within {} s after its container was started; see \
                 the container's log there, and whether a firewall keeps it from the \
                 ApplicationMaster",
                first_few(hosts),
                waited.0 / 1000
            ),
            Self::ContainerEnded {
                container,
                host,
                status,
                diagnostics,
            } => {
                let ended = ended(*status, diagnostics, None);
                write!(f, "container {container} on {host} {ended}")
            }
            Self::LinkLost { container, host } => write!(
                f,
                "the launcher in container {container} on {host} is gone, and YARN has not said \
                 why: the node may be lost"
            ),
            Self::Misbehaved { host, what } => write!(f, "the launcher on {host} {what}"),
            Self::Impossible(rejection) => rejection.fmt(f),
            Self::RequestsRefused { words } => write!(
                f,
                "the ResourceManager refuses what this job asks of it: {}",
                one_line(words)
            ),
            Self::NotInTime {
                waited,
                missing,
                held,
            } => shortfall::describe(f, *waited, missing, *held),
            Self::NoRoomInTime { waited, why } => {
                write!(
                    f,
                    "the job could not start within {} s: {why}",
                    waited.0 / 1000
                )
            }
            Self::TimedOut { after } => write!(
                f,
                "the program ran for longer than {}, which -timeout allows, so the job was ended",
                span(*after)
            ),
            Self::Outlived { after, left } => write!(
                f,
                "{} still ran {} after the first had ended, which is what --wait allows, so the job \
                 was ended",
                match left {
                    1 => "1 rank".to_owned(),
                    _ => format!("{left} ranks"),
                },
                span(*after)
            ),
            Self::NotRepeated { lost, why } => {
                write!(f, "{lost}; the program could not be started again: {why}")
            }
            Self::InputUsed => f.write_str(
                "it has read standard input, which cannot be given again; --input takes a file, \
                 which can",
            ),
            Self::Killed(KillReason::Interrupted) => f.write_str("interrupted by the user"),
            Self::Killed(KillReason::NoReader) => {
                f.write_str("nobody reads the output any more, so the job was ended")
            }
            Self::Killed(KillReason::ClientLost) => {
                f.write_str("the client that followed the job is gone, so the job was ended")
            }
            Self::Killed(KillReason::Terminated) => {
                f.write_str("the ApplicationMaster was told to end, by YARN or its node")
            }
            Self::ResourceManagerLost { silent } => write!(
                f,
                "no answer from the ResourceManager for {} s; the job was ended because YARN may \
                 start another attempt of it",
                silent.0 / 1000
            ),
        }
    }
}

/// Seconds, or where those would not be whole, milliseconds.
fn span(span: Millis) -> String {
    match span.0 % 1000 {
        0 => format!("{} s", span.0 / 1000),
        _ => format!("{} ms", span.0),
    }
}

/// How a container ended, as a predicate, with YARN's own words where ours do not say it all.
fn ended(status: i32, diagnostics: &str, largest: Option<(Rank, MiB)>) -> String {
    let limit = Limit::of(status);
    let words = limit.map_or_else(
        || words(status),
        |limit| limit.predicate(diagnostics, largest),
    );
    let is_understood = limit.is_some_and(|limit| limit.used(diagnostics).is_some());
    match diagnostics.trim() {
        said if !said.is_empty() && !is_understood => {
            format!("{words}; YARN says: {}", one_line(said))
        }
        _ => words,
    }
}

/// YARN's exit statuses (`ContainerExitStatus`, Hadoop 2.10 to 3.5) as predicates, memory aside.
fn words(status: i32) -> String {
    match status {
        -100 => "was taken back by YARN (released, or its node is lost)".into(),
        -101 => "was lost because the node's disks failed or are full".into(),
        -102 => "was preempted by the scheduler for another queue or application".into(),
        -105 | -106 => "was killed by YARN on request".into(),
        -107 => "was killed by YARN because the application had ended".into(),
        -108 => "was killed by its node's scheduler".into(),
        -109 => "was killed because it logged more than its node allows; have \
                 yarn.nodemanager.container-log-monitor.dir-size-limit-bytes or \
                 total-size-limit-bytes raised"
            .into(),
        -1000 => "could not be started by its NodeManager".into(),
        137 => "was killed by signal 9 (SIGKILL)".into(),
        143 => "was killed by signal 15 (SIGTERM)".into(),
        other => format!("ended with exit status {other}"),
    }
}

/// The first hosts by name, the others by their number.
fn first_few(hosts: &[String]) -> String {
    /// As many as of missing containers.
    const NAMED: usize = 5;
    let named = hosts.iter().take(NAMED).map(String::as_str);
    let named = named.collect::<Vec<_>>().join(", ");
    match hosts.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

fn one_line(text: &str) -> String {
    /// Longest excerpt of YARN's words, characters: stack traces follow the message.
    const MOST: usize = 400;
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match joined.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &joined[..end]),
        None => joined,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_few_of_many_silent_launchers_are_named() {
        let sentence = |count: usize| {
            let hosts = (1..=count).map(|host| format!("n{host}")).collect();
            let waited = Millis(30_000);
            Cause::NotJoined { hosts, waited }.to_string()
        };
        assert!(sentence(5).contains("on n1, n2, n3, n4, n5 within 30 s"));
        assert!(sentence(2048).contains("on n1, n2, n3, n4, n5 and 2043 more within 30 s"));
    }
}
