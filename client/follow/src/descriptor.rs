//! A path that names a descriptor which is open already: `/dev/stderr`, `/dev/fd/3`, `/proc/self/fd/1`, or a link to one.
//!
//! What leads there is often a file of the user's that the shell has opened (`2> errors`). It has an offset of its own,
//! and others write to it: it must neither be replaced nor emptied, and what we write stands behind what stands there.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, RawFd};
use std::path::{Path, PathBuf};

/// As many links as the kernel follows.
const LINKS_MAX: u32 = 40;

/// The file behind a descriptor that `path` names, at the place where its next byte goes; `None`: it names no
/// descriptor.
pub fn named(path: &Path) -> io::Result<Option<File>> {
    match of(path) {
        None => Ok(None),
        Some(Descriptor::Own(number)) => duplicate(number).map(Some),
        // Another process writes there too.
        Some(Descriptor::Other(path)) => File::options().append(true).open(path).map(Some),
    }
}

/// Whether `path` names one.
pub fn is_named(path: &Path) -> bool {
    of(path).is_some()
}

/// Whose descriptor a path names.
#[derive(Debug, PartialEq, Eq)]
enum Descriptor {
    Own(RawFd),
    Other(PathBuf),
}

fn of(path: &Path) -> Option<Descriptor> {
    let mut path = path.to_owned();
    for _link in 0..LINKS_MAX {
        let name = path.file_name()?;
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            Some(_) | None => Path::new("."),
        };
        let folder = folder.canonicalize().ok()?;
        let number = name.to_str().and_then(|name| name.parse::<RawFd>().ok());
        if let (Some(number), Some(owner)) = (number, owner(&folder)) {
            return Some(match owner == std::process::id() {
                true => Descriptor::Own(number),
                false => Descriptor::Other(folder.join(name)),
            });
        }
        // Relative links begin in their folder.
        path = folder.join(std::fs::read_link(folder.join(name)).ok()?);
    }
    None
}

/// The process whose descriptors lie in `folder`: `/proc/PID/fd`, or `/proc/PID/task/TID/fd`.
fn owner(folder: &Path) -> Option<u32> {
    let words: Vec<&str> = folder.iter().filter_map(|word| word.to_str()).collect();
    match words[..] {
        ["/", "proc", process, "fd"] | ["/", "proc", process, "task", _, "fd"] => {
            process.parse().ok()
        }
        _ => None,
    }
}

fn duplicate(number: RawFd) -> io::Result<File> {
    let descriptor = match number {
        0 => io::stdin().as_fd().try_clone_to_owned(),
        1 => io::stdout().as_fd().try_clone_to_owned(),
        2 => io::stderr().as_fd().try_clone_to_owned(),
        3.. => {
            #[expect(unsafe_code, reason = "a descriptor by its number has no safe face")]
            // SAFETY: it is not negative, and borrowed for one system call, which refuses a number of no descriptor.
            let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
            borrowed.try_clone_to_owned()
        }
        _ => Err(io::ErrorKind::InvalidInput.into()),
    };
    descriptor.map(File::from)
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Seek as _, Write as _};
    use std::os::fd::AsRawFd as _;

    use super::*;

    #[test]
    fn descriptors_are_known_by_all_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/dev/stderr", &link).unwrap();
        let again = folder.path().join("again");
        std::os::unix::fs::symlink("link", &again).unwrap();
        let own = format!("/proc/{}/fd/2", std::process::id());
        for (path, number) in [
            ("/dev/stdin", 0),
            ("/dev/stdout", 1),
            ("/dev/../dev/stderr", 2),
            ("/dev/fd/7", 7),
            ("/proc/self/fd/1", 1),
            ("/proc/thread-self/fd/1", 1),
            (&own, 2),
            (link.to_str().unwrap(), 2),
            (again.to_str().unwrap(), 2),
        ] {
            assert_eq!(of(path.as_ref()), Some(Descriptor::Own(number)), "{path}");
        }
        std::fs::write(folder.path().join("7"), "").unwrap();
        for path in [
            "/dev/null",
            "/dev/fd/x",
            "/etc/passwd",
            "/no/such",
            "r.json",
            "/",
            "..",
        ] {
            assert_eq!(of(path.as_ref()), None, "{path}");
        }
        assert!(!is_named(&folder.path().join("7")));
    }

    #[test]
    fn what_is_written_stands_behind_what_the_descriptor_has_written() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"one\n").unwrap();
        let path = format!("/dev/fd/{}", file.as_raw_fd());
        let mut same = named(path.as_ref()).unwrap().unwrap();
        same.write_all(b"two\n").unwrap();
        file.write_all(b"three\n").unwrap();
        file.rewind().unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "one\ntwo\nthree\n");
    }
}
