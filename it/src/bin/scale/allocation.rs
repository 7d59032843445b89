//! The time from asking to the last container, by the number of processes.

use std::time::Duration;

use anyhow::{Context as _, Result};
use it::hollow::job::{Desk, seconds};
use it::hollow::{Fleet, FleetPlan, one_by_one};
use it::results::{Axis, Chart, Figure, Series, Setting, Spread, Table};

use crate::{DEADLINE, FigureResult, command, say};

/// DistributedShell looks once a second.
const LOOK: Duration = Duration::from_secs(1);
/// A container for each of ten thousand processes takes a hundred seconds on a hundred nodes.
const ONE_BY_ONE: Duration = Duration::from_secs(240);

/// One size, both ways.
struct AllocationRow {
    processes: u32,
    ours: Spread,
    /// Allocate calls that asked, and all until the last grant, at most of all rounds.
    asking: u32,
    containers: usize,
    appmaster_mb: f64,
    theirs: f64,
    their_calls: u32,
}

fn rows(fleet: &Fleet, sizes: &[u32], rounds: usize) -> Result<Vec<AllocationRow>> {
    let desk = Desk::new()?;
    // Files are staged, and the ResourceManager's code is warm.
    let small = sizes.first().context("no size")?.to_string();
    desk.run(fleet, &["-n", &small], &["idle", "0"], DEADLINE)?;
    let mut rows = Vec::new();
    for &processes in sizes {
        let mut times = Vec::new();
        let (mut asking, mut containers, mut appmaster_mb) = (0, 0, 0.0_f64);
        for _ in 0..rounds {
            let options = ["-n", &processes.to_string()];
            let report = desk.run(fleet, &options, &["idle", "0"], DEADLINE)?;
            times.push(seconds(report.phases.asked_us, report.phases.granted_us));
            asking = asking.max(report.asking_allocates);
            containers = containers.max(report.grants.len());
            let resident = it::load::megabytes(report.appmaster_resident_kib);
            appmaster_mb = appmaster_mb.max(resident);
        }
        let ours = Spread::of(&times).context("no round")?;
        let asked = one_by_one::ask(fleet.cluster(), processes, LOOK, ONE_BY_ONE);
        let asked = fleet.block_on(asked)??;
        say(&format!(
            "{processes} processes: {} s in {containers} containers; {:.2} s one by one",
            ours.words(),
            asked.allocation.as_secs_f64()
        ))?;
        rows.push(AllocationRow {
            processes,
            ours,
            asking,
            containers,
            appmaster_mb,
            theirs: asked.allocation.as_secs_f64(),
            their_calls: asked.allocates,
        });
    }
    Ok(rows)
}

fn table(rows: &[AllocationRow]) -> Table {
    let mut table = Table::new(&[
        "processes",
        "gerbil-run: s, median (min–max)",
        "containers",
        "calls that ask",
        "AM, MB",
        "one by one: s",
        "its calls",
        "slowdown",
    ]);
    for row in rows {
        table.row([
            row.processes.to_string(),
            row.ours.words(),
            row.containers.to_string(),
            row.asking.to_string(),
            format!("{:.0}", row.appmaster_mb),
            format!("{:.2}", row.theirs),
            row.their_calls.to_string(),
            format!("{:.1}", row.theirs / row.ours.median),
        ]);
    }
    table
}

fn finding(rows: &[AllocationRow], heartbeat: Duration) -> String {
    let medians = rows.iter().map(|row| row.ours.median);
    let longest = rows.iter().map(|row| row.ours.max).fold(0.0, f64::max);
    format!(
        "Medians from {:.2} to {:.2} s, longest {longest:.2} s, where a heartbeat comes every {:.0} s and the \
         ApplicationMaster looks every 0.05 s; every job asked in {} call.",
        medians.clone().fold(f64::INFINITY, f64::min),
        medians.fold(0.0, f64::max),
        heartbeat.as_secs_f64(),
        rows.iter().map(|row| row.asking).max().unwrap_or(0),
    )
}

const METHOD: &str = "Hollow nodes under a real ResourceManager with its default settings, but for the \
    largest container, each with a heartbeat a second, those of all nodes spread evenly over the second. Counted is the time from the \
    call that asks to the answer that brings the last container. `gerbil-run` (mode `all`) is asked for \
    more and more processes; *one by one* is an ApplicationMaster that asks for a container of 1024 MiB \
    for each process anywhere and looks once a second, as Hadoop's DistributedShell does.";

/// The paper's own experiment.
pub(crate) fn figure_14(quick: bool) -> FigureResult {
    let plan = FleetPlan {
        nodes: 18,
        ..FleetPlan::default()
    };
    let fleet = Fleet::start(&plan)?;
    let setting = Setting::begin(&fleet.cluster().version()?)?;
    let (sizes, rounds): (&[u32], _) = match quick {
        true => (&[8, 72, 143], 1),
        false => (&[8, 18, 36, 54, 72, 90, 108, 126, 143], 5),
    };
    let rows = rows(&fleet, sizes, rounds)?;
    let over = |value: fn(&AllocationRow) -> f64| {
        rows.iter()
            .map(|row| (f64::from(row.processes), value(row)))
            .collect::<Vec<_>>()
    };
    Ok(Figure {
        name: "figure-14".to_owned(),
        title: "Figure 14: time to allocate, a container a node against a container a process"
            .to_owned(),
        command: command("figure-14"),
        method: format!(
            "{METHOD} 18 nodes with room for 8 each, 143 and the ApplicationMaster in all."
        ),
        paper: "the time of the default way grows linearly, 18 containers with each round of \
                heartbeats (eight rounds for 143); GERBIL's is one heartbeat whatever the size."
            .to_owned(),
        findings: vec![finding(&rows, plan.heartbeat)],
        setting: setting.finish()?,
        table: table(&rows),
        chart: Chart {
            x: Axis::linear("processes"),
            y: Axis::linear("seconds from asking to the last container"),
            series: vec![
                Series::measured("gerbil-run, mode all", over(|row| row.ours.median)),
                Series::measured("one container for each process", over(|row| row.theirs)),
                Series::given(
                    "the paper's account of the latter: 18 a heartbeat",
                    over(|row| (f64::from(row.processes) / 18.0).ceil()),
                ),
            ],
            ..Chart::default()
        },
    })
}

/// Far beyond it.
pub(crate) fn to_ten_thousand(quick: bool) -> FigureResult {
    let plan = FleetPlan {
        nodes: 100,
        memory_mib: 128 << 10,
        vcores: 128,
        ..FleetPlan::default()
    };
    let fleet = Fleet::start(&plan)?;
    let setting = Setting::begin(&fleet.cluster().version()?)?;
    let (sizes, rounds): (&[u32], _) = match quick {
        true => (&[8, 1000], 1),
        false => (&[8, 32, 100, 320, 1000, 3200, 10_000], 3),
    };
    let rows = rows(&fleet, sizes, rounds)?;
    let over = |value: fn(&AllocationRow) -> f64| {
        rows.iter()
            .map(|row| (f64::from(row.processes), value(row)))
            .collect::<Vec<_>>()
    };
    Ok(Figure {
        name: "scale-allocation".to_owned(),
        title: "Time to allocate, 8 to 10,000 processes on 100 nodes".to_owned(),
        command: command("allocation"),
        method: format!("{METHOD} 100 nodes of 128 GiB."),
        paper: String::new(),
        findings: vec![finding(&rows, plan.heartbeat)],
        setting: setting.finish()?,
        table: table(&rows),
        chart: Chart {
            x: Axis::logarithmic("processes"),
            y: Axis::logarithmic("seconds from asking to the last container"),
            series: vec![
                Series::measured("gerbil-run, mode all", over(|row| row.ours.median)),
                Series::measured("one container for each process", over(|row| row.theirs)),
                Series::given("one heartbeat", over(|_| 1.0)),
            ],
            ..Chart::default()
        },
    })
}
