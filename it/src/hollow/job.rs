//! Jobs of `gerbil-run` on hollow nodes, and their ApplicationMaster as a process.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use job::report::Report;
use tempfile::TempDir;

use super::{Account, Fleet, launcher};
use crate::bed;
use crate::command::{Run, Running};
use crate::load::Usage;
use crate::{gerbil, sweep};

/// What an ApplicationMaster's process is told.
const ROLE: &str = "--as=appmaster";

/// Where programs lie and are staged: this machine is all nodes of the fleet.
#[derive(Debug)]
pub struct Desk {
    folder: TempDir,
    jobs: AtomicU32,
}

/// A job that was started.
#[derive(Debug)]
pub struct Started {
    /// Its `gerbil-run`.
    pub running: Running,
    report: PathBuf,
}

impl Desk {
    /// With all the programs that hollow ranks know.
    ///
    /// # Errors
    ///
    /// The folder cannot be made.
    pub fn new() -> Result<Self> {
        let folder = bed::folder()?;
        std::fs::create_dir(folder.path().join("staging"))?;
        for (name, _) in launcher::PROGRAMS {
            launcher::program(name, folder.path())?;
        }
        Ok(Self {
            folder,
            jobs: AtomicU32::new(0),
        })
    }

    /// The folder, for files of hosts.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Starts `gerbil-run OPTIONS PROGRAM ARGUMENTS`.
    ///
    /// # Errors
    ///
    /// It cannot be started.
    pub fn start(
        &self,
        fleet: &Fleet,
        options: &[&str],
        program: &[&str],
        deadline: Duration,
    ) -> Result<Started> {
        let folder = self.folder.path();
        let number = self.jobs.fetch_add(1, Ordering::Relaxed);
        let report = folder.join(format!("report-{number}.json"));
        let staging = format!("file:{}", folder.join("staging").display());
        let mut line = vec!["--staging".to_owned(), staging, "--report".to_owned()];
        line.push(report.display().to_string());
        line.extend(options.iter().map(ToString::to_string));
        let (name, arguments) = program.split_first().context("no program")?;
        line.push(folder.join(name).display().to_string());
        line.extend(arguments.iter().map(ToString::to_string));
        let command = gerbil::command(&fleet.cluster().conf_dir(), line)?;
        Ok(Started {
            running: Run::new(command).deadline(deadline).start()?,
            report,
        })
    }

    /// The same, to its end.
    ///
    /// # Errors
    ///
    /// It failed.
    pub fn run(
        &self,
        fleet: &Fleet,
        options: &[&str],
        program: &[&str],
        deadline: Duration,
    ) -> Result<Report> {
        let started = self.start(fleet, options, program, deadline)?;
        started.finish(fleet)
    }
}

impl Started {
    /// Waits for its end; what became of it.
    ///
    /// # Errors
    ///
    /// It failed.
    pub fn finish(self, fleet: &Fleet) -> Result<Report> {
        let finished = self.running.finish()?.success("gerbil-run");
        let finished = finished.with_context(|| match fleet.account() {
            Ok(Account {
                trouble: Some(words),
                ..
            }) => format!("a hollow launcher: {words}"),
            Ok(_) => "no hollow launcher complained".to_owned(),
            Err(error) => format!("hollow launchers: {error:#}"),
        });
        finished?;
        let text = std::fs::read_to_string(&self.report)?;
        Ok(serde_json::from_str(&text)?)
    }
}

/// What the one ApplicationMaster that runs on the fleet uses.
///
/// # Errors
///
/// None runs.
pub fn appmaster(fleet: &Fleet) -> Result<Usage> {
    let all = appmasters(fleet)?;
    let first = all.first().context("no ApplicationMaster runs")?;
    Usage::of(u32::try_from(*first)?)
}

/// The processes of all ApplicationMasters that run on the fleet.
///
/// # Errors
///
/// `/proc` cannot be read.
pub fn appmasters(fleet: &Fleet) -> Result<Vec<i32>> {
    let nodes = fleet.cluster().folder().join("nodes");
    let mut found = sweep::find(&nodes)?;
    // Not the shell whose script names the role.
    found.retain(|found| found.arguments.get(1).is_some_and(|role| role == ROLE));
    Ok(found.iter().map(|found| found.pid).collect())
}

/// Between two phases of a report, seconds.
#[must_use]
pub fn seconds(from_us: i64, to_us: i64) -> f64 {
    (to_us - from_us) as f64 / 1e6
}
