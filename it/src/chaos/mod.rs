//! What may happen to a job at any moment, done to it on a real cluster, and what must become of it.
//!
//! A [`Case`] is a fault, the verdict that the user is to be given, and the time after which nothing
//! of the job may be left. [`trial::run`] starts a job ([`scene`]), lets the fault come at a moment
//! that a seed decides ([`dice`]), and looks: at the exit code and the sentence, and from then on for
//! processes, staged files, shared memory and temporary files that bear the job's mark ([`traces`]).
//! The job's ranks leave a process behind each that has a session of its own and no parent. Faults that
//! concern one job alone may come to several jobs at once ([`trial::together`]).
//!
//! What is expected of each case stands in one table, [`CASES`]; of jobs of a session in another,
//! [`SESSION_CASES`].
//!
//! `GERBIL_IT_OPTIONS` in the environment gives every job further options.
//!
//! # Caveats
//!
//! Cuts of the network and full disks need root, and `iptables` and `mount`. All nodes share one
//! kernel, so a machine that dies at once is not among the cases; a NodeManager that does is.

pub mod dice;
pub mod disk;
pub mod fault;
pub mod network;
pub mod scene;
pub mod session;
pub mod table;
pub mod traces;
pub mod trial;

use std::time::Duration;

use crate::cluster::Size;
use crate::settings::File;
use crate::{Builder, Cluster};

pub use fault::Fault;
pub use session::{Fate, SESSION_CASES};
pub use table::{figure, table};
pub use trial::TrialResult;

/// Nodes of the cluster; the job asks for two of them by name.
pub const NODES: usize = 3;

/// The ResourceManager takes an AM that is silent for dead after this. An AM that hears nothing of
/// the ResourceManager ends its ranks after half of it, in which a ResourceManager on a busy machine must
/// have started again.
pub const MASTER_EXPIRY: Duration = Duration::from_secs(40);
/// The same of a NodeManager.
pub const NODE_EXPIRY: Duration = Duration::from_secs(10);
/// Long enough for the longest short cut that must not be noticed.
pub const SHORT: Duration = Duration::from_secs(5);
/// Longer than a link is waited for, and shorter than its launcher is.
pub const LONG: Duration = Duration::from_secs(20);

/// What the user is to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// The job goes on as if nothing had been, and ends well when it is let go.
    Success,
    /// The program is started again, a line of `gerbil-run`'s own with all these words says so and why,
    /// and it ends well when it is let go; `HOST` stands for the node that was struck.
    Again(&'static [&'static str]),
    /// The job goes on, and ends well for YARN when it is let go; `gerbil-run` says with all these words that
    /// something is missing, and ends with code 70.
    Incomplete(&'static [&'static str]),
    /// One of these exit codes, and a line of `gerbil-run`'s own with all these words, `HOST` as above.
    Failure(&'static [i32], &'static [&'static str]),
    /// `gerbil-run` itself is gone: YARN's record must not say that the job succeeded.
    Recorded,
}

impl Expected {
    /// Whether the job is there after the fault, and has to be let go.
    #[must_use]
    pub fn goes_on(self) -> bool {
        matches!(self, Self::Success | Self::Again(_) | Self::Incomplete(_))
    }

    /// In a word or two, for tables.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Success => "goes on",
            Self::Again(_) => "starts again",
            Self::Incomplete(_) => "goes on, and says what is missing",
            Self::Failure(..) => "ends, and says why",
            Self::Recorded => "ends",
        }
    }
}

/// One fault and what must become of the job.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// For people, and for the name of the test.
    pub name: &'static str,
    /// What happens.
    pub fault: Fault,
    /// Options of the job; else the defaults hold: one restart, two attempts.
    pub options: &'static [&'static str],
    /// What the user is told.
    pub verdict: Expected,
    /// From the fault (or, where the job goes on, from when it was let go) until nothing is left.
    pub clean_within: Duration,
    /// For `soak` alone.
    pub is_long: bool,
    /// What becomes of the session whose job it is; `None`: the job is an application of its own.
    pub session: Option<Fate>,
}

impl Case {
    /// Whether other jobs on the cluster are hurt by it, or by what has to be done before.
    #[must_use]
    pub fn is_alone(&self) -> bool {
        self.fault.is_of_the_cluster()
    }
}

const fn case(name: &'static str, fault: Fault, verdict: Expected, clean_within: u64) -> Case {
    Case {
        name,
        fault,
        options: &[],
        verdict,
        clean_within: Duration::from_secs(clean_within),
        is_long: false,
        session: None,
    }
}

const fn long(case: Case) -> Case {
    Case {
        is_long: true,
        ..case
    }
}

const fn with(options: &'static [&'static str], case: Case) -> Case {
    Case { options, ..case }
}

/// All of them. What passes by itself: a link is replaced after 15 s and its launcher lost after 40 s, a lost lane after 25 to 30 s, a lost NodeManager after 10 to
/// 20 s, a silent ResourceManager after 20 s, an AM that is silent to the ResourceManager after 40 to 60 s.
/// The times here are several times those of an idle machine.
pub const CASES: [Case; 28] = {
    use Expected::{Again, Failure, Incomplete, Recorded, Success};
    use Fault::{
        ClientFromLane, ClientFromMaster, DiskFull, DiskFullMeanwhile, KillClient,
        KillClientAndMaster, KillLauncher, KillMaster, KillNodeManager, KillNodeManagerOfMaster,
        KillRank, KillResourceManager, KillResourceManagerAtEnd, MasterFromLauncher,
        MasterFromResourceManager, RestartResourceManager, StopMaster,
    };
    const LOST: &[i32] = &[70];
    const ELSEWHERE: &[&str] = &["-r", "loc"];
    const ONCE: &[&str] = &["--no-restart"];
    const INSIDE: &[&str] = &["--deploy-mode", "client"];
    [
        case("nothing", Fault::Nothing, Success, 60),
        case("client killed", KillClient, Recorded, 60),
        case(
            "AM killed",
            KillMaster,
            Again(&["attempt 2 of 2", "attempt 1 was lost"]),
            60,
        ),
        // Without a client the next attempt starts nothing.
        case("client and AM killed", KillClientAndMaster, Recorded, 120),
        case(
            "launcher killed",
            KillLauncher,
            Again(&["run 2 of 2", "HOST", "signal 9"]),
            60,
        ),
        case(
            "rank killed",
            KillRank,
            Failure(&[137], &["rank", "HOST", "SIGKILL"]),
            60,
        ),
        case(
            "client cut off for 20 s",
            ClientFromMaster(Some(LONG)),
            Success,
            60,
        ),
        case(
            "client cut off for ever",
            ClientFromMaster(None),
            Failure(LOST, &["lost the ApplicationMaster"]),
            120,
        ),
        case(
            "lane cut off for 5 s",
            ClientFromLane(Some(SHORT)),
            Success,
            60,
        ),
        case(
            "lane cut off for ever",
            ClientFromLane(None),
            Incomplete(&["rank 0", "some of it is missing"]),
            60,
        ),
        with(
            INSIDE,
            case(
                "lane cut off for ever, --deploy-mode client",
                ClientFromLane(None),
                Incomplete(&["rank 0", "some of it is missing"]),
                60,
            ),
        ),
        case(
            "launcher cut off for 5 s",
            MasterFromLauncher(Some(SHORT)),
            Success,
            60,
        ),
        case(
            "launcher cut off for 20 s",
            MasterFromLauncher(Some(LONG)),
            Success,
            60,
        ),
        with(
            ONCE,
            case(
                "launcher cut off for ever, --no-restart",
                MasterFromLauncher(None),
                Failure(LOST, &["container", "HOST"]),
                120,
            ),
        ),
        case(
            "launcher cut off for ever",
            MasterFromLauncher(None),
            Again(&["run 2 of 2", "HOST"]),
            60,
        ),
        case(
            "AM stopped",
            StopMaster,
            Again(&["attempt 2 of 2", "attempt 1 was lost"]),
            60,
        ),
        with(
            ELSEWHERE,
            case(
                "NodeManager killed",
                KillNodeManager,
                Again(&["run 2 of 2", "HOST"]),
                60,
            ),
        ),
        with(
            ELSEWHERE,
            case(
                "NodeManager of the AM killed",
                KillNodeManagerOfMaster,
                Again(&["attempt 2 of 2", "attempt 1 was lost"]),
                60,
            ),
        ),
        long(with(
            ONCE,
            case(
                "NodeManager of the AM killed, --no-restart",
                KillNodeManagerOfMaster,
                Failure(LOST, &["ApplicationMaster", "lost", "HOST"]),
                120,
            ),
        )),
        case(
            "ResourceManager restarted",
            RestartResourceManager,
            Success,
            60,
        ),
        case(
            "ResourceManager away when the job ends",
            KillResourceManagerAtEnd,
            Success,
            60,
        ),
        with(
            ONCE,
            case(
                "ResourceManager killed, --no-restart",
                KillResourceManager,
                Failure(LOST, &["ResourceManager"]),
                120,
            ),
        ),
        // Its client waits two minutes for a ResourceManager that may start the next attempt.
        long(case(
            "ResourceManager killed",
            KillResourceManager,
            Failure(LOST, &["no answer from the ResourceManager"]),
            240,
        )),
        case(
            "AM cut off from the ResourceManager for 5 s",
            MasterFromResourceManager(Some(SHORT)),
            Success,
            60,
        ),
        case(
            "AM cut off from the ResourceManager for ever",
            MasterFromResourceManager(None),
            Again(&["attempt 2 of 2", "attempt 1 was lost"]),
            60,
        ),
        long(with(
            ONCE,
            case(
                "AM cut off from the ResourceManager for ever, --no-restart",
                MasterFromResourceManager(None),
                Failure(LOST, &["ResourceManager"]),
                120,
            ),
        )),
        case(
            "disk full",
            DiskFull,
            Failure(LOST, &["HOST", "No space"]),
            120,
        ),
        case(
            "disk full while it runs",
            DiskFullMeanwhile,
            Failure(&[28], &["rank 3", "HOST", "code 28"]),
            120,
        ),
    ]
};

/// The cluster that all cases run on: losses are noticed within half a minute instead of ten, and
/// the ResourceManager remembers its applications.
#[must_use]
pub fn cluster() -> Builder {
    let ms = |time: Duration| time.as_millis().to_string();
    let roomy = Size {
        memory_mib: 65_536,
        vcores: 64,
    };
    let queue = |name: &str| format!("yarn.scheduler.capacity.{name}");
    Cluster::builder()
        .sizes(&[roomy; NODES])
        // Several jobs at once, each with an AM.
        .set(
            File::CapacityScheduler,
            &queue("maximum-am-resource-percent"),
            "0.5",
        )
        .set(
            File::Yarn,
            "yarn.am.liveness-monitor.expiry-interval-ms",
            ms(MASTER_EXPIRY),
        )
        .set(
            File::Yarn,
            "yarn.nm.liveness-monitor.expiry-interval-ms",
            ms(NODE_EXPIRY),
        )
        .set(File::Yarn, "yarn.resourcemanager.recovery.enabled", "true")
        .set(
            File::Yarn,
            "yarn.resourcemanager.store.class",
            "org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore",
        )
        // Below hadoop.tmp.dir unless said: inside the cluster's folder.
        .set(
            File::Yarn,
            "yarn.resourcemanager.fs.state-store.uri",
            "file://${hadoop.tmp.dir}/resource-manager",
        )
        // A node with a full disk is to be met by the job, not taken away by a look in between.
        .set(
            File::Yarn,
            "yarn.nodemanager.disk-health-checker.interval-ms",
            "3600000",
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_a_name_of_its_own() {
        let mut names: Vec<_> = CASES.iter().map(|case| case.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CASES.len());
    }
}
