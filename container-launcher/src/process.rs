//! Processes that the launcher has started, each from its start to the report of its end.
//!
//! What a process is for is its job's matter: here it has a number, a pid and an end.

pub(crate) mod environment;
pub(crate) mod exec;
pub(crate) mod start;
pub(crate) mod streams;

use std::collections::BTreeMap;
use std::time::Duration;

use job::JobId;
use job::exit::End;
use job::wire::OutOfMemory;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::binding;
use crate::devices;
use crate::nursery::ReapedProcess;
use crate::out_of_memory::Kills;

/// After a process's end what it said last over its socket is waited for, so that this is told before the
/// end; not longer, because a process that it left behind may hold the socket open.
const LAST_WORDS_MAX: Duration = Duration::from_millis(500);

/// Which process: its job, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Id {
    pub(crate) job: JobId,
    pub(crate) number: u32,
}

/// What is known of one process.
#[derive(Debug)]
pub(crate) struct Process {
    pid: i32,
    /// Cancelled when it has ended; the tasks that carry its output know it.
    gone: CancellationToken,
    /// Its end, and when that is reported at the latest.
    ended: Option<(ReapedProcess, Instant)>,
    /// It ended after the order to stop.
    stopped: bool,
    /// It was killed because it had more memory than its share.
    is_over: bool,
    reported: bool,
    /// Until it has ended.
    grants: Grants,
}

/// What a process has of the container for itself; what is dropped others may have.
#[derive(Debug, Default)]
pub(crate) struct Grants {
    /// Its graphics processors; none: it is told nothing of them.
    pub(crate) gpus: Option<devices::Grant>,
    /// The processors that it may run on; none: all of the container's.
    pub(crate) processors: Option<binding::Bound>,
}

impl Process {
    /// One that runs under this pid.
    pub(crate) const fn new(pid: i32, gone: CancellationToken, grants: Grants) -> Self {
        Self {
            pid,
            gone,
            ended: None,
            stopped: false,
            is_over: false,
            reported: false,
            grants,
        }
    }
}

/// The end of a process that is due to be reported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndReport {
    pub(crate) number: u32,
    pub(crate) ended: ReapedProcess,
    /// It ended after the order to stop.
    pub(crate) stopped: bool,
    /// Whether the kernel killed for want of memory since the processes began; of one that signal 9 ended.
    pub(crate) out_of_memory: OutOfMemory,
}

/// Processes of one job that were started together, by their numbers.
#[derive(Debug)]
pub(crate) struct Processes {
    /// Before the first of them ran.
    kills: Kills,
    all: BTreeMap<u32, Process>,
}

impl Processes {
    pub(crate) const fn new(kills: Kills) -> Self {
        Self {
            kills,
            all: BTreeMap::new(),
        }
    }

    pub(crate) fn add(&mut self, number: u32, process: Process) {
        self.all.insert(number, process);
    }

    /// Notes who was reaped, and whether that was after the order to stop.
    pub(crate) fn ended(&mut self, ended: &[ReapedProcess], stopped: bool) {
        for &end in ended {
            if let Some(process) = self.all.get_mut(&end.id.number) {
                process.gone.cancel();
                process.grants = Grants::default();
                process.stopped = stopped;
                process.ended = Some((end, Instant::now() + LAST_WORDS_MAX));
            }
        }
    }

    /// Drops those whose ends were told.
    pub(crate) fn forget_reported(&mut self) {
        self.all.retain(|_, process| !process.reported);
    }

    /// Notes that one is about to be killed because it has more memory than its share.
    pub(crate) fn over_share(&mut self, number: u32) {
        if let Some(process) = self.all.get_mut(&number) {
            process.is_over = true;
        }
    }

    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> {
        self.all.keys().copied()
    }

    pub(crate) fn has(&self, number: u32) -> bool {
        self.all.contains_key(&number)
    }

    /// Numbers and pids of those that have not been reaped.
    pub(crate) fn alive(&self) -> impl Iterator<Item = (u32, i32)> {
        let alive = self.all.iter().filter(|(_, of)| of.ended.is_none());
        alive.map(|(&number, process)| (number, process.pid))
    }

    /// All are gone and reaped.
    pub(crate) fn all_ended(&self) -> bool {
        self.all.values().all(|process| process.ended.is_some())
    }

    /// All are gone, and it was told.
    pub(crate) fn all_reported(&self) -> bool {
        self.all.values().all(|process| process.reported)
    }

    /// When the next end is to be reported even if its last words are missing.
    pub(crate) fn next_report(&self) -> Option<Instant> {
        let silent = self.all.values().filter(|process| !process.reported);
        silent.filter_map(|process| Some(process.ended?.1)).min()
    }

    /// The reports that are due: of ends after which nothing can be heard any more, as `is_silent` tells of
    /// a number, or for which no longer is waited.
    pub(crate) fn reports(&mut self, is_silent: impl Fn(u32) -> bool) -> Vec<EndReport> {
        let now = Instant::now();
        let mut due = Vec::new();
        for (&number, process) in &mut self.all {
            let Some((ended, at)) = process.ended else {
                continue;
            };
            if process.reported || !(is_silent(number) || now >= at) {
                continue;
            }
            process.reported = true;
            due.push(EndReport {
                number,
                ended,
                stopped: process.stopped,
                out_of_memory: match ended.end {
                    End::Signal(9) if process.is_over => OutOfMemory::Share,
                    End::Signal(9) => Kills::so_far().since(self.kills),
                    _ => OutOfMemory::No,
                },
            });
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(number: u32) -> ReapedProcess {
        ReapedProcess {
            id: Id {
                job: JobId::OF_APPLICATION,
                number,
            },
            end: End::Code(0),
            max_rss_kib: 1,
            cpu_us: 1,
            life: Duration::from_secs(1),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_end_is_reported_once_and_after_the_last_words() {
        let mut processes = Processes::new(Kills::default());
        let gone = CancellationToken::new();
        for number in [3, 4] {
            processes.add(
                number,
                Process::new(100, gone.child_token(), Grants::default()),
            );
        }
        processes.ended(&[ended(3), ended(9)], false);
        assert_eq!(processes.alive().collect::<Vec<_>>(), [(4, 100)]);
        assert!(!processes.all_ended());
        // It may still have said something.
        let numbers =
            |reports: Vec<EndReport>| reports.iter().map(|r| r.number).collect::<Vec<_>>();
        assert_eq!(numbers(processes.reports(|_| false)), [0; 0]);
        processes.ended(&[ended(4)], true);
        let reports = processes.reports(|number| number == 4);
        assert!(reports.iter().all(|report| report.stopped));
        assert_eq!(numbers(reports), [4]);
        let at = processes.next_report().unwrap();
        assert_eq!(at, Instant::now() + LAST_WORDS_MAX);
        tokio::time::sleep_until(at).await;
        assert_eq!(numbers(processes.reports(|_| false)), [3]);
        assert!(processes.all_reported() && processes.next_report().is_none());
        assert_eq!(numbers(processes.reports(|_| true)), [0; 0]);
    }
}
