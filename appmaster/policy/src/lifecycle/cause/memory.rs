//! Words for ends by want of memory: by YARN's look at a container, or by the kernel.
//!
//! Every few seconds a NodeManager adds up the resident size and the address space of a container's
//! processes. It ends a container that is over its own size (exit status -104) or over its size times
//! `yarn.nodemanager.vmem-pmem-ratio` (-103), and says so in a form that Hadoop 2.10 to 3.5 share:
//!
//! ```text
//! … Current usage: 2.6 GB of 2 GB physical memory used; 3.1 GB of 4.2 GB virtual memory used. Killing …
//! ```

use crate::{MiB, Rank};

/// What the ApplicationMaster has seen of the ranks beside the cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Who of the container's ranks held the most of the memory in question, and how much, when last
    /// sampled.
    pub largest: Option<(Rank, MiB)>,
    /// Whether the kernel killed processes for want of memory while the rank ran.
    pub out_of_memory: OutOfMemory,
}

/// Whether the kernel has killed processes for want of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutOfMemory {
    /// Not that anybody knows.
    #[default]
    No,
    /// Somewhere on the node.
    Node,
    /// In the container's own control group.
    Group,
}

/// Which memory of a container was over its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Pages that are there.
    Physical,
    /// Address space.
    Virtual,
}

impl Limit {
    /// The limit that YARN's exit status speaks of.
    pub(super) const fn of(status: i32) -> Option<Self> {
        match status {
            -103 => Some(Self::Virtual),
            -104 => Some(Self::Physical),
            _ => None,
        }
    }

    /// How a container ended that was over it, as a predicate; `diagnostics` are YARN's words.
    pub(super) fn predicate(self, diagnostics: &str, largest: Option<(Rank, MiB)>) -> String {
        let used = self.used(diagnostics);
        let mut words = match (self, used) {
            (Self::Physical, Some((used, limit))) => format!(
                "was killed by YARN because it used {used} of physical memory and had asked for \
                 {limit}"
            ),
            (Self::Physical, None) => {
                "was killed by YARN because it used more physical memory than it had asked for"
                    .into()
            }
            (Self::Virtual, Some((used, limit))) => format!(
                "was killed by YARN because it used {used} of virtual memory and its node allows \
                 {limit} to a container of this size"
            ),
            (Self::Virtual, None) => "was killed by YARN because it used more virtual memory than \
                                      its node allows to a container of this size"
                .into(),
        };
        if let Some((rank, held)) = largest {
            words.push_str(&format!(
                "; rank {rank} held the most, {} MiB when last seen",
                held.0
            ));
        }
        words.push_str(match self {
            Self::Physical => {
                "; ask for more with --mem-per-proc, or have yarn.nodemanager.pmem-check-enabled \
                 set to false"
            }
            Self::Virtual => {
                "; ask for more with --mem-per-proc, or have yarn.nodemanager.vmem-pmem-ratio \
                 raised or yarn.nodemanager.vmem-check-enabled set to false"
            }
        });
        words
    }

    /// What was used and what was allowed, in YARN's units.
    pub(super) fn used(self, diagnostics: &str) -> Option<(&str, &str)> {
        let (_, usage) = diagnostics.split_once("Current usage: ")?;
        let (physical, rest) = usage.split_once(" physical memory used")?;
        let amounts = match self {
            Self::Physical => physical,
            Self::Virtual => {
                let (amounts, _) = rest.split_once(" virtual memory used")?;
                amounts.trim_start_matches([';', ' '])
            }
        };
        let (used, limit) = amounts.split_once(" of ")?;
        let is_amount = |text: &str| {
            text.len() < 20
                && text.split_once(' ').is_some_and(|(number, unit)| {
                    number.parse::<f64>().is_ok() && unit.ends_with('B')
                })
        };
        (is_amount(used) && is_amount(limit)).then_some((used, limit))
    }
}

impl OutOfMemory {
    /// What to add to the words of a rank that signal 9 ended.
    pub(super) const fn addition(self) -> &'static str {
        match self {
            Self::No => "",
            Self::Node => {
                "; the kernel's out-of-memory killer was at work on that node meanwhile, so that may \
                 be who sent it: ask for more memory with --mem-per-proc"
            }
            Self::Group => {
                "; the kernel killed processes of this container because its control group was out \
                 of memory: ask for more with --mem-per-proc"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::Cause;
    use crate::{ContainerId, End};

    /// As Hadoop 3.4.2 says it.
    const NEW: &str = "[2026-11-20 10:00:00.000]Container \
        [pid=811,containerID=container_1_0001_01_000002] is running 629145600B beyond the 'PHYSICAL' \
        memory limit. Current usage: 2.6 GB of 2 GB physical memory used; 3.1 GB of 4.2 GB virtual \
        memory used. Killing container.\nDump of the process-tree for container_1_0001_01_000002 :\n";
    /// As Hadoop 2.10.2 says it.
    const OLD: &str = "Container [pid=812,containerID=container_1_0001_01_000003] is running beyond \
        virtual memory limits. Current usage: 180.4 MB of 1 GB physical memory used; 2.7 GB of 2.1 GB \
        virtual memory used. Killing container.\n";

    fn ended(status: i32, diagnostics: &str) -> Cause {
        Cause::ContainerEnded {
            container: ContainerId("container_1_0001_01_000002".into()),
            host: "n7".into(),
            status,
            diagnostics: diagnostics.into(),
        }
    }

    #[test]
    fn a_kill_names_limit_use_rank_and_remedy() {
        let seen = Seen {
            largest: Some((Rank(3), MiB(2610))),
            ..Seen::default()
        };
        assert_eq!(
            ended(-104, NEW).sentence(seen),
            "container container_1_0001_01_000002 on n7 was killed by YARN because it used 2.6 GB of \
             physical memory and had asked for 2 GB; rank 3 held the most, 2610 MiB when last seen; \
             ask for more with --mem-per-proc, or have yarn.nodemanager.pmem-check-enabled set to \
             false"
        );
        assert_eq!(
            ended(-103, OLD).to_string(),
            "container container_1_0001_01_000002 on n7 was killed by YARN because it used 2.7 GB of \
             virtual memory and its node allows 2.1 GB to a container of this size; ask for more \
             with --mem-per-proc, or have yarn.nodemanager.vmem-pmem-ratio raised or \
             yarn.nodemanager.vmem-check-enabled set to false"
        );
    }

    #[test]
    fn words_that_are_not_understood_are_passed_on() {
        let sentence = ended(-104, "Speicher\nvoll").to_string();
        assert!(sentence.contains("more physical memory than it had asked for"));
        assert!(
            sentence.ends_with("; YARN says: Speicher voll"),
            "{sentence}"
        );
        let odd = "Current usage: lots of it physical memory used; virtual memory used";
        assert_eq!(Limit::Physical.used(odd), None);
        assert_eq!(Limit::Virtual.used(odd), None);
    }

    #[test]
    fn signal_9_may_come_from_the_kernel() {
        let killed = Cause::RankFailed {
            rank: Rank(1).into(),
            host: "n1".into(),
            end: End::Signal(9),
        };
        let said = |out_of_memory| {
            killed.sentence(Seen {
                largest: None,
                out_of_memory,
            })
        };
        assert_eq!(said(OutOfMemory::No), killed.to_string());
        assert!(said(OutOfMemory::Node).contains("may be who sent it"));
        assert!(said(OutOfMemory::Group).contains("control group was out of memory"));
        let crashed = Cause::RankFailed {
            rank: Rank(1).into(),
            host: "n1".into(),
            end: End::Signal(11),
        };
        let seen = Seen {
            out_of_memory: OutOfMemory::Group,
            ..Seen::default()
        };
        assert_eq!(crashed.sentence(seen), crashed.to_string());
    }
}
