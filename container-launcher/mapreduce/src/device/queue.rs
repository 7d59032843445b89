//! Processes of a node that wait for a few places, in the order in which they come.
//!
//! | file of the folder | locked (`flock`) by |
//! |---|---|
//! | `door` | who draws a number, for as long as that takes |
//! | `00000000000000000007` | who waits with this number, for one of the devices in it; where nobody has locked it, he is gone |
//! | `nvidia0.1` | who has the second place of the device `nvidia0` |
//!
//! Every user of the node may make files there, so a file that is none, or that nobody may read, is passed over, and no name
//! leads elsewhere or makes a task wait.
//!
//! The one who waits with the lowest number takes the first place that is free, and gives his number back. Who waits for
//! other devices, as a container that is let see them alone, is in nobody's way. The kernel frees the locks of a process
//! that ends, in whatever way.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

/// Between two looks of one who waits.
const PAUSE: Duration = Duration::from_millis(2);
/// For others to draw their numbers, which takes each of them some microseconds.
const DOOR: Duration = Duration::from_secs(30);
const DOOR_NAME: &str = "door";
/// Looks at a file that another process is making, and which this one may not read before it is made.
const LOOKS: usize = 50;
/// Every user of the node makes files of his own there, and nobody removes another's.
const FOLDER_MODE: u32 = 0o1777;
/// To lock a file, it need only be read.
const FILE_MODE: u32 = 0o444;
/// Most that is read of a file of a number, bytes.
const WANTED_MAX: u64 = 1 << 16;
/// Digits of a number, so that names sort as numbers do.
const DIGITS: usize = 20;

/// A place, until it is dropped.
#[derive(Debug)]
pub(super) struct DeviceLock(#[expect(dead_code, reason = "its lock is what counts")] File);

/// Where to wait, and for which places.
#[derive(Clone, Debug)]
pub(super) struct DeviceQueue {
    folder: PathBuf,
    devices: Vec<String>,
    ways: u32,
}

impl DeviceQueue {
    /// For `ways` places of each of `devices`.
    pub(super) const fn new(folder: PathBuf, devices: Vec<String>, ways: u32) -> Self {
        Self {
            folder,
            devices,
            ways,
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Waits for a place, and calls `alive` as long as that takes; of which device it is.
    pub(super) fn enter(&self, mut alive: impl FnMut()) -> io::Result<(usize, DeviceLock)> {
        make(&self.folder)?;
        let ticket = Ticket::draw(&self.folder, &self.devices)?;
        loop {
            if ticket.is_first(&self.devices)?
                && let Some(held) = self.take()?
            {
                return Ok(held);
            }
            alive();
            std::thread::park_timeout(PAUSE);
        }
    }

    /// The first place that nobody has: of all devices the first ones before any second one.
    fn take(&self) -> io::Result<Option<(usize, DeviceLock)>> {
        for way in 0..self.ways {
            for (place, device) in self.devices.iter().enumerate() {
                let file = open(&self.folder.join(format!("{device}.{way}")))?;
                if try_lock(&file, FlockOperation::NonBlockingLockExclusive)? {
                    return Ok(Some((place, DeviceLock(file))));
                }
            }
        }
        Ok(None)
    }
}

/// A number in the queue.
#[derive(Debug)]
struct Ticket {
    number: u64,
    path: PathBuf,
    _lock: File,
}

impl Ticket {
    /// The next number of the folder, to wait for one of `devices`. Those of processes that are gone are removed.
    fn draw(folder: &Path, devices: &[String]) -> io::Result<Self> {
        let door = open(&folder.join(DOOR_NAME))?;
        let until = Instant::now() + DOOR;
        while !try_lock(&door, FlockOperation::NonBlockingLockExclusive)? {
            if Instant::now() >= until {
                return Err(io::Error::new(
                    ErrorKind::TimedOut,
                    format!(
                        "another process has locked {DOOR_NAME} for {} s: fuser {} names it",
                        DOOR.as_secs(),
                        folder.join(DOOR_NAME).display()
                    ),
                ));
            }
            std::thread::park_timeout(PAUSE);
        }
        let mut last = None;
        for number in numbers(folder)? {
            let path = folder.join(name(number));
            if is_gone(&path)? {
                // Another user's stays, and does not count.
                drop(fs::remove_file(&path));
            } else {
                last = Some(number);
            }
        }
        let number = free_number(folder, last)?;
        // It appears locked: nobody takes it for one of a process that is gone.
        let half = folder.join(format!(".{number}-{}", std::process::id()));
        drop(fs::remove_file(&half));
        let mut lock = created(&half)?;
        // Where the node's memory is full, whoever comes later waits for this one, whatever he waits for.
        if lock.write_all(devices.join("\n").as_bytes()).is_err() {
            lock.set_len(0)?;
        }
        try_lock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        let path = folder.join(name(number));
        fs::rename(&half, &path)?;
        Ok(Self {
            number,
            path,
            _lock: lock,
        })
    }

    /// Whether nobody waits for any of `devices` with a lower number.
    fn is_first(&self, devices: &[String]) -> io::Result<bool> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        for number in numbers(folder)? {
            if number >= self.number {
                break;
            }
            let path = folder.join(name(number));
            if !is_gone(&path)? && wants_any(&path, devices)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.path));
    }
}

/// The number behind `last`, or one still later whose name another user's left file does not have.
fn free_number(folder: &Path, last: Option<u64>) -> io::Result<u64> {
    let mut number = last.map_or(Some(0), |last| last.checked_add(1));
    while let Some(free) = number {
        let taken = fs::symlink_metadata(folder.join(name(free)));
        if taken.is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            return Ok(free);
        }
        number = free.checked_add(1);
    }
    Err(io::Error::other(format!(
        "a process waits with the last number there is, {}: the file's owner can remove it",
        name(u64::MAX)
    )))
}

fn name(number: u64) -> String {
    format!("{number:0DIGITS$}")
}

/// The numbers of a folder, ascending.
fn numbers(folder: &Path) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let number = name.to_str().filter(|name| name.len() == DIGITS);
        numbers.extend(number.and_then(|name| name.parse::<u64>().ok()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Whether nobody has locked a number, it was given back, or it is none: a task makes a file that all may read.
fn is_gone(path: &Path) -> io::Result<bool> {
    match look(path)? {
        Some(file) => try_lock(&file, FlockOperation::NonBlockingLockShared),
        None => Ok(true),
    }
}

/// Opens a file of another process's, without waiting for anything: no pipe, and no link to one. `None`: there is no file
/// that may be read.
fn look(path: &Path) -> io::Result<Option<File>> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    let flags = i32::try_from(flags).unwrap_or_default();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    match opened {
        Ok(file) => Ok(file.metadata()?.is_file().then_some(file)),
        Err(error) => {
            // What a link is refused with.
            let is_link = error.raw_os_error() == Some(Errno::LOOP.raw_os_error());
            let is_none = matches!(
                error.kind(),
                ErrorKind::NotFound | ErrorKind::PermissionDenied
            );
            match is_link || is_none {
                true => Ok(None),
                false => Err(error),
            }
        }
    }
}

/// Whether who waits with a number may take one of `devices`: he may who does not say which.
fn wants_any(path: &Path, devices: &[String]) -> io::Result<bool> {
    // It may have been given back.
    let Some(file) = look(path)? else {
        return Ok(false);
    };
    let mut wanted = String::new();
    match file.take(WANTED_MAX).read_to_string(&mut wanted) {
        Ok(_) => {
            let is_wanted = |device: &String| wanted.lines().any(|wanted| wanted == device);
            Ok(wanted.is_empty() || devices.iter().any(is_wanted))
        }
        Err(error) if error.kind() == ErrorKind::InvalidData => Ok(true),
        Err(error) => Err(error),
    }
}

fn try_lock(file: &File, how: FlockOperation) -> io::Result<bool> {
    match flock(file, how) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Makes the folder, unless somebody has.
fn make(folder: &Path) -> io::Result<()> {
    match fs::DirBuilder::new().mode(FOLDER_MODE).create(folder) {
        // Whatever this user's umask is.
        Ok(()) => fs::set_permissions(folder, Permissions::from_mode(FOLDER_MODE)),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            match fs::symlink_metadata(folder)?.is_dir() {
                true => Ok(()),
                false => Err(io::Error::new(ErrorKind::AlreadyExists, "it is no folder")),
            }
        }
        Err(error) => Err(error),
    }
}

/// A file that everybody locks, made where it is not there.
fn open(path: &Path) -> io::Result<File> {
    open_between(path, || std::thread::park_timeout(PAUSE))
}

/// The same, with a pause between two looks.
fn open_between(path: &Path, mut pause: impl FnMut()) -> io::Result<File> {
    for _ in 0..LOOKS {
        if let Some(file) = look(path)? {
            return Ok(file);
        }
        match created(path) {
            // Another task was faster, and says after that who may read it.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => pause(),
            made => return made,
        }
    }
    Err(io::Error::new(
        ErrorKind::PermissionDenied,
        format!(
            "{} is no file that this task may read: its owner can remove it",
            path.display()
        ),
    ))
}

fn created(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(path)?;
    file.set_permissions(Permissions::from_mode(FILE_MODE))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    fn queue(folder: &Path, devices: &[&str], ways: u32) -> DeviceQueue {
        let devices = devices.iter().map(|device| (*device).to_owned());
        DeviceQueue::new(folder.join("turns"), devices.collect(), ways)
    }

    fn waiting(queue: &DeviceQueue) -> usize {
        numbers(queue.folder()).map_or(0, |all| all.len())
    }

    #[test]
    fn who_comes_first_is_first() {
        let folder = tempfile::tempdir().unwrap();
        let queue = queue(folder.path(), &["nvidia0"], 1);
        let (_, held) = queue.enter(|| ()).unwrap();
        let (says, said) = mpsc::sync_channel(8);
        let mut all = Vec::new();
        for number in 0..5 {
            let (queue, says) = (queue.clone(), says.clone());
            let before = waiting(&queue);
            let own = queue.clone();
            all.push(thread::spawn(move || {
                let (_, held) = own.enter(|| ()).unwrap();
                says.send(number).unwrap();
                drop(held);
            }));
            while waiting(&queue) == before {
                thread::park_timeout(PAUSE);
            }
        }
        assert!(said.recv_timeout(Duration::from_millis(50)).is_err());
        drop(held);
        all.into_iter().for_each(|one| one.join().unwrap());
        let order: Vec<i32> = said.try_iter().collect();
        assert_eq!(order, [0, 1, 2, 3, 4]);
        assert_eq!(waiting(&queue), 0);
    }

    #[test]
    fn each_device_has_its_ways_and_the_first_ways_go_first() {
        let folder = tempfile::tempdir().unwrap();
        let queue = queue(folder.path(), &["a", "b"], 2);
        let mut held: Vec<_> = (0..4).map(|_| queue.enter(|| ()).unwrap()).collect();
        let devices: Vec<usize> = held.iter().map(|(device, _)| *device).collect();
        assert_eq!(devices, [0, 1, 0, 1]);
        assert!(queue.take().unwrap().is_none());
        drop(held.remove(1));
        let mut alive = 0;
        assert_eq!(queue.enter(|| alive += 1).unwrap().0, 1);
        assert_eq!(alive, 0);
    }

    #[test]
    fn who_waits_for_other_devices_is_in_nobody_s_way() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b, both] = [&["a"][..], &["b"], &["b", "a"]].map(|of| queue(folder.path(), of, 1));
        let (_, held) = a.enter(|| ()).unwrap();
        let waits = thread::spawn({
            let a = a.clone();
            move || drop(a.enter(|| ()).unwrap())
        });
        while waiting(&a) == 0 {
            thread::park_timeout(PAUSE);
        }
        drop(b.enter(|| ()).unwrap());
        let number = a.folder().join(name(0));
        assert!(wants_any(&number, &a.devices).unwrap());
        assert!(wants_any(&number, &both.devices).unwrap());
        assert!(!wants_any(&number, &b.devices).unwrap());
        drop(held);
        waits.join().unwrap();
        assert!(!wants_any(&number, &a.devices).unwrap());
        // Who says nothing is not passed.
        fs::write(&number, "").unwrap();
        assert!(wants_any(&number, &b.devices).unwrap());
    }

    #[test]
    fn what_others_leave_there_stops_no_task() {
        let folder = tempfile::tempdir().unwrap();
        let queue = queue(folder.path(), &["a"], 1);
        make(queue.folder()).unwrap();
        let file = |number: u64| queue.folder().join(name(number));
        // A number whose process is gone, the last one, and in the place of others a pipe, a link and a folder.
        fs::write(file(u64::MAX), "a").unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, file(3), rustix::fs::Mode::from(0o666)).unwrap();
        std::os::unix::fs::symlink(file(3), file(4)).unwrap();
        fs::create_dir(file(5)).unwrap();
        drop(queue.enter(|| ()).unwrap());
        // The last number with a process that waits for another device.
        let last = File::create(file(u64::MAX)).unwrap();
        assert!(try_lock(&last, FlockOperation::NonBlockingLockExclusive).unwrap());
        let refused = queue.enter(|| ()).unwrap_err().to_string();
        assert!(refused.contains("18446744073709551615"), "{refused}");
        drop(last);
        drop(queue.enter(|| ()).unwrap());
        // In the place of the door, too.
        fs::remove_file(queue.folder().join(DOOR_NAME)).unwrap();
        fs::create_dir(queue.folder().join(DOOR_NAME)).unwrap();
        let refused = queue.enter(|| ()).unwrap_err().to_string();
        assert!(refused.contains("door is no file"), "{refused}");
    }

    /// A link is as unreadable to every user as a file is to another user whose maker has not said yet that all may read it.
    #[test]
    fn a_file_that_is_only_being_made_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(DOOR_NAME);
        std::os::unix::fs::symlink("nowhere", &path).unwrap();
        let mut pauses = 0;
        let opened = open_between(&path, || {
            pauses += 1;
            if pauses == LOOKS - 1 {
                fs::remove_file(&path).unwrap();
                drop(created(&path).unwrap());
            }
        });
        assert!(opened.unwrap().metadata().unwrap().is_file());
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let mut pauses = 0;
        let refused = open_between(&path, || pauses += 1).unwrap_err();
        assert_eq!(pauses, LOOKS);
        assert!(refused.to_string().contains("is no file"), "{refused}");
    }

    #[test]
    fn a_folder_that_is_none_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let queue = queue(folder.path(), &["a"], 1);
        std::os::unix::fs::symlink("/tmp", folder.path().join("turns")).unwrap();
        let refused = queue.enter(|| ()).unwrap_err();
        assert!(refused.to_string().contains("no folder"), "{refused}");
    }
}
