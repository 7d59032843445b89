//! Finds and kills what a cluster's containers left running.
//!
//! A NodeManager gives each container a folder below its own, and names that folder in the container's
//! environment (`LOG_DIRS`, `LOCAL_DIRS`), command line and current folder. A process that shows a
//! cluster's node folder in one of the three belongs to that cluster, whatever session, group or parent
//! it has chosen. The daemons' own files lie elsewhere, so a daemon is never taken for a container.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::wait;

/// A process that belongs to a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundProcess {
    /// Its process id.
    pub pid: i32,
    /// `CONTAINER_ID` of its environment, where it kept one.
    pub container: Option<String>,
    /// Its arguments, the program first.
    pub arguments: Vec<String>,
}

/// The processes of this machine that show `mark` in their environment, command line or current
/// folder, by process id; never the caller itself. Processes of other users cannot be seen.
///
/// # Errors
///
/// `/proc` cannot be read.
pub fn find(mark: &Path) -> Result<Vec<FoundProcess>> {
    let mark = mark.as_os_str().as_bytes();
    let own = i32::try_from(std::process::id())?;
    let mut all = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<i32>().ok())
        else {
            continue;
        };
        if pid == own {
            continue;
        }
        // A process that ends while we look reads as empty.
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let arguments = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let folder = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        let shown = [&environment, &arguments, folder.as_os_str().as_bytes()]
            .iter()
            .any(|text| holds(text, mark));
        if shown {
            let container = strings(&environment)
                .find_map(|line| line.strip_prefix("CONTAINER_ID=").map(str::to_owned));
            all.push(FoundProcess {
                pid,
                container,
                arguments: strings(&arguments).collect(),
            });
        }
    }
    all.sort_by_key(|found| found.pid);
    Ok(all)
}

/// Kills every process that shows `mark`, and looks again until two looks find none.
///
/// # Errors
///
/// Some are still there after `deadline`; they are named.
pub fn kill_all(mark: &Path, deadline: Duration) -> Result<()> {
    let begin = Instant::now();
    let mut clean = 0;
    while clean < 2 {
        let found = find(mark)?;
        clean = if found.is_empty() { clean + 1 } else { 0 };
        for process in &found {
            // One that ended in between is what we want; one that refuses is found again.
            let _looked_at_again = kill(Pid::from_raw(process.pid), Signal::SIGKILL);
        }
        if clean < 2 && begin.elapsed() > deadline {
            bail!("processes of containers that do not end: {found:?}");
        }
        if !found.is_empty() {
            wait::pause(Duration::from_millis(20));
        }
    }
    Ok(())
}

fn holds(text: &[u8], mark: &[u8]) -> bool {
    text.windows(mark.len()).any(|window| window == mark)
}

/// Splits what the kernel separates by NUL.
fn strings(bytes: &[u8]) -> impl Iterator<Item = String> + '_ {
    bytes
        .split(|byte| *byte == 0)
        .filter(|text| !text.is_empty())
        .map(|text| String::from_utf8_lossy(text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_is_found_by_environment_arguments_or_folder_and_killed() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("nodes");
        fs::create_dir(&mark).unwrap();
        let mut by_environment = Command::new("sleep");
        by_environment
            .arg("1000")
            .env("LOG_DIRS", &mark)
            .env("CONTAINER_ID", "container_1_0001_01_000001");
        let mut by_folder = Command::new("sleep");
        by_folder.arg("1001").current_dir(&mark);
        let mut by_arguments = Command::new("sh");
        by_arguments.args(["-c", "while :; do sleep 1; done", mark.to_str().unwrap()]);
        let mut children =
            [by_environment, by_folder, by_arguments].map(|mut command| command.spawn().unwrap());

        let found = wait::until("three processes", Duration::from_secs(5), || {
            let found = find(&mark)?;
            Ok((found.len() >= 3).then_some(found))
        })
        .unwrap();
        assert!(
            found
                .iter()
                .any(|process| process.container.as_deref() == Some("container_1_0001_01_000001"))
        );
        // The killed children stay as zombies until collected, and zombies show nothing.
        kill_all(&mark, Duration::from_secs(5)).unwrap();
        for child in &mut children {
            assert!(!child.wait().unwrap().success());
        }
    }
}
