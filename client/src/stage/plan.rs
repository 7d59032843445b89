//! What has to be in the cache: reads the local files, speaks to nobody.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use job::StagedKind;
use job::role::BINARY_LINK;

use super::archive::{Archive, Entry};
use super::digest::Memory;
use super::error::StageError;
use super::libraries::{self, Closure, Left};
use super::link::program_link;
use super::program::{self, Kind};
use super::search::Search;
use super::upload::{Source, Wanted};
use super::{LIBRARY_LINK, Request};

/// The local side of a request.
#[derive(Debug)]
pub struct Local {
    own_binary: PathBuf,
    program: PathBuf,
    ship_libraries: bool,
    path_variable: Option<OsString>,
    library_path: Option<OsString>,
    memory: Option<PathBuf>,
}

impl Local {
    /// Of a request and its environment.
    pub fn of(request: &Request<'_>) -> Self {
        let absolute = |name: &str| {
            let path = (request.environment)(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let caches =
            absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
        Self {
            own_binary: request.own_binary.clone(),
            program: request.program.clone(),
            ship_libraries: request.ship_libraries,
            path_variable: (request.environment)("PATH"),
            library_path: (request.environment)("LD_LIBRARY_PATH"),
            memory: caches.map(|folder| folder.join("gerbil")),
        }
    }
}

/// A file for the cache and its place in the working directory.
#[derive(Clone, Debug)]
pub struct Item {
    /// Link name.
    pub link: String,
    /// Linked or unpacked.
    pub kind: StagedKind,
    /// The file.
    pub wanted: Wanted,
}

/// All that a job needs.
#[derive(Debug)]
pub struct Plan {
    /// This binary, the program, the libraries.
    pub items: Vec<Item>,
    /// Link name of the program.
    pub program_link: String,
    /// Link name of the libraries, if there are any.
    pub library_folder: Option<String>,
    /// Newest C library version wanted, and by which file.
    pub glibc_needed: Option<(String, String)>,
    /// Libraries that do not travel.
    pub left: Vec<Left>,
}

/// Reads and hashes everything.
///
/// # Errors
///
/// The program is none, a library is missing, a file cannot be read.
pub fn plan(local: &Local) -> Result<Plan, StageError> {
    let machine = program::machine_of(&local.own_binary)?;
    let found = program::locate(&local.program, local.path_variable.as_deref())?;
    let program = program::inspect(&found, machine)?;
    let closure = match &program.kind {
        Kind::Elf(elf) if local.ship_libraries => {
            let search = Search::new(machine, local.library_path.as_deref(), Path::new("/"));
            libraries::closure(&program.path, elf, &search)?
        }
        Kind::Elf(elf) => Closure {
            glibc: elf.glibc.map(|version| (version, program.path.clone())),
            ..Closure::default()
        },
        Kind::Script => Closure::default(),
    };

    let mut memory = Memory::open(local.memory.as_deref());
    let program_link = program_link(&program.name);
    let mut items = vec![
        file(BINARY_LINK, &local.own_binary, &mut memory)?,
        file(&program_link, &program.path, &mut memory)?,
    ];
    let mut entries = Vec::with_capacity(closure.shipped.len());
    for shipped in closure.shipped {
        let (digest, size) = memory
            .digest(&shipped.source)
            .map_err(reading(&shipped.source))?;
        entries.push(Entry {
            inside: shipped.inside,
            source: shipped.source,
            size,
            digest: digest.0,
        });
    }
    memory.close();
    let library_folder = (!entries.is_empty()).then(|| LIBRARY_LINK.to_owned());
    if library_folder.is_some() {
        let archive = Archive::new(entries);
        items.push(Item {
            link: LIBRARY_LINK.into(),
            kind: StagedKind::Archive,
            wanted: Wanted {
                // NodeManagers choose by the suffix how to unpack.
                name: format!("{}.tar", archive.identity()),
                size: archive.size(),
                source: Source::Archive(archive),
            },
        });
    }
    Ok(Plan {
        items,
        program_link,
        library_folder,
        glibc_needed: closure
            .glibc
            .map(|(version, file)| (version.to_string(), file.display().to_string())),
        left: closure.left,
    })
}

fn reading(path: &Path) -> impl FnOnce(std::io::Error) -> StageError {
    let path = path.to_path_buf();
    move |source| StageError::Local {
        doing: "reading",
        path,
        source,
    }
}

fn file(link: &str, path: &Path, memory: &mut Memory) -> Result<Item, StageError> {
    let (digest, size) = memory.digest(path).map_err(reading(path))?;
    Ok(Item {
        link: link.into(),
        kind: StagedKind::File,
        wanted: Wanted {
            name: digest.to_string(),
            size,
            source: Source::File {
                path: path.to_path_buf(),
                digest,
            },
        },
    })
}
