//! How fast a rank's standard output comes through, and what it costs in memory.
//!
//! One rank writes a gigabyte of lines, in turn under `gerbil-run` on a real cluster, with its
//! ApplicationMaster in a container and inside the command, and under stock Hydra's `mpiexec`; all write into a pipe that is read as fast as it can be. What counts is the
//! time from the first byte to the last: how long a job takes to start is another question. Then the
//! same with a reader that stands still for a while. The resident memory of client, ApplicationMaster
//! and launcher is looked at all the while.

use std::ffi::OsString;
use std::io::Write as _;
use std::num::NonZeroUsize;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use it::flow::flow;
use it::memory::Resident;
use it::{Cluster, Mpich, gerbil, mpi};

/// How fast a rank's standard output comes through, and what it costs in memory, beside stock Hydra.
#[derive(Debug, Parser)]
struct StreamsOptions {
    #[arg(default_value = "5")]
    rounds: NonZeroUsize,
    /// That the rank writes.
    #[arg(default_value = "1024")]
    mib: NonZeroUsize,
}
/// For which the slow reader does not read.
const STILL: Duration = Duration::from_secs(10);

#[expect(clippy::print_stderr, reason = "a command says on stderr why it ends")]
fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("streams: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let options = StreamsOptions::parse();
    let (rounds, mib) = (options.rounds.get(), options.mib.get());
    gerbil::binary()?;
    let folder = tempfile::tempdir()?;
    let program = mpi::plain_program("stream", folder.path())?;
    let mpich = Mpich::install()?;
    let cluster = Cluster::builder().nodes(1).start()?;
    let ours = |options: &[&str]| -> Result<Command> {
        let mut line: Vec<OsString> = options.iter().map(OsString::from).collect();
        line.extend(["-n", "1"].map(OsString::from));
        line.extend([program.clone().into(), mib.to_string().into()]);
        gerbil::command(&cluster.conf_dir(), line)
    };
    let theirs = || {
        let mut command = Command::new(mpich.mpiexec());
        command.args(["-n", "1"]).arg(&program).arg(mib.to_string());
        command
    };
    let folder = cluster.folder();
    // Files come to the node once.
    flow(&ours(&[])?, folder, mib, Duration::ZERO)?;
    let mut stdout = std::io::stdout();
    writeln!(
        stdout,
        "{mib} MiB of standard output from one rank, MiB/s, and as ratios to Hydra's\n\
         {:>8} {:>8} {:>8} {:>8} {:>8}\n{:>8} {:>8}",
        "gerbil", "--deploy", "hydra", "gerbil", "--deploy", "", "client"
    )?;
    let mut columns: [Vec<f64>; 5] = Default::default();
    let mut flowing = Resident::default();
    for _ in 0..rounds {
        let one = flow(&ours(&[])?, folder, mib, Duration::ZERO)?;
        let inside = flow(
            &ours(&["--deploy-mode", "client"])?,
            folder,
            mib,
            Duration::ZERO,
        )?;
        let other = flow(&theirs(), folder, mib, Duration::ZERO)?;
        let [first, second, third] = [&one, &inside, &other].map(|flow| flow.mib_per_second);
        let row = [first, second, third, first / third, second / third];
        writeln!(stdout, "{}", shown(row))?;
        for (column, number) in columns.iter_mut().zip(row) {
            column.push(number);
        }
        for (role, kib) in one.resident.0 {
            let most = flowing.0.entry(role).or_default();
            *most = kib.max(*most);
        }
    }
    let medians = columns.each_mut().map(|column| median(column));
    writeln!(stdout, "{} median", shown(medians))?;
    let still = flow(&ours(&[])?, folder, mib, STILL)?;
    for (when, resident) in [
        ("while it flows", flowing),
        ("with a reader that stood still", still.resident),
    ] {
        let shown: Vec<String> = resident
            .0
            .iter()
            .map(|(role, kib)| format!("{role} {:.1}", *kib as f64 / 1024.0))
            .collect();
        writeln!(stdout, "most resident {when}, MiB: {}", shown.join(", "))?;
    }
    Ok(())
}

fn shown([one, inside, other, ratio, inside_ratio]: [f64; 5]) -> String {
    format!("{one:>8.0} {inside:>8.0} {other:>8.0} {ratio:>8.2} {inside_ratio:>8.2}")
}

fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}
