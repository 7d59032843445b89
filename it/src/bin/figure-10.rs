//! Table III and Figure 10 of the paper: the five modes on a cluster that is partly busy.
//!
//! Eighteen hollow nodes of four units: groups A (8 nodes), B (6) and C (4). A background job fills A,
//! a shorter one fills B; five seconds later a job of 16 processes comes, whose list names two nodes
//! of each group, for 3, 3 and 2 processes each. In which mode it comes decides how long it waits.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use it::hollow::job::{Desk, Started, seconds};
use it::hollow::{Fleet, FleetPlan};
use it::results::{self, Axis, Chart, Figure, Series, Setting, Table};
use it::{gerbil, wait};
use job::report::Report;

/// Table III and Figure 10 of the paper: the five modes on a cluster that is partly busy.
#[derive(Debug, Parser)]
struct Figure10Options {
    /// For tables, JSON and SVG.
    #[arg(long, default_value_os_t = results::folder())]
    out: PathBuf,
    /// Short jobs: whether it works, not what it gives.
    #[arg(long)]
    quick: bool,
}

/// Nodes of the groups, one after the other.
const GROUPS: [(char, usize); 3] = [('A', 8), ('B', 6), ('C', 4)];
const UNITS: u32 = 4;
/// How many processes the list wants on each of a group's first two nodes.
const LISTED: [u32; 3] = [3, 3, 2];
const MODES: [&str; 5] = ["none", "loc", "dist", "loc+dist", "all"];
/// Between the background jobs and the job, as in the paper.
const LATER: Duration = Duration::from_secs(5);
/// One job with all its waiting.
const DEADLINE: Duration = Duration::from_secs(240);
/// A tenth of the paper's 6 and 2 minutes, and the job's own.
const LENGTHS: Lengths = Lengths {
    on_a: 36,
    on_b: 12,
    job: 5,
};
const QUICK: Lengths = Lengths {
    on_a: 16,
    on_b: 9,
    job: 1,
};

/// For how many seconds the processes of each job run.
#[derive(Debug, Clone, Copy)]
struct Lengths {
    on_a: u32,
    on_b: u32,
    job: u32,
}

/// One mode.
struct ModeRow {
    mode: &'static str,
    /// Processes on each node used, by group.
    placed: [Vec<u32>; 3],
    /// A sentence for each node that is degraded.
    degraded: Vec<String>,
    /// Seconds since the command began.
    granted: f64,
    finished: f64,
    /// When the background jobs' processes ended, on the same clock.
    ends: (f64, f64),
}

#[expect(clippy::print_stderr, reason = "a command says on stderr why it ends")]
fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("figure-10: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let Figure10Options { out, quick } = Figure10Options::parse();
    let lengths = if quick { QUICK } else { LENGTHS };
    gerbil::binary()?;
    let fleet = Fleet::start(&FleetPlan {
        nodes: GROUPS.iter().map(|(_, nodes)| nodes).sum(),
        memory_mib: u64::from(UNITS) * 1024,
        vcores: UNITS,
        ..FleetPlan::default()
    })?;
    let setting = Setting::begin(&fleet.cluster().version()?)?;
    let bench = Bench::new(&fleet)?;
    let mut rows = Vec::new();
    for mode in MODES {
        let row = bench.measure(mode, lengths)?;
        writeln!(
            std::io::stdout(),
            "{mode}: all containers after {:.1} s, over after {:.1} s; degraded: {:?}",
            row.granted,
            row.finished,
            row.degraded
        )?;
        rows.push(row);
    }
    let figure = figure(&rows, lengths, setting.finish()?);
    figure.save(&out)?;
    writeln!(std::io::stdout(), "{}", figure.text())?;
    Ok(())
}

struct Bench<'a> {
    fleet: &'a Fleet,
    desk: Desk,
    /// Of each group.
    hosts: Vec<Vec<String>>,
}

impl<'a> Bench<'a> {
    fn new(fleet: &'a Fleet) -> Result<Self> {
        let mut names = fleet.nodes().iter().map(|node| node.id().host.clone());
        let hosts: Vec<Vec<String>> = GROUPS
            .iter()
            .map(|&(_, count)| names.by_ref().take(count).collect())
            .collect();
        let bench = Self {
            fleet,
            desk: Desk::new()?,
            hosts,
        };
        for (place, (group, _)) in GROUPS.iter().enumerate() {
            let lines = bench.hosts[place]
                .iter()
                .map(|host| format!("{host}:{UNITS}\n"));
            std::fs::write(bench.list(*group), lines.collect::<String>())?;
        }
        let wanted = bench.hosts.iter().zip(LISTED);
        let wanted = wanted.flat_map(|(hosts, count)| {
            let first_two = hosts.iter().take(2);
            first_two.map(move |host| format!("{host}:{count}\n"))
        });
        std::fs::write(bench.list('J'), wanted.collect::<String>())?;
        // Files are staged, and the ResourceManager's code is warm.
        bench
            .desk
            .run(fleet, &["-n", "1"], &["idle", "0"], DEADLINE)?;
        Ok(bench)
    }

    fn list(&self, name: char) -> PathBuf {
        self.desk.folder().join(format!("hosts-{name}"))
    }

    /// Fills a group. The ApplicationMaster is no container: all units are the processes'.
    fn fill(&self, place: usize, length: u32) -> Result<Started> {
        let list = self.list(GROUPS[place].0).display().to_string();
        let options = ["--deploy-mode", "client", "-r", "none", "-f", &list];
        let started = self.desk.start(
            self.fleet,
            &options,
            &["idle", &length.to_string()],
            DEADLINE,
        )?;
        let processes = u64::from(UNITS) * GROUPS[place].1 as u64;
        let mut last = String::new();
        wait::until("the background job to fill its group", DEADLINE, || {
            let nodes = self.fleet.cluster().resource_manager().nodes()?;
            let of_group = |id: &str| {
                self.hosts[place]
                    .iter()
                    .any(|host| id.starts_with(&format!("{host}:")))
            };
            let used = nodes.iter().filter(|node| of_group(&node.id));
            let used: u64 = used.map(|node| node.used_memory_mb / 1024).sum();
            last = started.running.stderr_so_far();
            Ok((used == processes).then_some(()))
        })
        .with_context(|| last.clone())?;
        Ok(started)
    }

    fn measure(&self, mode: &'static str, lengths: Lengths) -> Result<ModeRow> {
        let on_a = self.fill(0, lengths.on_a)?;
        let on_b = self.fill(1, lengths.on_b)?;
        wait::pause(LATER);
        let list = self.list('J').display().to_string();
        let options: Vec<&str> = match mode {
            // It takes no list.
            "all" => vec!["-r", mode, "-n", "16"],
            _ => vec!["-r", mode, "-f", &list],
        };
        let length = lengths.job.to_string();
        let job = self
            .desk
            .run(self.fleet, &options, &["idle", &length], DEADLINE)?;
        let (on_a, on_b) = (on_a.finish(self.fleet)?, on_b.finish(self.fleet)?);
        self.settle()?;
        let since = |us: i64| seconds(job.phases.started_us, us);
        Ok(ModeRow {
            mode,
            placed: self.placed(&job)?,
            degraded: job.degraded,
            granted: since(job.phases.granted_us),
            finished: since(job.phases.finished_us),
            ends: (since(on_a.phases.ended_us), since(on_b.phases.ended_us)),
        })
    }

    fn placed(&self, job: &Report) -> Result<[Vec<u32>; 3]> {
        let mut placed = [Vec::new(), Vec::new(), Vec::new()];
        let nodes = &job.placement.as_ref().context("no placement")?.nodes;
        for node in nodes {
            let group = self
                .hosts
                .iter()
                .position(|group| group.contains(&node.host));
            placed[group.context("a node of no group")?].push(node.processes);
        }
        let all: u32 = placed.iter().flatten().sum();
        ensure!(all == 16, "{all} processes were placed");
        Ok(placed)
    }

    /// Until nothing is used any more.
    fn settle(&self) -> Result<()> {
        let began = Instant::now();
        wait::until("all units to be free", DEADLINE, || {
            let nodes = self.fleet.cluster().resource_manager().nodes()?;
            Ok(nodes
                .iter()
                .all(|node| node.used_memory_mb == 0)
                .then_some(()))
        })?;
        wait::pause(Duration::from_secs(1).saturating_sub(began.elapsed()));
        Ok(())
    }
}

fn figure(rows: &[ModeRow], lengths: Lengths, setting: Setting) -> Figure {
    let mut table = Table::new(&[
        "mode",
        "on A",
        "on B",
        "on C",
        "degraded nodes",
        "all containers after, s",
        "over after, s",
        "A free at, s",
        "B free at, s",
    ]);
    for row in rows {
        let group = |place: usize| {
            let counts: Vec<String> = row.placed[place].iter().map(u32::to_string).collect();
            counts.join(" ")
        };
        table.row([
            row.mode.to_owned(),
            group(0),
            group(1),
            group(2),
            row.degraded.len().to_string(),
            format!("{:.1}", row.granted),
            format!("{:.1}", row.finished),
            format!("{:.1}", row.ends.0),
            format!("{:.1}", row.ends.1),
        ]);
    }
    let bars = |value: fn(&ModeRow) -> f64| {
        let points = rows.iter().enumerate();
        points
            .map(|(place, row)| (place as f64, value(row)))
            .collect::<Vec<_>>()
    };
    let word = |row: &ModeRow| match row.granted {
        at if at + 0.5 < row.ends.1 => format!("`{}` did not wait ({at:.1} s)", row.mode),
        at if at < row.ends.0 => format!("`{}` waited for group B ({at:.1} s)", row.mode),
        at => format!("`{}` waited for group A ({at:.1} s)", row.mode),
    };
    let words: Vec<String> = rows.iter().map(word).collect();
    Figure {
        name: "figure-10".to_owned(),
        title: "Table III and Figure 10: the five modes among background jobs".to_owned(),
        command: "cargo build --release -p client -p it && cargo run --release -p it --bin figure-10"
            .to_owned(),
        method: format!(
            "18 hollow nodes of 4 units under a real ResourceManager, in groups A (8), B (6) and C (4). One \
             background job takes all of A for {} s, another all of B for {} s, a tenth of the paper's. {} s \
             later comes a job of 16 processes that run for {} s (asleep: hollow nodes compute nothing, so the \
             time of execution is the same by construction). Its list names two nodes of each group with 3, 3 \
             and 2 processes; mode `all` takes no list. Its ApplicationMaster holds one unit, which only C has.",
            lengths.on_a,
            lengths.on_b,
            LATER.as_secs(),
            lengths.job
        ),
        paper: "`none` and `dist` wait for group A's job (6 minutes), `loc` and `loc+dist` until nodes of A or \
                B become free, and `all` runs on group C at once. (It also says that nothing is \
                oversubscribed; with 16 processes on what its ApplicationMaster leaves of 16 units that \
                cannot be, and here it is said as degraded.)"
            .to_owned(),
        findings: vec![words.join("; ") + "."],
        setting,
        table,
        chart: Chart {
            x: Axis::linear("mode"),
            y: Axis::linear("seconds since the command"),
            names: rows.iter().map(|row| row.mode.to_owned()).collect(),
            stacked: true,
            series: vec![
                Series::measured("until all containers are there", bars(|row| row.granted)),
                Series::measured(
                    "execution and the rest",
                    bars(|row| row.finished - row.granted),
                ),
            ],
        },
    }
}
