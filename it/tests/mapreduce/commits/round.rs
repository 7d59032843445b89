//! A job whose ApplicationMaster is killed at a moment of its commit.
//!
//! All first attempts at its reduces have failed: so its files are moved together one by one, which takes longer than it
//! takes to see it.

use anyhow::{Result, ensure};
use it::bed::{DEADLINE, Given};
use it::daemon::Daemon;
use it::process::signal_by_id;
use it::sweep::FoundProcess;
use it::{Run, victims, wait};
use nix::sys::signal::Signal;
use policy::commit::absolute;

/// Files that every job of these cases makes, `_SUCCESS` aside.
const FILES: usize = 300;

/// When it is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// So many files are where the output comes together.
    Files(usize),
    /// Attempts have written files, and none is there yet.
    Attempts,
}

/// What became of a job whose ApplicationMaster was killed.
#[derive(Debug)]
pub(super) struct Round {
    /// It had ended by itself before.
    pub(super) was_over: bool,
    /// Its output was there: the job was over but for its verdict.
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

/// The folder of the job that writes to `out`.
fn job_folder(given: &Given, out: &str) -> Result<Option<String>> {
    let work = absolute(out, "work");
    let jobs = given.cluster.hdfs().list(&work)?;
    let mut names = jobs.into_iter().map(|of| of.path_suffix);
    let job = names.find(|name| name.starts_with("application_"));
    Ok(job.map(|job| format!("{work}/{job}")))
}

/// How many files of the output are where it comes together, of those that were moved there.
pub(super) fn chosen(given: &Given, out: &str) -> Result<usize> {
    let Some(job) = job_folder(given, out)? else {
        return Ok(0);
    };
    let all = given.cluster.hdfs().list(&format!("{job}/commit-1"))?;
    let parts = all.iter().filter(|of| of.path_suffix.starts_with("part-"));
    Ok(parts.count())
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
    let chosen = || chosen(given, out);
    let attempts = || -> Result<usize> {
        let Some(job) = job_folder(given, out)? else {
            return Ok(0);
        };
        let all = hdfs.list(&job)?;
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
            Moment::Files(wanted) => chosen()? >= wanted,
            Moment::Attempts => attempts()? > 20,
        };
        was_over = running.is_over()?;
        Ok((is_now || was_over).then_some(()))
    })?;
    match node {
        // The session lives on.
        _ if was_over => {}
        Some(node) => victims::lose_node(given, node, &masters)?,
        None => masters.iter().for_each(kill),
    }
    let (_, is_late) = parts()?;
    // While another ApplicationMaster works on it, too.
    wait::until("the end of the command", DEADLINE, || {
        if killed == Killed::All {
            victims::masters(&given.cluster)?.iter().for_each(kill);
        }
        // All at once.
        let there = parts()?;
        ensure!(
            there == (0, false) || there == (FILES, true),
            "{} of {FILES} files, _SUCCESS: {}",
            there.0,
            there.1
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
