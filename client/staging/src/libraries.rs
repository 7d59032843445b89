//! Everything beyond the C library that a program needs, laid out in one folder.
//!
//! On the node `LD_LIBRARY_PATH` names that folder, so every library lies in it under the name that
//! others need it by, wherever it was found. Providers keep their folder beside the library that
//! loads them ([`rules::providers`]), and Intel MPI and Open MPI have more that they open by themselves ([`intel`],
//! [`open_mpi`](super::open_mpi)). A program
//! linked with RPATH (not RUNPATH) looks there first, also on the node.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use super::elf::{Elf, Glibc};
use super::error::StageError;
use super::intel::{self, Intel};
use super::mpi::{self, MpiLibrary};
use super::open_mpi::OpenMpi;
use super::rules::{self, Stays};
use super::search::{Requester, Search};

/// A library that travels.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shipped {
    /// Path inside the folder: `libmpi.so.12`, `ucx/libuct_ib.so.0`.
    pub inside: String,
    /// Where it lies here, without symbolic links.
    pub source: PathBuf,
}

/// A library that the nodes must have, or that the job does without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftLibrary {
    /// Name as the file that needs it gives it.
    pub library: String,
    /// Which file needs it.
    pub wanted_by: PathBuf,
    /// The rule that leaves it behind; `None` when only a provider wants it and it is not here.
    pub why: Option<Stays>,
}

/// What a program needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Closure {
    /// Sorted by the path inside the folder.
    pub shipped: Vec<Shipped>,
    /// Each library once, in the order it was met.
    pub left: Vec<LeftLibrary>,
    /// Newest C library version wanted, and the file that wants it. Providers do not count: one that
    /// the node's C library is too old for is left aside when it is loaded.
    pub glibc: Option<(Glibc, PathBuf)>,
    /// MPI libraries that the program loads, each with the file that needs it.
    pub mpi: Vec<(MpiLibrary, PathBuf)>,
    /// Variables that the libraries need, each the name and a path inside the folder.
    pub variables: Vec<(String, String)>,
}

/// An object that was found and whose needs are still to be met.
struct Object {
    path: PathBuf,
    elf: Elf,
    /// Index of the object that had it loaded.
    loader: Option<usize>,
    /// A provider, or needed only by providers.
    optional: bool,
}

/// Follows what `program` needs.
///
/// # Errors
///
/// [`StageError::LibraryMissing`] for what the program could not start without.
pub fn closure(program: &Path, elf: &Elf, search: &Search) -> Result<Closure, StageError> {
    let mut walk = ClosureWalk {
        search,
        objects: Vec::new(),
        queue: VecDeque::new(),
        later: VecDeque::new(),
        names: BTreeMap::new(),
        sources: BTreeSet::new(),
        provider_folders: BTreeSet::new(),
        closure: Closure::default(),
    };
    walk.add(program.to_path_buf(), elf.clone(), None, false);
    // What is needed to start comes before what providers want, so that a library wanted by both
    // counts as needed.
    while let Some(index) = walk.queue.pop_front().or_else(|| walk.later.pop_front()) {
        walk.follow(index)?;
    }
    walk.closure.shipped = walk
        .names
        .into_iter()
        .map(|(inside, source)| Shipped { inside, source })
        .collect();
    Ok(walk.closure)
}

struct ClosureWalk<'a> {
    search: &'a Search,
    objects: Vec<Object>,
    queue: VecDeque<usize>,
    later: VecDeque<usize>,
    /// Path inside the folder to source.
    names: BTreeMap<String, PathBuf>,
    /// Sources of `names`.
    sources: BTreeSet<PathBuf>,
    provider_folders: BTreeSet<PathBuf>,
    closure: Closure,
}

impl ClosureWalk<'_> {
    fn add(&mut self, path: PathBuf, elf: Elf, loader: Option<usize>, optional: bool) {
        if !optional && elf.glibc > self.closure.glibc.as_ref().map(|(version, _)| *version) {
            self.closure.glibc = elf.glibc.map(|version| (version, path.clone()));
        }
        let index = self.objects.len();
        self.objects.push(Object {
            path,
            elf,
            loader,
            optional,
        });
        if optional {
            self.later.push_back(index);
        } else {
            self.queue.push_back(index);
        }
    }

    fn requester(&self, index: usize) -> Requester<'_> {
        let mut chain = Vec::new();
        let mut next = self.objects.get(index);
        while let Some(object) = next {
            chain.push((&object.elf, object.path.as_path()));
            // A loader was always met earlier, so this ends.
            next = object.loader.and_then(|loader| self.objects.get(loader));
        }
        Requester { chain }
    }

    fn follow(&mut self, index: usize) -> Result<(), StageError> {
        let Some(object) = self.objects.get(index) else {
            return Ok(());
        };
        let (path, optional) = (object.path.clone(), object.optional);
        let needed = object.elf.needed.clone();
        let folders = self.search.folders(&self.requester(index));
        for name in needed {
            if self.names.contains_key(&name) {
                continue;
            }
            if let Some(library) = mpi::of([name.as_str()]).filter(|_| !optional) {
                self.closure.mpi.push((library, path.clone()));
            }
            let rule = rules::stays(&name);
            let stays = match rule {
                Some(Stays::Fabric) => optional,
                Some(Stays::CLibrary | Stays::Driver) => true,
                // A name with a slash is a path, which the linker opens as it is, here and there.
                None => name.contains('/'),
            };
            if stays {
                self.leave(&name, &path, rule);
                continue;
            }
            match self.search.find(&name, &folders) {
                Some(found) => {
                    let source = canonical(&found.path)?;
                    if optional && self.sources.contains(&source) {
                        // Another provider, which lies in its folder already.
                        continue;
                    }
                    self.sources.insert(source.clone());
                    self.names.insert(name.clone(), source);
                    self.add(found.path.clone(), found.elf, Some(index), optional);
                    let loaded = self.objects.len() - 1;
                    self.add_providers(&name, &found.path, loaded)?;
                    self.add_intel(&name, loaded)?;
                    self.add_open_mpi(&name, loaded)?;
                }
                None if optional => self.leave(&name, &path, None),
                None => {
                    let looked: Vec<String> = folders
                        .iter()
                        .filter(|folder| folder.is_dir())
                        .map(|folder| folder.display().to_string())
                        .collect();
                    return Err(StageError::LibraryMissing {
                        library: name,
                        wanted_by: path,
                        looked: looked.join(", "),
                    });
                }
            }
        }
        Ok(())
    }

    fn leave(&mut self, library: &str, wanted_by: &Path, why: Option<Stays>) {
        if !self.closure.left.iter().any(|left| left.library == library) {
            self.closure.left.push(LeftLibrary {
                library: library.into(),
                wanted_by: wanted_by.to_path_buf(),
                why,
            });
        }
    }

    /// Takes what the library that was `loaded` opens by itself, if it is Intel's.
    fn add_intel(&mut self, name: &str, loaded: usize) -> Result<(), StageError> {
        let Some(object) = self.objects.get(loaded) else {
            return Ok(());
        };
        let Some(intel) = Intel::of(name, &canonical(&object.path)?, &object.elf.needed) else {
            return Ok(());
        };
        for (inside, table) in intel.tables {
            self.names.insert(inside, canonical(&table)?);
        }
        let variables = intel::VARIABLES.into_iter();
        self.closure.variables = variables
            .map(|(name, inside)| (name.into(), inside.into()))
            .collect();
        if self.names.contains_key(intel::FABRIC) {
            return Ok(());
        }
        // One that cannot be read the library will complain of.
        if let Ok(Some(elf)) = Elf::read(&intel.fabric) {
            let source = canonical(&intel.fabric)?;
            self.sources.insert(source.clone());
            self.names.insert(intel::FABRIC.into(), source);
            self.add(intel.fabric.clone(), elf, Some(loaded), false);
            let loaded = self.objects.len() - 1;
            self.add_providers(intel::FABRIC, &intel.fabric, loaded)?;
        }
        Ok(())
    }

    /// Takes what the library that was `loaded` opens by itself, if it is Open MPI's.
    fn add_open_mpi(&mut self, name: &str, loaded: usize) -> Result<(), StageError> {
        let Some(object) = self.objects.get(loaded) else {
            return Ok(());
        };
        let Some(open) = OpenMpi::of(name, &canonical(&object.path)?) else {
            return Ok(());
        };
        for (inside, text) in open.texts {
            self.names.insert(inside, canonical(&text)?);
        }
        for (inside, path) in open.plug_ins {
            // One that cannot be read, or is of another machine, Open MPI goes without.
            let Ok(Some(elf)) = Elf::read(&path) else {
                continue;
            };
            if elf.machine != self.search.machine {
                continue;
            }
            let source = canonical(&path)?;
            self.sources.insert(source.clone());
            self.names.insert(inside, source);
            self.add(path, elf, Some(loaded), true);
        }
        self.closure.variables.extend(open.variables);
        Ok(())
    }

    /// Takes the folders that the library at `path` loads providers from.
    fn add_providers(&mut self, name: &str, path: &Path, loaded: usize) -> Result<(), StageError> {
        let real = canonical(path)?;
        for folder in rules::providers(name) {
            let beside = [path, &real].map(|path| path.with_file_name(folder));
            let Some(source) = beside.into_iter().find(|folder| folder.is_dir()) else {
                continue;
            };
            if !self.provider_folders.insert(canonical(&source)?) {
                continue;
            }
            for (file_name, path, elf) in self.providers_in(&source)? {
                let real = canonical(&path)?;
                self.sources.insert(real.clone());
                self.names.insert(format!("{folder}/{file_name}"), real);
                self.add(path, elf, Some(loaded), true);
            }
        }
        Ok(())
    }

    /// The shared libraries of a folder, each once: under the name that it calls itself if the
    /// folder has that (loaders append the number of their own name), else under its shortest.
    fn providers_in(&self, folder: &Path) -> Result<Vec<(String, PathBuf, Elf)>, StageError> {
        let local = |source| StageError::Local {
            doing: "listing",
            path: folder.to_path_buf(),
            source,
        };
        let mut best: BTreeMap<PathBuf, (bool, String, PathBuf, Elf)> = BTreeMap::new();
        for entry in fs::read_dir(folder).map_err(local)? {
            let path = entry.map_err(local)?.path();
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
                continue;
            };
            let (true, Ok(Some(elf))) = (name.contains(".so"), Elf::read(&path)) else {
                continue;
            };
            if elf.machine != self.search.machine {
                continue;
            }
            let other_name = elf.soname.as_deref() != Some(name);
            let candidate = (other_name, name.to_owned(), path.clone(), elf);
            let rank = |(other, name, ..): &(bool, String, PathBuf, Elf)| {
                (*other, name.len(), name.clone())
            };
            let real = canonical(&path)?;
            if best
                .get(&real)
                .is_none_or(|known| rank(&candidate) < rank(known))
            {
                best.insert(real, candidate);
            }
        }
        let mut found: Vec<(String, PathBuf, Elf)> = best
            .into_values()
            .map(|(_, name, path, elf)| (name, path, elf))
            .collect();
        sort::by(&mut found, |a, b| a.0.cmp(&b.0));
        Ok(found)
    }
}

fn canonical(path: &Path) -> Result<PathBuf, StageError> {
    fs::canonicalize(path).map_err(|source| StageError::Local {
        doing: "finding",
        path: path.to_path_buf(),
        source,
    })
}

#[cfg(test)]
mod tests;
