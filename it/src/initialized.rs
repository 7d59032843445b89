//! The program `initialized`, whose ranks note the moments in which they are past `MPI_Init`, and in which they
//! begin, and what it takes to start it fairly on nodes that share a machine.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};
use job::report::Report;

use crate::command::Run;

/// Copies the folder of libraries that are installed, once for each node.
pub fn copies(installed: &Path, folder: &Path, nodes: usize) -> Result<Vec<PathBuf>> {
    let copy = |node: usize| {
        let copy = folder.join(format!("libraries-{node}"));
        let mut command = Command::new("cp");
        command.arg("--archive").arg(installed).arg(&copy);
        Run::new(command).finish()?.success("copying the library")?;
        Ok(copy)
    };
    (0..nodes).map(copy).collect()
}

/// The last moments that ranks have noted, seconds since 1970.
#[derive(Clone, Copy, Debug)]
pub struct Moments {
    /// When the last one was past `MPI_Init`.
    pub initialized: f64,
    /// When the last one had begun.
    pub begun: f64,
}

/// The last moments that `ranks` ranks have noted.
pub fn last(stamps: &Path, ranks: usize) -> Result<Moments> {
    let (mut seen, mut last) = (
        0,
        Moments {
            initialized: f64::MIN,
            begun: f64::MIN,
        },
    );
    for found in std::fs::read_dir(stamps)? {
        let text = std::fs::read_to_string(found?.path())?;
        let (initialized, begun) = text.trim().split_once(' ').context("two moments")?;
        last.initialized = last.initialized.max(initialized.parse()?);
        last.begun = last.begun.max(begun.parse()?);
        seen += 1;
    }
    ensure!(seen == ranks, "{seen} ranks of {ranks} began");
    Ok(last)
}

/// Seconds from the start of a command that starts the program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// Until the last rank had begun.
    pub begun: f64,
    /// Until the last one was past `MPI_Init`.
    pub initialized: f64,
    /// Until the command's end.
    pub whole: f64,
    /// When the command was started, seconds since 1970.
    pub started: f64,
}

impl Times {
    /// Seconds to the last rank past `MPI_Init`, from the moment when all launchers were connected, which the job's
    /// report tells.
    pub fn since_joined(&self, report: &Path) -> Result<f64> {
        let report: Report = serde_json::from_str(&std::fs::read_to_string(report)?)?;
        let joined = Duration::from_micros(report.phases.joined_us.try_into()?).as_secs_f64();
        Ok(self.started + self.initialized - joined)
    }
}

/// Runs a command whose `ranks` ranks note their moments in `stamps`.
pub fn timed(command: Command, stamps: &Path, ranks: usize, deadline: Duration) -> Result<Times> {
    let what = format!("{command:?}");
    let started = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64();
    let run = Run::new(command).deadline(deadline);
    let finished = run.finish()?.success(&what)?;
    let last = last(stamps, ranks).context(what)?;
    Ok(Times {
        begun: last.begun - started,
        initialized: last.initialized - started,
        whole: finished.wall.as_secs_f64(),
        started,
    })
}
