//! MPICH's own test suite through `gerbil-run` and through MPICH's own `mpiexec`, compared.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::io::Write as _;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Parser;
use it::cluster::Size;
use it::command::Run;
use it::mpich_suite::compare::Tries;
use it::mpich_suite::lists::{self, ListedTest};
use it::mpich_suite::report::{Setting, SuiteReport};
use it::mpich_suite::run::{self, Mpiexec, TestResult};
use it::mpich_suite::{Comparison, Suite};
use it::settings::File;
use it::{Cluster, Version, gerbil};

/// What no node has, so that no test is refused for want of room: the machine is what it is.
const NODE: Size = Size {
    memory_mib: 1 << 20,
    vcores: 128,
};
/// The largest that a rank of the suite needs: MPI-IO with types of more than 2 GiB.
const MEMORY: &str = "8g";
/// Milliseconds between two reports of a node; a second, unless it is said.
const HEARTBEAT: &str = "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms";

/// Builds MPICH once (7 minutes on two cores), then runs its test suite with its own mpiexec and with
/// gerbil-run on a Hadoop cluster that is started for it. Fails when a test that passes with mpiexec does
/// not with gerbil-run.
#[derive(Debug, Parser)]
struct MpichSuiteOptions {
    /// These folders of the suite alone.
    #[arg(long, value_name = "FOLDER", value_delimiter = ',')]
    only: Vec<String>,
    /// On gerbil-run's own small cluster.
    #[arg(long)]
    local: bool,
    #[arg(long, default_value = "4")]
    nodes: NonZeroUsize,
    /// Hadoop's release.
    #[arg(long, default_value = "3.4.2")]
    version: Version,
    /// So many tests at a time.
    #[arg(long, default_value = "4")]
    side_by_side: NonZeroUsize,
    /// Of MPICH: how ranks talk.
    #[arg(long, default_value = it::mpich_suite::DEVICE)]
    device: String,
    /// How often what differs is tried again.
    #[arg(long, default_value = "3")]
    again: NonZeroU32,
    /// For the report, mpich-suite.md and .json.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Goes on where a run with the same folder was ended.
    #[arg(long, requires = "out")]
    resume: bool,
}

#[expect(clippy::print_stderr, reason = "a command says on stderr why it ends")]
fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("mpich-suite: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<bool> {
    let options = MpichSuiteOptions::parse();
    gerbil::binary()?;
    let suite = Suite::prepare(&options.device)?;
    let mut listed = lists::read(&suite.built(), &suite.source())?;
    if !options.only.is_empty() {
        for only in &options.only {
            if !listed.iter().any(|test| test.top() == only) {
                bail!("--only {only}: the suite has no such folder");
            }
        }
        listed.retain(|test| options.only.iter().any(|only| only == test.top()));
    }
    let cluster = if options.local {
        None
    } else {
        let sizes = vec![NODE; options.nodes.get()];
        let most = |name: &str| format!("yarn.scheduler.maximum-allocation-{name}");
        let builder = Cluster::builder().version(options.version).sizes(&sizes);
        let builder = builder
            .set(File::Yarn, &most("mb"), NODE.memory_mib.to_string())
            .set(File::Yarn, &most("vcores"), NODE.vcores.to_string())
            // A thousand short jobs, each of which waits for a heartbeat or two.
            .set(File::Yarn, HEARTBEAT, "100");
        Some(builder.start()?)
    };
    let state = tempfile::tempdir()?;
    let stock = stock(&suite, options.nodes.get());
    let ours = ours(
        cluster.as_ref(),
        options.nodes.get(),
        state.path().as_os_str(),
    )?;

    let date = date()?;
    let begin = Instant::now();
    let mut found = KnownOutcomes::default();
    if let Some(folder) = &options.out {
        fs::create_dir_all(folder)?;
        found.file = Some(folder.join("mpich-suite.outcomes.json"));
        if options.resume {
            found.load()?;
        }
    }
    let before = listed
        .iter()
        .filter(|test| found.has(0, test) && found.has(1, test))
        .count();
    let launchers = [&stock, &ours];
    let found = compare(
        &suite,
        &listed,
        launchers,
        options.side_by_side.get(),
        found,
    )?;
    let mut comparison = Comparison::pair(&listed, &found.both)?;
    for (test, listed) in comparison.tests.iter_mut().zip(&listed) {
        if test.differs() {
            test.again = Some(again(&suite, listed, &stock, &ours, options.again.get())?);
        }
    }
    let report = SuiteReport {
        setting: Setting {
            command: typed(),
            date,
            cores: std::thread::available_parallelism()?.get(),
            mpich: suite.release().to_owned(),
            device: suite.device().to_owned(),
            cluster: match &cluster {
                Some(cluster) => format!("Hadoop {}", cluster.version()?),
                None => "gerbil-run --local".to_owned(),
            },
            nodes: options.nodes.get(),
            side_by_side: options.side_by_side.get(),
            seconds: begin.elapsed().as_secs_f64(),
            before,
            stock: without_folders(&stock.line),
            ours: without_folders(&ours.line),
        },
        comparison,
    };
    drop(cluster);
    let page = report.markdown();
    if let Some(folder) = &options.out {
        fs::write(folder.join("mpich-suite.md"), &page)?;
        let json = serde_json::to_string_pretty(&report)?;
        fs::write(folder.join("mpich-suite.json"), json)?;
    }
    std::io::stdout().write_all(page.as_bytes())?;
    Ok(report.comparison.lost().next().is_none())
}

/// How to get the report again.
fn typed() -> String {
    let given: Vec<String> = std::env::args().skip(1).collect();
    format!(
        "cargo build --release -p client && cargo run -p it --bin mpich-suite -- {}",
        given.join(" ")
    )
}

/// What was run, wherever it lay.
fn without_folders(line: &str) -> String {
    let word = |word: &str| match word.rsplit_once('/') {
        Some((folder, name)) if folder.starts_with('/') => name.to_owned(),
        _ => word.to_owned(),
    };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// MPICH's own launcher: as many nodes by name, all of them this machine.
fn stock(suite: &Suite, nodes: usize) -> Mpiexec {
    let hosts: Vec<_> = (1..=nodes)
        .map(|node| format!("127.0.0.{}", node + 10))
        .collect();
    Mpiexec {
        name: "mpiexec".to_owned(),
        line: format!(
            "{} -launcher fork -hosts {}",
            suite.mpiexec().display(),
            hosts.join(",")
        ),
        environment: Vec::new(),
    }
}

/// Ours. The folder that the shell stands in is on all nodes: the tests' files are there.
fn ours(cluster: Option<&Cluster>, nodes: usize, state: &std::ffi::OsStr) -> Result<Mpiexec> {
    let binary = gerbil::binary()?;
    let binary = std::path::absolute(&binary)?;
    let own = "--quiet -wdir \"$PWD\"";
    let mut environment = vec![("XDG_STATE_HOME".to_owned(), state.to_owned())];
    let line = match cluster {
        Some(cluster) => {
            environment.push(("HADOOP_CONF_DIR".to_owned(), cluster.conf_dir().into()));
            format!("{} --mem-per-proc {MEMORY} {own}", binary.display())
        }
        None => format!("{} --local={nodes} {own}", binary.display()),
    };
    Ok(Mpiexec {
        name: "gerbil-run".to_owned(),
        line,
        environment,
    })
}

/// What is known so far: the outcomes by the names of the tests, with the library's own launcher and
/// with ours.
#[derive(Debug, Default)]
struct KnownOutcomes {
    both: [BTreeMap<String, TestResult>; 2],
    file: Option<PathBuf>,
}

impl KnownOutcomes {
    fn load(&mut self) -> Result<()> {
        let Some(file) = self.file.as_deref().filter(|file| file.is_file()) else {
            return Ok(());
        };
        let text = fs::read(file).with_context(|| file.display().to_string())?;
        self.both = serde_json::from_slice(&text).with_context(|| file.display().to_string())?;
        Ok(())
    }

    fn has(&self, place: usize, test: &ListedTest) -> bool {
        self.both[place].contains_key(&test.name)
    }

    /// Adds what became of `tests`, and keeps all in the file, which is whole at any time.
    fn add(&mut self, place: usize, tests: &[ListedTest], outcomes: Vec<TestResult>) -> Result<()> {
        let names = tests.iter().map(|test| test.name.clone());
        self.both[place].extend(names.zip(outcomes));
        if let Some(file) = &self.file {
            let half: &Path = &file.with_extension("half");
            fs::write(half, serde_json::to_vec(&self.both)?)?;
            fs::rename(half, file)?;
        }
        Ok(())
    }
}

/// Each piece with the one launcher, then with the other, without the tests that are known; several
/// side by side.
fn compare(
    suite: &Suite,
    listed: &[ListedTest],
    launchers: [&Mpiexec; 2],
    side_by_side: usize,
    found: KnownOutcomes,
) -> Result<KnownOutcomes> {
    let is_unknown = |test: &&ListedTest| !(found.has(0, test) && found.has(1, test));
    let unknown: Vec<_> = listed.iter().filter(is_unknown).cloned().collect();
    let pieces = lists::pieces(&unknown);
    let count = pieces.len();
    let queue = Mutex::new(VecDeque::from(pieces));
    let found = Mutex::new(found);
    let next = || lock(&queue).pop_front();
    let work = || -> Result<()> {
        while let Some(piece) = next() {
            for (place, launcher) in launchers.into_iter().enumerate() {
                let mut rest = piece.clone();
                rest.tests.retain(|test| !lock(&found).has(place, test));
                if rest.tests.is_empty() {
                    continue;
                }
                let begin = Instant::now();
                let outcomes = run::piece(suite, &rest, launcher)?;
                let passed = outcomes.iter().filter(|outcome| outcome.passed()).count();
                progress(&format!(
                    "{rest} (of {count} pieces) with {}: {passed} passed, {:.0} s",
                    launcher.name,
                    begin.elapsed().as_secs_f64()
                ))?;
                lock(&found).add(place, &rest.tests, outcomes)?;
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..side_by_side).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            let Ok(done) = worker.join() else {
                bail!("a worker panicked");
            };
            done?;
        }
        Ok(())
    })?;
    found
        .into_inner()
        .map_err(|_poisoned| anyhow!("a worker panicked"))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One test that differed, by itself, the launchers in turns.
fn again(
    suite: &Suite,
    test: &ListedTest,
    stock: &Mpiexec,
    ours: &Mpiexec,
    count: u32,
) -> Result<Tries> {
    let mut tries = Tries {
        of: count,
        ..Tries::default()
    };
    for _ in 0..count {
        tries.stock += u32::from(run::alone(suite, test, stock)?.passed());
        tries.ours += u32::from(run::alone(suite, test, ours)?.passed());
    }
    progress(&format!(
        "again, {}: {} of {count} with {}, {} of {count} with {}",
        test.name, tries.stock, stock.name, tries.ours, ours.name
    ))?;
    Ok(tries)
}

/// On stderr: stdout is the report's.
fn progress(line: &str) -> Result<()> {
    writeln!(std::io::stderr(), "{line}").context("writing to stderr")
}

fn date() -> Result<String> {
    let mut date = Command::new("date");
    date.args(["-u", "+%Y-%m-%d %H:%M UTC"]);
    let said = Run::new(date).finish()?.success("date")?;
    Ok(said.stdout_text().trim().to_owned())
}
