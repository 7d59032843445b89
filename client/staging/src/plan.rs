//! What has to be in the cache: reads the local files, speaks to nobody.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use job::role::BINARY_LINK;
use job::{InPlace, StagedKind};

use super::Shipped;

use super::archive::{Archive, ArchiveEntry};
use super::digest::KnownDigests;
use super::error::StageError;
use super::in_place::{self, Lies, ProgramPlace, Runs};
use super::libraries::{self, Closure, LeftLibrary};
use super::link::{self, program_link};
use super::mpi::{self, MpiLibrary};
use super::open_mpi;
use super::pmix::{self, ProcessManager};
use super::program::{self, ProgramFile, ProgramKind};
use super::python;
use super::search::Search;
use super::upload::{CacheFile, UploadSource};
use super::{LIBRARY_LINK, NamedProgram, PlacedProgram, StagingRequest};

/// Names by whose ends NodeManagers know how to unpack an archive.
pub(super) const SUFFIXES: [&str; 4] = [".tar.gz", ".tgz", ".tar", ".zip"];

/// The local side of a request.
#[derive(Debug)]
pub struct Local {
    own_binary: PathBuf,
    stages_own: bool,
    programs: Vec<NamedProgram>,
    venv: Option<PathBuf>,
    /// The nodes are this machine: what lies on it they have.
    nodes_are_ours: bool,
    processes: u32,
    ship_libraries: bool,
    place: ProgramPlace,
    manager: ProcessManager,
    home: Option<PathBuf>,
    shipped: [Vec<Shipped>; 2],
    path_variable: Option<OsString>,
    library_path: Option<OsString>,
    memory: Option<PathBuf>,
}

impl Local {
    /// Of a request and its environment.
    pub fn of(request: &StagingRequest<'_>) -> Self {
        Self {
            own_binary: request.own_binary.clone(),
            stages_own: request.stages_own,
            programs: request.programs.clone(),
            venv: request.venv.clone(),
            nodes_are_ours: request.nodes_are_ours,
            processes: request.processes,
            ship_libraries: request.ship_libraries,
            place: request.place,
            manager: request.manager.clone(),
            home: absolute(request.environment, "HOME")
                .map(|home| home.canonicalize().unwrap_or(home)),
            shipped: request.shipped.clone(),
            path_variable: (request.environment)("PATH"),
            library_path: (request.environment)("LD_LIBRARY_PATH"),
            memory: digests_folder(request.environment),
        }
    }

    /// The environment of Python that is packed: on this machine none, where its interpreter starts at its own path.
    fn packed_venv(&self) -> Option<&Path> {
        self.venv.as_deref().filter(|_| !self.nodes_are_ours)
    }
}

/// Where digests of files are remembered; `variable` looks up one of the environment.
#[must_use]
pub fn digests_folder(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let home = || absolute(variable, "HOME").map(|home| home.join(".cache"));
    let caches = absolute(variable, "XDG_CACHE_HOME").or_else(home);
    caches.map(|folder| folder.join("gerbil"))
}

/// The folder that a variable names.
fn absolute(variable: &dyn Fn(&str) -> Option<OsString>, name: &str) -> Option<PathBuf> {
    let path = variable(name).map(PathBuf::from);
    path.filter(|path| path.is_absolute())
}

/// A file for the cache and its place in the working directory.
#[derive(Clone, Debug)]
pub struct StagedItem {
    /// Link name.
    pub link: String,
    /// Linked or unpacked.
    pub kind: StagedKind,
    /// The file.
    pub wanted: CacheFile,
}

/// All that a job needs.
#[derive(Debug)]
pub struct StagingPlan {
    /// This binary, the programs, the libraries.
    pub items: Vec<StagedItem>,
    /// The programs, as they were asked for.
    pub programs: Vec<PlacedProgram>,
    /// Libraries that do not travel.
    pub left: Vec<LeftLibrary>,
}

/// Reads and hashes everything.
///
/// # Errors
///
/// The program is none, a library is missing, a file cannot be read.
pub fn plan(local: &Local) -> Result<StagingPlan, StageError> {
    let machine = program::machine_of(&local.own_binary)?;
    let mut memory = KnownDigests::open(local.memory.as_deref());
    let own = match local.stages_own {
        true => vec![file(BINARY_LINK, &local.own_binary, &mut memory)?],
        false => Vec::new(),
    };
    let mut plan = StagingPlan {
        items: own,
        programs: Vec::with_capacity(local.programs.len()),
        left: Vec::new(),
    };
    for named in &local.programs {
        let path = search_path(named.first_in.as_ref(), local.path_variable.as_ref());
        let path = match &local.venv {
            // Its interpreter comes before others of that name.
            Some(venv) => search_path(Some(&venv.join("bin").into_os_string()), path.as_ref()),
            None => path,
        };
        let archives = local.shipped.iter().skip(1).flatten();
        let archives = archives.map(|archive| archive.name.as_str());
        let inside = in_place::inside_archive(&named.name, archives);
        let found = match (&inside, program::locate(&named.name, path.as_deref())) {
            (Some(inside), Err(_not_here)) => {
                plan.programs.push(in_archive(inside));
                continue;
            }
            (_, found) => found?,
        };
        let program = program::inspect(&found, machine)?;
        let environment = python::environment_of(&found);
        if let Some(environment) =
            environment.filter(|_| inside.is_none() && matches!(program.kind, ProgramKind::Elf(_)))
        {
            let search = Search::new(machine, local.library_path.as_deref(), Path::new("/"));
            plan.interpret(local, &found, &environment, &program, &search)?;
            continue;
        }
        let closure = match &program.kind {
            ProgramKind::Elf(elf) if local.ship_libraries => {
                let search = Search::new(machine, local.library_path.as_deref(), Path::new("/"));
                libraries::closure(&program.path, elf, &search)?
            }
            ProgramKind::Elf(elf) => Closure {
                glibc: elf.glibc.map(|version| (version, program.path.clone())),
                ..Closure::default()
            },
            ProgramKind::Script => Closure::default(),
        };
        if local.processes > 1 {
            two_of_mpi(&program, &closure)?;
        }
        let mpi = linked_to(&program, &closure);
        let open = mpi.as_ref().filter(|mpi| mpi.is_open_mpi);
        let own = pmix::library(&closure);
        let search = Search::new(machine, local.library_path.as_deref(), Path::new("/"));
        let wants = open.is_some();
        let pmix_library = local
            .manager
            .library(&program.path, own.clone(), wants, &search)?;
        let is_foreign = pmix_library != own;
        let libpmix = pmix_library
            .as_deref()
            .map(|library| local.manager.described(library));
        let old = open.and_then(|open| open_mpi::too_old(&open.library, &closure));
        if let Some((release, library)) = old
            && local.processes > 1
        {
            return Err(StageError::OldOpenMpi {
                program: program.path,
                library,
                release,
            });
        }
        if let Some(open) = open
            && local.processes > 1
            && local.manager == ProcessManager::Pmi
        {
            return Err(StageError::PmiForOpenMpi {
                program: program.path,
                library: open.library.clone(),
                processes: local.processes,
            });
        }
        if let Some(open) = open
            && local.processes > 1
            && (pmix_library.is_none() || inside.is_some())
        {
            return Err(StageError::OpenMpi {
                program: program.path,
                library: open.library.clone(),
                processes: local.processes,
            });
        }
        let named = std::path::absolute(&found).map_err(reading(&found))?;
        let runs = in_place::runs(
            local.place,
            Lies {
                named: &named,
                real: &program.path,
                home: local.home.as_deref(),
            },
        );
        let mpi_library = mpi.map(|mpi| mpi.library);
        if let Some(inside) = &inside {
            // Its libraries are in the archive, or the nodes'.
            plan.programs.push(PlacedProgram {
                mpi_library,
                ..in_archive(inside)
            });
            continue;
        }
        let path = named.display().to_string();
        if runs == Runs::Own {
            // With the libraries that it finds here by itself.
            plan.programs.push(PlacedProgram {
                link: program_link(&program.name),
                own_path: Some(path),
                mpi_library,
                pmix_library: pmix_library.map(|path| path.display().to_string()),
                libpmix,
                library_variables: open_mpi::roots(&closure),
                ..PlacedProgram::default()
            });
            continue;
        }
        let link = file(&program_link(&program.name), &program.path, &mut memory)?;
        let digest = link.wanted.name.clone();
        let link = plan.add(link);
        let shipped = closure.shipped.iter();
        let shipped = shipped.map(|shipped| (shipped.inside.clone(), shipped.source.clone()));
        let mut shipped: BTreeMap<String, PathBuf> = sort::map(shipped);
        if let Some(library) = pmix_library.as_ref().filter(|_| is_foreign) {
            shipped.extend(pmix::brought(library, &search)?);
        }
        let library_folder = plan.bring_libraries(shipped.clone().into_iter(), &mut memory)?;
        let pmix_library =
            pmix_library.and_then(|_| pmix::shipped(&shipped, library_folder.as_deref()));
        let libpmix = libpmix.filter(|_| pmix_library.is_some());
        let tree = in_place::tree(&program.path, &|path| path.is_dir());
        plan.programs.push(PlacedProgram {
            link,
            own_path: None,
            in_place: match runs {
                Runs::IfSame { asked } => Some(InPlace { path, asked }),
                Runs::Own | Runs::Copy => None,
            },
            tree: tree.map(|tree| tree.display().to_string()),
            mpi_library,
            pmix_library,
            libpmix,
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
    if let Some(venv) = &local.venv {
        python::check(venv)?;
    }
    if let Some(venv) = local.packed_venv() {
        // For programs that start its interpreter themselves.
        let name = python::name_of(venv).unwrap_or_default();
        if !plan.items.iter().any(|item| item.link == name) {
            let search = Search::new(machine, local.library_path.as_deref(), Path::new("/"));
            plan.bring_environment(local, venv, "python3", &search)?;
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

/// A program in an archive that is brought along, at this path below the working directory.
fn in_archive(inside: &str) -> PlacedProgram {
    PlacedProgram {
        link: inside.to_owned(),
        ..PlacedProgram::default()
    }
}

/// The MPI library of a program. Where libraries do not travel, those of its libraries are not known.
fn linked_to(program: &ProgramFile, closure: &Closure) -> Option<MpiLibrary> {
    let needed = match &program.kind {
        ProgramKind::Elf(elf) => elf.needed.as_slice(),
        ProgramKind::Script => &[],
    };
    let shipped = closure.shipped.iter().map(|shipped| &shipped.inside);
    mpi::of(needed.iter().chain(shipped).map(String::as_str))
}

/// Refuses a program that would load MPICH, or one of its kin, and Open MPI: whose functions it calls is chance.
fn two_of_mpi(program: &ProgramFile, closure: &Closure) -> Result<(), StageError> {
    let of = |open: bool| {
        closure
            .mpi
            .iter()
            .find(move |(mpi, _)| mpi.is_open_mpi == open)
    };
    let (Some((one, needs_one)), Some((other, needs_other))) = (of(false), of(true)) else {
        return Ok(());
    };
    Err(StageError::TwoMpiLibraries {
        program: program.path.clone(),
        needed: Box::new((
            one.library.clone(),
            needs_one.clone(),
            other.library.clone(),
            needs_other.clone(),
        )),
    })
}

impl StagingPlan {
    /// Adds an interpreter of an environment of Python: with all of that if it is to be brought, else
    /// where it lies.
    fn interpret(
        &mut self,
        local: &Local,
        found: &Path,
        environment: &Path,
        program: &ProgramFile,
        search: &Search,
    ) -> Result<(), StageError> {
        let own = std::path::absolute(found).map_err(reading(found))?;
        let mut placed = PlacedProgram {
            link: program_link(&program.name),
            ..PlacedProgram::default()
        };
        let brought = local.packed_venv();
        let brought = brought.and_then(|venv| std::path::absolute(venv).ok());
        let ProgramKind::Elf(elf) = &program.kind else {
            return Ok(());
        };
        let mut needed = python::opened_by_mpi4py(environment, (elf, &program.path), search);
        let inside = pmix::of_python(environment);
        let has = inside.map(|inside| environment.join(inside));
        let library = local
            .manager
            .library(&program.path, has.clone(), true, search)?;
        let foreign = library.clone().filter(|_| library != has);
        let is_its_own = library == has;
        placed.libpmix = library
            .as_deref()
            .map(|library| local.manager.described(library));
        placed.pmix_library = library.map(|library| library.display().to_string());
        if brought.is_some_and(|venv| venv == *environment) {
            let (name, more) = self.bring_environment(local, environment, &program.name, search)?;
            let closure = libraries::closure(&program.path, elf, search)?;
            let own = closure.shipped.into_iter().map(|l| (l.inside, l.source));
            needed.extend(more.into_iter().chain(own));
            placed.glibc_needed = closure
                .glibc
                .map(|(version, file)| (version.to_string(), file.display().to_string()));
            placed.link = format!("{name}/bin/{}", program.name);
            if let Some(inside) = inside.filter(|_| is_its_own) {
                placed.pmix_library = Some(format!("{name}/{inside}"));
                placed.library_variables = open_mpi::roots_of(environment, &format!("./{name}"));
            }
        } else {
            placed.own_path = Some(own.display().to_string());
            if inside.is_some() {
                let name = environment.display().to_string();
                placed.library_variables = open_mpi::roots_of(environment, &name);
            }
        }
        let is_brought = !is_its_own && !local.nodes_are_ours && placed.pmix_library.is_some();
        if let Some(library) = foreign.filter(|_| is_brought) {
            needed.extend(pmix::brought(&library, search)?);
        }
        let shipped = needed.clone();
        if local.ship_libraries {
            // Digests of a few files, whose memory is another's.
            let mut memory = KnownDigests::open(None);
            placed.library_folder = self.bring_libraries(needed.into_iter(), &mut memory)?;
            if is_brought {
                placed.pmix_library = pmix::shipped(&shipped, placed.library_folder.as_deref());
            }
            placed.libpmix = placed.libpmix.filter(|_| placed.pmix_library.is_some());
        }
        self.programs.push(placed);
        Ok(())
    }

    /// Adds an environment of Python under its folder's name, with its interpreter of that name; the
    /// answer is that, and the libraries that it needs.
    fn bring_environment(
        &mut self,
        local: &Local,
        environment: &Path,
        interpreter: &str,
        search: &Search,
    ) -> Result<(String, BTreeMap<String, PathBuf>), StageError> {
        let name = python::name_of(environment).unwrap_or_default();
        let refused = |why| StageError::NotShipped {
            path: environment.to_path_buf(),
            name: name.clone(),
            why,
        };
        if let Some(why) = link::refusal(&name) {
            return Err(refused(why));
        }
        let mut memory = KnownDigests::of_folder(local.memory.as_deref(), environment);
        let packed = python::packed(environment, interpreter, search, &mut memory)?;
        memory.close();
        let mut item = libraries(packed.entries);
        item.link.clone_from(&name);
        if self.add(item) != name {
            return Err(refused("that name is taken by another file"));
        }
        Ok((name, packed.libraries))
    }

    /// Adds the archive of `shipped`, each a path inside and a file here; the answer is its link.
    fn bring_libraries(
        &mut self,
        shipped: impl Iterator<Item = (String, PathBuf)>,
        memory: &mut KnownDigests,
    ) -> Result<Option<String>, StageError> {
        let mut entries = Vec::new();
        for (inside, source) in shipped {
            let (digest, size) = memory.digest(&source).map_err(reading(&source))?;
            entries.push(ArchiveEntry {
                inside,
                source,
                size,
                digest: digest.0,
            });
        }
        Ok((!entries.is_empty()).then(|| self.add(libraries(entries))))
    }

    /// Adds what the user brings along, under its very name.
    fn bring(
        &mut self,
        shipped: &Shipped,
        kind: StagedKind,
        memory: &mut KnownDigests,
    ) -> Result<(), StageError> {
        let refused = |why| StageError::NotShipped {
            path: shipped.path.clone(),
            name: shipped.name.clone(),
            why,
        };
        let is_gone = shipped.path.symlink_metadata();
        if is_gone.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
            return Err(StageError::NoFile {
                path: shipped.path.clone(),
            });
        }
        if shipped.path.is_dir() {
            return Err(refused(
                "it is a folder; pack it, and bring it with --archives",
            ));
        }
        if shipped.path.metadata().is_ok_and(|there| !there.is_file()) {
            return Err(refused(
                "it is a pipe or a device, of which nobody knows whether it ends; save what it gives in a file",
            ));
        }
        if let Some(why) = link::refusal(&shipped.name) {
            return Err(StageError::NoLink {
                path: shipped.path.clone(),
                name: shipped.name.clone(),
                why,
            });
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
    fn add(&mut self, mut item: StagedItem) -> String {
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

fn libraries(entries: Vec<ArchiveEntry>) -> StagedItem {
    let archive = Archive::new(entries);
    StagedItem {
        link: LIBRARY_LINK.into(),
        kind: StagedKind::Archive,
        wanted: CacheFile {
            // NodeManagers choose by the suffix how to unpack.
            name: format!("{}.tar", archive.identity()),
            size: archive.size(),
            source: UploadSource::Archive(archive),
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

fn file(link: &str, path: &Path, memory: &mut KnownDigests) -> Result<StagedItem, StageError> {
    let (digest, size) = memory.digest(path).map_err(reading(path))?;
    Ok(StagedItem {
        link: link.into(),
        kind: StagedKind::File,
        wanted: CacheFile {
            name: digest.to_string(),
            size,
            source: UploadSource::File {
                path: path.to_path_buf(),
                digest,
            },
        },
    })
}
