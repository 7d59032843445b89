//! Programs of `examples`, started natively and by `gerbil-run`.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};
use it::{Cluster, Mpich, Run, bed, gerbil};
use job::report::Report;
use tempfile::TempDir;

/// One run of anything.
pub(crate) const DEADLINE: Duration = Duration::from_secs(300);

/// Compiled programs.
pub(crate) struct Programs {
    mpich: Mpich,
    folder: TempDir,
}

impl Programs {
    /// Compiles these with MPICH 5.
    pub(crate) fn compile(names: &[&str]) -> Result<Self> {
        let (mpich, folder) = (Mpich::install()?, bed::folder()?);
        for name in names {
            mpich.example(name, folder.path())?;
        }
        Ok(Self { mpich, folder })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Seconds of `mpiexec -n PROCESSES NAME ARGUMENTS` on this machine.
    pub(crate) fn native(&self, processes: u32, name: &str, arguments: &[&str]) -> Result<f64> {
        let mut command = Command::new(self.mpich.mpiexec());
        command
            .args(["-n", &processes.to_string()])
            .arg(self.path(name))
            .args(arguments);
        let finished = Run::new(command).deadline(DEADLINE).finish()?;
        Ok(finished.success("mpiexec")?.wall.as_secs_f64())
    }

    /// Seconds of the same by `gerbil-run`, and its report.
    pub(crate) fn gerbil(
        &self,
        cluster: &Cluster,
        options: &[&str],
        name: &str,
        arguments: &[&str],
    ) -> Result<(f64, Report)> {
        let report = self.folder.path().join("report.json");
        let mut line = vec!["--report".to_owned(), report.display().to_string()];
        line.extend(options.iter().map(ToString::to_string));
        line.push(self.path(name).display().to_string());
        line.extend(arguments.iter().map(ToString::to_string));
        let run = gerbil::run(cluster, &line)?.deadline(DEADLINE);
        let finished = run.finish()?.success(&format!("gerbil-run {line:?}"))?;
        let text = std::fs::read_to_string(&report)?;
        let report = serde_json::from_str(&text).context("the report")?;
        Ok((finished.wall.as_secs_f64(), report))
    }
}

/// Seconds of a stock command-line class of Hadoop.
pub(crate) fn hadoop(cluster: &Cluster, class: &str, arguments: &[&str]) -> Result<f64> {
    let run = Run::new(cluster.tool(class, arguments)).deadline(DEADLINE);
    let finished = run.finish()?;
    let what = format!("{class} {}", arguments.join(" "));
    Ok(finished.success(&what)?.wall.as_secs_f64())
}
