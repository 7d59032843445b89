//! Python interpreters that belong to an environment: a virtual environment, or one of conda's.
//!
//! Such an interpreter finds its modules from where it lies; a copy of it alone finds none. So it is
//! started at its own path where the nodes have that, or comes with all of its environment
//! ([`packed`]): of a virtual environment, whose interpreter is a link to another Python, that one's
//! standard library comes too, and the whole stands on its own wherever it is unpacked.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use tar::Header;

use super::archive::ArchiveEntry;
use super::digest::KnownDigests;
use super::elf::Elf;
use super::error::StageError;
use super::libraries;
use super::search::{Requester, Search};

/// Files of an environment, at most: a folder with more was not meant.
const FILES_MAX: usize = 200_000;
/// Says that a folder is a virtual environment, and whose.
const SETTINGS: &str = "pyvenv.cfg";
/// The library of MPICH and its kin.
const MPICH: &str = "libmpi.so.12";
const OPEN_MPI: &str = "libmpi.so.40";
/// Parts of the standard library that no program wants.
const UNWANTED: [&str; 5] = [
    "ensurepip",
    "idlelib",
    "site-packages",
    "test",
    "turtledemo",
];

/// The environment that an interpreter at `path` belongs to.
#[must_use]
pub fn environment_of(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    if !(name.starts_with("python") || name.starts_with("pypy")) {
        return None;
    }
    let path = std::path::absolute(path).ok()?;
    let folder = path.parent()?.parent()?;
    is_environment(folder).then(|| folder.to_path_buf())
}

fn is_environment(folder: &Path) -> bool {
    folder.join(SETTINGS).is_file() || folder.join("conda-meta").is_dir()
}

/// An environment on its way to the nodes.
#[derive(Debug)]
pub struct Packed {
    /// Its files.
    pub entries: Vec<ArchiveEntry>,
    /// The libraries that the standard library's modules need: path inside the folder of libraries,
    /// and where each lies here.
    pub libraries: BTreeMap<String, PathBuf>,
}

fn refused(folder: &Path, why: &'static str) -> StageError {
    StageError::NotShipped {
        path: folder.to_path_buf(),
        name: name_of(folder).unwrap_or_default(),
        why,
    }
}

/// Refuses a folder that is none of an environment.
///
/// # Errors
///
/// It has neither of the files by which one is known.
pub fn check(folder: &Path) -> Result<(), StageError> {
    match is_environment(folder) {
        true => Ok(()),
        false => Err(refused(
            folder,
            "it is no environment of Python: it has neither pyvenv.cfg nor conda-meta; give --venv \
             the folder that python3 -m venv made",
        )),
    }
}

/// All files of the environment in `folder`, its interpreter under the name `interpreter` alone. Of files that `memory`
/// knows only the signs of change are read.
///
/// # Errors
///
/// It is no environment, a file cannot be read, or has a name that an archive cannot hold.
pub fn packed(
    folder: &Path,
    interpreter: &str,
    search: &Search,
    memory: &mut KnownDigests,
) -> Result<Packed, StageError> {
    check(folder)?;
    let mut files = BTreeMap::new();
    let mut modules = Vec::new();
    let base = base_of(folder);
    if let Some(base) = &base {
        let library = base.library()?;
        let inside = format!("lib/{}", base.version);
        gather(&library, &inside, &mut files, &|name| {
            !UNWANTED.contains(&name) && !name.starts_with("config-")
        })?;
        let loaded = format!("{inside}/lib-dynload/");
        let own = files.iter();
        modules.extend(
            own.filter(|(inside, _)| inside.starts_with(&loaded))
                .map(|(_, path): (&String, &PathBuf)| path.clone()),
        );
    }
    gather(folder, "", &mut files, &|_| true)?;
    // Each name of the interpreter would be a copy of it.
    let is_other = |inside: &str| {
        let name = inside.strip_prefix("bin/").unwrap_or_default();
        name != interpreter && (name.starts_with("python") || name.starts_with("pypy"))
    };
    files.retain(|inside, _| !is_other(inside));
    if base.is_some() {
        // It would send the interpreter to the Python that the environment was made from.
        files.remove(SETTINGS);
    }
    let mut entries = Vec::with_capacity(files.len());
    for (inside, source) in files {
        if Header::new_ustar().set_path(&inside).is_err() {
            return Err(refused(folder, "a name in it is too long for an archive"));
        }
        let local = |error| StageError::Local {
            doing: "reading",
            path: source.clone(),
            source: error,
        };
        let (digest, size) = memory.digest(&source).map_err(local)?;
        entries.push(ArchiveEntry {
            inside,
            source,
            size,
            digest: digest.0,
        });
    }
    let mut libraries = BTreeMap::new();
    for module in modules {
        // A module that would not load here is none that the program uses.
        let Ok(Some(elf)) = Elf::read(&module) else {
            continue;
        };
        let Ok(closure) = libraries::closure(&module, &elf, search) else {
            continue;
        };
        libraries.extend(closure.shipped.into_iter().map(|l| (l.inside, l.source)));
    }
    Ok(Packed { entries, libraries })
}

/// The MPI library that mpi4py opens by itself, with all that it needs, where the environment has the
/// one and not the other: path inside the folder of libraries, and where each lies here.
#[must_use]
pub fn opened_by_mpi4py(
    environment: &Path,
    interpreter: (&Elf, &Path),
    search: &Search,
) -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    let library = environment.join("lib");
    let versions = fs::read_dir(&library).into_iter().flatten().flatten();
    let mut packages = versions.map(|version| version.path().join("site-packages/mpi4py"));
    let has_its_own = [MPICH, OPEN_MPI]
        .iter()
        .any(|mpi| library.join(mpi).exists());
    if has_its_own || !packages.any(|package| package.is_dir()) {
        return found;
    }
    let folders = search.folders(&Requester {
        chain: vec![interpreter],
    });
    let Some(mpi) = search.find(MPICH, &folders) else {
        return found;
    };
    if let Ok(closure) = libraries::closure(&mpi.path, &mpi.elf, search) {
        found.extend(closure.shipped.into_iter().map(|l| (l.inside, l.source)));
        found.insert(MPICH.to_owned(), mpi.path);
    }
    found
}

/// The last part of a path.
#[must_use]
pub fn name_of(folder: &Path) -> Option<String> {
    let folder = std::path::absolute(folder).ok()?;
    folder.file_name()?.to_str().map(str::to_owned)
}

/// The Python that a virtual environment was made from.
struct Base {
    /// Of its commands.
    home: PathBuf,
    /// `python3.11`
    version: String,
}

impl Base {
    /// Where its standard library lies.
    fn library(&self) -> Result<PathBuf, StageError> {
        let beside = self.home.parent().unwrap_or(Path::new("/"));
        let library = beside.join("lib").join(&self.version);
        match library.join("os.py").is_file() {
            true => Ok(library),
            false => Err(StageError::NotShipped {
                path: library,
                name: self.version.clone(),
                why: "the Python that the environment was made from has no standard library there",
            }),
        }
    }
}

fn base_of(folder: &Path) -> Option<Base> {
    let text = fs::read_to_string(folder.join(SETTINGS)).ok()?;
    let value = |wanted: &str| {
        text.lines().find_map(|line| {
            let (key, value) = line.split_once('=')?;
            (key.trim() == wanted).then(|| value.trim().to_owned())
        })
    };
    // venv writes the one, virtualenv and uv the other.
    let version = value("version").or_else(|| value("version_info"))?;
    let mut numbers = version.split('.');
    let (major, minor) = (numbers.next()?, numbers.next()?);
    Some(Base {
        home: PathBuf::from(value("home")?),
        version: format!("python{major}.{minor}"),
    })
}

/// Puts the regular files below `folder` into `files`, by their paths inside: links to files are such,
/// links to folders are left out, compiled modules too, which are bound to their sources' times.
fn gather(
    folder: &Path,
    inside: &str,
    files: &mut BTreeMap<String, PathBuf>,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Result<(), StageError> {
    let top = folder;
    let mut folders = vec![(folder.to_path_buf(), inside.to_owned())];
    while let Some((folder, inside)) = folders.pop() {
        let listing = |source| StageError::Local {
            doing: "listing",
            path: folder.clone(),
            source,
        };
        for entry in fs::read_dir(&folder).map_err(listing)? {
            let entry = entry.map_err(listing)?;
            let name = entry.file_name();
            let path = entry.path();
            let Some(text) = name.to_str().filter(|name| *name != "__pycache__") else {
                continue;
            };
            if folder == top && !is_wanted(text) {
                continue;
            }
            let below = match inside.as_str() {
                "" => text.to_owned(),
                inside => format!("{inside}/{text}"),
            };
            let kind = entry.file_type().map_err(listing)?;
            if kind.is_dir() {
                folders.push((path, below));
            } else if fs::metadata(&path).is_ok_and(|there| there.is_file()) {
                let path = fs::canonicalize(&path).map_err(listing)?;
                files.insert(below, path);
            }
            if files.len() > FILES_MAX {
                return Err(StageError::NotShipped {
                    path: folder,
                    name: OsStr::to_string_lossy(&name).into_owned(),
                    why: "an environment has at most 200000 files",
                });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program;

    fn file(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn an_interpreter_of_an_environment_is_known_by_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        for name in ["v/bin/python3", "v/bin/tool", "plain/bin/python3"] {
            file(&top.join(name), "");
        }
        file(&top.join("v/pyvenv.cfg"), "home = /usr/bin\n");
        let of = |name: &str| environment_of(&top.join(name));
        assert_eq!(of("v/bin/python3"), Some(top.join("v")));
        assert_eq!(of("v/bin/tool"), None);
        assert_eq!(of("plain/bin/python3"), None);
    }

    #[test]
    fn the_library_that_mpi4py_opens_is_brought_unless_the_environment_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let v = folder.path().join("v");
        let own = std::env::current_exe().unwrap();
        let elf = Elf::read(&own).unwrap().unwrap();
        let system = folder.path().join("system");
        fs::create_dir_all(&system).unwrap();
        fs::copy(&own, system.join(MPICH)).unwrap();
        let search = Search::new(elf.machine, Some(system.as_os_str()), Path::new("/"));
        let opened = || opened_by_mpi4py(&v, (&elf, &own), &search);
        assert!(opened().is_empty());
        fs::create_dir_all(v.join("lib/python3.11/site-packages/mpi4py")).unwrap();
        assert_eq!(opened().get(MPICH), Some(&system.join(MPICH)));
        fs::write(v.join("lib").join(MPICH), "").unwrap();
        assert!(opened().is_empty());
    }

    #[test]
    fn an_environment_is_packed_with_the_python_it_was_made_from() {
        let folder = tempfile::tempdir().unwrap();
        let (base, v) = (folder.path().join("base"), folder.path().join("v"));
        for name in [
            "bin/python3.11",
            "lib/python3.11/os.py",
            "lib/python3.11/test/big.py",
            "lib/python3.11/json/test/kept.py",
            "lib/python3.11/json/__pycache__/x.pyc",
            "lib/python3.11/site-packages/theirs.py",
        ] {
            file(&base.join(name), name);
        }
        file(&v.join("lib/python3.11/site-packages/mine/a.py"), "");
        file(&v.join("lib/libmpi.so.12.5"), "");
        let link = |from: &str, to: &Path| {
            fs::create_dir_all(v.join(from).parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(to, v.join(from)).unwrap();
        };
        link("lib/libmpi.so.12", Path::new("libmpi.so.12.5"));
        link("bin/python3", &base.join("bin/python3.11"));
        link("bin/python", Path::new("python3"));
        link("lib64", Path::new("lib"));
        let machine = program::machine_of(&std::env::current_exe().unwrap()).unwrap();
        let search = Search::new(machine, None, Path::new("/"));
        let mut memory = KnownDigests::open(None);
        assert!(packed(&v, "python3", &search, &mut memory).is_err());
        let home = base.join("bin").display().to_string();
        file(
            &v.join("pyvenv.cfg"),
            &format!("home = {home}\nversion = 3.11.7\n"),
        );
        let packed = packed(&v, "python3", &search, &mut memory).unwrap();
        let names: Vec<&str> = (packed.entries.iter())
            .map(|entry| entry.inside.as_str())
            .collect();
        assert_eq!(
            names,
            [
                "bin/python3",
                "lib/libmpi.so.12",
                "lib/libmpi.so.12.5",
                "lib/python3.11/json/test/kept.py",
                "lib/python3.11/os.py",
                "lib/python3.11/site-packages/mine/a.py",
            ]
        );
    }
}
