//! A job whose ApplicationMaster is killed at a moment of its commit.

use anyhow::{Result, ensure};
use it::bed::{DEADLINE, Given};
use it::daemon::Daemon;
use it::process::signal_by_id;
use it::sweep::FoundProcess;
use it::{Run, victims, wait};
use nix::sys::signal::Signal;

/// Files that every job of these cases makes, `_SUCCESS` aside.
const FILES: usize = 300;

/// When it is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// So many files have their names.
    Files(usize),
    /// Attempts have written files, and the job has no output.
    Attempts,
}

/// What became of a job whose ApplicationMaster was killed.
#[derive(Debug)]
pub(super) struct Round {
    /// It had ended by itself before.
    pub(super) was_over: bool,
    /// The job was over but for its verdict.
    pub(super) is_late: bool,
    pub(super) code: i32,
    pub(super) said: String,
    pub(super) id: String,
}

/// Which ApplicationMasters are killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Killed {
    First,
    All,
    /// The first, with its node and all that runs there.
    Node,
}

/// Runs a job until that moment, and to its end.
pub(super) fn round(
    given: &Given,
    run: Run,
    out: &str,
    moment: Moment,
    killed: Killed,
) -> Result<Round> {
    let mut running = run.start()?;
    let hdfs = given.cluster.hdfs();
    let parts = || -> Result<(usize, bool)> {
        let all = hdfs.list(out)?;
        let parts = all.iter().filter(|of| of.path_suffix.starts_with("part-"));
        let success = all.iter().any(|of| of.path_suffix == "_SUCCESS");
        Ok((parts.count(), success))
    };
    let attempts = || -> Result<usize> {
        let temporary = format!("{out}/_temporary");
        let jobs = hdfs.list(&temporary)?;
        let Some(job) = jobs
            .iter()
            .find(|of| of.path_suffix.starts_with("application_"))
        else {
            return Ok(0);
        };
        let all = hdfs.list(&format!("{temporary}/{}/_temporary", job.path_suffix))?;
        let files = all
            .iter()
            .filter(|of| of.path_suffix.starts_with("attempt_"));
        Ok(files.count())
    };
    // It has to be known before, as looking for it takes longer than many renames.
    let masters = wait::until("the job's folder", DEADLINE, || {
        ensure!(!running.is_over()?, "the job is over before it began");
        match attempts()? {
            0 => Ok(None),
            _ => Ok(Some(victims::masters(&given.cluster)?)),
        }
    })?;
    ensure!(!masters.is_empty(), "no ApplicationMaster");
    let node = match killed {
        Killed::Node => Some(victims::node_of(given, &masters)?),
        Killed::First | Killed::All => None,
    };
    let mut was_over = false;
    wait::until("the moment", DEADLINE, || {
        let is_now = match moment {
            Moment::Files(wanted) => parts()?.0 >= wanted,
            Moment::Attempts => attempts()? > 20,
        };
        was_over = running.is_over()?;
        Ok((is_now || was_over).then_some(()))
    })?;
    match node.filter(|_| !was_over) {
        Some(node) => victims::lose_node(given, node, &masters)?,
        None => masters.iter().for_each(kill),
    }
    let (_, is_late) = parts()?;
    // While another ApplicationMaster works on it, too.
    wait::until("the end of the command", DEADLINE, || {
        if killed == Killed::All {
            victims::masters(&given.cluster)?.iter().for_each(kill);
        }
        let (files, success) = parts()?;
        ensure!(
            files == FILES || !success,
            "_SUCCESS beside {files} of {FILES} files"
        );
        Ok(running.is_over()?.then_some(()))
    })?;
    if let Some(node) = node.filter(|_| !was_over) {
        given.cluster.start(Daemon::NodeManager(node))?;
        given.cluster.wait_for_nodes(given.cluster.nodes().len())?;
    }
    let finished = running.finish()?;
    Ok(Round {
        was_over,
        is_late,
        code: finished.code(),
        said: finished.stderr_text(),
        id: given.newest()?.id,
    })
}

/// It may have left in between.
fn kill(master: &FoundProcess) {
    drop(signal_by_id(master.pid, Signal::SIGKILL));
}
