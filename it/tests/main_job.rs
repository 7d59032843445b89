//! The main job, on every Hadoop line: an unmodified MPI program on an unmodified cluster.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, ensure};
use it::{Cluster, Finished, Mpich, Run, Shared, Version, expect, gerbil};
use libtest_mimic::{Arguments, Failed, Trial};

const NODES: usize = 4;
const DEADLINE: Duration = Duration::from_secs(120);

/// One clean cluster per release, and a folder for what is compiled.
struct Bed {
    shared: Shared,
    programs: tempfile::TempDir,
}

/// What a trial is given.
struct Given {
    cluster: Arc<Cluster>,
    programs: PathBuf,
}

type Case = fn(&Given) -> Result<()>;

const CASES: [(&str, Case); 7] = [
    ("eight ranks of cpi on four nodes with MPICH 5", eight_ranks),
    (
        "two ranks of cpi with Debian's MPICH 4",
        two_ranks_of_mpich_4,
    ),
    ("a second run uploads nothing", second_run_uploads_nothing),
    (
        "ranks spread over all nodes and load the shipped library",
        shipped_library,
    ),
    (
        "hello from each rank, and a token goes round",
        hello_and_ring,
    ),
    ("input reaches rank 0", input),
    ("arguments arrive as they are", arguments),
];

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // One cluster at a time holds memory, and each is started once.
    arguments.test_threads = Some(1);
    let bed = Arc::new(Bed {
        shared: Shared::new(Cluster::builder().nodes(NODES)),
        programs: match tempfile::tempdir() {
            Ok(folder) => folder,
            Err(_) => return ExitCode::FAILURE,
        },
    });
    let mut trials = Vec::new();
    for version in Version::ALL {
        for (name, case) in CASES {
            let bed = Arc::clone(&bed);
            trials.push(Trial::test(format!("{version}: {name}"), move || {
                bed.run(version, case)
            }));
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    match bed.shared.end() {
        Ok(()) => conclusion.exit_code(),
        Err(_) => ExitCode::FAILURE,
    }
}

impl Bed {
    fn run(&self, version: Version, case: Case) -> Result<(), Failed> {
        self.try_run(version, case)
            .map_err(|error| format!("{error:?}").into())
    }

    fn try_run(&self, version: Version, case: Case) -> Result<()> {
        let cluster = self.shared.cluster(version)?;
        let said = cluster.version()?;
        ensure!(
            said == version.as_str(),
            "the ResourceManager is {said}, not {version}"
        );
        let given = Given {
            cluster,
            programs: self.programs.path().to_owned(),
        };
        case(&given).map_err(|error| anyhow!("{error:?}\n{}", given.cluster.log_tails()))
    }
}

impl Given {
    /// `gerbil-run ARGUMENTS`, expected to succeed as one YARN application and to leave nothing; its
    /// stdout.
    fn run(&self, arguments: &[&str]) -> Result<String> {
        Ok(self
            .succeed(gerbil::run(&self.cluster, arguments)?)?
            .stdout_text())
    }

    fn succeed(&self, run: Run) -> Result<Finished> {
        expect::job(&self.cluster, run.deadline(DEADLINE))
    }

    /// A program under it/programs, compiled with MPICH 5.
    fn program(&self, name: &str) -> Result<String> {
        text(&Mpich::install()?.program(name, &self.programs)?)
    }
}

fn text(path: &Path) -> Result<String> {
    Ok(path
        .to_str()
        .context("the temporary folder's name is not text")?
        .to_owned())
}

/// What cpi writes for `ranks` ranks.
fn check_cpi(stdout: &str, ranks: usize) -> Result<()> {
    for rank in 0..ranks {
        let line = format!("rank {rank} of {ranks} runs on ");
        let count = stdout
            .lines()
            .filter(|found| found.starts_with(&line))
            .count();
        ensure!(count == 1, "{count} lines {line:?} in\n{stdout}");
    }
    ensure!(
        stdout.contains("pi is about 3.14159265358"),
        "wrong result in\n{stdout}"
    );
    let lines = stdout.lines().count();
    ensure!(
        lines == ranks + 2,
        "{lines} lines instead of {} in\n{stdout}",
        ranks + 2
    );
    Ok(())
}

fn eight_ranks(given: &Given) -> Result<()> {
    let cpi = text(&Mpich::install()?.example("cpi", &given.programs)?)?;
    check_cpi(&given.run(&["-n", "8", &cpi])?, 8)
}

fn two_ranks_of_mpich_4(given: &Given) -> Result<()> {
    let folder = given.programs.join("mpich-4");
    std::fs::create_dir_all(&folder)?;
    let cpi = text(&Mpich::debian()?.example("cpi", &folder)?)?;
    check_cpi(&given.run(&["-n", "2", &cpi])?, 2)
}

fn second_run_uploads_nothing(given: &Given) -> Result<()> {
    let cpi = text(&Mpich::install()?.example("cpi", &given.programs)?)?;
    let cache = || {
        let folder = format!("/user/{}/.gerbil/cache", given.cluster.user());
        let mut all: Vec<_> = given
            .cluster
            .hdfs()
            .list(&folder)?
            .into_iter()
            .map(|file| (file.path_suffix, file.length, file.modification_time))
            .collect();
        all.sort();
        anyhow::Ok(all)
    };
    given.run(&["-n", "2", &cpi])?;
    let first = cache()?;
    ensure!(!first.is_empty(), "nothing is kept in the cache folder");
    given.run(&["-n", "2", &cpi])?;
    let second = cache()?;
    ensure!(
        first == second,
        "the second run changed the cache: {first:?} became {second:?}"
    );
    Ok(())
}

fn shipped_library(given: &Given) -> Result<()> {
    let program = given.program("environment")?;
    let finished = given.succeed(gerbil::run(
        &given.cluster,
        ["-n", "8", &program, "PMI_", "GERBIL_"],
    )?)?;
    let stdout = finished.stdout_text();
    let nodes = given.cluster.folder().join("nodes");
    let values = |name: &str| -> Vec<PathBuf> {
        let name = format!(": {name}=");
        stdout
            .lines()
            .filter_map(|line| line.split_once(&name))
            .map(|(_, value)| PathBuf::from(value))
            .collect()
    };
    let folders = values("folder");
    // NODES/nm1/local/…: the first name below `nodes` tells the node.
    let used: BTreeSet<_> = folders
        .iter()
        .filter_map(|folder| folder.strip_prefix(&nodes).ok()?.iter().next())
        .collect();
    ensure!(
        folders.len() == 8 && used.len() == NODES,
        "eight ranks on nodes {used:?}:\n{stdout}"
    );
    let libraries = values("library");
    ensure!(
        libraries.len() == 8 && libraries.iter().all(|library| library.starts_with(&nodes)),
        "libmpi does not come from the containers' folders: {libraries:?}\n{stdout}"
    );
    let stderr = finished.stderr_text();
    for rank in 0..8 {
        ensure!(
            stderr.contains(&format!("{rank}: this goes to stderr")),
            "rank {rank} is missing in {stderr}"
        );
    }
    ensure!(
        !stdout.contains("this goes to stderr"),
        "stderr is mixed into stdout"
    );
    // A key among the ranks' variables would be readable by every process of the user.
    let secret =
        |line: &&str| line.contains("PRIVATE KEY") || line.to_lowercase().contains("ticket");
    ensure!(
        !stdout.lines().any(|line| secret(&line)),
        "secrets in the ranks' environment:\n{stdout}"
    );
    Ok(())
}

fn hello_and_ring(given: &Given) -> Result<()> {
    let hello = text(&Mpich::install()?.example("hello", &given.programs)?)?;
    let stdout = given.run(&["-n", "4", &hello])?;
    for rank in 0..4 {
        ensure!(
            stdout.contains(&format!("hello from rank {rank} of 4 on ")),
            "{stdout}"
        );
    }
    let ring = text(&Mpich::install()?.example("ring", &given.programs)?)?;
    let stdout = given.run(&["-n", "8", &ring])?;
    ensure!(
        stdout.contains("the token came back as 28, expected 28"),
        "{stdout}"
    );
    Ok(())
}

fn input(given: &Given) -> Result<()> {
    let cat = given.program("cat")?;
    // More than any pipe holds, so that it must be taken while the program reads.
    let sent: Vec<u8> = (0..200_000_u32)
        .flat_map(|number| format!("{number}\n").into_bytes())
        .collect();
    let finished =
        given.succeed(gerbil::run(&given.cluster, ["-n", "4", &cat])?.stdin(sent.clone()))?;
    ensure!(
        finished.stdout == sent,
        "{} bytes came back of {}",
        finished.stdout.len(),
        sent.len()
    );
    Ok(())
}

fn arguments(given: &Given) -> Result<()> {
    let strange = [
        "two words",
        "a'quote",
        "a\"double",
        "$HOME",
        "back\\slash",
        "",
        "*",
        "--verbose",
        "ümlaut",
        "{{PWD}}",
    ];
    let script = given.programs.join("say");
    std::fs::write(
        &script,
        "#!/bin/sh\nfor word do printf '<%s>\\n' \"$word\"; done\n",
    )?;
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let script = text(&script)?;
    let mut line = vec!["-n", "1", &script];
    line.extend(strange);
    let stdout = given.run(&line)?;
    let expected: String = strange.iter().map(|word| format!("<{word}>\n")).collect();
    ensure!(stdout == expected, "{stdout:?} instead of {expected:?}");
    Ok(())
}
