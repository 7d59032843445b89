//! A mount that hangs: whoever waits for it hears all else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use it::bed::{Case, DEADLINE, Given, text_of};
use it::command::Running;
use it::process::signal_by_id;
use it::{Run, wait};
use nix::sys::signal::Signal;

use crate::stuck::processes;

pub const CASES: &[(&str, Case)] = &[(
    "hung: SIGTERM while the file system of the results does not answer",
    terminated,
)];

/// From the signal to the end of the ApplicationMaster, and of the job.
const SOON: Duration = Duration::from_secs(15);

/// A FUSE file system that nobody serves: every call on it waits until this is dropped.
struct Hung {
    folder: PathBuf,
    /// Has the device open; killed when it is dropped.
    _holder: Running,
}

/// Mounts it over the folder `$1`, and stays.
const HOLD: &str = "exec 9<>/dev/fuse && mount -i -t fuse \
                    -o fd=9,rootmode=40000,user_id=0,group_id=0,allow_other gerbil-it \"$1\" && \
                    echo mounted && exec sleep 600";

impl Hung {
    /// Mounts it over `folder`.
    ///
    /// # Errors
    ///
    /// There is no root, or no FUSE.
    fn over(folder: &Path) -> Result<Self> {
        let mut hold = Command::new("sh");
        hold.args(["-c", HOLD, "hold"]).arg(folder);
        let mut holder = Run::new(hold).start()?;
        holder.wait_for_stdout("mounted")?;
        Ok(Self {
            folder: folder.to_owned(),
            _holder: holder,
        })
    }

    /// Whether it can be mounted here.
    fn is_possible() -> bool {
        let tried = tempfile::tempdir()
            .map_err(anyhow::Error::from)
            .and_then(|folder| Self::over(folder.path()).map(drop));
        tried.is_ok()
    }
}

impl Drop for Hung {
    fn drop(&mut self) {
        // Lazily, as some still wait in it; they go on when its device is closed.
        let mut unmount = Command::new("umount");
        unmount.arg("-l").arg(&self.folder);
        drop(Run::new(unmount).finish());
    }
}

/// The cases, where such a file system can be mounted.
pub fn cases() -> &'static [(&'static str, Case)] {
    match Hung::is_possible() {
        true => CASES,
        false => &[],
    }
}

fn terminated(given: &Given) -> Result<()> {
    let results = given.folder.join("results");
    fs::create_dir_all(&results)?;
    let gate = given.folder.join("gate-of-hung");
    let script =
        "mkdir -p res; echo text >res/file; echo ready; while [ ! -e \"$1\" ]; do sleep 0.1; done";
    let script = given.script("writes-when-told", script)?;
    let out = format!("res=file:{}/all", text_of(&results)?);
    let line = ["-n", "1", "--stage-out", &out, &script, &text_of(&gate)?];
    let mut running = given.gerbil(&line)?.start()?;
    running.wait_for_stdout("ready")?;
    let (_, master) = processes(given)?;
    let hung = Hung::over(&results)?;
    fs::write(&gate, "")?;
    wait::until("the rank to end", DEADLINE, || {
        let all = given.cluster.container_processes()?;
        let is_rank = |words: &[String]| words.iter().any(|word| word.ends_with("gate-of-hung"));
        Ok((!all.iter().any(|found| is_rank(&found.arguments))).then_some(()))
    })?;
    // Who looks at the results waits by now.
    wait::pause(Duration::from_secs(1));
    let began = Instant::now();
    signal_by_id(master.pid, Signal::SIGTERM)?;
    wait::until("the ApplicationMaster to end", SOON, || {
        let gone = !Path::new(&format!("/proc/{}", master.pid)).exists();
        Ok(gone.then_some(()))
    })?;
    let finished = running.finish()?;
    let took = began.elapsed();
    ensure!(finished.code() != 0, "{finished:?}");
    ensure!(took < SOON, "{took:?}: {finished:?}");
    drop(hung);
    ensure!(fs::read_dir(&results)?.next().is_none(), "{finished:?}");
    given.is_clean()
}
