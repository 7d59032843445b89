//! What every case is given.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use it::resource_manager::ApplicationReport;
use it::settings::{File as Setting, property};
use it::{Cluster, Finished, Mpich, expect, gerbil, wait};

/// Long enough for a cold start on a busy machine, short beside any of YARN's own time-outs.
pub const DEADLINE: Duration = Duration::from_secs(120);
/// YARN starts a second AM or ends the application; orphans end by their leases.
pub const LOST: Duration = Duration::from_secs(180);

/// What a case is given: a cluster of two nodes and a folder for what is compiled.
pub struct Given {
    pub cluster: Arc<Cluster>,
    pub programs: PathBuf,
}

pub type Case = fn(&Given) -> Result<()>;

impl Given {
    pub fn path(&self, name: &str) -> String {
        self.programs.join(name).to_string_lossy().into_owned()
    }

    /// A program under it/programs, compiled with MPICH 5.
    pub fn program(&self, name: &str) -> Result<String> {
        Mpich::install()?.program(name, &self.programs)?;
        Ok(self.path(name))
    }

    pub fn run(&self, arguments: &[&str]) -> Result<Finished> {
        gerbil::run(&self.cluster, arguments)?
            .deadline(DEADLINE)
            .finish()
    }

    pub fn succeeds(&self, arguments: &[&str]) -> Result<Finished> {
        expect::job(
            &self.cluster,
            gerbil::run(&self.cluster, arguments)?.deadline(DEADLINE),
        )
    }

    /// Runs and expects `code` and a sentence with `words`, and nothing left.
    pub fn fails(&self, arguments: &[&str], code: i32, words: &[&str]) -> Result<Finished> {
        let finished = self.run(arguments)?;
        expect::failure(&self.cluster, &finished, code, words)?;
        Ok(finished)
    }

    /// The same, when nothing may have been submitted either.
    pub fn refused(&self, arguments: &[&str], code: i32, words: &[&str]) -> Result<()> {
        let before = self.applications()?.len();
        self.fails(arguments, code, words)?;
        ensure!(
            self.applications()?.len() == before,
            "an application was submitted"
        );
        Ok(())
    }

    pub fn applications(&self) -> Result<Vec<ApplicationReport>> {
        self.cluster.resource_manager().applications()
    }

    /// The newest application, when YARN has recorded its end.
    pub fn ended(&self, deadline: Duration) -> Result<ApplicationReport> {
        wait::until("the application's end", deadline, || {
            Ok(self
                .applications()?
                .pop()
                .filter(ApplicationReport::is_over))
        })
    }

    /// YARN's record says that the job failed, with these words.
    pub fn recorded_failure(&self, words: &[&str]) -> Result<()> {
        let report = self.ended(DEADLINE)?;
        ensure!(report.final_status == "FAILED", "{report:?}");
        ensure!(
            words.iter().all(|word| report.diagnostics.contains(word)),
            "no {words:?} in {report:?}"
        );
        Ok(())
    }

    /// The pids of the AM's processes, of whatever attempt.
    pub fn am_processes(&self) -> Result<Vec<i32>> {
        let all = self.cluster.container_processes()?;
        let of_am = |id: &String| id.ends_with("_000001");
        Ok(all
            .iter()
            .filter(|found| found.container.as_ref().is_some_and(of_am))
            .map(|found| found.pid)
            .collect())
    }

    /// A copy of the client's settings with other ones on top.
    pub fn settings(&self, name: &str, changes: &[(Setting, &str, &str)]) -> Result<PathBuf> {
        let folder = self.programs.join(name);
        fs::create_dir_all(&folder)?;
        for found in fs::read_dir(self.cluster.conf_dir())? {
            let found = found?;
            fs::copy(found.path(), folder.join(found.file_name()))?;
        }
        for (file, name, value) in changes {
            let path = folder.join(file.name());
            let old = fs::read_to_string(&path)?;
            fs::write(&path, property(&old, name, value))?;
        }
        Ok(folder)
    }

    /// With the ResourceManager said to be at `address`: it cannot be reached, and the sentence names it.
    pub fn unreachable(&self, address: &str, words: &[&str]) -> Result<()> {
        let conf = self.settings(
            "elsewhere",
            &[(Setting::Yarn, "yarn.resourcemanager.address", address)],
        )?;
        let program = self.program("linger")?;
        let finished = gerbil::run_with(&conf, ["-n", "2", &program, "0"])?
            .deadline(DEADLINE)
            .finish()?;
        let mut all = vec![address];
        all.extend(words);
        expect::failure(&self.cluster, &finished, 69, &all)
    }
}
