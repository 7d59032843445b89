//! The tests of other crates that need a real cluster or a real MPI library, which those crates leave out
//! of their own runs: brings up what each needs, and hands on how many ran.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use it::settings::File;
use it::{Cluster, Mpich, Run, Version, gerbil};
use libtest_mimic::{Arguments, Trial};

/// Compiling a crate from nothing on a busy machine, then its tests.
const DEADLINE: Duration = Duration::from_secs(900);

/// Release and `hadoop.rpc.protection`: each level, and the oldest and newest wire.
const CLUSTERS: [(Version, &str); 4] = [
    (Version::V3_4_2, "authentication"),
    (Version::V3_4_2, "privacy"),
    (Version::V2_10_2, "integrity"),
    (Version::V3_5_0, "privacy"),
];

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // One cluster at a time holds memory, and one cargo the target folder.
    arguments.test_threads = Some(1);
    let mut trials: Vec<Trial> = CLUSTERS
        .into_iter()
        .map(|(version, protection)| {
            let name = format!("proto-hadoop on {version} with {protection}");
            trial(name, move || on_cluster(version, protection))
        })
        .collect();
    trials.push(trial("container-launcher with MPICH 5".into(), with_mpich));
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trial(name: String, case: impl FnOnce() -> Result<()> + Send + 'static) -> Trial {
    Trial::test(name, move || {
        case().map_err(|error| format!("{error:?}").into())
    })
}

fn on_cluster(version: Version, protection: &str) -> Result<()> {
    let cluster = Cluster::builder()
        .version(version)
        .nodes(2)
        .set(File::Core, "hadoop.rpc.protection", protection)
        .start()?;
    let said = cluster.version()?;
    ensure!(
        said == version.as_str(),
        "the ResourceManager is {said}, not {version}"
    );
    let cargo = gerbil::with_settings(ignored_tests("cluster"), &cluster.conf_dir());
    run(cargo).with_context(|| cluster.log_tails())
}

fn with_mpich() -> Result<()> {
    let mut cargo = ignored_tests("mpich");
    cargo.env("GERBIL_MPICC", Mpich::install()?.mpicc());
    run(cargo)
}

/// `cargo test` of one file of tests. The crate is not named: cargo then builds as for all crates
/// together, and what was built for their own tests is used again.
fn ignored_tests(file: &str) -> Command {
    // The one that runs this test, or the one on PATH.
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .args(["test", "--locked", "--test", file])
        // Tests of one cluster watch the same nodes.
        .args(["--", "--ignored", "--test-threads=1"]);
    cargo
}

/// Runs the ignored tests, and says how many did.
#[expect(
    clippy::print_stdout,
    reason = "whoever counts tests reads this output"
)]
fn run(cargo: Command) -> Result<()> {
    let finished = Run::new(cargo)
        .deadline(DEADLINE)
        .finish()?
        .success("cargo test")?;
    let stdout = finished.stdout_text();
    let results: Vec<&str> = stdout
        .lines()
        .filter(|line| line.starts_with("test result:"))
        .collect();
    let ran: u32 = results.iter().map(|line| passed(line)).sum();
    ensure!(ran > 0, "no test ran\n{stdout}{}", finished.stderr_text());
    // Behind the name of the trial, which has no end of line yet.
    println!();
    for line in results.iter().filter(|line| passed(line) > 0) {
        println!("{line}");
    }
    Ok(())
}

/// 4, of `test result: ok. 4 passed; 0 failed; …`
fn passed(line: &str) -> u32 {
    let before = line.split(" passed").next().unwrap_or_default();
    let number = before.rsplit(' ').next().unwrap_or_default();
    number.parse().unwrap_or(0)
}
