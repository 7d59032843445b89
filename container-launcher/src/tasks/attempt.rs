//! One attempt at a task: a process that works, or whose end is not told yet.

use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use gerbil_task::{Blame, Blamed, Page, Phase, ToTask};
use nix::unistd::Pid;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::conversation::{Done, TaskFailure};
use super::log::Printed;
use super::places::AttemptOutput;
use super::watch::{Bounds, Watch};
use crate::disks::Begun;
use crate::functions::FunctionLease;
use crate::porters::Porter;
use crate::process::EndReport;

/// How long a process may take to leave.
const LEAVE: Duration = Duration::from_secs(5);
/// And one that has said that it has failed: what it has printed may still be in its own buffers.
const FLUSH: Duration = Duration::from_millis(500);
/// So long after the end of its process its conversation may take to say what the task came to, unless it is
/// busy with the output.
const SILENT: Duration = Duration::from_secs(20);

/// What a conversation says.
#[derive(Debug)]
pub(crate) enum Said {
    /// The task has ended well, if what it has written arrives. The process leaves.
    Finishing,
    /// How the task ended.
    Last(Result<Done, TaskFailure>),
}

/// An attempt.
pub(super) struct Attempt {
    pub(super) slot: u32,
    pub(super) pid: Pid,
    /// What brings its bytes.
    pub(super) porter: Porter,
    /// Its place among the tasks of its job, which it keeps in whatever slot.
    pub(super) own_place: u32,
    /// Its processes are stopped.
    pub(super) is_parked: bool,
    /// Of the container's memory, MiB.
    pub(super) memory_mib: u64,
    /// A map or a reduce.
    pub(super) task: Arc<ToTask>,
    /// What it notes of itself.
    pub(super) page: Page,
    /// What the user's code last said of itself.
    pub(super) status: Arc<Mutex<String>>,
    pub(super) printed: Printed,
    /// Where it writes.
    pub(super) output: Option<Arc<AttemptOutput>>,
    /// What its process has leased, until that is gone: by these copies of its sockets it is seen that a lease is over.
    leases: Vec<FunctionLease>,
    /// The function of a lease that was over before its process was gone.
    pub(super) lost_functions: Vec<String>,
    /// None: it is not watched any more.
    pub(super) watch: Option<Watch>,
    /// Its process, until that has ended.
    pub(super) begun: Option<Begun>,
    /// How it ended, as its conversation tells.
    pub(super) last: Option<Result<Done, TaskFailure>>,
    /// Why it was killed; what its conversation says then is no news.
    pub(super) killed: Option<String>,
    /// It was ended by order: it has not failed.
    pub(super) is_unwanted: bool,
    /// The process closed its socket, and did not end by itself.
    pub(super) is_stuck: bool,
    is_finishing: bool,
    /// When a process that has said its last is killed, unless it has ended.
    pub(super) kill_at: Option<Instant>,
    /// The end of the process, and when that is told at the latest.
    pub(super) ended: Option<(EndReport, Instant)>,
    /// Ends with the process, or before; none: it could not be begun.
    pub(super) conversation: Option<JoinHandle<()>>,
    /// Dropped: nothing of it goes on.
    pub(super) ends: CancellationToken,
    _ends: DropGuard,
}

/// What one is made of.
pub(super) struct Parts {
    pub(super) slot: u32,
    pub(super) porter: Porter,
    pub(super) own_place: u32,
    pub(super) memory_mib: u64,
    pub(super) task: Arc<ToTask>,
    pub(super) page: Page,
    pub(super) status: Arc<Mutex<String>>,
    pub(super) printed: Printed,
    pub(super) output: Option<Arc<AttemptOutput>>,
    pub(super) leases: Vec<FunctionLease>,
    pub(super) bounds: Bounds,
    pub(super) pid: Pid,
    pub(super) begun: Begun,
    pub(super) ends: CancellationToken,
}

impl Attempt {
    pub(super) fn new(parts: Parts) -> Self {
        let watch = Watch::new(parts.bounds, parts.pid, parts.page.read());
        Self {
            slot: parts.slot,
            pid: parts.pid,
            porter: parts.porter,
            own_place: parts.own_place,
            is_parked: false,
            memory_mib: parts.memory_mib,
            task: parts.task,
            page: parts.page,
            status: parts.status,
            printed: parts.printed,
            output: parts.output,
            leases: parts.leases,
            lost_functions: Vec::new(),
            watch: Some(watch),
            begun: Some(parts.begun),
            last: None,
            killed: None,
            is_unwanted: false,
            is_stuck: false,
            is_finishing: false,
            kill_at: None,
            ended: None,
            conversation: None,
            _ends: parts.ends.clone().drop_guard(),
            ends: parts.ends,
        }
    }

    /// The conversation says something.
    pub(super) fn hear(&mut self, said: Said) {
        let now = Instant::now();
        self.watch = None;
        match said {
            Said::Finishing => {
                self.is_finishing = true;
                self.kill_at = Some(now + LEAVE);
            }
            Said::Last(last) => {
                self.kill_at = match &last {
                    Ok(_) => self.kill_at,
                    // It may be about to say by its exit code why.
                    Err(TaskFailure::Died { .. }) => Some(now + LEAVE),
                    Err(TaskFailure::Said { .. }) => Some(now + FLUSH),
                    Err(TaskFailure::Sentence(_) | TaskFailure::Unread { .. }) => Some(now),
                };
                self.last = Some(last);
            }
        }
    }

    /// Whether its processes may be stopped for a while.
    ///
    /// # Errors
    ///
    /// They may not, and why: somebody waits for it meanwhile.
    pub(super) fn may_be_parked(&self) -> Result<(), String> {
        let why_not = if self.watch.is_none() {
            "it is about to end"
        } else if self.blame().phase == Phase::Idle {
            "it has not begun"
        } else if !self.leases.is_empty() {
            "it has a device"
        } else {
            return Ok(());
        };
        Err(why_not.to_owned())
    }

    /// Its processes are stopped, or run again.
    pub(super) fn park(&mut self, is_parked: bool) {
        self.is_parked = is_parked;
        if let Some(watch) = &mut self.watch {
            watch.park(is_parked);
        }
    }

    /// It is to end, for this reason.
    pub(super) fn kill(&mut self, why: String) {
        self.watch = None;
        self.killed.get_or_insert(why);
        self.ends.cancel();
        self.kill_at = Some(Instant::now());
    }

    /// The process is gone and reaped.
    pub(super) fn end(&mut self, report: EndReport) {
        self.kill_at = None;
        self.watch = None;
        self.begun = None;
        let leases = std::mem::take(&mut self.leases).into_iter();
        let over = leases.filter(|lease| lease.accelerator.is_over());
        self.lost_functions = over.map(|lease| lease.of).collect();
        self.lost_functions.sort_unstable();
        self.lost_functions.dedup();
        self.ended = Some((report, Instant::now() + SILENT));
    }

    /// When its end is told even if its last words are missing.
    pub(super) fn told_at(&self) -> Option<Instant> {
        let (_, at) = self.ended?;
        (self.last.is_none() && !self.is_finishing).then_some(at)
    }

    /// Its end can be told.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.ended.is_some() && (self.last.is_some() || self.told_at().is_some_and(|at| at <= now))
    }

    /// As sentences call its task.
    pub(super) fn title(&self) -> String {
        Blamed::of(&self.task)
            .map(Blamed::title)
            .unwrap_or_default()
    }

    /// Where it is, behind its title and before what is said of it.
    pub(super) fn place(&self) -> String {
        let place = Blamed::of(&self.task).map(|task| task.place(&self.blame()));
        match place.unwrap_or_default() {
            place if place.is_empty() => place,
            place => format!("({place}) "),
        }
    }

    pub(super) fn blame(&self) -> Blame {
        self.page.read()
    }
}
