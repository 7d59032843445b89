//! Jobs on this machine alone: a client and launcher that starts the executable itself.

mod answers;
mod blame;
pub(crate) mod client;
mod commit;
mod descent;
pub(crate) mod elsewhere;
mod files;
#[cfg(feature = "fpga")]
mod fpgad;
pub(crate) mod inline;
mod interrupt;
mod memory;
mod paths;
mod process;
mod progress;
mod queue;
mod repeat;
mod report;
mod slot;
mod watch;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Instant;

use gerbil_task::inputs::check_output;
use gerbil_task::{Piece, Submission};

use crate::context::{Counters, brought_setting};
use crate::error::{Context as _, Result};
use crate::job::Spec;
use crate::settings::{COMPRESS_MAP, REDUCES, Settings};
use commit::Committer;
use memory::Budget;
use queue::TaskQueue;
use slot::Ground;

/// A job to be run here.
pub(crate) struct LocalJob<'a> {
    pub(crate) spec: &'a Spec,
    /// Digest of the plan, which each task process must have, too.
    pub(crate) digest: String,
    /// The words that choose the program out of its executable.
    pub(crate) choice: Vec<OsString>,
    pub(crate) settings: Settings,
    pub(crate) params: serde_json::Value,
    pub(crate) inputs: Vec<String>,
    pub(crate) splits: Vec<Vec<Piece>>,
    pub(crate) output: PathBuf,
    pub(crate) slots: Option<usize>,
    pub(crate) quiet: bool,
    pub(crate) report: Option<PathBuf>,
}

impl<'a> LocalJob<'a> {
    /// What was submitted, one task at a time.
    fn of(spec: &'a Spec, submission: Submission) -> Result<Self> {
        check_output(&submission.output)?;
        let mut settings = Settings::new(submission.settings);
        for file in &submission.brings {
            settings.set(&brought_setting(&file.name), &files::brought(file)?);
        }
        Ok(Self {
            spec,
            digest: String::new(),
            choice: Vec::new(),
            settings,
            params: submission.params,
            inputs: submission.inputs,
            splits: submission.splits,
            output: files::path(&submission.output)?,
            slots: Some(1),
            quiet: false,
            report: None,
        })
    }
}

/// Why a job is ended before its time, if it is.
type Stop<'a> = dyn Fn() -> Option<String> + 'a;

/// Who works on the tasks.
pub(crate) enum Workers<'a> {
    /// Processes, until something stops them.
    Processes(&'a Stop<'a>),
    /// This thread.
    Here,
}

/// A job that nothing stands in the way of: its output folder is its own.
pub(crate) struct LocalRun {
    began: Instant,
    settings: Settings,
    bytes: u64,
    reduces: u32,
    slots: usize,
    budget: Budget,
    committer: Committer,
    queue: TaskQueue,
}

impl LocalRun {
    /// Looks whether a job can be run at all, and takes its output folder.
    ///
    /// # Errors
    /// What was asked for makes no sense, the output is there, or cannot be written.
    pub(crate) fn begin(order: &LocalJob<'_>) -> Result<Self> {
        let began = Instant::now();
        let mut settings = order.settings.clone();
        let splits = order.splits.clone();
        let bytes: u64 = splits.iter().flatten().map(|piece| piece.length).sum();
        let reduces: u32 = settings.parse(REDUCES)?;
        // Memory takes a byte in less time than it takes to make it half a byte.
        if settings.get(COMPRESS_MAP).is_none()
            && free_memory().is_some_and(|free| bytes <= free / 4)
        {
            settings.set(COMPRESS_MAP, "false");
        }
        #[cfg(feature = "fpga")]
        fpgad::look(order, &settings)?;
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let slots = order
            .slots
            .unwrap_or(cores)
            .min(splits.len().max(reduces as usize))
            .clamp(1, 64);
        let budget = Budget::new(slots, &settings)?;
        let queue = TaskQueue::new(splits, reduces, &settings)?;
        Ok(Self {
            began,
            bytes,
            reduces,
            slots,
            budget,
            committer: Committer::begin(&order.output)?,
            queue,
            settings,
        })
    }

    /// Gives its output folder back.
    pub(crate) fn give_up(mut self) {
        self.committer.abort();
    }

    /// Runs it; its counters.
    pub(crate) fn finish(
        mut self,
        order: &LocalJob<'_>,
        workers: &Workers<'_>,
    ) -> Result<Counters> {
        let name = &order.spec.planned.name;
        let (bytes, slots) = (self.bytes, self.slots);
        if !order.quiet {
            crate::say(&format!(
                "{name}: {} over {} MB, {}, {slots} at a time",
                counted(self.queue.maps() as u64, "map"),
                bytes / 1_000_000,
                counted(u64::from(self.reduces), "reduce"),
            ));
            crate::say(&format!("{name}: {}", self.budget.text()));
        }
        let started = Instant::now();
        let outputs = self.budget.outputs();
        let ground = Ground {
            queue: &self.queue,
            committer: &self.committer,
            outputs: &outputs,
        };
        let ended = match workers {
            Workers::Processes(stop) => {
                slot::work(order, &self.settings, (slots, bytes), stop, ground)
            }
            Workers::Here => inline::tasks::work(order, &self.settings, ground),
        };
        let done = ended.and_then(|scratch| Ok((self.queue.verdict()?, scratch)));
        let done = done.and_then(|done| self.committer.commit().map(|()| done));
        if done.is_err() {
            self.committer.abort();
        }
        let (outcome, scratch) = done?;
        let summary = report::Summary {
            order,
            outcome: &outcome,
            bytes,
            slots,
            memory: self.budget.all(),
            scratch,
            planning: started - self.began,
            took: self.began.elapsed(),
        };
        if !order.quiet {
            crate::say(&summary.text());
        }
        if let Some(file) = &order.report {
            std::fs::write(file, summary.json()?).context(|| file.display().to_string())?;
        }
        Ok(outcome.counters)
    }
}

/// `1 map`, `2 maps`.
fn counted(number: u64, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}

/// Bytes of memory that the kernel would give, what it keeps of files included.
fn free_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}
