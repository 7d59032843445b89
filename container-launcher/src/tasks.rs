//! A container's share of a job of tasks: processes that each work on one map or reduce.
//!
//! A process is the user's program in the role of a task. It speaks `gerbil_task` over its standard input
//! ([`conversation`]): it is told the job and its task, asks for what it reads and writes, and says how the
//! task ended. What it prints is kept in a folder of its own ([`log`]), in which its output lies too. What
//! maps have written for reduces stays with the share: the process may die.

mod conversation;
mod log;
mod start;

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use gerbil_task::FromTask;
use job::wire::task_event::Event;
use job::wire::{EndTask, StartTask, TaskEnded};
use nix::sys::signal::Signal;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::container::Container;
use crate::nursery::{Ended, Whom};
use crate::out_of_memory::Kills;
use crate::process::{Id, JobId, Processes};

/// How long a process may take to leave.
const LEAVE: Duration = Duration::from_secs(5);
/// Ends of conversations that wait to be told.
const SAID: usize = 16;

/// How a conversation ended: what the task said last, or a sentence.
type Said = Result<FromTask, String>;

/// Map outputs, by the number of the map.
type Outputs = Arc<Mutex<BTreeMap<u32, OwnedFd>>>;

/// A process that works, or whose end is not told yet.
struct Attempt {
    slot: u32,
    said: Option<Said>,
    /// When a process that has said its last is killed, unless it has ended.
    kill_at: Option<Instant>,
    /// Ends with the process, or before; none: it could not be begun.
    conversation: Option<JoinHandle<()>>,
}

impl Attempt {
    /// The process has said its last: it leaves, or is of no use any more.
    fn hear(&mut self, said: Said) {
        let now = Instant::now();
        self.kill_at = Some(match said {
            Ok(_) => now + LEAVE,
            Err(_) => now,
        });
        self.said = Some(said);
    }
}

/// What the container runs of the job.
pub(crate) struct Tasks {
    job: JobId,
    processes: Processes,
    /// By the numbers of their processes.
    attempts: BTreeMap<u32, Attempt>,
    outputs: Outputs,
    said_by: mpsc::Sender<(u32, Said)>,
    said: mpsc::Receiver<(u32, Said)>,
    /// Memory in which tasks note what they work on; none so far.
    blame: Option<Arc<OwnedFd>>,
    /// The folder for spills.
    scratch: Option<Arc<File>>,
}

/// What a [`Tasks`] waited for.
pub(crate) enum Happened {
    Said(u32, Said),
    /// Processes that have said their last have had their time.
    Overdue,
    /// An end is to be reported without last words.
    Report,
}

impl Tasks {
    pub(crate) fn new(job: JobId) -> Self {
        let (said_by, said) = mpsc::channel(SAID);
        Self {
            job,
            processes: Processes::new(Kills::so_far()),
            attempts: BTreeMap::new(),
            outputs: Arc::default(),
            said_by,
            said,
            blame: None,
            scratch: None,
        }
    }

    /// Until something is to be done. May be dropped and called again.
    pub(crate) async fn next(&mut self) -> Happened {
        let report_at = self.processes.next_report();
        let kill_at = self.attempts.values().filter_map(|of| of.kill_at).min();
        tokio::select! {
            // The queue has a sender here.
            Some((number, said)) = self.said.recv() => Happened::Said(number, said),
            () = until(kill_at) => Happened::Overdue,
            () = until(report_at) => Happened::Report,
        }
    }

    pub(crate) async fn on(&mut self, happened: Happened, container: &mut Container<'_>) {
        if let Happened::Said(number, said) = happened
            && let Some(attempt) = self.attempts.get_mut(&number)
        {
            attempt.hear(said);
        }
        self.kill_overdue(container).await;
        self.report(container);
    }

    async fn kill_overdue(&mut self, container: &Container<'_>) {
        let now = Instant::now();
        for (&number, attempt) in &mut self.attempts {
            if attempt.kill_at.is_some_and(|at| at <= now) {
                attempt.kill_at = None;
                let job = self.job;
                let one = Whom::One(Id { job, number });
                container.nursery.signal(one, Signal::SIGKILL).await;
            }
        }
    }

    pub(crate) async fn on_start(&mut self, order: StartTask, container: &mut Container<'_>) {
        let (process, slot) = (order.process, order.slot);
        match self.start(order, container).await {
            Ok(begun) => {
                let mut attempt = Attempt {
                    slot,
                    said: None,
                    kill_at: None,
                    conversation: None,
                };
                match begun {
                    Ok(conversation) => attempt.conversation = Some(conversation),
                    Err(sentence) => attempt.hear(Err(sentence)),
                }
                self.attempts.insert(process, attempt);
                self.kill_overdue(container).await;
            }
            Err(sentence) => container.outbox.push_of_task(
                self.job,
                Event::Ended(TaskEnded {
                    process,
                    trouble: sentence,
                    ..TaskEnded::default()
                }),
            ),
        }
    }

    /// Kills a process; its end is told.
    pub(crate) async fn on_end(&self, order: EndTask, container: &Container<'_>) {
        let one = Whom::One(Id {
            job: self.job,
            number: order.process,
        });
        container.nursery.signal(one, Signal::SIGKILL).await;
    }

    pub(crate) fn on_ended(&mut self, ended: &[Ended], container: &mut Container<'_>) {
        self.processes.ended(ended, false);
        self.report(container);
    }

    pub(crate) fn all_ended(&self) -> bool {
        self.processes.all_ended()
    }

    /// Tells the ends that are due: of processes that will say nothing more.
    fn report(&mut self, container: &mut Container<'_>) {
        let attempts = &self.attempts;
        let is_silent = |number: u32| attempts.get(&number).is_none_or(|of| of.said.is_some());
        for report in self.processes.reports(is_silent) {
            let attempt = self.attempts.remove(&report.number);
            let (said, conversation) = match attempt {
                Some(attempt) => (attempt.said, attempt.conversation),
                None => (None, None),
            };
            // It has said its last, or hears within a moment that the process is gone.
            drop(conversation);
            let missing = || Err("it ended, and what it had started keeps its socket".to_owned());
            let (said, trouble) = match said.unwrap_or_else(missing) {
                Ok(said) => match serde_json::to_string(&said) {
                    Ok(said) => (said, String::new()),
                    Err(error) => (String::new(), error.to_string()),
                },
                Err(trouble) => (String::new(), trouble),
            };
            let ended = report.ended;
            container.outbox.push_of_task(
                self.job,
                Event::Ended(TaskEnded {
                    process: report.number,
                    said,
                    trouble,
                    how: Some(task_end(ended.end)),
                    max_rss_kib: ended.max_rss_kib,
                    cpu_us: ended.cpu_us,
                    out_of_memory: report.out_of_memory.into(),
                    beaten_by: String::new(),
                    committed: false,
                }),
            );
        }
        self.processes.forget_reported();
    }
}

fn task_end(end: job::exit::End) -> job::wire::task_ended::How {
    use job::exit::End;
    use job::wire::task_ended::How;
    match end {
        End::Code(code) => How::ExitCode(code.into()),
        End::Signal(number) => How::Signal(number.into()),
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
