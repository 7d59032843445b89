//! The environment of a rank: that of every process, what the job adds, and what PMI needs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use job::JobId;
use job::wire::{Program, Share};
use nix::errno::Errno;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;

use super::yielding::{self, Shim};
use crate::process::environment;
use crate::sweep::JOB_VARIABLE;

/// MPICH reads other ranks' memory with `process_vm_readv` and ends the job where that is forbidden
/// (Docker's default filter up to 20.10 does); 0 makes it copy through shared memory instead.
const MPICH_CROSS_MEMORY: &str = "MPIR_CVAR_CH4_CMA_ENABLE";

/// Whether the ranks of a share yield, and through what.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Yielding<'a> {
    No,
    /// While the byte at this path says that the machine is crowded; whether it is now.
    Crowded(&'a Shim, &'a Path, bool),
    /// Without the shim only MPI libraries that yield by themselves do.
    Yes(Option<&'a Shim>),
}

/// Where ranks run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RankPlace<'a> {
    /// YARN's id of the container.
    pub(crate) container: &'a str,
    pub(crate) job: JobId,
    /// The job's working directory.
    pub(crate) folder: &'a Path,
}

/// What all ranks of a share that run `program` have in common.
pub(crate) fn common(
    inherited: impl Iterator<Item = (OsString, OsString)>,
    share: &Share,
    program: &Program,
    place: RankPlace<'_>,
    cross_memory: bool,
    yielding: Yielding<'_>,
) -> BTreeMap<OsString, OsString> {
    let RankPlace {
        container,
        job,
        folder,
    } = place;
    let ranks = share.ranks.len().to_string();
    let suggested = [
        ("WORLD_SIZE", share.size.to_string()),
        ("LOCAL_WORLD_SIZE", ranks.clone()),
        ("MASTER_ADDR", share.meeting_host.clone()),
        ("MASTER_PORT", share.meeting_port.to_string()),
    ];
    // Nobody could meet nowhere.
    let suggested = suggested.into_iter();
    let suggested = suggested.filter(|(_, value)| !value.is_empty() && value != "0");
    // What YARN says is of the container.
    let own = folder.to_str().filter(|_| job.is_of_session());
    let suggested = suggested.chain(own.map(|folder| ("PWD", folder.to_owned())));
    let mut environment = environment::of(inherited, suggested, program, container, folder);
    if !cross_memory {
        environment
            .entry(MPICH_CROSS_MEMORY.into())
            .or_insert_with(|| "0".into());
    }
    match yielding {
        Yielding::No => {}
        Yielding::Crowded(shim, byte, now) => {
            yielding::add_crowded(&mut environment, shim, byte, now);
        }
        Yielding::Yes(shim) => yielding::add_to(&mut environment, shim),
    }
    if program.pmix_library.is_empty() {
        for (name, value) in [
            ("PMI_SIZE", share.size.to_string().as_str()),
            ("PMI_SPAWNED", "0"),
            ("MPI_LOCALNRANKS", ranks.as_str()),
        ] {
            environment.insert(name.into(), value.into());
        }
    }
    if job.is_of_session() {
        environment.insert(JOB_VARIABLE.into(), job.0.to_string().into());
    }
    environment
}

/// What differs between the ranks of one node, under names that programs without MPI know: torchrun's.
pub(crate) fn of_rank(rank: u32, local_rank: usize) -> [(&'static str, String); 2] {
    [
        ("RANK", rank.to_string()),
        ("LOCAL_RANK", local_rank.to_string()),
    ]
}

/// A rank's place, under the names that Open MPI's own launcher gives it: scripts choose devices by them.
pub(crate) fn of_open_mpi(
    rank: u32,
    size: u32,
    local: usize,
    here: usize,
) -> [(&'static str, String); 5] {
    [
        ("OMPI_COMM_WORLD_RANK", rank.to_string()),
        ("OMPI_COMM_WORLD_SIZE", size.to_string()),
        ("OMPI_COMM_WORLD_LOCAL_RANK", local.to_string()),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", here.to_string()),
        ("OMPI_COMM_WORLD_NODE_RANK", local.to_string()),
    ]
}

/// Whether processes here may read each other's memory: tried on `other`, which need not be there any more. Filters of
/// system calls refuse it, and Yama where it lets no process look at another.
pub(crate) fn may_read_memory_of(other: Pid) -> bool {
    let mut to = [0_u8];
    // Nothing is there; whether one may look is asked first.
    let remote = RemoteIoVec { base: 0, len: 1 };
    let read = process_vm_readv(other, &mut [std::io::IoSliceMut::new(&mut to)], &[remote]);
    !matches!(read, Err(Errno::EPERM | Errno::EACCES | Errno::ENOSYS))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use job::wire::KeyValue;

    use super::*;

    #[test]
    fn ranks_get_what_they_need_and_no_secrets() {
        let share = Share {
            size: 8,
            ranks: vec![2, 3],
            meeting_host: "node1".to_owned(),
            meeting_port: 4711,
            ..Share::default()
        };
        let pair = |key: &str, value: &str| KeyValue {
            key: key.to_owned(),
            value: value.to_owned(),
        };
        let program = Program {
            environment: vec![pair("OMP_NUM_THREADS", "2"), pair("MASTER_PORT", "1")],
            library_folder: "libs".to_owned(),
            library_variables: vec![
                pair("I_MPI_ROOT", ""),
                pair("FI_PROVIDER_PATH", "prov"),
                pair("OPAL_PREFIX", "/opt/openmpi"),
                pair("PMIX_PREFIX", "./venv"),
                pair("OMP_NUM_THREADS", "deep"),
            ],
            folder: "deep".to_owned(),
            ..Program::default()
        };
        let inherited = [
            ("HADOOP_TOKEN_FILE_LOCATION", "/secret"),
            ("PMIX_RANK", "0"),
            ("LD_LIBRARY_PATH", "/usr/lib/native"),
            ("PATH", "/bin"),
        ];
        let environment = common(
            inherited
                .into_iter()
                .map(|(name, value)| (name.into(), value.into())),
            &share,
            &program,
            RankPlace {
                container: "container_1_0001_01_000002",
                job: JobId::OF_APPLICATION,
                folder: Path::new("/container"),
            },
            true,
            Yielding::No,
        );
        let expected: BTreeMap<OsString, OsString> = [
            ("CONTAINER_ID", "container_1_0001_01_000002"),
            ("FI_PROVIDER_PATH", "/container/libs/prov"),
            ("I_MPI_ROOT", "/container/libs"),
            ("LD_LIBRARY_PATH", "/container/libs:/usr/lib/native"),
            ("LOCAL_WORLD_SIZE", "2"),
            ("MASTER_ADDR", "node1"),
            ("MASTER_PORT", "1"),
            ("MPI_LOCALNRANKS", "2"),
            ("OMP_NUM_THREADS", "2"),
            ("OPAL_PREFIX", "/opt/openmpi"),
            ("PATH", "/bin"),
            ("PMIX_PREFIX", "/container/venv"),
            ("PMI_SIZE", "8"),
            ("PMI_SPAWNED", "0"),
            ("PWD", "/container/deep"),
            ("WORLD_SIZE", "8"),
        ]
        .into_iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
        assert_eq!(environment, expected);
    }

    #[test]
    fn the_ranks_of_a_session_s_job_know_which_it_is_and_where() {
        let inherited = [("PWD", "/container"), ("GERBIL_JOB", "1")];
        let variables = |job: u32, folder: &str| {
            let mut program = Program::default();
            folder.clone_into(&mut program.folder);
            let environment = common(
                inherited
                    .into_iter()
                    .map(|(name, value)| (name.into(), value.into())),
                &Share::default(),
                &program,
                RankPlace {
                    container: "c",
                    job: JobId(job),
                    folder: Path::new("/container/jobs/7"),
                },
                true,
                Yielding::No,
            );
            ["PWD", "GERBIL_JOB"].map(|name| match environment.get(OsStr::new(name)) {
                Some(value) => value.to_string_lossy().into_owned(),
                None => String::new(),
            })
        };
        assert_eq!(variables(7, ""), ["/container/jobs/7", "7"]);
        assert_eq!(variables(7, "in"), ["/container/jobs/7/in", "7"]);
        assert_eq!(variables(0, ""), ["/container", ""]);
    }

    #[test]
    fn a_process_of_the_same_user_is_asked_and_one_that_is_gone_refuses_nothing() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = Pid::from_raw(child.id().cast_signed());
        child.wait().unwrap();
        assert!(may_read_memory_of(Pid::this()));
        assert!(may_read_memory_of(pid));
    }

    #[test]
    fn mpich_is_kept_from_what_the_kernel_forbids() {
        let mut program = Program::default();
        let value = |program: &Program| {
            let environment = common(
                std::iter::empty(),
                &Share::default(),
                program,
                RankPlace {
                    container: "c",
                    job: JobId::OF_APPLICATION,
                    folder: Path::new("/w"),
                },
                false,
                Yielding::No,
            );
            environment.get(OsStr::new(MPICH_CROSS_MEMORY)).cloned()
        };
        assert_eq!(value(&program), Some("0".into()));
        // Whoever knows better is believed.
        program.environment.push(KeyValue {
            key: MPICH_CROSS_MEMORY.to_owned(),
            value: "1".to_owned(),
        });
        assert_eq!(value(&program), Some("1".into()));
    }
}
