//! What runs, with what is brought to it, and when it ends.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use staging::in_place::ProgramPlace;
use staging::{ProcessManager, Shipped};

use super::PlanError;
use crate::arguments::{Arguments, DataArguments, ShipArguments};
use crate::environment::{self, Inherited, Nodes};
use crate::missing_files;
use crate::usage::UsageError;

/// What is run, with which files and in which environment.
pub(crate) struct ProgramPlan {
    /// The first of the executables, as the user named it.
    pub name: PathBuf,
    /// In the order of their ranks.
    pub executables: Vec<Executable>,
    /// Which processors a process may run on.
    pub binding: job::Binding,
    /// What the program finds as MPI_UNIVERSE_SIZE.
    pub universe: job::Universe,
    /// How long the program may run.
    pub run_limit: Option<Duration>,
    /// How long the others may run on when the first rank has ended.
    pub linger: Option<Duration>,
    /// A rank that fails leaves the others alone.
    pub spare_others: bool,
    /// How often the program is started again when a container of it was lost.
    pub restarts: u32,
    /// Files, then archives, to bring along.
    pub shipped: [Vec<Shipped>; 2],
    pub ship_libraries: bool,
    /// Whether the programs run where they lie.
    pub place: ProgramPlace,
    /// By what the ranks find each other.
    pub manager: ProcessManager,
    /// An environment of Python that comes as a whole.
    pub venv: Option<PathBuf>,
}

/// What some of the processes, or all, run.
pub(crate) struct Executable {
    /// `None`: all processes of the job run it.
    pub processes: Option<u32>,
    /// As the user named it.
    pub file: PathBuf,
    /// Folders here in which it is searched first.
    pub first_in: Option<OsString>,
    pub args: Vec<String>,
    pub environment: Vec<(String, String)>,
    /// The option by which parameters of Open MPI's are set for it, if any are.
    pub told_open_mpi: Option<&'static str>,
    /// Of the nodes, to start in.
    pub folder: Option<String>,
}

impl ProgramPlan {
    /// `notes` learns what the user should know.
    pub(super) fn new(given: &mut Arguments, notes: &mut Vec<String>) -> Result<Self, PlanError> {
        let typed = given.programs()?;
        let variable = environment::variable("MPIEXEC_TIMEOUT");
        let run_limit = given.ends.limit(variable.as_deref())?;
        let (own, no_text) = environment::own(std::env::vars_os());
        let is_local = given.local.local.is_some() || given.session.is_local;
        let nodes = match is_local {
            true => Nodes::ThisMachine,
            false => Nodes::OfACluster,
        };
        let here = match is_local {
            true => start_here(&given.ship, &given.data),
            false => None,
        };
        let mut missing = BTreeSet::new();
        let (mut stays, mut inherits) = (BTreeSet::new(), false);
        let executables = typed.into_iter().map(|typed| {
            let rules = given.environment.rules(&typed.start);
            let mut environment = rules.fulfil(&own, nodes, &mut |name| {
                missing.insert(name.to_owned());
            });
            stays.extend(rules.stays(&own, nodes));
            inherits |= rules.inherited == Inherited::All;
            if !given.no_ship_libs && !is_local {
                environment::without_libraries_of_here(&rules, &mut environment);
            }
            if let Some(interface) = &given.iface {
                environment::for_interface(interface, &mut environment);
            }
            Ok(Executable {
                processes: typed.processes,
                file: typed.file.into(),
                first_in: typed.start.path,
                args: typed.args,
                environment,
                told_open_mpi: typed.start.mca.given().or(given.environment.mca.given()),
                folder: match &here {
                    Some(here) => Some(inside(here, typed.start.wdir)?),
                    None => typed.start.wdir,
                },
            })
        });
        let executables: Vec<Executable> = executables.collect::<Result<_, UsageError>>()?;
        notes.extend(missing.into_iter().map(|name| {
            let why = match no_text.contains(&name) {
                true => "is no UTF-8",
                false => "is not set here",
            };
            format!("the variable {name} {why}, so the program does not get it")
        }));
        if std::env::var_os(environment::STAYING_IS_SAID).is_none() {
            notes.extend(environment::stay_sentence(&stays));
        }
        notes.extend(no_text.iter().filter(|_| inherits).map(|name| {
            format!(
                "the variable {name} is no UTF-8 and stays on this machine; give it another value"
            )
        }));
        let mut brought = brought(&given.ship, &given.data, &executables);
        if !is_local {
            // On this machine an environment runs where it lies.
            brought.extend(given.ship.venv.as_deref().and_then(name));
        }
        for started in executables
            .iter()
            .filter(|started| started.folder.is_none())
        {
            let left = missing_files::sentences(&started.args, &brought, missing_files::look);
            notes.extend(left);
        }
        let first = executables.first().map(|first| first.file.clone());
        Ok(Self {
            name: first.unwrap_or_default(),
            executables,
            binding: given.bind.resolved(),
            universe: given.usize.unwrap_or_default(),
            run_limit,
            linger: given.ends.linger(),
            spare_others: given.ends.spares_others(),
            restarts: given.ends.restarts(),
            shipped: [given.ship.files.clone(), given.ship.archives.clone()],
            ship_libraries: !given.no_ship_libs,
            place: given.ship.place(is_local),
            manager: given.manager.chosen()?,
            venv: given.ship.venv.clone(),
        })
    }
}

/// The folder of this machine that programs start in, where it is not one of a container: with
/// `--local`, in a session too, unless files are to come and go as on a cluster.
fn start_here(ship: &ShipArguments, data: &DataArguments) -> Option<PathBuf> {
    let moves = !(ship.files.is_empty()
        && ship.archives.is_empty()
        && data.stage_in.is_empty()
        && data.stage_out.is_empty()
        && data.get.is_empty());
    // A folder that was removed is none.
    std::env::current_dir().ok().filter(|_| !moves)
}

/// The names that a container's folder will have, as far as a command line says them.
fn brought(ship: &ShipArguments, data: &DataArguments, executables: &[Executable]) -> Vec<String> {
    let shipped = ship.files.iter().chain(&ship.archives);
    let shipped = shipped.map(|shipped| shipped.name.clone());
    let incoming = data.stage_in.iter().map(|incoming| incoming.name.clone());
    let own = executables.iter().filter_map(|started| name(&started.file));
    shipped.chain(incoming).chain(own).collect()
}

fn name(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_string_lossy().into_owned())
}

/// `-wdir` as it is meant on this machine.
///
/// # Errors
/// The folder is no text, and cannot be handed over as one.
fn inside(here: &Path, folder: Option<String>) -> Result<String, UsageError> {
    let joined = match folder {
        None => here.to_path_buf(),
        Some(folder) => here.join(folder),
    };
    let text = joined.into_os_string().into_string();
    text.map_err(|_no_text| UsageError::FolderNotUtf8 {
        folder: here.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    #[test]
    fn a_folder_that_is_no_text_is_refused_unless_another_is_named() {
        let here = Path::new(OsStr::from_bytes(b"/tmp/d\xe9"));
        assert_eq!(inside(Path::new("/a"), None).unwrap(), "/a");
        assert_eq!(inside(Path::new("/a"), Some("b".into())).unwrap(), "/a/b");
        assert_eq!(inside(here, Some("/b".into())).unwrap(), "/b");
        for folder in [None, Some("b".into())] {
            let refused = inside(here, folder).unwrap_err();
            assert!(refused.to_string().contains("is no UTF-8"), "{refused}");
        }
    }
}
