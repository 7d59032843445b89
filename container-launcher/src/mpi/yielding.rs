//! Ranks that give up their core while they wait for messages.
//!
//! Where ranks outnumber cores, busy waiting makes a barrier a thousand times slower. MPI libraries
//! have different ways to be told: Open MPI and Intel MPI read a variable; MPICH does not yield in its
//! waiting loop at all, so its ranks get a library preloaded (`yield/shim.c`, carried inside this
//! binary) that yields for them. A variable of one library means nothing to another.
//!
//! Ranks that have a core each are given the library too: it does nothing but count until the machine has
//! more to run than cores, by whoever's doing ([`crate::mpi::crowd`]). What yields in a loop before `main`, as UCX
//! does for 40 ms while it is loaded, sleeps in any case: a yield gives way to the same session or control group
//! alone, and the ranks of other containers were started as much later.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use job::wire;

use super::crowd;
use crate::cores::Cores;
use crate::regular;

/// The preloaded library, a file of the machine that this binary is for.
pub const SHIM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/shim.so"));

/// Its name in the working directory of the container.
const FILE: &str = ".gerbil-yield.so";
/// Read and executed by the ranks, changed by nobody.
const FILE_MODE: u32 = 0o500;
const PRELOAD: &str = "LD_PRELOAD";
/// Names the file into which the shim writes how long its process waited.
pub(crate) const WAITS_VARIABLE: &str = "GERBIL_WAITS";
/// Most that is read of such a file, bytes: a line for each process of the rank that spoke MPI.
const WAITS_MAX: u64 = 4096;
/// What the MPI libraries read themselves. Open MPI: true. Intel MPI: 2 is `sched_yield`.
const VARIABLES: [(&str, &str); 2] = [
    ("OMPI_MCA_mpi_yield_when_idle", "1"),
    ("I_MPI_THREAD_YIELD", "2"),
];

/// Whether `ranks` ranks on these cores are to yield.
pub(crate) fn applies(yielding: wire::Yielding, ranks: usize, cores: Cores) -> bool {
    match yielding {
        wire::Yielding::Always => true,
        wire::Yielding::Never => false,
        wire::Yielding::Auto => cores.are_outnumbered_by(ranks),
    }
}

/// How many files this process has written.
static WRITTEN: AtomicU32 = AtomicU32::new(0);

/// The shim, written where ranks can load it.
#[derive(Debug)]
pub(crate) struct Shim {
    folder: PathBuf,
    file: PathBuf,
}

impl Shim {
    /// Writes it into the working directory of the container.
    ///
    /// # Errors
    ///
    /// It cannot be written, or the folder has a name that `LD_PRELOAD` cannot hold.
    pub(crate) fn write(folder: &Path) -> std::io::Result<Self> {
        let separates = |byte: &u8| matches!(byte, b' ' | b':' | b'$');
        if folder.as_os_str().as_encoded_bytes().iter().any(separates) {
            return Err(std::io::Error::other(
                "LD_PRELOAD cannot name a file in a folder with a blank, a colon or a dollar sign",
            ));
        }
        let file = folder.join(FILE);
        // Ranks that are there already may be starting programs, which load it: it is whole at any time.
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let half = folder.join(format!("{FILE}.{number}"));
        // One that may not be written to any more could be left from before.
        std::fs::remove_file(&half).ok();
        let mut written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(FILE_MODE)
            .open(&half)?;
        written.write_all(SHIM)?;
        std::fs::rename(&half, &file)?;
        Ok(Self {
            folder: folder.to_owned(),
            file,
        })
    }

    /// Where one rank notes how long it waited.
    pub(crate) fn waits(&self, rank: u32) -> PathBuf {
        self.folder.join(format!(".gerbil-waits-{rank}"))
    }
}

/// Adds to the environment of the ranks what makes them yield; what the user has set stays.
pub(crate) fn add_to(environment: &mut BTreeMap<OsString, OsString>, shim: Option<&Shim>) {
    add_variables(environment);
    preload(environment, shim);
}

/// The same for ranks that are to yield while the byte behind `crowded` is 1, which only the preloaded
/// library can look at: the others yield where the machine is crowded `now`.
pub(crate) fn add_crowded(
    environment: &mut BTreeMap<OsString, OsString>,
    shim: &Shim,
    crowded: &Path,
    now: bool,
) {
    if now {
        add_variables(environment);
    }
    environment.insert(crowd::VARIABLE.into(), crowded.into());
    preload(environment, Some(shim));
}

fn add_variables(environment: &mut BTreeMap<OsString, OsString>) {
    for (name, value) in VARIABLES {
        environment
            .entry(name.into())
            .or_insert_with(|| value.into());
    }
}

fn preload(environment: &mut BTreeMap<OsString, OsString>, shim: Option<&Shim>) {
    if let Some(shim) = shim {
        let mut preload = shim.file.clone().into_os_string();
        if let Some(others) = environment.get(OsStr::new(PRELOAD))
            && !others.is_empty()
        {
            preload.push(":");
            preload.push(others);
        }
        environment.insert(PRELOAD.into(), preload);
    }
}

/// The share of its life that a rank waited, 0 to 1, from the file it left; `None`: it left none,
/// because it spoke to no library that is watched, or was killed. The file is removed.
pub(crate) fn waiting_share(file: &Path, life: Duration) -> Option<f64> {
    let mut text = String::new();
    let opened = regular::open(file).ok()?;
    opened.take(WAITS_MAX).read_to_string(&mut text).ok()?;
    std::fs::remove_file(file).ok();
    let waited: u64 = text
        .lines()
        .filter_map(|line| line.split_once(' ')?.1.parse::<u64>().ok())
        .fold(0, u64::saturating_add);
    let share = Duration::from_nanos(waited).div_duration_f64(life);
    share.is_finite().then(|| share.min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_preloads_stays_and_comes_second() {
        let folder = tempfile::tempdir().unwrap();
        let shim = Shim::write(folder.path()).unwrap();
        let mut environment: BTreeMap<OsString, OsString> = [
            ("LD_PRELOAD".into(), "/opt/profiler.so".into()),
            ("I_MPI_THREAD_YIELD".into(), "3".into()),
        ]
        .into();
        add_to(&mut environment, Some(&shim));
        let expected = format!("{}:/opt/profiler.so", shim.file.display());
        assert_eq!(environment[OsStr::new("LD_PRELOAD")], *expected);
        assert_eq!(environment[OsStr::new("I_MPI_THREAD_YIELD")], *"3");
        assert_eq!(
            environment[OsStr::new("OMPI_MCA_mpi_yield_when_idle")],
            *"1"
        );
        assert_eq!(std::fs::read(&shim.file).unwrap(), SHIM);
    }

    #[test]
    fn what_looks_for_itself_is_told_where() {
        let folder = tempfile::tempdir().unwrap();
        let shim = Shim::write(folder.path()).unwrap();
        let given = |now: bool| {
            let mut environment = BTreeMap::new();
            add_crowded(&mut environment, &shim, Path::new("/proc/7/fd/3"), now);
            assert_eq!(environment[OsStr::new("LD_PRELOAD")], shim.file);
            assert_eq!(environment[OsStr::new("GERBIL_CROWDED")], *"/proc/7/fd/3");
            environment.len()
        };
        assert_eq!((given(false), given(true)), (2, 4));
    }

    #[test]
    fn the_file_is_whole_while_it_is_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = Shim::write(folder.path()).unwrap().file;
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (0..50).for_each(|_| drop(Shim::write(folder.path()).unwrap())));
            }
            for _ in 0..1000 {
                assert_eq!(std::fs::read(&file).unwrap(), SHIM);
            }
        });
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    /// Yields twenty times while it is loaded.
    const LIBRARY: &str = r"
        #include <sched.h>
        #include <sys/resource.h>
        long slept;
        __attribute__((constructor)) static void load(void) {
            struct rusage use;
            getrusage(RUSAGE_SELF, &use);
            slept = -use.ru_nvcsw;
            for (int i = 0; i < 20; i++) sched_yield();
            getrusage(RUSAGE_SELF, &use);
            slept += use.ru_nvcsw;
        }";
    /// And twenty times more.
    const PROGRAM: &str = r#"
        #include <sched.h>
        #include <stdio.h>
        #include <sys/resource.h>
        extern long slept;
        int main(void) {
            struct rusage before, after;
            getrusage(RUSAGE_SELF, &before);
            for (int i = 0; i < 20; i++) sched_yield();
            getrusage(RUSAGE_SELF, &after);
            printf("%ld %ld\n", slept, after.ru_nvcsw - before.ru_nvcsw);
            return 0;
        }"#;

    #[test]
    fn who_yields_before_main_sleeps_and_nobody_after() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        let shim = Shim::write(here).unwrap();
        let compile = |text: &str, name: &str, arguments: &[&str]| {
            let source = here.join(format!("{name}.c"));
            std::fs::write(&source, text).unwrap();
            let mut compiler = std::process::Command::new("cc");
            compiler.current_dir(here).arg(&source).args(["-o", name]);
            assert!(compiler.args(arguments).status().unwrap().success());
        };
        compile(LIBRARY, "libloaded.so", &["-shared", "-fPIC"]);
        compile(
            PROGRAM,
            "program",
            &["-L.", "-lloaded", "-Wl,-rpath,$ORIGIN"],
        );
        let sleeps = |preload: &Path| {
            let mut program = std::process::Command::new(here.join("program"));
            let output = program.env(PRELOAD, preload).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            let (loading, running) = text.trim().split_once(' ').unwrap();
            (loading.parse().unwrap(), running.parse().unwrap())
        };
        // Who yields has not slept, in the kernel's eyes, unless it was made to.
        assert_eq!(sleeps(Path::new("")), (0, 0));
        let (loading, running): (u32, u32) = sleeps(&shim.file);
        assert!(loading >= 20 && running == 0, "{loading} {running}");
    }

    #[test]
    fn folders_that_cannot_be_preloaded_from_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("a b");
        std::fs::create_dir(&odd).unwrap();
        assert!(Shim::write(&odd).is_err());
    }

    #[test]
    fn waits_of_all_processes_of_a_rank_add_up_to_at_most_its_life() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("waits");
        let share = |text: &str| {
            std::fs::write(&file, text).unwrap();
            waiting_share(&file, Duration::from_secs(4))
        };
        assert_eq!(share("17 1000000000\n18 1000000000\n"), Some(0.5));
        assert_eq!(share("17 9000000000\n"), Some(1.0));
        assert_eq!(share("nonsense\n"), Some(0.0));
        assert!(!file.exists());
        // A rank may put a pipe in its place, which nobody writes to.
        nix::unistd::mkfifo(&file, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(waiting_share(&file, Duration::from_secs(4)), None);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(waiting_share(&file, Duration::from_secs(4)), None);
    }

    #[test]
    fn only_more_ranks_than_cores_yield_by_themselves() {
        let two = Cores::of(2);
        assert!(!applies(wire::Yielding::Auto, 2, two));
        assert!(applies(wire::Yielding::Auto, 3, two));
        assert!(applies(wire::Yielding::Always, 1, two));
        assert!(!applies(wire::Yielding::Never, 8, two));
    }
}
