//! The log of a role in its container: standard error, a file of YARN's that nobody else keeps short. A session lasts
//! for weeks.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use nix::unistd::dup2_stderr;

/// Bytes of the log before it is begun anew; as many stay of the one before.
const MOST: u64 = 4 << 20;
/// What the one before is called, behind the log's own name.
const BEFORE: &str = "old";
/// And the next, until it takes that name.
const ANEW: &str = "new";

/// Since the log was begun, bytes.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// Standard error is the container's own file, and this process is the one that keeps it short.
static IS_OWN: AtomicBool = AtomicBool::new(false);

/// Writes to standard error.
#[derive(Clone, Copy, Debug)]
pub struct ContainerLog;

impl ContainerLog {
    /// From now on the log is kept short: standard error is the container's own file. One process of a container does
    /// that, and all that it writes there it writes by this.
    pub fn keep_short() {
        IS_OWN.store(true, Ordering::Relaxed);
    }
}

impl Write for ContainerLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Nobody writes to a log that is being begun anew: how long that takes is the disk's affair.
        let mut log = io::stderr().lock();
        let written = log.write(bytes)?;
        let more = u64::try_from(written).unwrap_or(u64::MAX);
        let before = WRITTEN.fetch_add(more, Ordering::Relaxed);
        let is_own = IS_OWN.load(Ordering::Relaxed);
        if is_own && before < MOST && before.saturating_add(more) >= MOST {
            WRITTEN.store(0, Ordering::Relaxed);
            // A log that cannot be begun anew goes on, and this is tried again.
            let _anew = begin_anew(&log).and_then(|file| Ok(dup2_stderr(&file)?));
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// A new file in the place of `log`, which gets another name and takes that of the one before.
fn begin_anew(log: impl AsFd) -> io::Result<File> {
    let number = log.as_fd().as_raw_fd();
    let path = fs::read_link(format!("/proc/self/fd/{number}"))?;
    // Neither a pipe, nor a terminal, nor what somebody else has put away.
    if !fs::symlink_metadata(&path)?.is_file() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let beside = |name: &str| {
        let mut beside = path.clone().into_os_string();
        beside.push(".");
        beside.push(name);
        PathBuf::from(beside)
    };
    // First, so that a disk without room for another file leaves the log where it is.
    let anew = beside(ANEW);
    let file = File::options().create(true).append(true).open(&anew)?;
    fs::rename(&path, beside(BEFORE))?;
    fs::rename(&anew, &path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_files_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stderr");
        let mut log = File::create(&path).unwrap();
        for text in ["one", "two", "three"] {
            log.write_all(text.as_bytes()).unwrap();
            log = begin_anew(&log).unwrap();
        }
        log.write_all(b"four").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "four");
        let before = folder.path().join("stderr.old");
        assert_eq!(fs::read_to_string(before).unwrap(), "three");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        // Where there is no room for the next, this one stays.
        fs::create_dir(folder.path().join("stderr.new")).unwrap();
        assert!(begin_anew(&log).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "four");
        let (_reader, pipe) = io::pipe().unwrap();
        assert!(begin_anew(&pipe).is_err());
    }

    /// Set for the process that is to say much.
    const SAYS_MUCH: &str = "GERBIL_TEST_SAYS_MUCH";

    #[test]
    fn what_a_launcher_says_of_itself_stays_short() {
        let line = "x".repeat(1000);
        if std::env::var_os(SAYS_MUCH).is_some() {
            ContainerLog::keep_short();
            return (0..10_000).for_each(|_| crate::say(&line));
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stderr");
        let own = "container_log::tests::what_a_launcher_says_of_itself_stays_short";
        let said = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", own])
            .env(SAYS_MUCH, "yes")
            .stdout(std::process::Stdio::null())
            .stderr(File::create(&path).unwrap())
            .status()
            .unwrap();
        assert!(said.success());
        for of in [path, folder.path().join("stderr.old")] {
            let bytes = fs::metadata(&of).unwrap().len();
            assert!(bytes > 0 && bytes < MOST + 2000, "{of:?}: {bytes}");
        }
    }
}
