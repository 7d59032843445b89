//! Accelerators of nodes: modelled boards, each behind an `fpgad` that listens where that of a machine in a folder does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use nix::sys::signal::Signal;

use crate::cargo::{cargo, target_folder};
use crate::command::{Finished, Run, Running};
use crate::wait;

/// As long as a build from nothing takes.
const BUILD: Duration = Duration::from_secs(900);
/// For a driver to listen, or to be gone.
const SOON: Duration = Duration::from_secs(20);
/// No case lasts longer.
const LIFE: Duration = Duration::from_secs(600);

/// The driver, and the programs whose maps and reduces compute on boards.
#[derive(Debug)]
pub struct Programs {
    /// `fpgad`.
    pub driver: PathBuf,
    /// K-means of normalised vectors.
    pub spherical: PathBuf,
    /// Naive Bayes.
    pub bayes: PathBuf,
}

impl Programs {
    /// The debug builds that the fast tests use.
    ///
    /// # Errors
    ///
    /// They cannot be built.
    pub fn build() -> Result<Self> {
        Self::of("debug")
    }

    /// The same, built as users of their speed build them: for what is measured.
    ///
    /// # Errors
    ///
    /// They cannot be built.
    pub fn release() -> Result<Self> {
        Self::of("release")
    }

    fn of(profile: &str) -> Result<Self> {
        let target = target_folder()?;
        let mut command = cargo();
        command
            // With the features of everything, as the fast tests.
            .args(["build", "--quiet", "--locked", "--workspace"])
            .args(["--bin", "fpgad", "--example", "spherical"])
            .args(["--example", "bayes"])
            .args((profile == "release").then_some("--release"))
            .env("CARGO_TARGET_DIR", &target)
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        let built = Run::new(command).deadline(BUILD).finish()?;
        built.success("cargo build of fpgad, spherical and bayes")?;
        let file = |name: &str| {
            let path = target.join(profile).join(name);
            match path.is_file() {
                true => Ok(path),
                false => bail!("{} is not there after its build", path.display()),
            }
        };
        Ok(Self {
            driver: file("fpgad")?,
            spherical: file("examples/spherical")?,
            bayes: file("examples/bayes")?,
        })
    }
}

/// The driver of one machine. Dropping it kills it.
#[derive(Debug)]
pub struct NodeDriver {
    running: Running,
    program: PathBuf,
    socket: PathBuf,
}

impl NodeDriver {
    /// Starts that of the machine below `root`, with one modelled board: `board` are lines of its profile.
    ///
    /// # Errors
    ///
    /// It does not listen.
    pub fn start(programs: &Programs, root: &Path, board: &str) -> Result<Self> {
        Self::start_of_kind(programs, root, "model", board)
    }

    /// The same with a board of this kind, `model` or `rtl`.
    ///
    /// # Errors
    ///
    /// It does not listen, or its build has no simulated cores.
    pub fn start_of_kind(
        programs: &Programs,
        root: &Path,
        kind: &str,
        board: &str,
    ) -> Result<Self> {
        let folder = root.join("run/gerbil");
        fs::create_dir_all(&folder)?;
        let (profile, socket) = (root.join("fpga.toml"), folder.join("fpgad.sock"));
        fs::write(&profile, format!("[[board]]\nkind = \"{kind}\"\n{board}\n"))?;
        let mut command = Command::new(&programs.driver);
        command.arg("--fpgad").arg(&socket);
        command.arg("--profile").arg(&profile);
        let mut driver = Self {
            running: Run::new(command).deadline(LIFE).start()?,
            program: programs.driver.clone(),
            socket,
        };
        wait::until("fpgad listens", SOON, || {
            if driver.running.is_over()? {
                bail!("it ended: {}", driver.running.stderr_so_far());
            }
            Ok((driver.listed()?.code() == 0).then_some(()))
        })?;
        Ok(driver)
    }

    /// `fpgad ps`.
    fn listed(&self) -> Result<Finished> {
        let mut command = Command::new(&self.program);
        command.arg("--fpgad").arg(&self.socket).arg("ps");
        Run::new(command).deadline(SOON).finish()
    }

    /// Waits until its board has answered so many packets.
    ///
    /// # Errors
    ///
    /// It does not.
    pub fn has_answered(&self, packets: u64) -> Result<()> {
        wait::until("the board has answered", LIFE / 10, || {
            let listed = self.listed()?.success("fpgad ps")?.stdout_text();
            let board = listed.lines().find(|line| line.starts_with("board "));
            let words = board.and_then(|line| line.split_once(": ")?.1.split_once(" packets"));
            let (answered, _) = words.with_context(|| format!("no board: {listed}"))?;
            Ok((answered.parse::<u64>()? >= packets).then_some(()))
        })
    }

    /// Ends it as a crash would.
    ///
    /// # Errors
    ///
    /// The kernel refused.
    pub fn kill(mut self) -> Result<()> {
        self.running.signal(Signal::SIGKILL)?;
        wait::until("fpgad is gone", SOON, || {
            Ok(self.running.is_over()?.then_some(()))
        })
    }
}
