//! Many maps and reduces.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use it::bed::{Given, on_small_nodes, text_of};
use it::load::{Usage, megabytes};
use it::mapreduce::{self, Files};
use it::results::{Axis, Chart, Figure, Series, Setting, Table, page};
use it::session::told;
use it::sweep::FoundProcess;
use it::victims;

use crate::{DEADLINE, NODES};

/// Counts the words of a small file of which each map has a line, in a session of four containers with two slots
/// each. The output is compared with that of the same program by itself.
#[derive(Debug, Args)]
pub struct WideOptions {
    /// Of each job one after the other.
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 10_000])]
    maps: Vec<u32>,
    /// Of each job.
    #[arg(long, default_value_t = 1_000)]
    reduces: u32,
    /// Writes the figure and the page of all figures into this folder.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Bytes of a line, its end among them.
const LINE: usize = 64;
/// Words that there are.
const WORDS: u32 = 5_000;
/// What the ApplicationMaster may have at the most, 10^6 bytes.
const TARGET_MB: f64 = 100.0;

/// What an ApplicationMaster's process is told.
const ROLE: &str = "--as=appmaster";

/// What a job needed.
struct WideRow {
    maps: u32,
    seconds: f64,
    /// Of the ApplicationMaster: before, in the end, and at the most so far.
    before_mb: f64,
    after_mb: f64,
    peak_mb: f64,
    /// Processor time of the ApplicationMaster.
    processors: f64,
}

pub fn run(options: &WideOptions) -> Result<()> {
    on_small_nodes(NODES, |given| {
        let setting = Setting::begin(&given.cluster.version()?)?;
        let line = "start s --containers 4 --slots-per-container 2 --memory 512";
        told(given, &line.split(' ').collect::<Vec<_>>(), 0)?;
        let mut rows = Vec::new();
        for maps in &options.maps {
            let row = job(given, *maps, options.reduces)?;
            let mut stderr = std::io::stderr();
            writeln!(stderr, "{}", cells(&row).join("  "))?;
            rows.push(row);
        }
        told(given, &["stop", "s"], 0)?;
        given.cluster.wait_until_clean(DEADLINE)?;
        let figure = figure(options, &rows, setting.finish()?)?;
        write!(std::io::stdout(), "{}", figure.text())?;
        if let Some(out) = &options.out {
            figure.save(out)?;
            page::write(out)?;
        }
        Ok(())
    })
}

/// A line for each map.
fn text(lines: u32) -> String {
    let mut text = String::new();
    let mut state = lines;
    for _ in 0..lines {
        let mut line = String::new();
        while line.len() < LINE - 8 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let _always = write!(line, "w{} ", (state >> 8) % WORDS);
        }
        line.truncate(LINE - 1);
        text.push_str(&format!("{line:<width$}\n", width = LINE - 1));
    }
    text
}

fn job(given: &Given, maps: u32, reduces: u32) -> Result<WideRow> {
    let folder = format!("/wide-{maps}");
    let input = mapreduce::put(given, &format!("{folder}/in"), &[("a", &text(maps))])?;
    let program = text_of(&mapreduce::release_example("wordcount")?)?;
    let reduces = format!("mapreduce.job.reduces={reduces}");
    let wanted = mapreduce::local(given, &program, &["-D", &reduces, &input], "wanted")?;
    let master = master(given)?;
    let before = Usage::of(master)?;
    let split = format!("mapreduce.input.fileinputformat.split.maxsize={LINE}");
    let (from, out) = (format!("{folder}/in"), format!("{folder}/out"));
    let line = [
        "--session",
        "s",
        "-D",
        &reduces,
        "-D",
        &split,
        "-D",
        "gerbil.split.pack=1",
        &program,
        &from,
        &out,
    ];
    let begin = Instant::now();
    let run = mapreduce::mr(&given.cluster, &given.folder, &line)?.deadline(DEADLINE);
    let finished = run.finish()?.success("the job")?;
    let seconds = begin.elapsed().as_secs_f64();
    let after = Usage::of(master)?;
    let said = finished.stdout_text() + &finished.stderr_text();
    ensure!(said.contains(&format!("{maps} maps")), "{said}");
    mapreduce::is_same(&outputs(given, &out)?, &wanted)?;
    Ok(WideRow {
        maps,
        seconds,
        before_mb: before.resident_mb(),
        after_mb: after.resident_mb(),
        peak_mb: megabytes(after.peak_kib),
        processors: after.seconds_since(&before),
    })
}

/// The process, and not the shell that YARN has started it with.
fn master(given: &Given) -> Result<u32> {
    let all = victims::masters(&given.cluster)?;
    let is_binary = |found: &&FoundProcess| found.arguments.get(1).is_some_and(|role| role == ROLE);
    let master = all.iter().find(is_binary);
    Ok(u32::try_from(master.context("no ApplicationMaster")?.pid)?)
}

fn outputs(given: &Given, folder: &str) -> Result<Files> {
    mapreduce::with_hdfs(&given.cluster, async |hdfs| {
        let mut files = Files::new();
        for entry in hdfs.list(folder, 1 << 20).await? {
            let bytes = hdfs.read(&entry.path, 1 << 20).await?;
            files.insert(entry.name().to_owned(), bytes);
        }
        Ok(files)
    })
}

fn cells(row: &WideRow) -> Vec<String> {
    vec![
        row.maps.to_string(),
        format!("{:.1}", row.seconds),
        format!("{:.1}", row.before_mb),
        format!("{:.1}", row.after_mb),
        format!("{:.1}", row.peak_mb),
        format!("{:.1}", row.processors),
    ]
}

fn figure(options: &WideOptions, rows: &[WideRow], setting: Setting) -> Result<Figure> {
    let mut table = Table::new(&[
        "maps",
        "the whole command, s",
        "AM before, MB",
        "AM after, MB",
        "AM at most so far, MB",
        "AM, processor s",
    ]);
    rows.iter().for_each(|row| table.row(cells(row)));
    let last = rows.last().context("no job")?;
    let points = |of: fn(&WideRow) -> f64| {
        let points = rows.iter().map(|row| (f64::from(row.maps), of(row)));
        points.collect::<Vec<_>>()
    };
    let maps: Vec<String> = options.maps.iter().map(ToString::to_string).collect();
    Ok(Figure {
        name: "mapreduce-wide".into(),
        title: "The ApplicationMaster by maps and reduces: memory".into(),
        command: format!(
            "cargo build --release -p client && cargo run --release -p it --bin mapreduce-limits -- wide --maps {} \
             --reduces {} --out it/results",
            maps.join(","),
            options.reduces
        ),
        method: format!(
            "Word count of a file on HDFS of which each map has a line of {LINE} bytes, with {} reduces, in a session of \
             {NODES} containers with two slots each, on {NODES} nodes that are addresses of one machine; one job after \
             the other in the same ApplicationMaster. Its memory is what Linux counts as resident (`VmHWM`: at most). \
             The output is that of the program by itself, byte for byte.",
            options.reduces
        ),
        paper: String::new(),
        findings: vec![format!(
            "{} maps and {} reduces: {:.0} MB at most (target: under {TARGET_MB:.0} MB, {}), {:.0} tasks a second.",
            last.maps,
            options.reduces,
            last.peak_mb,
            match last.peak_mb < TARGET_MB {
                true => "kept",
                false => "missed",
            },
            f64::from(last.maps.saturating_add(options.reduces)) / last.seconds
        )],
        setting,
        table,
        chart: Chart {
            x: Axis::linear("maps"),
            y: Axis::linear("resident memory, MB"),
            series: vec![
                Series::measured("at most so far", points(|row| row.peak_mb)),
                Series::measured("after the job", points(|row| row.after_mb)),
                Series::given("target", points(|_| TARGET_MB)),
            ],
            ..Chart::default()
        },
    })
}
