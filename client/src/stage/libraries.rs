//! Everything beyond the C library that a program needs, laid out in one folder.
//!
//! On the node `LD_LIBRARY_PATH` names that folder, so every library lies in it under the name that
//! others need it by, wherever it was found. Providers keep their folder beside the library that
//! loads them ([`rules::providers`]), and Intel MPI has more that it opens by itself ([`intel`]). A program linked with RPATH (not RUNPATH) looks there first,
//! also on the node.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use super::elf::{Elf, Glibc};
use super::error::StageError;
use super::intel::{self, Intel};
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
pub struct Left {
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
    pub left: Vec<Left>,
    /// Newest C library version wanted, and the file that wants it. Providers do not count: one that
    /// the node's C library is too old for is left aside when it is loaded.
    pub glibc: Option<(Glibc, PathBuf)>,
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
    let mut walk = Walk {
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

struct Walk<'a> {
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

impl Walk<'_> {
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
            self.closure.left.push(Left {
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
        found.sort_by(|a, b| a.0.cmp(&b.0));
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
mod tests {
    use super::*;
    use crate::stage::crafted::Crafted;
    use std::ffi::OsStr;
    use std::os::unix::fs::symlink;

    struct Lab {
        folder: tempfile::TempDir,
    }

    impl Lab {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            Self { folder }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn library(&self, name: &str, crafted: &Crafted<'_>) {
            crafted.write(&self.path(name));
        }

        /// The closure of `bin/program`, with the laboratory as the system's root.
        fn closure(&self, library_path: &str) -> Result<Closure, StageError> {
            let program = self.path("bin/program");
            let elf = Elf::read(&program).unwrap().unwrap();
            let variable = Some(OsStr::new(library_path));
            let search = Search::new(elf.machine, variable, self.folder.path());
            closure(&program, &elf, &search)
        }
    }

    fn inside(closure: &Closure) -> Vec<&str> {
        closure
            .shipped
            .iter()
            .map(|shipped| shipped.inside.as_str())
            .collect()
    }

    /// As the wheels of MPICH 5 are laid out.
    fn mpich(lab: &Lab) {
        let own = |folder| Crafted {
            runpath: Some(folder),
            ..Crafted::default()
        };
        let program = Crafted {
            needed: &["libmpi.so.12", "libc.so.6"],
            runpath: Some("$ORIGIN/../lib"),
            versions: &["GLIBC_2.2.5", "GLIBC_2.17"],
            ..Crafted::default()
        };
        lab.library("bin/program", &program);
        let mpi = Crafted {
            needed: &["libfabric.so.1", "libucs.so.0", "libm.so.6"],
            runpath: Some("$ORIGIN:$ORIGIN/mpich"),
            versions: &["GLIBC_2.28"],
            ..Crafted::default()
        };
        lab.library("lib/libmpi.so.12", &mpi);
        lab.library(
            "lib/mpich/libfabric.so.1",
            &own("$ORIGIN:$ORIGIN/libfabric"),
        );
        lab.library("lib/mpich/libucs.so.0.0.0", &own("$ORIGIN:$ORIGIN/ucx"));
        symlink("libucs.so.0.0.0", lab.path("lib/mpich/libucs.so.0")).unwrap();
        let verbs = Crafted {
            needed: &[
                "libfabric.so.1",
                "libibverbs.so.1",
                "libnl-3.so.200",
                "libgone.so.1",
            ],
            soname: Some("libverbs-fi.so"),
            versions: &["GLIBC_2.38"],
            ..Crafted::default()
        };
        lab.library("lib/mpich/libfabric/libverbs-fi.so", &verbs);
        let transport = Crafted {
            needed: &["libucs.so.0"],
            soname: Some("libuct_ib.so.0"),
            ..Crafted::default()
        };
        lab.library("lib/mpich/ucx/libuct_ib.so.0.0.0", &transport);
        symlink(
            "libuct_ib.so.0.0.0",
            lab.path("lib/mpich/ucx/libuct_ib.so.0"),
        )
        .unwrap();
        symlink("libuct_ib.so.0", lab.path("lib/mpich/ucx/libuct_ib.so")).unwrap();
        let dependent = Crafted {
            needed: &["libuct_ib.so.0"],
            soname: Some("libuct_rdmacm.so.0"),
            runpath: Some("$ORIGIN:$ORIGIN/.."),
            ..Crafted::default()
        };
        lab.library("lib/mpich/ucx/libuct_rdmacm.so.0", &dependent);
        fs::write(lab.path("lib/mpich/ucx/README"), "not a library").unwrap();
        lab.library("usr/lib/libnl-3.so.200", &Crafted::default());
        lab.library("usr/lib/libibverbs.so.1", &Crafted::default());
    }

    #[test]
    fn providers_keep_their_folder_and_everything_else_lies_flat() {
        let lab = Lab::new();
        mpich(&lab);
        let closure = lab.closure("").unwrap();
        let wanted = [
            "libfabric.so.1",
            "libfabric/libverbs-fi.so",
            "libmpi.so.12",
            "libnl-3.so.200",
            "libucs.so.0",
            "ucx/libuct_ib.so.0",
            "ucx/libuct_rdmacm.so.0",
        ];
        assert_eq!(inside(&closure), wanted);
        let source = |name: &str| {
            let shipped = closure
                .shipped
                .iter()
                .find(|shipped| shipped.inside == name);
            shipped.unwrap().source.clone()
        };
        let real = lab
            .path("lib/mpich/libucs.so.0.0.0")
            .canonicalize()
            .unwrap();
        assert_eq!(source("libucs.so.0"), real);
        let why = |name: &str| {
            let left = closure.left.iter().find(|left| left.library == name);
            left.unwrap().why
        };
        assert_eq!(why("libibverbs.so.1"), Some(Stays::Fabric));
        assert_eq!(why("libgone.so.1"), None);
        assert_eq!(why("libm.so.6"), Some(Stays::CLibrary));
        let (version, file) = closure.glibc.unwrap();
        assert_eq!(version.to_string(), "2.28");
        assert!(file.ends_with("lib/libmpi.so.12"), "{}", file.display());
    }

    #[test]
    fn what_intel_mpi_opens_by_itself_travels_with_the_variables_that_say_where() {
        let lab = Lab::new();
        let needs = |library: &'static [&'static str]| Crafted {
            needed: library,
            ..Crafted::default()
        };
        lab.library("bin/program", &needs(&["libmpi.so.12"]));
        lab.library("intel/lib/libmpi.so.12", &needs(&["libc.so.6"]));
        let fabric = "intel/lib/libfabric/libfabric.so.1";
        lab.library(fabric, &needs(&["libc.so.6"]));
        let provider = "intel/lib/libfabric/prov/libtcp-fi.so";
        lab.library(provider, &needs(&["libfabric.so.1", "libgone.so.1"]));
        let tables = lab.path("intel/opt/mpi/etc");
        fs::create_dir_all(&tables).unwrap();
        fs::write(tables.join("tuning_generic_shm.dat"), "table").unwrap();
        let path = lab.path("intel/lib");
        let closure = lab.closure(path.to_str().unwrap()).unwrap();
        let wanted = [
            "libfabric.so.1",
            "libmpi.so.12",
            "opt/mpi/etc/tuning_generic_shm.dat",
            "prov/libtcp-fi.so",
        ];
        assert_eq!(inside(&closure), wanted);
        let variable = |name: &str, inside: &str| (name.to_owned(), inside.to_owned());
        assert_eq!(
            closure.variables,
            [
                variable("FI_PROVIDER_PATH", "prov"),
                variable("I_MPI_ROOT", "")
            ]
        );
        // MPICH finds its own by itself.
        mpich(&lab);
        assert_eq!(lab.closure("").unwrap().variables, []);
    }

    #[test]
    fn a_network_library_that_the_program_itself_needs_travels() {
        let lab = Lab::new();
        mpich(&lab);
        let program = Crafted {
            needed: &["libmpi.so.12", "libibverbs.so.1"],
            runpath: Some("$ORIGIN/../lib"),
            ..Crafted::default()
        };
        lab.library("bin/program", &program);
        assert!(inside(&lab.closure("").unwrap()).contains(&"libibverbs.so.1"));
    }

    #[test]
    fn a_missing_library_is_named_with_who_wants_it_and_where_was_looked() {
        let lab = Lab::new();
        mpich(&lab);
        fs::remove_file(lab.path("lib/mpich/libfabric.so.1")).unwrap();
        let missing = lab.closure("").unwrap_err();
        assert_eq!(missing.exit(), job::exit::Exit::NotExecutable);
        let said = missing.to_string();
        for word in [
            "library libfabric.so.1, which ",
            "lib/libmpi.so.12 needs",
            "lib/mpich, ",
            "LD_LIBRARY_PATH",
            "--no-ship-libs",
        ] {
            assert!(said.contains(word), "{word:?} is not in {said}");
        }
    }

    #[test]
    fn an_rpath_is_inherited_and_a_runpath_is_not() {
        let lab = Lab::new();
        let needs = |library: &'static [&'static str]| Crafted {
            needed: library,
            ..Crafted::default()
        };
        lab.library("opt/liba.so", &needs(&["libb.so"]));
        lab.library("opt/libb.so", &needs(&[]));
        let opt = lab.path("opt");
        let mut program = needs(&["liba.so"]);
        program.rpath = opt.to_str();
        lab.library("bin/program", &program);
        assert_eq!(inside(&lab.closure("").unwrap()), ["liba.so", "libb.so"]);
        program.runpath = program.rpath.take();
        lab.library("bin/program", &program);
        let missing = lab.closure("").unwrap_err().to_string();
        assert!(missing.contains("library libb.so"), "{missing}");
        assert_eq!(
            inside(&lab.closure(opt.to_str().unwrap()).unwrap()).len(),
            2
        );
    }

    #[test]
    fn libraries_that_need_each_other_come_to_an_end() {
        let lab = Lab::new();
        let needs = |library: &'static [&'static str]| Crafted {
            needed: library,
            ..Crafted::default()
        };
        lab.library(
            "bin/program",
            &needs(&["liba.so", "/opt/fixed.so", "libcuda.so.1"]),
        );
        lab.library("lib/liba.so", &needs(&["libb.so"]));
        lab.library("lib/libb.so", &needs(&["liba.so"]));
        let closure = lab.closure("").unwrap();
        assert_eq!(inside(&closure), ["liba.so", "libb.so"]);
        assert_eq!(closure.left.len(), 2);
        assert_eq!(closure.left[1].why, Some(Stays::Driver));
    }
}
