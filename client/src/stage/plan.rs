//! What has to be in the cache: reads the local files, speaks to nobody.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use job::StagedKind;
use job::role::BINARY_LINK;

use crate::arguments::Shipped;

use super::archive::{Archive, Entry};
use super::digest::Memory;
use super::error::StageError;
use super::libraries::{self, Closure, Left};
use super::link::program_link;
use super::program::{self, Kind};
use super::search::Search;
use super::upload::{Source, Wanted};
use super::{LIBRARY_LINK, Named, Placed, Request};

/// Names by whose ends NodeManagers know how to unpack an archive.
pub(super) const SUFFIXES: [&str; 4] = [".tar.gz", ".tgz", ".tar", ".zip"];

/// The local side of a request.
#[derive(Debug)]
pub struct Local {
    own_binary: PathBuf,
    programs: Vec<Named>,
    ship_libraries: bool,
    shipped: [Vec<Shipped>; 2],
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
            programs: request.programs.clone(),
            ship_libraries: request.ship_libraries,
            shipped: request.shipped.clone(),
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
    /// This binary, the programs, the libraries.
    pub items: Vec<Item>,
    /// The programs, as they were asked for.
    pub programs: Vec<Placed>,
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
    let mut memory = Memory::open(local.memory.as_deref());
    let mut plan = Plan {
        items: vec![file(BINARY_LINK, &local.own_binary, &mut memory)?],
        programs: Vec::with_capacity(local.programs.len()),
        left: Vec::new(),
    };
    for named in &local.programs {
        let path = search_path(named.first_in.as_ref(), local.path_variable.as_ref());
        let found = program::locate(&named.name, path.as_deref())?;
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
        let link = file(&program_link(&program.name), &program.path, &mut memory)?;
        let digest = link.wanted.name.clone();
        let link = plan.add(link);
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
        let library_folder = (!entries.is_empty()).then(|| plan.add(libraries(entries)));
        plan.programs.push(Placed {
            link,
            library_folder,
            digest,
            library_variables: closure.variables,
            glibc_needed: closure
                .glibc
                .map(|(version, file)| (version.to_string(), file.display().to_string())),
        });
        for left in closure.left {
            if !plan.left.contains(&left) {
                plan.left.push(left);
            }
        }
    }
    let [files, archives] = &local.shipped;
    let files = files.iter().map(|shipped| (shipped, StagedKind::File));
    let archives = archives
        .iter()
        .map(|shipped| (shipped, StagedKind::Archive));
    for (shipped, kind) in files.chain(archives) {
        plan.bring(shipped, kind, &mut memory)?;
    }
    memory.close();
    Ok(plan)
}

impl Plan {
    /// Adds what the user brings along, under its very name.
    fn bring(
        &mut self,
        shipped: &Shipped,
        kind: StagedKind,
        memory: &mut Memory,
    ) -> Result<(), StageError> {
        let refused = |why| StageError::NotShipped {
            path: shipped.path.clone(),
            name: shipped.name.clone(),
            why,
        };
        if shipped.path.is_dir() {
            return Err(refused(
                "it is a folder; pack it, and bring it with --archives",
            ));
        }
        if program_link(&shipped.name) != shipped.name {
            return Err(refused(
                "that name cannot stand in a container; give it another name with FILE#NAME",
            ));
        }
        let mut item = file(&shipped.name, &shipped.path, memory)?;
        if kind == StagedKind::Archive {
            let file_name = shipped.path.to_string_lossy();
            let suffix = SUFFIXES.iter().find(|suffix| file_name.ends_with(*suffix));
            let suffix = suffix.ok_or_else(|| {
                refused("archives are .tar, .tar.gz, .tgz or .zip; bring other files with --files")
            })?;
            item.kind = kind;
            item.wanted.name.push_str(suffix);
        }
        match self.add(item) == shipped.name {
            true => Ok(()),
            false => Err(refused(
                "that name is taken by another file; give it another name with FILE#NAME",
            )),
        }
    }

    /// Adds an item, once, and returns its link: another where that name is taken by something else.
    fn add(&mut self, mut item: Item) -> String {
        let wished = item.link.clone();
        for number in 2.. {
            let Some(there) = self.items.iter().find(|there| there.link == item.link) else {
                break;
            };
            if there.wanted.name == item.wanted.name {
                return item.link;
            }
            item.link = format!("{wished}-{number}");
        }
        let link = item.link.clone();
        self.items.push(item);
        link
    }
}

/// `first` before the folders of `PATH`.
fn search_path(first: Option<&OsString>, path: Option<&OsString>) -> Option<OsString> {
    let mut all = match first {
        None => return path.cloned(),
        Some(first) => first.clone(),
    };
    if let Some(path) = path {
        all.push(":");
        all.push(path);
    }
    Some(all)
}

fn libraries(entries: Vec<Entry>) -> Item {
    let archive = Archive::new(entries);
    Item {
        link: LIBRARY_LINK.into(),
        kind: StagedKind::Archive,
        wanted: Wanted {
            // NodeManagers choose by the suffix how to unpack.
            name: format!("{}.tar", archive.identity()),
            size: archive.size(),
            source: Source::Archive(archive),
        },
    }
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
