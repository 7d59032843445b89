//! Whether the processes of a container got less than they wanted.
//!
//! Source: Xu, Li, Butt, "GERBIL: MPI+YARN", CCGrid 2015, §III-D2 and Algorithms 1 and 2, `degraded`.
//! Difference from the paper: it is a fact of what was granted, not of the snapshot that the request
//! was made from.

use std::fmt;

use crate::placement::number;
use crate::{Counted, MiB, NodeShare, Resources, Vcores};

/// What the processes of one node share that is less than they wanted. Its text is one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Degraded {
    /// The node's host.
    pub host: String,
    /// Processes in the container.
    pub processes: u32,
    /// Memory that was granted and, more than that, wanted.
    pub memory: Option<(MiB, MiB)>,
    /// Vcores that were granted and, more than that, wanted; only where the scheduler counts them.
    pub vcores: Option<(Vcores, Vcores)>,
    /// Cores that the container may use, fewer than its ranks.
    pub cores: Option<u32>,
}

/// In what the container `granted` for `share` is less than its processes of one `unit` each want,
/// in the resources that are `counted`; and whether they are more than the `cores` of the node that
/// they may use, where these are known. `None` when nothing is short.
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
/// assert_eq!(short.to_string(), "4 processes on c4 share 2048 MiB, 4096 MiB were wanted");
/// assert_eq!(degraded(unit, Counted::Memory, &share, Resources::new(4096, 2), Some(4)), None);
/// ```
#[must_use]
pub fn degraded(
    unit: Resources,
    counted: Counted,
    share: &NodeShare,
    granted: Resources,
    cores: Option<u32>,
) -> Option<Degraded> {
    let wanted = unit.times(share.processes);
    let counts_vcores = counted == Counted::MemoryAndVcores;
    let memory = granted.memory < wanted.memory;
    let vcores = counts_vcores && granted.vcores < wanted.vcores;
    // A node whose number of cores could not be read may be said to have none.
    let cores = cores.filter(|cores| (1..share.processes).contains(cores));
    let degraded = Degraded {
        host: share.host.clone(),
        processes: share.processes,
        memory: memory.then_some((granted.memory, wanted.memory)),
        vcores: vcores.then_some((granted.vcores, wanted.vcores)),
        cores,
    };
    (memory || vcores || cores.is_some()).then_some(degraded)
}

impl fmt::Display for Degraded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = if self.processes == 1 { "has" } else { "share" };
        let mut parts = Vec::new();
        if let Some((granted, wanted)) = self.memory {
            parts.push(format!("{granted}, {wanted} were wanted"));
        }
        if let Some((granted, wanted)) = self.vcores {
            parts.push(format!("{granted}, {} were wanted", wanted.0));
        }
        if parts.is_empty() {
            let cores = self.cores.unwrap_or_default();
            return write!(
                f,
                "{} ranks on {} share {}",
                self.processes,
                self.host,
                cores_of(cores)
            );
        }
        write!(
            f,
            "{} on {} {share} {}",
            number(self.processes),
            self.host,
            parts.join(", and ")
        )?;
        match self.cores {
            Some(cores) => write!(f, "; they run on {}", cores_of(cores)),
            None => Ok(()),
        }
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
    use super::*;
    use crate::NodeId;

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
        let degraded = degraded(unit, counted, &share(processes), granted, cores);
        degraded.map_or_else(String::new, |degraded| degraded.to_string())
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
