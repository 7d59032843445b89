//! What every case is given, and jobs that run for as long as the test wants.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use crate::cluster::Size;
use crate::command::Running;
use crate::resource_manager::ApplicationReport;
use crate::{Cluster, Finished, Mpich, Run, expect, gerbil, sweep, wait};
use anyhow::{Context as _, Result, anyhow, ensure};
use tempfile::TempDir;

/// Long enough for a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(120);
/// After a job's end.
const CLEAN: Duration = Duration::from_secs(30);

/// Throws if it is not as it should be.
pub type Case = fn(&Given) -> Result<()>;

/// A running cluster and a folder that all cases share.
#[derive(Debug)]
pub struct Given {
    /// Without any job of another case.
    pub cluster: Arc<Cluster>,
    /// For programs and files; all may look into it.
    pub folder: PathBuf,
}

/// A folder that is removed at the end, and that all may look into.
pub fn folder() -> Result<TempDir> {
    let folder = tempfile::tempdir()?;
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755))?;
    Ok(folder)
}

/// Runs `act` on a cluster for it alone, of so many nodes of 4 GiB and 4 cores.
pub fn on_small_nodes<T>(nodes: usize, act: impl FnOnce(&Given) -> Result<T>) -> Result<T> {
    let size = Size {
        memory_mib: 4096,
        vcores: 4,
    };
    let folder = folder()?;
    let cluster = Cluster::builder().sizes(&vec![size; nodes]).start()?;
    act(&Given {
        cluster: Arc::new(cluster),
        folder: folder.path().to_owned(),
    })
}

impl Given {
    /// One case; what a failed one left is swept, so that the next starts clean.
    pub fn run(&self, case: Case) -> Result<()> {
        let answer = case(self);
        let Err(error) = answer else {
            return Ok(());
        };
        let error = anyhow!("{error:?}\n{}", self.cluster.log_tails());
        for report in self.applications().into_iter().flatten() {
            if !report.is_over() {
                drop(self.gerbil(&["-k", &report.id]).and_then(Run::finish));
            }
        }
        drop(sweep::kill_all(&self.cluster.folder().join("nodes"), CLEAN));
        Err(error)
    }

    /// `gerbil-run ARGUMENTS`
    pub fn gerbil(&self, arguments: &[&str]) -> Result<Run> {
        Ok(gerbil::run(&self.cluster, arguments)?.deadline(DEADLINE))
    }

    /// A shell script that finds `gerbil-run ARGUMENTS` in `"$@"`.
    pub fn shell(&self, script: &str, arguments: &[&str]) -> Result<Run> {
        let mut bash = Command::new("bash");
        bash.args(["-o", "pipefail", "-c", script, "bash"])
            .arg(gerbil::binary()?)
            .args(arguments);
        let bash = gerbil::with_settings(bash, &self.cluster.conf_dir());
        Ok(Run::new(bash).deadline(DEADLINE))
    }

    /// Runs a job as one YARN application that succeeds, and leaves nothing.
    pub fn succeeds(&self, arguments: &[&str]) -> Result<Finished> {
        expect::job(&self.cluster, self.gerbil(arguments)?)
    }

    /// Runs, and expects `code`, a sentence with `words`, and nothing left.
    pub fn fails(&self, arguments: &[&str], code: i32, words: &[&str]) -> Result<Finished> {
        let finished = self.gerbil(arguments)?.finish()?;
        expect::failure(&self.cluster, &finished, code, words)?;
        Ok(finished)
    }

    /// `count` ranks of a shell script, each there once.
    pub fn ranks(&self, count: usize) -> Result<()> {
        let script = self.script("rank", "echo \"$PMI_RANK\"")?;
        let finished = self.succeeds(&["-n", &count.to_string(), &script])?;
        let stdout = finished.stdout_text();
        let ranks: BTreeSet<usize> = stdout.lines().map(str::parse).collect::<Result<_, _>>()?;
        ensure!(
            ranks == (0..count).collect() && stdout.lines().count() == count,
            "{stdout}"
        );
        Ok(())
    }

    /// Every application, oldest first.
    pub fn applications(&self) -> Result<Vec<ApplicationReport>> {
        self.cluster.resource_manager().applications()
    }

    /// The newest application.
    pub fn newest(&self) -> Result<ApplicationReport> {
        self.applications()?.pop().context("no application")
    }

    /// Nothing is left of any job, and the ResourceManager knows it: the next job finds every node free.
    pub fn is_clean(&self) -> Result<()> {
        self.cluster.wait_until_clean(CLEAN)?;
        let resource_manager = self.cluster.resource_manager();
        wait::until("no memory of any node in use", CLEAN, || {
            let nodes = resource_manager.nodes()?;
            Ok(nodes
                .iter()
                .all(|node| node.used_memory_mb == 0)
                .then_some(()))
        })
    }

    /// An executable shell script.
    pub fn script(&self, name: &str, text: &str) -> Result<String> {
        let (path, new) = (
            self.folder.join(name),
            self.folder.join(format!("{name}.new")),
        );
        fs::write(&new, format!("#!/bin/sh\n{text}\n"))?;
        fs::set_permissions(&new, Permissions::from_mode(0o755))?;
        // A job may be starting the one that was there: it keeps that.
        fs::rename(&new, &path)?;
        text_of(&path)
    }

    /// A program under it/programs, compiled with MPICH 5.
    pub fn program(&self, name: &str) -> Result<String> {
        text_of(&Mpich::install()?.program(name, &self.folder)?)
    }

    /// A program under examples, compiled with MPICH 5.
    pub fn example(&self, name: &str) -> Result<String> {
        text_of(&Mpich::install()?.example(name, &self.folder)?)
    }

    /// Starts a job that lasts until it is let go. It may still have to wait for the cluster.
    pub fn start_held(&self, name: &str, arguments: &[&str]) -> Result<HeldJob> {
        let script = "echo ready; while [ ! -e \"$1\" ]; do sleep 0.1; done; echo gone";
        let hold = self.script("hold", script)?;
        let gate = self.folder.join(name);
        let _not_there = fs::remove_file(&gate);
        let path = text_of(&gate)?;
        let mut line = vec!["--name", name];
        line.extend(arguments);
        line.extend([hold.as_str(), path.as_str()]);
        let running = self.gerbil(&line)?.start()?;
        Ok(HeldJob {
            name: name.to_owned(),
            gate,
            running,
        })
    }

    /// A job that runs until it is let go, and what YARN says of it.
    pub fn held(&self, name: &str, arguments: &[&str]) -> Result<(HeldJob, ApplicationReport)> {
        let mut held = self.start_held(name, arguments)?;
        held.running.wait_for_stdout("ready")?;
        let report = self.newest()?;
        ensure!(report.name == name, "{report:?}");
        Ok((held, report))
    }
}

/// A job that lasts until it is let go.
#[derive(Debug)]
pub struct HeldJob {
    name: String,
    gate: PathBuf,
    /// Its `gerbil-run`.
    pub running: Running,
}

impl HeldJob {
    /// Lets it end, and waits until it has, well.
    pub fn let_go(self) -> Result<Finished> {
        fs::write(&self.gate, "")?;
        let finished = self.running.finish()?;
        ensure!(
            finished.code() == 0 && finished.stdout_text().contains("gone"),
            "{}: {finished:?}",
            self.name
        );
        Ok(finished)
    }
}

/// What `gerbil-run` had to say, without what a slow cluster made it wait for.
pub fn said(finished: &Finished) -> Vec<String> {
    let mut lines = expect::own_lines(finished);
    lines.retain(|line| !expect::own(line).is_some_and(|said| said.starts_with("waiting: ")));
    lines
}

/// A path as an argument.
pub fn text_of(path: &Path) -> Result<String> {
    let text = path.to_str().context("a path that is no text")?;
    Ok(text.to_owned())
}
