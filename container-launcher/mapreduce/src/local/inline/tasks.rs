//! The tasks of a job, one after the other, on this thread.

use std::any::Any;
use std::fs::File;
use std::os::fd::AsFd as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use gerbil_task::{Footprint, OutputOf, Page, Piece, count_written};

use crate::context::{Context, Ground as Around};
use crate::counting::Counting;
use crate::error::{Error, Result};
use crate::input::{Open, Opened};
use crate::local::LocalJob;
use crate::local::commit;
use crate::local::queue::{AfterFailure, AttemptFault, LocalTask};
use crate::local::slot::{self, Ground};
use crate::settings::Settings;
use crate::sort::collect::Spare;
use crate::sort::scratch::{Scratch, Spill};
use crate::task::map::MapRun;
use crate::task::reduce::ReduceRun;
use crate::task::usage::Usage;

/// Where tasks work, one after the other.
struct Bench<'a> {
    order: &'a LocalJob<'a>,
    settings: &'a Settings,
    ground: Ground<'a>,
    page: Page,
    /// What its tasks have on the disk.
    footprint: Footprint,
    folder: File,
    scratch: Arc<Scratch>,
    spare: Spare,
}

/// Works on all tasks of the queue. Returns how many bytes on the disk spills were at most, all at a time.
pub(in crate::local) fn work(
    order: &LocalJob<'_>,
    settings: &Settings,
    ground: Ground<'_>,
) -> Result<u64> {
    let (_page, footprint, descriptor) = Footprint::create()?;
    let folder = slot::scratch()?;
    let of_task = Footprint::over(&descriptor, 0)?;
    slot::raise_descriptors();
    let mut bench = Bench {
        order,
        settings,
        ground,
        page: Page::over(&descriptor, 0)?,
        footprint: footprint.of(0),
        scratch: Arc::new(Scratch::new(folder.try_clone()?.into(), of_task)),
        folder,
        spare: Spare::default(),
    };
    while let Some(work) = ground.queue.take() {
        bench.page.begin(0, 0);
        // The hook has said where, and with which calls above it.
        let done = catch_unwind(AssertUnwindSafe(|| bench.attempt(&work)));
        let said = match done {
            Ok(Ok(())) => continue,
            Ok(Err(error)) => error.to_string(),
            Err(panic) => format!("panicked with {}", words(panic.as_ref())),
        };
        bench.footprint.release();
        ground.committer.abort_task(&work.names().0);
        let blame = bench.page.read();
        let sentence = work.blamed().failed(&blame, &said);
        let fault = AttemptFault {
            record: work.blamed().record(&blame),
            is_lost: false,
        };
        if ground.queue.failed(work, &sentence, fault) == AfterFailure::Skips && !order.quiet {
            crate::say(&format!("{sentence}; the task is tried again without that"));
        }
    }
    Ok(footprint.most())
}

fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("what is no text")
}

impl Bench<'_> {
    fn attempt(&mut self, work: &LocalTask) -> Result<()> {
        let (attempt, task) = work.names();
        let Ground {
            queue, committer, ..
        } = self.ground;
        match work {
            LocalTask::Map(order) => {
                let context = self.context(work, &order.pieces, Vec::new());
                let run = MapRun {
                    order,
                    context,
                    scratch: Arc::clone(&self.scratch),
                    spare: &mut self.spare,
                    direct: self.order.spec.direct.clone(),
                };
                let usage = Usage::begin();
                let mut done = (self.order.spec.map)(run)?;
                usage.count("MAP", &mut done.counters);
                queue.check(&done.counters)?;
                let (file, partitions) = done.output.unzip();
                let file = file.map(|file| self.keep(&file)).transpose()?;
                if let Some(bytes) = committer.commit_task(&attempt, &task)? {
                    count_written(&mut done.counters, bytes);
                }
                let partitions = partitions.unwrap_or_default();
                if let Some(note) = queue.map_done(order, done.counters, partitions, file)? {
                    crate::say(&note);
                }
            }
            LocalTask::Reduce(order) => {
                let Some(reduce) = &self.order.spec.reduce else {
                    return Err(Error::new("this job has no reducer"));
                };
                self.spare = Spare::default();
                let sources = order.sources.iter().map(|source| queue.output(source.map));
                let context = self.context(work, &[], sources.collect());
                let run = ReduceRun {
                    order: order.clone(),
                    context,
                    scratch: Arc::clone(&self.scratch),
                    output: self.order.spec.output.clone(),
                };
                let usage = Usage::begin();
                let mut counters = reduce(run)?;
                usage.count("REDUCE", &mut counters);
                queue.check(&counters)?;
                if let Some(bytes) = committer.commit_task(&attempt, &task)? {
                    count_written(&mut counters, bytes);
                }
                queue.reduce_done(counters);
            }
        }
        Ok(())
    }

    /// What a map has left, as a launcher keeps it.
    fn keep(&self, file: &Spill) -> Result<Spill> {
        file.hand_over();
        let itself = file.as_fd().try_clone_to_owned()?;
        self.ground
            .outputs
            .keep(itself, &self.folder, &self.footprint)
    }

    fn context(
        &self,
        work: &LocalTask,
        pieces: &[Piece],
        sources: Vec<Option<Arc<Spill>>>,
    ) -> Context {
        let (stage, number, attempt) = match work {
            LocalTask::Map(order) => ('m', order.task, order.attempt),
            LocalTask::Reduce(order) => ('r', order.task, order.attempt),
        };
        Context {
            settings: self.settings.clone(),
            params: self.order.params.clone(),
            counting: Counting::default(),
            page: self.page.clone(),
            ground: Box::new(Here {
                title: work.title(),
                quiet: self.order.quiet,
                pieces: pieces.to_vec(),
                sources,
                folder: self.ground.committer.attempt(&work.names().0),
                of: work.output(),
            }),
            stage,
            number,
            attempt,
            input: String::new(),
            split: Vec::new(),
            beside: None,
        }
    }
}

/// The files of a task, opened by itself.
struct Here {
    title: String,
    quiet: bool,
    pieces: Vec<Piece>,
    sources: Vec<Option<Arc<Spill>>>,
    /// Where its output goes.
    folder: PathBuf,
    of: OutputOf,
}

impl Around for Here {
    fn input(&mut self, piece: u32) -> Open {
        let piece = self.pieces.get(piece as usize).cloned();
        Rc::new(move |_| {
            let none = || Error::new("a piece that is none");
            slot::open(piece.as_ref().ok_or_else(none)?).map(Opened::File)
        })
    }

    fn source(&mut self, source: u32) -> Result<File> {
        let source = self.sources.get(source as usize).and_then(Option::as_ref);
        let source = source.ok_or_else(|| Error::new("a source that is none"))?;
        Ok(source.file().try_clone()?)
    }

    fn output(&mut self, name: &str) -> Result<File> {
        commit::create(&self.folder, self.of, name)
    }

    fn status(&mut self, text: &str) -> Result<()> {
        if !self.quiet {
            crate::say(&format!("{}: {text}", self.title));
        }
        Ok(())
    }
}
