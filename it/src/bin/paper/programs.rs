//! Programs of `examples`, started natively and by `gerbil-run`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use it::{Cluster, Finished, Mpich, Run, bed, gerbil, wait};
use job::report::Report;
use tempfile::TempDir;

/// One run of anything.
pub(crate) const DEADLINE: Duration = Duration::from_secs(600);
/// Between two looks at a cluster that works.
const LOOK: Duration = Duration::from_millis(250);

/// The start of a cluster, on a machine that has much else to do.
pub(crate) const READY: Duration = Duration::from_secs(600);

/// MapReduce's ApplicationMaster stays for some seconds.
const SETTLED: Duration = Duration::from_secs(60);

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

    /// Compiles this together with `it/programs/MORE.c`.
    pub(crate) fn compile_with(name: &str, more: &str) -> Result<Self> {
        let (mpich, folder) = (Mpich::install()?, bed::folder()?);
        mpich.example_with(name, more, folder.path())?;
        Ok(Self { mpich, folder })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What they were compiled with.
    pub(crate) const fn mpich(&self) -> &Mpich {
        &self.mpich
    }

    /// Where they lie; all may look into it.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Seconds of `mpiexec -n PROCESSES NAME ARGUMENTS` on this machine.
    pub(crate) fn native(&self, processes: u32, name: &str, arguments: &[&str]) -> Result<f64> {
        let run = self.native_run(&["-n", &processes.to_string()], name, arguments);
        Ok(run.finish()?.success("mpiexec")?.wall.as_secs_f64())
    }

    /// `mpiexec OPTIONS NAME ARGUMENTS` on this machine.
    pub(crate) fn native_run(&self, options: &[&str], name: &str, arguments: &[&str]) -> Run {
        let mut command = Command::new(self.mpich.mpiexec());
        command.args(options).arg(self.path(name)).args(arguments);
        Run::new(command).deadline(DEADLINE)
    }

    /// Seconds of the same by `gerbil-run`, and its report.
    pub(crate) fn gerbil(
        &self,
        cluster: &Cluster,
        options: &[&str],
        name: &str,
        arguments: &[&str],
    ) -> Result<(f64, Report)> {
        let (finished, report) = self.gerbil_said(cluster, options, name, arguments)?;
        Ok((finished.wall.as_secs_f64(), report))
    }

    /// The same, with what it said.
    pub(crate) fn gerbil_said(
        &self,
        cluster: &Cluster,
        options: &[&str],
        name: &str,
        arguments: &[&str],
    ) -> Result<(Finished, Report)> {
        let run = self.gerbil_run(cluster, options, name, arguments)?;
        let finished = run.finish()?.success(&format!("gerbil-run {name}"))?;
        Ok((finished, self.report()?))
    }

    /// `gerbil-run OPTIONS NAME ARGUMENTS`, which leaves a [`Programs::report`].
    pub(crate) fn gerbil_run(
        &self,
        cluster: &Cluster,
        options: &[&str],
        name: &str,
        arguments: &[&str],
    ) -> Result<Run> {
        let mut line = vec![
            "--report".to_owned(),
            self.report_file().display().to_string(),
        ];
        line.extend(options.iter().map(ToString::to_string));
        line.push(self.path(name).display().to_string());
        line.extend(arguments.iter().map(ToString::to_string));
        Ok(gerbil::run(cluster, &line)?.deadline(DEADLINE))
    }

    /// Of the last run by `gerbil-run`.
    pub(crate) fn report(&self) -> Result<Report> {
        let text = std::fs::read_to_string(self.report_file())?;
        serde_json::from_str(&text).context("the report")
    }

    fn report_file(&self) -> PathBuf {
        self.path("report.json")
    }
}

/// Seconds of a stock command-line class of Hadoop.
pub(crate) fn hadoop(cluster: &Cluster, class: &str, arguments: &[&str]) -> Result<f64> {
    let run = Run::new(cluster.tool(class, arguments)).deadline(DEADLINE);
    let finished = run.finish()?;
    let what = format!("{class} {}", arguments.join(" "));
    Ok(finished.success(&what)?.wall.as_secs_f64())
}

/// The same, at most a look too long, and the most containers that the cluster had at once meanwhile.
pub(crate) fn hadoop_watched(
    cluster: &Cluster,
    class: &str,
    arguments: &[&str],
) -> Result<(f64, u32)> {
    let run = Run::new(cluster.tool(class, arguments)).deadline(DEADLINE);
    let mut running = run.start()?;
    let (begin, mut most) = (Instant::now(), 0);
    while !running.is_over()? && begin.elapsed() < DEADLINE {
        // One that is too busy to answer is asked again.
        if let Ok(nodes) = cluster.resource_manager().nodes() {
            most = most.max(nodes.iter().map(|node| node.num_containers).sum());
        }
        wait::pause(LOOK);
    }
    let finished = running.finish()?;
    let what = format!("{class} {}", arguments.join(" "));
    Ok((finished.success(&what)?.wall.as_secs_f64(), most))
}

/// Until the job before has given all back.
pub(crate) fn settle(cluster: &Cluster) -> Result<()> {
    wait::until("all memory of the cluster to be free", SETTLED, || {
        let nodes = cluster.resource_manager().nodes()?;
        let is_free = nodes.iter().all(|node| node.used_memory_mb == 0);
        Ok(is_free.then_some(()))
    })
}
