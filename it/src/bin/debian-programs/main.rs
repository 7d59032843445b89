//! Debian's own programs of Open MPI, as their packages ship them, under its `mpirun` and under
//! `gerbil-run`: the results must agree.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Parser;
use it::command::Run;
use it::{Cluster, Version, gerbil};

use programs::{PROGRAMS, PackagedProgram};

mod programs;

/// Where Debian keeps the libpmix of its Open MPI.
const LIBPMIX: &str = "/usr/lib/x86_64-linux-gnu/libpmix.so.2";
/// For one run; Open MPI's ranks wait busily, and on a loaded machine for long.
const DEADLINE: Duration = Duration::from_secs(180);
const RANKS: &str = "2";

/// Runs those of Debian's programs of Open MPI that are installed by its mpirun and by gerbil-run: on
/// this machine, on a Hadoop cluster that is started for it, and in a session there. Fails when results
/// differ.
#[derive(Debug, Parser)]
struct DebianProgramsOptions {
    /// These programs alone, by their packages.
    #[arg(long, value_name = "PACKAGE", value_delimiter = ',')]
    only: Vec<String>,
    /// Installs the packages first, with apt-get; needs root.
    #[arg(long)]
    install: bool,
    /// Hadoop's release.
    #[arg(long, default_value = "3.4.2")]
    version: Version,
    /// For the report, debian-programs.md.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// A launcher, and where it runs its ranks.
#[derive(Clone, Copy)]
struct Way {
    name: &'static str,
    line: &'static [&'static str],
    is_ours: bool,
}

const WAYS: [Way; 4] = [
    Way {
        name: "mpirun",
        line: &["--oversubscribe", "--allow-run-as-root"],
        is_ours: false,
    },
    Way {
        name: "gerbil-run --local=2",
        line: &["--local=2", "-ppn", "1"],
        is_ours: true,
    },
    Way {
        name: "gerbil-run",
        line: &["-ppn", "1", "--mem-per-proc", "2g"],
        is_ours: true,
    },
    Way {
        name: "gerbil-run --session",
        line: &["--session", "debian"],
        is_ours: true,
    },
];

/// What became of one run.
struct Outcome {
    code: i32,
    seconds: f64,
    results: Vec<String>,
    /// Its last words, for a run that failed.
    said: String,
}

#[expect(clippy::print_stderr, reason = "a command says on stderr why it ends")]
fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("debian-programs: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<bool> {
    let options = DebianProgramsOptions::parse();
    gerbil::binary()?;
    let mut chosen: Vec<_> = PROGRAMS.iter().collect();
    if !options.only.is_empty() {
        for only in &options.only {
            let is_known = |program: &PackagedProgram| program.packages[0] == only;
            ensure!(
                PROGRAMS.iter().any(is_known),
                "--only {only}: give one of {}",
                names(PROGRAMS)
            );
        }
        chosen.retain(|program| options.only.iter().any(|only| program.packages[0] == only));
    }
    if options.install {
        install(&chosen)?;
    }
    chosen.retain(|program| program.packages.iter().all(|name| release(name).is_ok()));
    if chosen.is_empty() || release("openmpi-bin").is_err() {
        bail!("none of these packages is installed with openmpi-bin: --install gets them");
    }
    let cluster = Cluster::builder()
        .version(options.version)
        .nodes(2)
        .start()?;
    let conf = cluster.conf_dir();
    let folder = tempfile::tempdir()?;
    session(&conf, folder.path(), "start")?;
    let mut page = head(&cluster.version()?.to_string())?;
    let mut all_agree = true;
    for program in chosen {
        let mut outcomes = Vec::new();
        for way in &WAYS {
            let outcome = launch(program, way, &conf)?;
            say(&format!(
                "{} with {}: {}, {:.1} s {}",
                program.packages[0], way.name, outcome.code, outcome.seconds, outcome.said
            ))?;
            outcomes.push(outcome);
        }
        all_agree &= row(&mut page, program, &outcomes)?;
    }
    session(&conf, folder.path(), "stop")?;
    if let Some(folder) = &options.out {
        fs::create_dir_all(folder)?;
        fs::write(folder.join("debian-programs.md"), &page)?;
    }
    std::io::stdout().write_all(page.as_bytes())?;
    Ok(all_agree)
}

fn names(programs: &[PackagedProgram]) -> String {
    let names: Vec<_> = programs.iter().map(|program| program.packages[0]).collect();
    names.join(", ")
}

/// Gets the packages; the machine's own `mpirun` and `mpicc` stay what they are.
fn install(chosen: &[&PackagedProgram]) -> Result<()> {
    let mut kept = Command::new("sh");
    kept.args(["-c", "for name in mpi mpirun; do of=$(update-alternatives --query $name 2>/dev/null | sed -n 's/^Value: //p'); test -z \"$of\" || update-alternatives --set $name \"$of\"; done"]);
    Run::new(kept).finish()?.success("update-alternatives")?;
    let mut apt = Command::new("apt-get");
    apt.args(["install", "-y", "--no-install-recommends", "openmpi-bin"])
        .args(chosen.iter().flat_map(|program| program.packages))
        .env("DEBIAN_FRONTEND", "noninteractive");
    Run::new(apt)
        .deadline(Duration::from_secs(900))
        .finish()?
        .success("apt-get install")?;
    Ok(())
}

/// Of a package that is installed.
fn release(package: &str) -> Result<String> {
    let mut query = Command::new("dpkg-query");
    query.args(["-W", "-f", "${db:Status-Status} ${Version}", package]);
    let said = Run::new(query).finish()?.success("dpkg-query")?;
    let text = said.stdout_text();
    let release = text.strip_prefix("installed ");
    Ok(release
        .with_context(|| format!("{package}: {text}"))?
        .to_owned())
}

/// `gerbil session WORD debian`, of one place on each node.
fn session(conf: &Path, folder: &Path, word: &str) -> Result<()> {
    let mut command = gerbil::gerbil(folder, conf, &["session", word, "debian"])?;
    if word == "start" {
        command.args("--containers 2 --slots-per-container 1 --memory 2g".split(' '));
    }
    Run::new(command).finish()?.success("gerbil session")?;
    Ok(())
}

/// One run, in a folder of its own, which is the same on all nodes.
fn launch(program: &PackagedProgram, way: &Way, conf: &Path) -> Result<Outcome> {
    let folder = tempfile::tempdir()?;
    for (name, text) in program.inputs {
        fs::write(folder.path().join(name), text)?;
    }
    let mut prepare = Command::new("sh");
    prepare
        .args(["-c", program.prepare])
        .current_dir(folder.path());
    Run::new(prepare).finish()?.success(program.prepare)?;
    let mut command = if way.is_ours {
        let mut line: Vec<&OsStr> = vec!["--quiet".as_ref(), "-wdir".as_ref()];
        line.push(folder.path().as_os_str());
        line.extend(["--env", "OMP_NUM_THREADS=1"].map(OsStr::new));
        if program.is_script {
            line.extend(["--pmix", LIBPMIX].map(OsStr::new));
        }
        gerbil::command(conf, line)?
    } else {
        Command::new("mpirun.openmpi")
    };
    command
        .args(way.line)
        .args(["-n", RANKS])
        .args(program.line)
        .env("OMP_NUM_THREADS", "1")
        .env_remove("LD_LIBRARY_PATH")
        .current_dir(folder.path());
    let mut run = Run::new(command).deadline(DEADLINE);
    if let Some(name) = program.stdin {
        run = run.stdin(fs::read(folder.path().join(name))?);
    }
    let finished = run.finish()?;
    let output = finished.stdout_text() + &finished.stderr_text();
    let text = match program.results {
        Some(name) => fs::read_to_string(folder.path().join(name)).unwrap_or_default(),
        None => output.clone(),
    };
    let said = match finished.code() {
        0 => String::new(),
        _ => output.lines().last().unwrap_or_default().to_owned(),
    };
    Ok(Outcome {
        code: finished.code(),
        seconds: finished.wall.as_secs_f64(),
        results: program.results_of(&text),
        said,
    })
}

fn head(hadoop: &str) -> Result<String> {
    let mut date = Command::new("date");
    date.args(["-u", "+%Y-%m-%d %H:%M UTC"]);
    let date = Run::new(date).finish()?.success("date")?.stdout_text();
    let given: Vec<String> = std::env::args().skip(1).collect();
    let mut page = format!(
        "# Debian's programs of Open MPI\n\n\
         Open MPI {}; Hadoop {hadoop}, 2 nodes of one machine; {} cores; {}. {RANKS} processes each, one a node; \
         seconds from the start of the launcher to its end, of one run.\n\n\
         ```sh\ncargo run -p it --bin debian-programs -- {}\n```\n\n\
         | package | program | results | the same |",
        release("openmpi-bin")?,
        std::thread::available_parallelism()?.get(),
        date.trim(),
        given.join(" ")
    );
    for way in &WAYS {
        write!(page, " {}, s |", way.name)?;
    }
    page.push_str("\n|---|---|---|---|---|---|---|---|\n");
    Ok(page)
}

/// The results count where there are some, each launcher ended with 0, and all say the same.
fn row(page: &mut String, program: &PackagedProgram, outcomes: &[Outcome]) -> Result<bool> {
    let stock = outcomes.first().context("no run")?;
    let agree = !stock.results.is_empty()
        && outcomes
            .iter()
            .all(|outcome| outcome.code == 0 && outcome.results == stock.results);
    let shown = match (program.results, stock.results.as_slice()) {
        (_, []) => "none".to_owned(),
        (Some(name), lines) if program.words.is_empty() => {
            format!("{name}, {} lines", lines.len())
        }
        (_, lines) if program.until.is_some() => format!("{} lines", lines.len()),
        (_, lines) => lines.join("; ").replace('|', "\\|"),
    };
    write!(
        page,
        "| {} {} | `{}` | {shown} | {} |",
        program.packages[0],
        release(program.packages[0])?,
        program.line.join(" "),
        if agree { "yes" } else { "**no**" }
    )?;
    for outcome in outcomes {
        match outcome.code {
            0 => write!(page, " {:.1} |", outcome.seconds)?,
            code => write!(page, " **ended with {code}** |")?,
        }
    }
    page.push('\n');
    Ok(agree)
}

/// On stderr: stdout is the report's.
fn say(line: &str) -> Result<()> {
    writeln!(std::io::stderr(), "{}", line.trim_end()).context("writing to stderr")
}
