//! The library that the suite is built with, and the suite, ready to run.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use nix::fcntl::{Flock, FlockArg};

use super::source;
use crate::cache::Cache;
use crate::command::Run;
use crate::process;

/// The library's build: 7 minutes on two cores for ch3, several times that for ch4.
const BUILD: Duration = Duration::from_secs(2 * 3600);
/// The suite's `configure`.
const CONFIGURE: Duration = Duration::from_secs(1200);

/// The device that the library is built for unless another is named: TCP, and ranks that sleep while
/// they wait, so that ten of them on two cores are no race for the cores.
pub const DEVICE: &str = "ch3:sock";

/// An MPICH of its own and the suite configured against it.
#[derive(Debug)]
pub struct Suite {
    folder: PathBuf,
    device: String,
    /// Held by one comparison at a time: they share executables and the files that tests write.
    _lock: Flock<File>,
}

impl Suite {
    /// Builds library and suite for `device`, as MPICH's `configure` names devices, unless the cache
    /// has them.
    ///
    /// # Errors
    ///
    /// Something needed is missing, a step failed (what it said is in the message), or another
    /// comparison runs.
    pub fn prepare(device: &str) -> Result<Self> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == ':';
        if device.is_empty() || !device.chars().all(plain) {
            bail!("{device}: no device of MPICH, as ch3:sock or ch4:ofi");
        }
        let cache = Cache::find();
        let name = format!(
            "mpich-suite-{}-{}",
            source::RELEASE,
            device.replace(':', "-")
        );
        // Absolute names are built into the library's compiler wrapper.
        let place = cache.folder().join(&name);
        let place = std::path::absolute(&place)?;
        let folder = cache.entry(&name, |half| {
            for tool in ["make", "gcc", "g++", "perl"] {
                process::find(tool.as_ref())
                    .with_context(|| "apt-get install build-essential perl xz-utils")?;
            }
            build(half, &place, device)
        })?;
        let path = folder.join(".lock");
        let file = File::create(&path)?;
        let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock)
            .map_err(|(_, errno)| errno)
            .with_context(|| format!("{}: another comparison runs", path.display()))?;
        let suite = Self {
            folder: std::path::absolute(folder)?,
            device: device.to_owned(),
            _lock: lock,
        };
        if !suite.configured().is_file() {
            suite.configure()?;
        }
        Ok(suite)
    }

    /// The library's release.
    #[must_use]
    pub fn release(&self) -> &'static str {
        source::RELEASE
    }

    /// The device that the library was built for.
    #[must_use]
    pub fn device(&self) -> &str {
        &self.device
    }

    /// The library's own launcher.
    #[must_use]
    pub fn mpiexec(&self) -> PathBuf {
        self.folder.join("inst/bin/mpiexec.hydra")
    }

    /// Where the suite is configured, its programs are built, and its tests run.
    #[must_use]
    pub fn built(&self) -> PathBuf {
        self.folder.join("built")
    }

    /// The suite's source.
    #[must_use]
    pub fn source(&self) -> PathBuf {
        self.folder.join("source")
    }

    fn configured(&self) -> PathBuf {
        self.built().join(".configured")
    }

    fn configure(&self) -> Result<()> {
        let built = self.built();
        if built.exists() {
            fs::remove_dir_all(&built).with_context(|| built.display().to_string())?;
        }
        fs::create_dir(&built)?;
        let mut configure = Command::new(self.source().join("configure"));
        configure
            .arg(format!("--with-mpi={}", self.folder.join("inst").display()))
            .args([
                "--disable-fortran",
                "--disable-dependency-tracking",
                "--enable-threads=multiple",
                "--enable-xfail",
            ])
            .current_dir(&built);
        step(configure, CONFIGURE, "the suite's configure")?;
        // All programs at once, before several runs of `runtests` want the same one. What cannot be
        // built is reported by `runtests` for each test that needs it.
        let cores = std::thread::available_parallelism()?.get();
        let mut make = Command::new("make");
        make.args(["-s", "-k", &format!("-j{cores}")])
            .current_dir(&built);
        Run::new(make).deadline(BUILD).finish()?;
        fs::write(self.configured(), "")?;
        Ok(())
    }
}

/// Builds the library in `half` so that it works in `place`, and leaves `inst` and the suite's
/// `source` there.
fn build(half: &Path, place: &Path, device: &str) -> Result<()> {
    let work = half.join("work");
    fs::create_dir(&work)?;
    let tree = source::fetch(&work)?;
    let build = work.join("build");
    fs::create_dir(&build)?;
    let prefix = place.join("inst");
    let mut configure = Command::new(tree.join("configure"));
    configure
        .arg(format!("--prefix={}", prefix.display()))
        .arg(format!("--with-device={device}"))
        .args([
            "--disable-fortran",
            "--disable-static",
            "--disable-dependency-tracking",
            "--disable-doc",
            "--enable-fast=O1",
            "--with-hwloc=embedded",
            // The other engine is larger than the rest of the library.
            "--with-datatype-engine=dataloop",
        ])
        .current_dir(&build);
    if device.starts_with("ch4:ofi") {
        configure.arg("--with-libfabric=embedded");
    }
    step(configure, BUILD, "MPICH's configure")?;
    let cores = std::thread::available_parallelism()?.get();
    let mut make = Command::new("make");
    make.args(["-s", &format!("-j{cores}")]).current_dir(&build);
    step(make, BUILD, "building MPICH")?;
    let stage = work.join("stage");
    let mut install = Command::new("make");
    install
        .args(["-s", "install"])
        .arg(format!("DESTDIR={}", stage.display()))
        .current_dir(&build);
    step(install, BUILD, "installing MPICH")?;
    let inside = prefix.strip_prefix("/")?;
    fs::rename(stage.join(inside), half.join("inst"))?;
    fs::rename(tree.join("test/mpi"), half.join("source"))?;
    fs::remove_dir_all(&work).context("removing MPICH's build")
}

/// One command of a build; what it said is in the message when it fails.
fn step(command: Command, deadline: Duration, what: &str) -> Result<()> {
    let finished = Run::new(command).deadline(deadline).finish()?;
    if !finished.status.success() {
        let tail = |text: String| {
            let lines: Vec<_> = text.lines().collect();
            lines[lines.len().saturating_sub(30)..].join("\n")
        };
        bail!(
            "{what}: {}\n{}\n{}",
            finished.status,
            tail(finished.stdout_text()),
            tail(finished.stderr_text())
        );
    }
    Ok(())
}
