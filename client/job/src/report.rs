//! The job report: what `--report FILE` writes, one JSON object.
//!
//! Amounts of memory are MiB or KiB as the names say, times microseconds since 1970, spans ms. The
//! ApplicationMaster fills in all but what only the client knows. Fields may be added, and one that
//! is absent has its default; none changes its meaning.

use serde::{Deserialize, Serialize};

use crate::container_exit::ContainerExit;
use crate::explain::{Amount, Granted, Placed};

/// One job from its submission to its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// YARN's id of the application.
    pub application: String,
    /// The program, as the user gave it.
    pub program: String,
    /// Processes that the job was started with, on all nodes.
    pub processes: u32,
    /// The mode that placed them, as `-r` takes it.
    pub mode: String,
    /// What `gerbil-run` exited with.
    pub exit_code: i32,
    /// The cause in one sentence; empty for a success.
    pub sentence: String,
    /// Why the job ran degraded, a sentence for each node where it did; empty when it did not.
    pub degraded: Vec<String>,
    /// When each phase began.
    pub phases: Phases,
    /// The placement that the job ran with; absent when it never got there.
    pub placement: Option<Placed>,
    /// Containers that came, in order, those given back included.
    pub grants: Vec<Granted>,
    /// Allocate calls, and those of them that carried requests for new containers.
    pub allocates: u32,
    /// See `allocates`.
    pub asking_allocates: u32,
    /// Each rank, by number.
    pub ranks: Vec<RankReport>,
    /// Resident size of the ApplicationMaster at the end, KiB.
    pub appmaster_resident_kib: u64,
    /// Bytes staged by this run; 0 when all was there already.
    pub uploaded_bytes: u64,
}

/// Microseconds since 1970; 0 where the job never got there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Phases {
    /// The command began (client's clock).
    pub started_us: i64,
    /// The application was submitted (client's clock).
    pub submitted_us: i64,
    /// The ApplicationMaster began.
    pub appmaster_started_us: i64,
    /// It was registered.
    pub registered_us: i64,
    /// It first asked for containers.
    pub asked_us: i64,
    /// The last container was granted.
    pub granted_us: i64,
    /// The last launcher had dialled in.
    pub joined_us: i64,
    /// The last process ran (latest of the nodes' clocks).
    pub processes_started_us: i64,
    /// The last process had ended, or the job was given up.
    pub ended_us: i64,
    /// The command was done (client's clock).
    pub finished_us: i64,
}

/// One rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RankReport {
    /// Its number in the job: those of spawned processes follow the job's own.
    pub rank: u32,
    /// 0 for the job's own ranks, else the spawned group that it is of, from 1.
    pub group: u32,
    /// Its rank in the `MPI_COMM_WORLD` of its group.
    pub group_rank: u32,
    /// Where it ran.
    pub host: String,
    /// Its exit code, if it returned one.
    pub exit_code: Option<i32>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
    /// How its container ended; absent where YARN had not told it by the verdict.
    pub container_exit: Option<ContainerExit>,
    /// Highest resident size seen, its children's included, KiB.
    pub peak_resident_kib: u64,
    /// User and system time, its children's included, ms.
    pub cpu_ms: u64,
    /// Share of its life that it waited for messages, 0 to 1, where that was measured.
    pub waiting_share: Option<f64>,
    /// What was sampled while it ran, at most 600 entries: when there are more, every other one is
    /// dropped and the interval doubles.
    pub samples: Vec<Sample>,
}

/// A rank at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sample {
    /// Since the process started, ms.
    pub at_ms: u64,
    /// Resident size, KiB.
    pub resident_kib: u64,
    /// Processor time so far, ms.
    pub cpu_ms: u64,
}

impl Report {
    /// The amount that the job was granted, all nodes together, given-back containers aside.
    #[must_use]
    pub fn granted(&self) -> Amount {
        let kept = self.grants.iter().filter(|grant| grant.processes > 0);
        kept.fold(Amount::default(), |all, grant| all.plus(&grant.granted))
    }
}
