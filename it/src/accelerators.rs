//! Accelerators of nodes: modelled boards, each behind an `fpgad` that listens where that of a machine in a folder does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use nix::sys::signal::Signal;

use crate::cargo::cargo;
use crate::command::{Run, Running};
use crate::wait;

/// As long as a build from nothing takes.
const BUILD: Duration = Duration::from_secs(900);
/// For a driver to listen, or to be gone.
const SOON: Duration = Duration::from_secs(20);
/// No case lasts longer.
const LIFE: Duration = Duration::from_secs(600);

/// The driver, and the program whose maps and reduces compute on boards.
#[derive(Debug)]
pub struct Programs {
    /// `fpgad`.
    pub driver: PathBuf,
    /// K-means of normalised vectors.
    pub spherical: PathBuf,
}

impl Programs {
    /// The debug builds that the fast tests use.
    ///
    /// # Errors
    ///
    /// They cannot be built.
    pub fn build() -> Result<Self> {
        let own = std::env::current_exe().context("finding the target folder")?;
        // TARGET/PROFILE/deps/NAME
        let target = own.ancestors().nth(3).context("no target folder")?;
        let mut command = cargo();
        command
            // With the features of everything, as the fast tests.
            .args(["build", "--quiet", "--locked", "--workspace"])
            .args(["--bin", "fpgad", "--example", "spherical"])
            .env("CARGO_TARGET_DIR", target)
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        let built = Run::new(command).deadline(BUILD).finish()?;
        built.success("cargo build of fpgad and spherical")?;
        let file = |name: &str| {
            let path = target.join("debug").join(name);
            match path.is_file() {
                true => Ok(path),
                false => bail!("{} is not there after its build", path.display()),
            }
        };
        Ok(Self {
            driver: file("fpgad")?,
            spherical: file("examples/spherical")?,
        })
    }
}

/// The driver of one machine. Dropping it kills it.
#[derive(Debug)]
pub struct NodeDriver(Running);

impl NodeDriver {
    /// Starts that of the machine below `root`, with one modelled board: `board` are lines of its profile.
    ///
    /// # Errors
    ///
    /// It does not listen.
    pub fn start(programs: &Programs, root: &Path, board: &str) -> Result<Self> {
        let folder = root.join("run/gerbil");
        fs::create_dir_all(&folder)?;
        let (profile, socket) = (root.join("fpga.toml"), folder.join("fpgad.sock"));
        fs::write(&profile, format!("[[board]]\nkind = \"model\"\n{board}\n"))?;
        let mut command = Command::new(&programs.driver);
        command.arg("--fpgad").arg(&socket);
        command.arg("--profile").arg(&profile);
        let mut running = Run::new(command).deadline(LIFE).start()?;
        wait::until("fpgad listens", SOON, || {
            if running.is_over()? {
                bail!("it ended: {}", running.stderr_so_far());
            }
            let mut asking = Command::new(&programs.driver);
            asking.arg("--fpgad").arg(&socket).arg("ps");
            let asked = Run::new(asking).deadline(SOON).finish()?;
            Ok((asked.code() == 0).then_some(()))
        })?;
        Ok(Self(running))
    }

    /// Ends it as a crash would.
    ///
    /// # Errors
    ///
    /// The kernel refused.
    pub fn kill(mut self) -> Result<()> {
        self.0.signal(Signal::SIGKILL)?;
        wait::until("fpgad is gone", SOON, || {
            Ok(self.0.is_over()?.then_some(()))
        })
    }
}
