//! Which of a node's devices are this container's alone.
//!
//! YARN counts a node's GPUs, and says to nobody which of them a container was given. Where the node lets a
//! container open its own alone there is nothing to choose. Elsewhere the launchers of all jobs agree among
//! themselves: a device is the job's whose launcher has locked the device's own file (`flock`). So only who
//! may use a device can keep others from it, whatever network it is in; the kernel frees the lock when the
//! launcher has ended, however it came to that, and tells who has it.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::Duration;

use nix::fcntl::{Flock, FlockArg};
use nix::sys::stat::{major, minor};
use nix::unistd::{Uid, User};
use tokio::time::{Instant, sleep};

use super::{Devices, NodeDevice};

/// Where the kernel tells of locks.
const LOCKS: &str = "/proc/locks";
/// Of a file that is made to be locked: to lock it, it need only be read.
const MADE_MODE: u32 = 0o444;
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(100);

/// A device that is this container's for as long as this lives.
#[derive(Debug)]
pub(super) struct Leased {
    pub(super) device: NodeDevice,
    /// None: nobody counts the devices, and all are everybody's.
    _lock: Option<Flock<File>>,
}

impl Leased {
    /// One that others may use too.
    pub(super) const fn shared(device: NodeDevice) -> Self {
        Self {
            device,
            _lock: None,
        }
    }
}

/// So many of `devices` that nobody else has; a job that is about to end may hold some until `until`.
///
/// # Errors
///
/// There were too few: a sentence without the host, which names who has the others.
pub(super) async fn lease(
    devices: &Devices,
    wanted: usize,
    until: Instant,
) -> Result<Vec<Leased>, String> {
    let there = devices.each.len();
    loop {
        let (own, others) = free(devices, wanted);
        if own.len() == wanted.min(there) {
            return Ok(own);
        }
        if Instant::now() >= until {
            return Err(format!(
                "{wanted} of the node's {there} {what} were to be this job's, and others have {} of them \
                 ({}); where these are jobs of this cluster, YARN's count of {what} (yarn.io/gpu) is larger \
                 than what the node has",
                others.len(),
                others.join(", "),
                what = devices.kind.plural,
            ));
        }
        drop(own);
        sleep(PAUSE).await;
    }
}

/// The first of `devices` that nobody has, at most so many; and who has those that somebody has.
fn free(devices: &Devices, wanted: usize) -> (Vec<Leased>, Vec<String>) {
    let (mut own, mut others) = (Vec::new(), Vec::new());
    for device in &devices.each {
        if own.len() == wanted {
            break;
        }
        let file = &device.on_node;
        match open(file).and_then(lock) {
            Ok(lock) => own.push(Leased {
                device: device.clone(),
                _lock: Some(lock),
            }),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                others.push(format!("{}: {}", file.display(), holder(file)));
            }
            Err(error) => others.push(format!("{}: {error}", file.display())),
        }
    }
    (own, others)
}

/// A device is there; anything else is made.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NONBLOCK);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // A launcher of another job may have been faster.
            let made = (OpenOptions::new().write(true).create_new(true))
                .mode(MADE_MODE)
                .open(path);
            match made {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
                Err(_) => options.open(path),
                // Whatever this user's mask of new files is, other users lock it too.
                Ok(file) => {
                    file.set_permissions(Permissions::from_mode(MADE_MODE))?;
                    options.open(path)
                }
            }
        }
        opened => opened,
    }
}

fn lock(file: File) -> io::Result<Flock<File>> {
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| errno.into())
}

/// Who has locked a file, as far as the kernel tells.
fn holder(path: &Path) -> String {
    let locks = fs::read_to_string(LOCKS).unwrap_or_default();
    let Some(pid) = fs::metadata(path)
        .ok()
        .and_then(|file| holder_in(&locks, file.dev(), file.ino()))
    else {
        return "a process that cannot be seen from here".to_owned();
    };
    let process = format!("/proc/{pid}");
    let user = fs::metadata(&process).map(|process| process.uid());
    let user = match user.map(|uid| (uid, User::from_uid(Uid::from_raw(uid)))) {
        Ok((_, Ok(Some(user)))) => user.name,
        Ok((uid, _)) => format!("the user of number {uid}"),
        Err(_) => "somebody".to_owned(),
    };
    let name = fs::read_to_string(format!("{process}/comm")).unwrap_or_default();
    format!("{user}, process {pid} ({})", name.trim())
}

/// `1: FLOCK  ADVISORY  WRITE 1234 00:06:519 0 EOF`, with the numbers of the device in hexadecimal.
fn holder_in(locks: &str, device: u64, inode: u64) -> Option<i32> {
    let file = format!("{:02x}:{:02x}:{inode}", major(device), minor(device));
    locks.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(4);
        let pid = words.next()?.parse().ok().filter(|&pid: &i32| pid > 0)?;
        (words.next()? == file).then_some(pid)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(own: &[Leased]) -> Vec<&str> {
        own.iter().map(|own| own.device.name.as_str()).collect()
    }

    #[test]
    fn a_file_that_is_made_to_be_locked_is_so_by_every_user() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0");
        let made = path.clone();
        let with_a_mask = move || {
            // The mask of this thread alone.
            nix::sched::unshare(nix::sched::CloneFlags::CLONE_FS).unwrap();
            nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o077));
            drop(open(&made).unwrap());
        };
        std::thread::spawn(with_a_mask).join().unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, MADE_MODE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_device_is_one_jobs_until_that_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let devices = Devices::of(folder.path(), &["0", "1", "2"]);
        let soon = || Instant::now() + Duration::from_secs(10);
        let first = lease(&devices, 2, soon()).await.unwrap();
        assert_eq!(names(&first), ["0", "1"]);
        let second = lease(&devices, 1, soon()).await.unwrap();
        assert_eq!(names(&second), ["2"]);
        let refused = lease(&devices, 1, soon()).await.unwrap_err();
        assert!(refused.contains("1 of the node's 3 GPUs"), "{refused}");
        assert!(refused.contains("others have 3 of them"), "{refused}");
        let this = std::process::id();
        let name = folder.path().join("0");
        let user = User::from_uid(Uid::effective()).unwrap().unwrap().name;
        let named = format!("{}: {user}, process {this} (", name.display());
        assert!(refused.contains(&named), "{refused}");
        let waiting = lease(&devices, 2, soon());
        let ending = async {
            sleep(Duration::from_secs(5)).await;
            drop(first);
        };
        let (waited, ()) = tokio::join!(waiting, ending);
        assert_eq!(names(&waited.unwrap()), ["0", "1"]);
        // More than there are is another's to refuse.
        assert!(lease(&devices, 0, soon()).await.is_ok());
    }

    #[test]
    fn the_kernel_tells_who_has_a_lock() {
        let locks = "1: POSIX  ADVISORY  WRITE 7 fd:01:5 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 4242 00:06:519 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 4343 00:06:519 0 EOF\n\
                     3: OFDLCK ADVISORY  READ -1 00:06:520 0 EOF\n";
        assert_eq!(holder_in(locks, 6, 519), Some(4242));
        assert_eq!(holder_in(locks, 6, 520), None);
        assert_eq!(holder_in("", 6, 519), None);
    }
}
