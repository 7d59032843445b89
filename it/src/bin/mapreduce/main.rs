//! Word count, grep, Pi and sorting by `gerbil mr` in a session, by Hadoop's own MapReduce and by Spark on YARN, on the
//! same daemons and the same data.
//!
//! Four nodes, which are loopback addresses of this machine, and one copy of each block. All are warm: the
//! session holds its containers, Spark its executors, Hadoop's jars and the data are in memory, and a round before the
//! first is not counted. Measured is the whole command, and the processor time of the whole machine meanwhile (all daemons
//! included), so nothing else is to run. A round is one run of each, in turns of who goes first. What gerbil and
//! Hadoop have written is compared byte for byte, where Hadoop's partitions and order are ours.

mod figure;

use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use it::cluster::Size;
use it::results::{Setting, page};
use it::spark::Spark;
use it::{Cluster, Run, gerbil, mapreduce};

use figure::{Measured, Took, figure};

/// Times gerbil mr against Hadoop's MapReduce.
#[derive(Debug, Parser)]
struct MapReduceOptions {
    /// Of each peer; one more before warms caches.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Of text, and of rows to sort: MB.
    #[arg(long, default_value_t = 256)]
    megabytes: u64,
    /// Samples of each of 16 maps.
    #[arg(long, default_value_t = 1_000_000)]
    samples: u64,
    /// One of wordcount, grep, pi, terasort, sort; all of them without it.
    #[arg(long)]
    only: Option<String>,
    /// Hadoop's MapReduce and Spark are left out.
    #[arg(long)]
    alone: bool,
    /// Spark runs beside: 450 MB from PyPI the first time.
    #[arg(long, conflicts_with = "alone")]
    spark: bool,
    /// Writes the figure and the page of all figures into this folder.
    #[arg(long)]
    out: Option<PathBuf>,
}

const NODES: usize = 4;
const DEADLINE: Duration = Duration::from_secs(1200);
const PATTERN: &str = "[a-z]*ing";

/// A job of both.
struct BenchJob {
    name: &'static str,
    /// The example of `gerbil-mapreduce` and its arguments; OUT stands for the output.
    ours: (&'static str, Vec<String>),
    /// The class of Hadoop's examples and its arguments; none: Hadoop has no such example.
    hadoop: Option<(&'static str, Vec<String>)>,
    /// The job of Spark's and its arguments; none: it has no part in it.
    spark: Option<Vec<String>>,
    /// The outputs are the same, part file by part file.
    is_same: bool,
}

/// Who runs a job.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Gerbil,
    Hadoop,
    Spark,
}

struct Bench {
    spark: Option<Spark>,
    cluster: Cluster,
    folder: tempfile::TempDir,
    runs: u32,
}

#[expect(clippy::print_stderr, reason = "a command says on stderr why it ends")]
fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mapreduce: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let options = MapReduceOptions::parse();
    let size = Size {
        // A session, Spark's executors and Hadoop's tasks have room beside each other.
        memory_mib: 6144,
        vcores: 4,
    };
    let builder = Cluster::builder().sizes(&[size; NODES]);
    let cluster = mapreduce::with_hadoop(builder).start()?;
    let mut bench = Bench {
        spark: match options.spark {
            true => Some(Spark::start(&cluster, NODES)?),
            false => None,
        },
        cluster,
        folder: tempfile::tempdir()?,
        runs: 0,
    };
    symlink(gerbil::binary()?, bench.folder.path().join("gerbil"))?;
    bench.prepare(&options)?;
    // Hadoop's turn may take longer than an idle session lives.
    let line =
        "start mr --containers 4 --slots-per-container 2 --memory 512 --session-timeout never";
    bench.session(&line.split(' ').collect::<Vec<_>>())?;
    measure(&mut bench, &options)?;
    bench.session(&["stop", "mr", "--now"])
}

fn work(options: &MapReduceOptions) -> Vec<BenchJob> {
    let text = |all: &[&str]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
    let samples = options.samples.to_string();
    let reduces = "mapreduce.job.reduces=4";
    let all = vec![
        BenchJob {
            name: "wordcount",
            ours: ("wordcount", text(&["-D", reduces, "/in/text", "OUT"])),
            hadoop: Some(("WordCount", text(&["-D", reduces, "/in/text", "OUT"]))),
            spark: Some(text(&["wordcount", "/in/text", "OUT"])),
            is_same: true,
        },
        BenchJob {
            name: "grep",
            ours: ("grep", text(&["--pattern", PATTERN, "/in/text", "OUT"])),
            hadoop: Some(("Grep", text(&["/in/text", "OUT", PATTERN]))),
            spark: Some(text(&["grep", "/in/text", "OUT", PATTERN])),
            is_same: false,
        },
        BenchJob {
            name: "pi",
            ours: ("pi", text(&["16", &samples])),
            hadoop: Some(("QuasiMonteCarlo", text(&["16", &samples]))),
            spark: None,
            is_same: false,
        },
        BenchJob {
            name: "terasort",
            ours: (
                "tera",
                text(&["--job", "terasort", "-D", reduces, "/in/rows", "OUT"]),
            ),
            hadoop: Some((
                "terasort.TeraSort",
                text(&["-D", reduces, "/in/rows", "OUT"]),
            )),
            spark: None,
            is_same: false,
        },
        BenchJob {
            name: "sort",
            ours: ("sortlines", text(&["-D", reduces, "/in/text", "OUT"])),
            hadoop: None,
            spark: Some(text(&["sort", "/in/text", "OUT"])),
            is_same: false,
        },
    ];
    let only = options.only.as_deref();
    all.into_iter()
        .filter(|work| only.is_none_or(|only| only == work.name))
        .collect()
}

fn measure(bench: &mut Bench, options: &MapReduceOptions) -> Result<()> {
    let setting = Setting::begin(&bench.cluster.version()?)?;
    let mut measured = Vec::new();
    for work in work(options) {
        let one = compare(bench, options, &work)?;
        let mut stderr = std::io::stderr();
        writeln!(stderr, "{}", one.row().join("  "))?;
        measured.push(one);
    }
    let figure = figure(options, setting.finish()?, &measured);
    write!(std::io::stdout(), "{}", figure.text())?;
    if let Some(out) = &options.out {
        figure.save(out)?;
        page::write(out)?;
    }
    Ok(())
}

/// All, in turns; the first round is not counted.
fn compare(bench: &mut Bench, options: &MapReduceOptions, work: &BenchJob) -> Result<Measured> {
    let mut measured = Measured {
        name: work.name,
        // Of what all read.
        megabytes: match work.name {
            "pi" => 0,
            _ => options.megabytes,
        },
        ours: Vec::new(),
        hadoop: Vec::new(),
        spark: Vec::new(),
        are_same: None,
    };
    let mut sides = vec![Side::Gerbil];
    sides.extend((work.hadoop.is_some() && !options.alone).then_some(Side::Hadoop));
    sides.extend((work.spark.is_some() && options.spark).then_some(Side::Spark));
    for round in 0..=options.rounds {
        let mut outputs = Vec::new();
        // Another one begins each round.
        for &side in sides.iter().cycle().skip(round).take(sides.len()) {
            let (took, out) = bench.once(work, side)?;
            outputs.push((side, out));
            if round > 0 {
                measured.of(side).push(took);
            }
        }
        let of = |wanted| {
            let mut outputs = outputs.iter();
            outputs
                .find(|(side, _)| *side == wanted)
                .map(|(_, out)| out)
        };
        if let Some((ours, theirs)) = of(Side::Gerbil).zip(of(Side::Hadoop))
            && work.is_same
            && measured.are_same.is_none()
        {
            measured.are_same = Some(bench.are_same(ours, theirs)?);
        }
        for (_, out) in outputs {
            bench.cluster.hdfs().remove(&out)?;
        }
    }
    Ok(measured)
}

impl Bench {
    fn session(&self, words: &[&str]) -> Result<()> {
        let mut command = Command::new(self.folder.path().join("gerbil"));
        command.arg("session").args(words);
        let command = gerbil::with_settings(command, &self.cluster.conf_dir());
        let run = Run::new(self.at_home(command)).deadline(DEADLINE);
        run.finish()?.success("gerbil session")?;
        Ok(())
    }

    /// Sessions are kept in a folder of this benchmark.
    fn at_home(&self, mut command: Command) -> Command {
        command.env("XDG_STATE_HOME", self.state());
        command
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// Text and rows, in files of 64 MB.
    fn prepare(&self, options: &MapReduceOptions) -> Result<()> {
        let text = self.folder.path().join("text");
        let made = Command::new(mapreduce::release_example("maketext")?)
            .arg(options.megabytes.to_string())
            .stdout(std::fs::File::create(&text)?)
            .status()?;
        ensure!(made.success(), "maketext: {made}");
        self.cluster.dfs(&["-mkdir", "-p", "/in/text", "/out"])?;
        self.cluster.dfs(&["-chmod", "777", "/in", "/out"])?;
        let block = format!("-Ddfs.blocksize={}", 32 << 20);
        let text = text.display().to_string();
        self.cluster.dfs(&[&block, "-put", &text, "/in/text/a"])?;
        let rows = (options.megabytes * 10_000).to_string();
        let wanted = options
            .only
            .as_deref()
            .is_none_or(|only| only == "terasort");
        if wanted {
            let tera = mapreduce::release_example("tera")?.display().to_string();
            let local = self.folder.path().join("rows").display().to_string();
            let made = Command::new(tera)
                .args(["--local", "--job", "teragen", "--quiet", &rows, &local])
                .status()?;
            ensure!(made.success(), "teragen: {made}");
            self.cluster.dfs(&[&block, "-put", &local, "/in/rows"])?;
        }
        Ok(())
    }

    /// One run, and where its output is.
    fn once(&mut self, work: &BenchJob, side: Side) -> Result<(Took, String)> {
        self.runs += 1;
        let out = format!("/out/{}-{}", work.name, self.runs);
        let fill = |words: &[String]| -> Vec<String> {
            let words = words.iter();
            words
                .map(|word| match word.as_str() {
                    "OUT" => out.clone(),
                    _ => word.clone(),
                })
                .collect()
        };
        let before = processors()?;
        let wall = match side {
            Side::Gerbil => {
                let program = mapreduce::release_example(work.ours.0)?
                    .display()
                    .to_string();
                let words = fill(&work.ours.1);
                let mut line = vec!["--session", "mr", "-q", program.as_str()];
                line.extend(words.iter().map(String::as_str));
                let run = mapreduce::mr(&self.cluster, self.folder.path(), &line)?;
                let state = self.state().display().to_string();
                let run = run.env("XDG_STATE_HOME", &state).deadline(DEADLINE);
                run.finish()?.success(work.name)?.wall
            }
            Side::Hadoop => {
                let (class, words) = work.hadoop.as_ref().context("no such example")?;
                let words = fill(words);
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                mapreduce::hadoop(&self.cluster, class, &words, DEADLINE)?.wall
            }
            Side::Spark => {
                let words = fill(work.spark.as_ref().context("no such job")?);
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                let spark = self.spark.as_mut().context("Spark was not started")?;
                let began = Instant::now();
                spark.run(&words, DEADLINE)?;
                began.elapsed()
            }
        };
        let took = Took {
            wall: wall.as_secs_f64(),
            processors: processors()? - before,
        };
        Ok((took, out))
    }

    fn are_same(&self, ours: &str, theirs: &str) -> Result<bool> {
        let all = |folder: &str, name: &str| -> Result<Vec<(String, Vec<u8>)>> {
            let local: PathBuf = self.folder.path().join(name);
            let path = local.display().to_string();
            self.cluster.dfs(&["-get", folder, &path])?;
            let mut files = Vec::new();
            for entry in std::fs::read_dir(&local)? {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                if name.starts_with("part-") {
                    files.push((name, std::fs::read(entry.path())?));
                }
            }
            std::fs::remove_dir_all(&local)?;
            files.sort();
            Ok(files)
        };
        Ok(all(ours, "ours")? == all(theirs, "theirs")?)
    }
}

/// Seconds that the processors of this machine have worked so far.
fn processors() -> Result<f64> {
    let text = std::fs::read_to_string("/proc/stat")?;
    let line = text.lines().next().context("/proc/stat is empty")?;
    let ticks: Vec<u64> = line
        .split_whitespace()
        .skip(1)
        .filter_map(|word| word.parse().ok())
        .collect();
    // user nice system, and what interrupts took; not idle, nor waiting for a disk.
    let busy: u64 = [0, 1, 2, 5, 6].iter().filter_map(|at| ticks.get(*at)).sum();
    Ok(busy as f64 / 100.0)
}
