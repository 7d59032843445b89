//! The main job before one's eyes: a cluster comes up, an MPI program is compiled and run on it, and the
//! cluster goes again. `it/demo` builds what this needs.

use std::io::Write as _;
use std::process::{ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result};
use it::hadoop::Distribution;
use it::process::{self, ChildStreams};
use it::{Cluster, Mpich, Version, gerbil};

const VERSION: Version = Version::V3_4_2;
const NODES: usize = 4;
const RANKS: &str = "8";

#[expect(clippy::print_stderr, reason = "a command says on stderr why it ends")]
fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("demo: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<ExitCode> {
    let mut stdout = std::io::stdout();
    let folder = tempfile::tempdir().context("a folder for the program")?;
    // Looked for first: nothing is started for nothing.
    gerbil::binary()?;

    if !Distribution::is_here(VERSION) {
        writeln!(
            stdout,
            "# bringing Hadoop {VERSION} and MPICH from the network: a minute or two, and 500 MB of disk"
        )?;
        Distribution::fetch(VERSION)?;
    }
    let mpich = Mpich::install()?;
    writeln!(stdout, "$ mpicc cpi.c -o cpi")?;
    mpich.example("cpi", folder.path())?;

    writeln!(
        stdout,
        "# starting stock Hadoop: ResourceManager, NameNode, DataNode, {NODES} NodeManagers"
    )?;
    let begin = Instant::now();
    let cluster = Cluster::builder().version(VERSION).nodes(NODES).start()?;
    writeln!(
        stdout,
        "# Hadoop {} is ready after {:.0} s; no node knows MPI or gerbil\n",
        cluster.version()?,
        begin.elapsed().as_secs_f64()
    )?;

    writeln!(stdout, "$ gerbil-run -n {RANKS} ./cpi")?;
    stdout.flush()?;
    let begin = Instant::now();
    let mut command = gerbil::command(&cluster.conf_dir(), ["-n", RANKS, "./cpi"])?;
    command.current_dir(folder.path());
    let streams = ChildStreams {
        stdin: Stdio::null(),
        stdout: Stdio::inherit(),
        stderr: Stdio::inherit(),
    };
    // The job has its own deadlines, and it is the terminal's user who waits.
    let status = process::spawn(&command, streams)?.wait()?;
    writeln!(
        stdout,
        "\n# exit code {}, after {:.1} s",
        status.code().unwrap_or(1),
        begin.elapsed().as_secs_f64()
    )?;
    let code = status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(1);
    drop(cluster);
    writeln!(stdout, "# the cluster is gone again")?;
    Ok(ExitCode::from(code))
}
