//! What the node is made of, found out once for all its ranks.
//!
//! Each rank of MPICH asks hwloc for processors, caches, memory and devices, which reads some 150 files
//! below `/sys` of a small machine and thousands of a large one. Where the process manager has a value
//! for the key `PMI_hwloc_xmlfile` they read the file of that name instead, as Hydra's do. Such a file
//! is written by hwloc itself, the node's own or one that came with the program's libraries, so that
//! what ranks learn is the same. That happens in a process beside the launcher: what it loads, and what
//! may go wrong there, is not the launcher's. Nobody waits for it: ranks that ask before the file is
//! there, or on a node without hwloc, look for themselves.

use std::ffi::{CString, OsString, c_char, c_int, c_uint, c_ulong, c_void};
use std::io::Error;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::ptr::null_mut;

use job::Role;
use job::exit::Exit;
use libloading::Library;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::alarm;

use crate::say;
use crate::surroundings::Surroundings;

/// The key by which MPICH asks for the file.
pub(crate) const KEY: &str = "PMI_hwloc_xmlfile";
/// What a user says to hwloc by variables could not be heard through the file.
const VARIABLES: &str = "HWLOC_";
/// Name of the file in the working directory of the container.
const FILE: &str = ".gerbil-topology.xml";
/// The binary interface of all hwloc 2.
const LIBRARY: &str = "libhwloc.so.15";
/// hwloc 2 reads the files of every hwloc 2.
const MAJOR: c_uint = 2;
/// `HWLOC_TYPE_FILTER_KEEP_ALL`: MPICH wants to know network devices too.
const KEEP_ALL: c_int = 0;
/// hwloc needs milliseconds, on very large machines some hundred of them.
const SECONDS_MAX: u32 = 20;
/// Plugins load drivers of devices, which takes seconds; hwloc within MPICH has none.
const SETTINGS: [(&str, &str); 2] = [
    ("HWLOC_PLUGINS_PATH", "/nonexistent"),
    ("HWLOC_HIDE_ERRORS", "2"),
];

/// Where the file will be.
#[derive(Debug)]
pub(crate) struct Topology {
    file: PathBuf,
    is_there: bool,
}

impl Topology {
    /// Starts the executable to write the file into the working directory, unless the user has something
    /// to say to hwloc. The thread that reaps ranks reaps it.
    pub(crate) fn begin(around: &Surroundings) -> Option<Self> {
        if around.environment.keys().any(is_said) {
            return None;
        }
        let file = around.folder.join(FILE);
        // PMI separates by blanks.
        let text = file.to_str()?;
        if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return None;
        }
        let started = around
            .command(Role::Topology)
            .arg(&file)
            .envs(SETTINGS)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        started.ok()?;
        Some(Self {
            file,
            is_there: false,
        })
    }

    /// The file, once it is there.
    pub(crate) fn file(&mut self) -> Option<&str> {
        self.is_there = self.is_there || self.file.exists();
        self.file.to_str().filter(|_| self.is_there)
    }
}

/// Whether a variable of this name is read by hwloc.
pub(crate) fn is_said(name: impl AsRef<std::ffi::OsStr>) -> bool {
    name.as_ref().as_bytes().starts_with(VARIABLES.as_bytes())
}

/// Runs the role: `args` are what follows it on the command line, the file to be written.
pub fn topology_main(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(file) = args.next() else {
        say("a topology needs the name of a file; only a launcher wants one");
        return ExitCode::from(Exit::Usage.code());
    };
    // Whatever hwloc hangs on, nobody would end it.
    alarm::set(SECONDS_MAX);
    // A launcher that dies before this is noticed by its warden.
    set_pdeathsig(Signal::SIGKILL).ok();
    let file = PathBuf::from(file);
    match write(&file) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Why there is no file.
#[derive(Debug, thiserror::Error)]
enum TopologyError {
    #[error("no {LIBRARY}: {source}")]
    Library { source: libloading::Error },
    #[error("{LIBRARY} has version {version}, not {MAJOR}")]
    Version { version: c_uint },
    #[error("hwloc: {what}: {source}")]
    Call { what: &'static str, source: Error },
    #[error("{file}: {source}")]
    File { file: PathBuf, source: Error },
}

/// Has hwloc write a file, which is whole as soon as it is there.
fn write(file: &Path) -> Result<(), TopologyError> {
    let half = file.with_extension("half");
    let folder = file.parent().unwrap_or(Path::new("."));
    export(&library(folder)?, &half)?;
    std::fs::rename(&half, file).map_err(|source| TopologyError::File {
        file: file.to_owned(),
        source,
    })
}

/// The node's own, or one in a folder of libraries below `folder`.
fn library(folder: &Path) -> Result<Library, TopologyError> {
    let own = match open(Path::new(LIBRARY)) {
        Ok(library) => return Ok(library),
        Err(source) => TopologyError::Library { source },
    };
    let folders = std::fs::read_dir(folder).into_iter().flatten().flatten();
    folders
        .map(|entry| entry.path().join(LIBRARY))
        .filter(|path| path.exists())
        .find_map(|path| open(&path).ok())
        .ok_or(own)
}

#[expect(unsafe_code, reason = "a library is loaded")]
fn open(path: &Path) -> Result<Library, libloading::Error> {
    // SAFETY: the initialisers of hwloc and of what it is linked to have no conditions. This process is
    // there for this alone.
    unsafe { Library::new(path) }
}

/// hwloc's `hwloc_topology_t`.
type Handle = *mut c_void;

#[expect(unsafe_code, reason = "hwloc is a C library")]
fn export(library: &Library, file: &Path) -> Result<(), TopologyError> {
    let missing = |source| TopologyError::Library { source };
    let done = |what, result: c_int| match result {
        0 => Ok(()),
        _ => Err(TopologyError::Call {
            what,
            source: Error::last_os_error(),
        }),
    };
    let name = CString::new(file.as_os_str().as_bytes()).map_err(|error| TopologyError::File {
        file: file.to_owned(),
        source: error.into(),
    })?;
    // SAFETY: the functions have these types in every hwloc that has this soname (`hwloc.h` and
    // `hwloc/export.h` of 2.0 to 2.12). The handle is used between `init`, which sets it, and the end of
    // the process; `name` lives until after the last call.
    unsafe {
        let version = library.get::<unsafe extern "C" fn() -> c_uint>("hwloc_get_api_version");
        let version = version.map_err(missing)?();
        if version >> 16 != MAJOR {
            return Err(TopologyError::Version { version });
        }
        let init = library.get::<unsafe extern "C" fn(*mut Handle) -> c_int>("hwloc_topology_init");
        let filter = library.get::<unsafe extern "C" fn(Handle, c_int) -> c_int>(
            "hwloc_topology_set_io_types_filter",
        );
        let load = library.get::<unsafe extern "C" fn(Handle) -> c_int>("hwloc_topology_load");
        let export = library.get::<unsafe extern "C" fn(Handle, *const c_char, c_ulong) -> c_int>(
            "hwloc_topology_export_xml",
        );
        let mut handle: Handle = null_mut();
        done("init", init.map_err(missing)?(&raw mut handle))?;
        done("filter", filter.map_err(missing)?(handle, KEEP_ALL))?;
        done("load", load.map_err(missing)?(handle))?;
        done("export", export.map_err(missing)?(handle, name.as_ptr(), 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hwloc_describes_this_machine() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE);
        // Not passed over where there is none: `it/setup` installs it.
        write(&file).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains("<topology version=\"2"), "{text}");
        assert!(text.contains("type=\"PU\""), "{text}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_no_library_is_not_loaded() {
        let folder = tempfile::tempdir().unwrap();
        assert!(open(&folder.path().join(LIBRARY)).is_err());
        let inner = folder.path().join("lib");
        std::fs::create_dir(&inner).unwrap();
        std::fs::write(inner.join(LIBRARY), "no library").unwrap();
        assert!(open(&inner.join(LIBRARY)).is_err());
    }

    #[test]
    fn the_file_counts_when_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let mut topology = Topology {
            file: folder.path().join(FILE),
            is_there: false,
        };
        assert_eq!(topology.file(), None);
        std::fs::write(&topology.file, "").unwrap();
        let name = topology.file.display().to_string();
        assert_eq!(topology.file(), Some(name.as_str()));
        assert!(is_said("HWLOC_XMLFILE") && !is_said("PATH"));
    }
}
