//! What an attempt writes: files below the job's folder, each brought there out of a pipe.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use storage::{CreateOptions, StorageError, Writer};
use tokio::net::unix::pipe;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::carrier::Carrier;
use super::outage::outlast;
use super::pipes;
use super::places::AttemptOutput;
use super::trouble::Trouble;

/// More files of an attempt are not told by their names.
const TOLD: usize = 100;
/// After the end of its process a pipe that somebody else keeps open is read for so long.
const LEFT_OPEN: Duration = Duration::from_secs(5);
/// The files of one attempt.
#[derive(Debug)]
pub(super) struct Files {
    /// None: the order names none.
    output: Option<Arc<AttemptOutput>>,
    names: BTreeSet<String>,
    /// Of each file its bytes, once it is written and closed, or why it is not.
    written: Vec<oneshot::Receiver<Result<u64, String>>>,
}

/// What became of an attempt's files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OutputWritten {
    /// There are some, they are whole, and stay until the job is over: they may be the task's result.
    pub(crate) is_whole: bool,
    /// Then their names, unless there are very many.
    pub(crate) names: Vec<String>,
    /// And how many bytes they have, all together.
    pub(crate) bytes: u64,
}

impl Files {
    pub(super) const fn new(output: Option<Arc<AttemptOutput>>) -> Self {
        Self {
            output,
            names: BTreeSet::new(),
            written: Vec::new(),
        }
    }

    /// Begins a file. None: nobody waits any more.
    ///
    /// # Errors
    ///
    /// It cannot be made: a sentence.
    pub(super) fn open(
        &mut self,
        name: String,
        carrier: &mut Carrier,
        gone: &CancellationToken,
        trouble: &Trouble,
    ) -> Option<Result<OwnedFd, String>> {
        let Some(output) = &self.output else {
            return Some(Err(format!("{name}: the order names no output folder")));
        };
        if let Err(sentence) = output.takes(&name) {
            return Some(Err(sentence));
        }
        if self.names.contains(&name) {
            return Some(Err(format!("{name} has been written already")));
        }
        let (storage, path) = (Arc::clone(&output.output.storage), output.begin(&name));
        let writer = carrier.wait(Some(gone), async move {
            let options = CreateOptions {
                needs_folder: true,
                ..CreateOptions::default()
            };
            let created = storage.create(&path, options).await;
            outlast(created.as_ref().err()).await;
            created
        })?;
        let opened = writer
            .map_err(|error| lost(output, &error))
            .and_then(|writer| {
                let failed = |error: std::io::Error| format!("a pipe for {name}: {error}");
                let (to, from) = ends(carrier).map_err(failed)?;
                let work = drain(
                    (from, writer),
                    Arc::clone(output),
                    gone.clone(),
                    trouble.clone(),
                );
                self.written.push(carrier.begin(work));
                Ok(to)
            });
        if opened.is_ok() {
            self.names.insert(name);
        }
        Some(opened)
    }

    /// The task has ended well: all that it has written is read, written and closed. None: nobody waits any more.
    ///
    /// # Errors
    ///
    /// Why it cannot be the task's result, a sentence.
    pub(super) fn finish(
        &mut self,
        carrier: &mut Carrier,
    ) -> Option<Result<OutputWritten, String>> {
        let output = match &self.output {
            Some(output) if !self.names.is_empty() => Arc::clone(output),
            _ => return Some(Ok(OutputWritten::default())),
        };
        let written = std::mem::take(&mut self.written);
        let names: Vec<String> = match self.names.len() {
            ..=TOLD => self.names.iter().cloned().collect(),
            _ => Vec::new(),
        };
        carrier.wait(None, async move {
            let mut bytes = 0_u64;
            for file in written {
                let broken = |_| "what writes the output was broken off".to_owned();
                bytes = bytes.saturating_add(file.await.map_err(broken)??);
            }
            output.keep();
            Ok(OutputWritten {
                is_whole: true,
                names,
                bytes,
            })
        })
    }
}

/// A pipe: its beginning for the process, and its end.
fn ends(carrier: &Carrier) -> std::io::Result<(OwnedFd, pipe::Receiver)> {
    let (from, to) = std::io::pipe()?;
    pipes::enlarge(&to);
    let _registered = carrier.runtime().enter();
    Ok((to.into(), pipe::Receiver::from_owned_fd(from.into())?))
}

/// Why a file could not be made, written or closed.
fn lost(output: &AttemptOutput, error: &StorageError) -> String {
    match error {
        StorageError::Absent { .. } => format!(
            "{} is gone: somebody has removed it while the job ran, or the job is over",
            output.output.storage.url(&output.job_folder())
        ),
        other => other.to_string(),
    }
}

/// Brings what a process writes into a pipe to a file, until all its writers have closed it.
async fn drain(
    (mut from, to): (pipe::Receiver, Writer),
    output: Arc<AttemptOutput>,
    gone: CancellationToken,
    trouble: Trouble,
) -> Result<u64, String> {
    let drained = drain_by(&mut from, to, &output, &gone).await;
    if let Err(sentence) = &drained {
        trouble.keep(sentence.clone());
    }
    // The process finds that nobody reads only when it is known why.
    drop(from);
    drained
}

async fn drain_by(
    from: &mut pipe::Receiver,
    mut to: Writer,
    output: &AttemptOutput,
    gone: &CancellationToken,
) -> Result<u64, String> {
    let filled = tokio::select! {
        filled = to.fill(from) => filled,
        () = overdue(gone) => {
            return Err("its process has ended, and what it had started keeps its output open".to_owned());
        }
    };
    let written = match filled {
        Ok(()) => to.close().await,
        Err(error) => Err(error),
    };
    if let Err(error) = &written {
        // The process waits meanwhile: its pipe is still open.
        tokio::select! {
            () = outlast(Some(error)) => {}
            () = gone.cancelled() => {}
        }
    }
    written.map_err(|error| lost(output, &error))
}

async fn overdue(gone: &CancellationToken) {
    gone.cancelled().await;
    tokio::time::sleep(LEFT_OPEN).await;
}
