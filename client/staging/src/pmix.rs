//! By what the ranks of a job find each other, and the libpmix of a program of Open MPI.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::elf::Elf;
use super::error::StageError;
use super::libraries::{self, Closure};
use super::search::Search;

/// The name by which Open MPI, or its plug-in, needs it.
const LIBRARY: &str = "libpmix.so.2";
/// Where Debian's Open MPI 4 has the plug-in that needs it, and where it finds it, below the folder of `libmpi.so.40`.
const PLUG_IN: &str = "openmpi/lib/openmpi3/mca_pmix_ext3x.so";
/// The library that tells where the others are.
const MPI: &str = "libmpi.so.40";

/// Where the package of pip and conda have it, below the environment of Python that has the library of Open MPI.
const OF_PYTHON: [&str; 2] = ["lib/openmpi/libpmix.so.2", "lib/libpmix.so.2"];

/// What stands in a libpmix before its release.
const NAME: &[u8] = b"PMIx ";
/// Longer than any release.
const RELEASE: usize = 32;

/// The libpmix that a program's ranks are served by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Libpmix {
    /// Where it lies on this machine, without symbolic links.
    pub path: PathBuf,
    /// Whether the user named it, and not the program's libraries.
    pub named: bool,
}

impl Libpmix {
    /// Such as `5.0.11`; `None` where the file does not tell. Reads all of it.
    #[must_use]
    pub fn release(&self) -> Option<String> {
        release(&fs::read(&self.path).ok()?)
    }
}

/// By what the ranks of a job find each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProcessManager {
    /// What the program's libraries want.
    #[default]
    Auto,
    /// PMI.
    Pmi,
    /// PMIx.
    Pmix {
        /// Out of this libpmix; `None`: the program's own.
        library: Option<PathBuf>,
    },
}

impl ProcessManager {
    /// The libpmix of a program that has `own`; a program that is `linked` to Open MPI wants it by itself. Where it is to
    /// be PMIx, and the program tells of none, such as a script, it is that which `search` finds for any program.
    ///
    /// # Errors
    ///
    /// It is to be PMIx, and there is none.
    pub(super) fn library(
        &self,
        program: &Path,
        own: Option<PathBuf>,
        linked: bool,
        search: &Search,
    ) -> Result<Option<PathBuf>, StageError> {
        match self {
            Self::Auto => Ok(own.filter(|_| linked)),
            Self::Pmi => Ok(None),
            Self::Pmix {
                library: Some(library),
            } => Ok(Some(library.clone())),
            Self::Pmix { library: None } => match own.or_else(|| search.find_for_any(LIBRARY)) {
                Some(own) => Ok(Some(own)),
                None => Err(StageError::NoPmix {
                    program: program.to_path_buf(),
                }),
            },
        }
    }

    /// What is known of the `library` that was chosen.
    pub(super) fn described(&self, library: &Path) -> Libpmix {
        Libpmix {
            path: library
                .canonicalize()
                .unwrap_or_else(|_unreadable| library.to_path_buf()),
            named: matches!(self, Self::Pmix { library: Some(named) } if named == library),
        }
    }
}

/// A libpmix that is not among the program's libraries, and all that it needs, for nodes that have none: path inside the
/// folder of libraries, and where each lies here.
///
/// # Errors
///
/// It is no library for this machine, or one that it needs is missing.
pub(super) fn brought(
    library: &Path,
    search: &Search,
) -> Result<BTreeMap<String, PathBuf>, StageError> {
    let Ok(Some(elf)) = Elf::read(library) else {
        return Err(StageError::NoLibrary {
            path: library.to_path_buf(),
        });
    };
    let closure = libraries::closure(library, &elf, search)?;
    let mut all: BTreeMap<String, PathBuf> = closure
        .shipped
        .into_iter()
        .map(|shipped| (shipped.inside, shipped.source))
        .collect();
    all.insert(LIBRARY.to_owned(), library.to_path_buf());
    Ok(all)
}

/// The libpmix of an environment of Python that has Open MPI and no other MPI library: its path below that.
pub(super) fn of_python(environment: &Path) -> Option<&'static str> {
    let has = |inside: &str| environment.join(inside).is_file();
    if !has("lib/libmpi.so.40") || has("lib/libmpi.so.12") {
        return None;
    }
    OF_PYTHON.into_iter().find(|inside| has(inside))
}

/// The one that a program with these libraries loads, as far as it is known.
pub(super) fn library(closure: &Closure) -> Option<PathBuf> {
    let source = |name: &str| {
        let found = closure
            .shipped
            .iter()
            .find(|shipped| shipped.inside == name);
        found.map(|shipped| shipped.source.clone())
    };
    source(LIBRARY).or_else(|| of_plug_in(source(MPI)?.parent()?))
}

/// Where it is in the folder `libraries` on the nodes, if it comes with the others.
pub(super) fn shipped(
    others: &BTreeMap<String, PathBuf>,
    libraries: Option<&str>,
) -> Option<String> {
    libraries
        .filter(|_| others.contains_key(LIBRARY))
        .map(|folder| format!("{folder}/{LIBRARY}"))
}

/// The release of a libpmix with these contents: it says of itself `OpenPMIx 4.2.2 (…)`.
fn release(contents: &[u8]) -> Option<String> {
    let names = contents.windows(NAME.len()).enumerate();
    let mut behind = names
        .filter(|(_, window)| *window == NAME)
        .filter_map(|(at, _)| contents.get(at.checked_add(NAME.len())?..));
    behind.find_map(|behind| {
        let word = behind.iter().take(RELEASE);
        let word: Vec<u8> = word
            .copied()
            .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'.')
            .collect();
        let word = String::from_utf8(word).ok()?;
        let is_release = word.starts_with(|first: char| first.is_ascii_digit())
            && word.split('.').filter(|part| !part.is_empty()).count() >= 3;
        is_release.then_some(word)
    })
}

/// Open MPI 4 needs it in a plug-in alone, which finds it beside the other libraries.
fn of_plug_in(folder: &Path) -> Option<PathBuf> {
    let library = folder.join(LIBRARY);
    (folder.join(PLUG_IN).is_file() && library.is_file()).then_some(library)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;
    use crate::libraries::Shipped;

    fn closure(shipped: &[(&str, PathBuf)]) -> Closure {
        Closure {
            shipped: shipped
                .iter()
                .map(|(inside, source)| Shipped {
                    inside: (*inside).to_owned(),
                    source: source.clone(),
                })
                .collect(),
            ..Closure::default()
        }
    }

    #[test]
    fn the_user_s_word_counts_more_than_the_program_s_libraries() {
        let (program, own) = (Path::new("/p"), Some(PathBuf::from("/own")));
        let root = tempfile::tempdir().unwrap();
        let this = std::env::current_exe().unwrap();
        let machine = Elf::read(&this).unwrap().unwrap().machine;
        let search = |path: Option<&OsStr>| Search::new(machine, path, root.path());
        let none = search(None);
        let of =
            |manager: &ProcessManager, linked| manager.library(program, own.clone(), linked, &none);
        assert_eq!(of(&ProcessManager::Auto, true).unwrap(), own);
        assert_eq!(of(&ProcessManager::Auto, false).unwrap(), None);
        assert_eq!(of(&ProcessManager::Pmi, true).unwrap(), None);
        let asked = ProcessManager::Pmix { library: None };
        assert_eq!(of(&asked, false).unwrap(), own);
        let refused = asked.library(program, None, true, &none).unwrap_err();
        assert!(refused.to_string().contains("--pmix"), "{refused}");
        // One that tells of none has that which any program finds.
        let here = root.path().join("l");
        fs::create_dir(&here).unwrap();
        let file = here.join(LIBRARY);
        fs::copy(&this, &file).unwrap();
        let found = search(Some(here.as_os_str()));
        let any = asked.library(program, None, false, &found).unwrap();
        assert_eq!(any, Some(file));
        assert_eq!(of(&asked, false).unwrap(), own, "its own comes first");
        let auto = ProcessManager::Auto.library(program, None, false, &found);
        assert_eq!(auto.unwrap(), None, "nobody has asked");
        let library = Some(PathBuf::from("/l/libpmix.so.2"));
        let named = ProcessManager::Pmix {
            library: library.clone(),
        };
        assert_eq!(of(&named, false).unwrap(), library);
    }

    #[test]
    fn a_libpmix_says_its_release_and_who_chose_it() {
        let text = b"PMIx Standard: 4.2\0PMIx 3\0OpenPMIx 4.2.2rc2 (PMIx Standard: 4.2, Stable)\0";
        assert_eq!(release(text).as_deref(), Some("4.2.2rc2"));
        assert_eq!(release(b"PMIx server 4.2.2"), None);
        // Cut off where the file ends.
        assert_eq!(release(b"OpenPMIx 5.0.11").as_deref(), Some("5.0.11"));
        assert_eq!(release(b"OpenPMIx "), None);
        let library = tempfile::NamedTempFile::new().unwrap();
        fs::write(&library, text).unwrap();
        let path = library.path().canonicalize().unwrap();
        let own = ProcessManager::Auto.described(&path);
        assert!(!own.named && own.path == path, "{own:?}");
        assert_eq!(own.release().as_deref(), Some("4.2.2rc2"));
        let named = ProcessManager::Pmix {
            library: Some(path.clone()),
        };
        assert!(named.described(&path).named);
        let gone = ProcessManager::Auto.described(Path::new("/nonexistent/l"));
        assert_eq!(gone.release(), None);
    }

    #[test]
    fn an_environment_of_python_has_it_beside_open_mpi_alone() {
        let root = tempfile::tempdir().unwrap();
        let make = |inside: &str| {
            let path = root.path().join(inside);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        };
        make("lib/openmpi/libpmix.so.2");
        assert_eq!(of_python(root.path()), None);
        make("lib/libmpi.so.40");
        assert_eq!(of_python(root.path()), Some("lib/openmpi/libpmix.so.2"));
        // Which of the two mpi4py opens nobody knows.
        make("lib/libmpi.so.12");
        assert_eq!(of_python(root.path()), None);
    }

    #[test]
    fn open_mpi_5_needs_it_and_open_mpi_4_has_a_plug_in_that_does() {
        let five = closure(&[
            (MPI, "/v/lib/libmpi.so.40".into()),
            (LIBRARY, "/v/lib/openmpi/libpmix.so.2.13".into()),
        ]);
        assert_eq!(
            library(&five),
            Some("/v/lib/openmpi/libpmix.so.2.13".into())
        );
        let with: BTreeMap<_, _> = five
            .shipped
            .iter()
            .map(|shipped| (shipped.inside.clone(), shipped.source.clone()))
            .collect();
        let there = shipped(&with, Some("gerbil-lib-2"));
        assert_eq!(there.as_deref(), Some("gerbil-lib-2/libpmix.so.2"));
        assert_eq!(shipped(&with, None), None);
        assert_eq!(shipped(&BTreeMap::new(), Some("gerbil-lib")), None);
        let root = tempfile::tempdir().unwrap();
        let four = closure(&[(MPI, root.path().join("libmpi.so.40.30.4"))]);
        assert_eq!(library(&four), None);
        let plug_in = root.path().join(PLUG_IN);
        fs::create_dir_all(plug_in.parent().unwrap()).unwrap();
        fs::write(&plug_in, "").unwrap();
        // With a PMIx of its own.
        assert_eq!(library(&four), None);
        fs::write(root.path().join(LIBRARY), "").unwrap();
        assert_eq!(library(&four), Some(root.path().join(LIBRARY)));
    }
}
