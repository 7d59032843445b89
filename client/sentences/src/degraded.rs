//! What a grant is short of, in a sentence.

use policy::Degraded;

use crate::rejection::number;

/// What the processes of one node share that is less than they wanted.
///
/// ```
/// use policy::{Counted, NodeId, NodeShare, Resources, degraded};
///
/// let share = NodeShare {
///     node: NodeId("c4:45454".into()),
///     host: "c4".into(),
///     rack: "/default-rack".into(),
///     processes: 4,
///     ask: Resources::new(2048, 2),
/// };
/// let unit = Resources::new(1024, 1);
/// let short = degraded(unit, Counted::Memory, &share, Resources::new(2048, 2), None).unwrap();
/// assert_eq!(sentences::degraded(&short), "4 processes on c4 share 2048 MiB, 4096 MiB were wanted");
/// ```
#[must_use]
pub fn degraded(short: &Degraded) -> String {
    let Degraded {
        host, processes, ..
    } = short;
    let share = if *processes == 1 { "has" } else { "share" };
    let mut parts = Vec::new();
    if let Some((granted, wanted)) = short.memory {
        parts.push(format!("{granted}, {wanted} were wanted"));
    }
    if let Some((granted, wanted)) = short.vcores {
        parts.push(format!("{granted}, {} were wanted", wanted.0));
    }
    if parts.is_empty() {
        let cores = cores_of(short.cores.unwrap_or_default());
        return format!("{processes} ranks on {host} share {cores}");
    }
    let parts = parts.join(", and ");
    let known = format!("{} on {host} {share} {parts}", number(*processes));
    match short.cores {
        Some(cores) => format!("{known}; they run on {}", cores_of(cores)),
        None => known,
    }
}

fn cores_of(cores: u32) -> String {
    match cores {
        1 => "1 core".into(),
        many => format!("{many} cores"),
    }
}

#[cfg(test)]
mod tests {
    use policy::{Counted, NodeId, NodeShare, Resources};

    fn share(processes: u32) -> NodeShare {
        NodeShare {
            node: NodeId("n1:1".into()),
            host: "n1".into(),
            rack: "/default-rack".into(),
            processes,
            ask: Resources::default(),
        }
    }

    fn said(counted: Counted, processes: u32, granted: (u64, u32), cores: Option<u32>) -> String {
        let unit = Resources::new(1024, 1);
        let granted = Resources::new(granted.0, granted.1);
        let short = policy::degraded(unit, counted, &share(processes), granted, cores);
        short.as_ref().map_or_else(String::new, super::degraded)
    }

    #[test]
    fn nothing_is_said_of_what_is_as_wanted_or_not_counted() {
        assert_eq!(said(Counted::Memory, 4, (4096, 1), None), "");
        assert_eq!(said(Counted::Memory, 4, (4096, 1), Some(4)), "");
        assert_eq!(said(Counted::MemoryAndVcores, 4, (4096, 4), Some(8)), "");
        // More than asked for, as the scheduler rounds up.
        assert_eq!(said(Counted::MemoryAndVcores, 3, (4096, 4), Some(3)), "");
        // A number of cores that could not be read.
        assert_eq!(said(Counted::Memory, 2, (2048, 1), Some(0)), "");
    }

    #[test]
    fn each_shortage_is_one_sentence() {
        let cases = [
            (
                said(Counted::Memory, 4, (2048, 1), None),
                "4 processes on n1 share 2048 MiB, 4096 MiB were wanted",
            ),
            (
                said(Counted::MemoryAndVcores, 4, (4096, 1), None),
                "4 processes on n1 share 1 vcore, 4 were wanted",
            ),
            (
                said(Counted::MemoryAndVcores, 4, (2048, 2), None),
                "4 processes on n1 share 2048 MiB, 4096 MiB were wanted, and 2 vcores, 4 were wanted",
            ),
            (
                said(Counted::Memory, 8, (8192, 1), Some(2)),
                "8 ranks on n1 share 2 cores",
            ),
            (
                said(Counted::Memory, 4, (2048, 1), Some(1)),
                "4 processes on n1 share 2048 MiB, 4096 MiB were wanted; they run on 1 core",
            ),
            (
                said(Counted::Memory, 1, (512, 1), Some(1)),
                "1 process on n1 has 512 MiB, 1024 MiB were wanted",
            ),
        ];
        for (said, expected) in cases {
            assert_eq!(said, expected);
        }
    }
}
