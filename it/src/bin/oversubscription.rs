//! What more ranks than cores cost: the time of a barrier, busy waiting and yielding.
//!
//! One cluster of one node; `gerbil-run --yield never` and `--yield always` start the same program,
//! whose rank 0 tells the mean time of a barrier. The best of several runs counts: whatever else the
//! machine does makes a barrier slower, never faster. Ranks that yield leave their cores to any other
//! program as well, so that on a machine that is not idle a single run says little.

use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Parser;
use it::{Cluster, Mpich, gerbil};

/// What more ranks than cores cost: the time of a barrier, busy waiting and yielding.
#[derive(Debug, Parser)]
struct OversubscriptionOptions {
    /// Of which the best counts.
    #[arg(default_value = "3")]
    runs: NonZeroUsize,
}

/// For one run, its waiting included.
const DEADLINE: Duration = Duration::from_secs(180);
const RANKS: [u32; 3] = [4, 8, 16];
/// Barriers of a yielding run.
const YIELDING: u32 = 5000;
/// Of a busy-waiting run of all ranks together: each takes milliseconds.
const BUSY: u32 = 400;

/// An MPI library and the way its ranks talk.
struct Library {
    name: &'static str,
    program: String,
    environment: &'static [(&'static str, &'static str)],
}

#[expect(clippy::print_stderr, reason = "a command says on stderr why it ends")]
fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("oversubscription: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let runs = OversubscriptionOptions::parse().runs.get();
    gerbil::binary()?;
    let folder = tempfile::tempdir()?;
    let libraries = libraries(folder.path())?;
    let cluster = Cluster::builder().nodes(1).start()?;
    let mut stdout = std::io::stdout();
    let cores = std::thread::available_parallelism()?.get();
    writeln!(
        stdout,
        "microseconds of a barrier on one node of {cores} cores, best of {runs} runs\n\
         {:22} {:>5} {:>12} {:>12} {:>8}",
        "", "ranks", "busy", "yielding", "ratio"
    )?;
    for library in &libraries {
        for ranks in RANKS {
            let busy = best(&cluster, library, "never", ranks, BUSY / ranks, runs)?;
            let yielding = best(&cluster, library, "always", ranks, YIELDING, runs)?;
            writeln!(
                stdout,
                "{:22} {ranks:>5} {busy:>12.1} {yielding:>12.1} {:>8.4}",
                library.name,
                yielding / busy
            )?;
        }
    }
    Ok(())
}

fn libraries(folder: &Path) -> Result<Vec<Library>> {
    let program = |mpich: &Mpich, place: &str| {
        let folder = folder.join(place);
        std::fs::create_dir(&folder)?;
        let program = mpich.program("barriers", &folder)?;
        anyhow::Ok(program.display().to_string())
    };
    let old = program(&Mpich::debian()?, "old")?;
    let new = program(&Mpich::install()?, "new")?;
    Ok(vec![
        Library {
            name: "MPICH 4, UCX",
            program: old,
            environment: &[],
        },
        Library {
            name: "MPICH 5, UCX",
            program: new.clone(),
            environment: &[],
        },
        Library {
            name: "MPICH 5, libfabric",
            program: new.clone(),
            environment: &[("MPIR_CVAR_CH4_NETMOD", "ofi"), ("FI_PROVIDER", "tcp")],
        },
        Library {
            name: "MPICH 5, libfabric only",
            program: new,
            // As between nodes: no shared memory.
            environment: &[
                ("MPIR_CVAR_CH4_NETMOD", "ofi"),
                ("FI_PROVIDER", "tcp"),
                ("MPIR_CVAR_NOLOCAL", "1"),
            ],
        },
    ])
}

/// The shortest mean time of a barrier, microseconds.
fn best(
    cluster: &Cluster,
    library: &Library,
    when: &str,
    ranks: u32,
    barriers: u32,
    runs: usize,
) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..runs {
        let mut line = vec!["--yield".to_owned(), when.to_owned()];
        line.extend(["-n".to_owned(), ranks.to_string()]);
        line.extend([library.program.clone(), barriers.to_string()]);
        let mut run = gerbil::run(cluster, &line)?.deadline(DEADLINE);
        for (name, value) in library.environment {
            run = run.env(name, value);
        }
        let finished = run.finish()?.success(&format!("gerbil-run {line:?}"))?;
        // "8 ranks: 22.7 us a barrier"
        let text = finished.stdout_text();
        let told = text.split_whitespace().nth(2);
        let time: f64 = told
            .with_context(|| format!("the program said {text:?}"))?
            .parse()
            .with_context(|| format!("the program said {text:?}"))?;
        best = best.min(time);
    }
    Ok(best)
}
