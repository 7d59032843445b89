//! `--deploy-mode client` on real clusters: the ApplicationMaster in `gerbil-run` itself, and what a user
//! sees the same as with one in a container.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use it::command::Running;
use it::resource_manager::ApplicationReport;
use it::settings::File as Setting;
use it::{Cluster, Finished, Mpich, Run, Shared, Version, expect, gerbil, wait};
use libtest_mimic::{Arguments, Failed, Trial};
use nix::sys::signal::Signal;

const DEADLINE: Duration = Duration::from_secs(120);
/// YARN misses an ApplicationMaster after this silence; ten minutes and more where nothing is set.
const EXPIRY: Duration = Duration::from_secs(20);
/// Between two of YARN's looks for the silent, a third of the expiry, and for a busy machine.
const EXPIRY_SEEN: Duration = Duration::from_secs(60);
/// What sees its peer gone ends at once; this is for a busy machine.
const LINK_LOST: Duration = Duration::from_secs(15);

/// The oldest line and the newest that has every test jar.
const VERSIONS: [Version; 2] = [Version::V2_10_2, Version::V3_4_2];

struct Given {
    cluster: Arc<Cluster>,
    programs: PathBuf,
}

type Case = fn(&Given) -> Result<()>;

const CASES: [(&str, Case); 9] = [
    ("eight ranks of cpi on four nodes", eight_ranks),
    ("one rank returns 7", one_rank_returns_7),
    ("input reaches rank 0", input),
    ("no port of the range is free", no_port),
    ("no such interface", no_interface),
    ("Ctrl-C once", interrupted),
    ("Ctrl-C twice", interrupted_twice),
    ("killed through YARN", killed_through_yarn),
    ("gerbil-run killed -9", killed),
];

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // The cases share a cluster, and each looks whether anything is left on it.
    arguments.test_threads = Some(1);
    let builder = Cluster::builder().set(
        Setting::Yarn,
        "yarn.am.liveness-monitor.expiry-interval-ms",
        EXPIRY.as_millis().to_string(),
    );
    let shared = Arc::new(Shared::new(builder));
    let Ok(folder) = tempfile::tempdir() else {
        return ExitCode::FAILURE;
    };
    let mut trials = Vec::new();
    for version in VERSIONS {
        for (name, case) in CASES {
            let (shared, programs) = (Arc::clone(&shared), folder.path().to_owned());
            trials.push(Trial::test(format!("{version}: {name}"), move || {
                run(&shared, version, programs, case)
                    .map_err(|error| Failed::from(format!("{error:?}")))
            }));
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    match shared.end() {
        Ok(()) => conclusion.exit_code(),
        Err(_) => ExitCode::FAILURE,
    }
}

fn run(shared: &Shared, version: Version, programs: PathBuf, case: Case) -> Result<()> {
    let cluster = shared.cluster(version)?;
    let given = Given { cluster, programs };
    case(&given).map_err(|error| anyhow!("{error:?}\n{}", given.cluster.log_tails()))
}

impl Given {
    fn program(&self, name: &str) -> Result<String> {
        let path = Mpich::install()?.program(name, &self.programs)?;
        Ok(path.to_string_lossy().into_owned())
    }

    /// `gerbil-run --deploy-mode client ARGUMENTS`.
    fn run(&self, arguments: &[&str]) -> Result<Run> {
        let arguments = [&["--deploy-mode", "client"], arguments].concat();
        Ok(gerbil::run(&self.cluster, arguments)?.deadline(DEADLINE))
    }

    fn fails(&self, arguments: &[&str], code: i32, words: &[&str]) -> Result<Finished> {
        let finished = self.run(arguments)?.finish()?;
        expect::failure(&self.cluster, &finished, code, words)?;
        Ok(finished)
    }

    fn refused(&self, arguments: &[&str], code: i32, words: &[&str]) -> Result<()> {
        let before = self.applications()?.len();
        self.fails(arguments, code, words)?;
        ensure!(
            self.applications()?.len() == before,
            "an application was submitted"
        );
        Ok(())
    }

    fn applications(&self) -> Result<Vec<ApplicationReport>> {
        self.cluster.resource_manager().applications()
    }

    fn newest(&self) -> Result<ApplicationReport> {
        self.applications()?.pop().context("no application")
    }

    fn newest_ended(&self, deadline: Duration) -> Result<ApplicationReport> {
        wait::until("the application's end", deadline, || {
            Ok(Some(self.newest()?).filter(ApplicationReport::is_over))
        })
    }

    /// A job of four ranks, one a node, that is up.
    fn lingering(&self) -> Result<Running> {
        let linger = self.program("linger")?;
        let mut running = self.run(&["-n", "4", &linger, "600"])?.start()?;
        running.wait_for_stdout("ready")?;
        Ok(running)
    }

    /// Kills a job's `gerbil-run`; nothing of the job runs when this returns.
    fn kill_lingering(&self) -> Result<()> {
        let running = self.lingering()?;
        ensure!(!self.cluster.container_processes()?.is_empty());
        running.signal(Signal::SIGKILL)?;
        drop(running.finish()?);
        wait::until("every rank and launcher to end", LINK_LOST, || {
            Ok(self.cluster.container_processes()?.is_empty().then_some(()))
        })
    }
}

fn eight_ranks(given: &Given) -> Result<()> {
    let cpi = Mpich::install()?.example("cpi", &given.programs)?;
    let run = given.run(&["-n", "8", "--timing", &cpi.to_string_lossy()])?;
    let finished = expect::job(&given.cluster, run)?;
    let stdout = finished.stdout_text();
    ensure!(stdout.contains("pi is about 3.14159265358"), "{stdout}");
    ensure!(stdout.lines().count() == 8 + 2, "{stdout}");
    let asked = finished.stderr_text();
    ensure!(asked.contains("allocate calls that asked: 1 of"), "{asked}");
    let report = given.newest()?;
    ensure!(report.unmanaged_application != Some(false), "{report:?}");
    ensure!(
        report.name == "cpi" && report.application_type == "GERBIL",
        "{report:?}"
    );
    Ok(())
}

fn one_rank_returns_7(given: &Given) -> Result<()> {
    let program = given.program("exit_code")?;
    given.fails(&["-n", "4", &program, "2", "7"], 7, &["rank 2", "code 7"])?;
    let report = given.newest_ended(DEADLINE)?;
    ensure!(report.final_status == "FAILED", "{report:?}");
    ensure!(report.diagnostics.contains("rank 2"), "{report:?}");
    Ok(())
}

fn input(given: &Given) -> Result<()> {
    let cat = given.program("cat")?;
    let text: Vec<u8> = (0..200_000u32).flat_map(u32::to_le_bytes).collect();
    let run = given.run(&["-n", "2", &cat])?.stdin(text.clone());
    let finished = expect::job(&given.cluster, run)?;
    ensure!(
        finished.stdout == text,
        "{} bytes came back",
        finished.stdout.len()
    );
    Ok(())
}

fn no_port(given: &Given) -> Result<()> {
    let held = TcpListener::bind("0.0.0.0:0")?;
    let port = held.local_addr()?.port().to_string();
    let program = given.program("linger")?;
    given.refused(
        &["--am-ports", &port, "-n", "2", &program, "0"],
        65,
        &[&port, "--am-ports"],
    )
}

fn no_interface(given: &Given) -> Result<()> {
    let program = given.program("linger")?;
    given.refused(
        &["--iface", "nope0", "-n", "2", &program, "0"],
        65,
        &["nope0", "lo", "--iface"],
    )
}

fn interrupted(given: &Given) -> Result<()> {
    let running = given.lingering()?;
    running.signal(Signal::SIGINT)?;
    let finished = running.finish()?;
    expect::failure(&given.cluster, &finished, 130, &["interrupted"])?;
    let report = given.newest_ended(DEADLINE)?;
    ensure!(report.final_status == "KILLED", "{report:?}");
    Ok(())
}

fn interrupted_twice(given: &Given) -> Result<()> {
    let stubborn = given.program("stubborn")?;
    let mut running = given.run(&["-n", "2", &stubborn])?.start()?;
    running.wait_for_stdout("ready")?;
    running.signal(Signal::SIGINT)?;
    running.wait_for_stderr("once more")?;
    running.signal(Signal::SIGINT)?;
    let finished = running.finish()?;
    expect::failure(&given.cluster, &finished, 130, &["interrupted"])?;
    given.newest_ended(DEADLINE)?;
    Ok(())
}

fn killed_through_yarn(given: &Given) -> Result<()> {
    let running = given.lingering()?;
    let id = given.newest()?.id;
    let killer = gerbil::run(&given.cluster, ["-k", &id])?.deadline(DEADLINE);
    let killer = killer.finish()?;
    ensure!(killer.code() == 0, "{}", killer.stderr_text());
    let since = Instant::now();
    let finished = running.finish()?;
    ensure!(since.elapsed() < LINK_LOST, "{:?}", since.elapsed());
    expect::failure(&given.cluster, &finished, 143, &[&id, "killed"])
}

fn killed(given: &Given) -> Result<()> {
    given.kill_lingering()?;
    let report = given.newest()?;
    ensure!(!report.is_over(), "YARN cannot know yet: {report:?}");
    let ended = gerbil::run(&given.cluster, ["-k", &report.id])?.deadline(DEADLINE);
    let ended = ended.finish()?;
    ensure!(ended.code() == 0, "{}", ended.stderr_text());
    ensure!(given.newest()?.is_over(), "{:?}", given.newest()?);

    // Left alone, YARN ends it.
    given.kill_lingering()?;
    let since = Instant::now();
    let report = given.newest_ended(EXPIRY + EXPIRY_SEEN)?;
    ensure!(since.elapsed() > EXPIRY / 2, "{:?}", since.elapsed());
    ensure!(report.final_status != "SUCCEEDED", "{report:?}");
    Ok(())
}
