//! Ends by want of memory in words: by YARN's look at a container, or by the kernel.

use policy::run::{Limit, OutOfMemory};
use policy::{MiB, Rank};

/// How a container ended that was over `limit`, as a predicate; `diagnostics` are YARN's words.
pub(crate) fn predicate(limit: Limit, diagnostics: &str, largest: Option<(Rank, MiB)>) -> String {
    let used = limit.used(diagnostics);
    let mut words = match (limit, used) {
        (Limit::Physical, Some((used, allowed))) => format!(
            "was killed by YARN because it used {used} of physical memory and had asked for \
             {allowed}"
        ),
        (Limit::Physical, None) => {
            "was killed by YARN because it used more physical memory than it had asked for".into()
        }
        (Limit::Virtual, Some((used, allowed))) => format!(
            "was killed by YARN because it used {used} of virtual memory and its node allows \
             {allowed} to a container of this size"
        ),
        (Limit::Virtual, None) => "was killed by YARN because it used more virtual memory than \
                                  its node allows to a container of this size"
            .into(),
    };
    if let Some((rank, held)) = largest {
        words.push_str(&format!(
            "; rank {rank} held the most, {} MiB when last seen",
            held.0
        ));
    }
    words.push_str(match limit {
        Limit::Physical => {
            "; ask for more with --mem-per-proc, or have yarn.nodemanager.pmem-check-enabled \
             set to false"
        }
        Limit::Virtual => {
            "; ask for more with --mem-per-proc, or have yarn.nodemanager.vmem-pmem-ratio \
             raised or yarn.nodemanager.vmem-check-enabled set to false"
        }
    });
    words
}

/// What to add to the words of a rank that signal 9 ended.
pub(crate) const fn addition(seen: OutOfMemory) -> &'static str {
    match seen {
        OutOfMemory::No => "",
        OutOfMemory::Node => {
            "; the kernel's out-of-memory killer was at work on that node meanwhile, so that may \
             be who sent it: ask for more memory with --mem-per-proc"
        }
        OutOfMemory::Group => {
            "; the kernel killed processes of this container because its control group was out \
             of memory: ask for more with --mem-per-proc"
        }
        OutOfMemory::Share => {
            "; its launcher ended it because it had more than its share of its container's memory, \
             before YARN would have ended the container with all that runs in it: ask for more with \
             --mem-per-proc"
        }
    }
}

#[cfg(test)]
mod tests {
    use policy::run::{Cause, OutOfMemory, SeenMemory};
    use policy::{ContainerId, End, MiB, Rank, ResourceTypes};

    fn sentence(cause: &Cause, seen: SeenMemory) -> String {
        crate::cause(cause, seen, &ResourceTypes::default())
    }

    fn plain(cause: &Cause) -> String {
        sentence(cause, SeenMemory::default())
    }

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
        let seen = SeenMemory {
            largest: Some((Rank(3), MiB(2610))),
            ..SeenMemory::default()
        };
        assert_eq!(
            sentence(&ended(-104, NEW), seen),
            "container container_1_0001_01_000002 on n7 was killed by YARN because it used 2.6 GB of \
             physical memory and had asked for 2 GB; rank 3 held the most, 2610 MiB when last seen; \
             ask for more with --mem-per-proc, or have yarn.nodemanager.pmem-check-enabled set to \
             false"
        );
        assert_eq!(
            plain(&ended(-103, OLD)),
            "container container_1_0001_01_000002 on n7 was killed by YARN because it used 2.7 GB of \
             virtual memory and its node allows 2.1 GB to a container of this size; ask for more \
             with --mem-per-proc, or have yarn.nodemanager.vmem-pmem-ratio raised or \
             yarn.nodemanager.vmem-check-enabled set to false"
        );
    }

    #[test]
    fn words_that_are_not_understood_are_passed_on() {
        let said = plain(&ended(-104, "Speicher\nvoll"));
        assert!(said.contains("more physical memory than it had asked for"));
        assert!(said.ends_with("; YARN says: Speicher voll"), "{said}");
    }

    #[test]
    fn signal_9_may_come_from_the_kernel() {
        let killed = Cause::RankFailed {
            rank: Rank(1).into(),
            host: "n1".into(),
            end: End::Signal(9),
        };
        let said = |out_of_memory| {
            sentence(
                &killed,
                SeenMemory {
                    largest: None,
                    out_of_memory,
                },
            )
        };
        assert_eq!(said(OutOfMemory::No), plain(&killed));
        assert!(said(OutOfMemory::Node).contains("may be who sent it"));
        assert!(said(OutOfMemory::Group).contains("control group was out of memory"));
        assert!(said(OutOfMemory::Share).contains("more than its share"));
        let crashed = Cause::RankFailed {
            rank: Rank(1).into(),
            host: "n1".into(),
            end: End::Signal(11),
        };
        let seen = SeenMemory {
            out_of_memory: OutOfMemory::Group,
            ..SeenMemory::default()
        };
        assert_eq!(sentence(&crashed, seen), plain(&crashed));
    }
}
