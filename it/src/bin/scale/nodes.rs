//! Clusters of thousands of nodes on this machine: what they cost, one job on all of each, and how many
//! are too many.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use it::hollow::job::{Desk, seconds};
use it::hollow::{Fleet, FleetPlan};
use it::load::{self, All, Usage};
use it::results::{Axis, Chart, Figure, Series, Setting, Table};
use it::{Daemon, wait};

use crate::{DEADLINE, FigureResult, command, say};

/// How long the cluster is watched without a job.
const COUNT: Duration = Duration::from_secs(10);
const HEAP_MIB: u32 = 1024;
/// Tried one after the other, until one is too many.
const SIZES: [usize; 8] = [500, 1000, 2000, 5000, 7500, 10_000, 15_000, 20_000];
const QUICK: [usize; 1] = [200];
/// Of all heartbeats that are due, the share that must be answered in a cluster that is carried.
const IN_TIME: f64 = 0.95;

struct NodesRow {
    nodes: usize,
    registering: f64,
    /// Of the heartbeats that were due, those that were answered, 0 to 1.
    in_time: f64,
    manager_mb: f64,
    manager: f64,
    ours_mb: f64,
    ours: f64,
    allocation: f64,
    joining: f64,
    appmaster_mb: f64,
}

pub(crate) fn measure(quick: bool) -> FigureResult {
    let sizes: &[usize] = if quick { &QUICK } else { &SIZES };
    let mut rows: Vec<NodesRow> = Vec::new();
    let mut setting = None;
    let mut too_many = None;
    for &nodes in sizes {
        let row = match one(nodes, &mut setting) {
            Ok(row) => row,
            // The smallest is no question of size.
            Err(error) if rows.is_empty() => return Err(error),
            Err(error) => {
                say(&format!("{nodes} nodes: {error:#}"))?;
                // What is behind it, lines of output too, has been said.
                too_many = Some(format!("{nodes} are too many: {error}"));
                break;
            }
        };
        say(&format!(
            "{nodes} nodes registered in {:.1} s, {:.0} % of their heartbeats answered; ResourceManager \
             {:.0} MB, {:.0} %; a job on all: allocation {:.2} s, joined {:.1} s later",
            row.registering,
            row.in_time * 100.0,
            row.manager_mb,
            row.manager,
            row.allocation,
            row.joining
        ))?;
        let in_time = row.in_time;
        rows.push(row);
        if in_time < IN_TIME {
            too_many = Some(format!(
                "{nodes} are too many: {:.0} % of the heartbeats are answered before the next is due",
                in_time * 100.0
            ));
            break;
        }
    }
    figure(&rows, too_many, setting.context("no size")?.finish()?)
}

fn one(nodes: usize, setting: &mut Option<Setting>) -> Result<NodesRow> {
    let plan = FleetPlan {
        nodes,
        memory_mib: 2048,
        vcores: 2,
        heap_mib: HEAP_MIB,
        ..FleetPlan::default()
    };
    let fleet = Fleet::start(&plan)?;
    if setting.is_none() {
        *setting = Some(Setting::begin(&fleet.cluster().version()?)?);
    }
    let manager = fleet.cluster().daemon_process(Daemon::ResourceManager);
    let manager = manager.context("no ResourceManager")?;
    let desk = Desk::new()?;
    desk.run(&fleet, &["-n", "1"], &["idle", "0"], DEADLINE)?;
    let usages = || -> Result<_> { Ok((Usage::of(manager)?, All::of(&fleet.processes())?)) };
    let before = usages()?;
    let (beats, began) = (fleet.account()?.heartbeats, Instant::now());
    wait::pause(COUNT);
    let after = usages()?;
    let answered = fleet.account()?.heartbeats - beats;
    let due = nodes as f64 * began.elapsed().div_duration_f64(plan.heartbeat);
    // The ApplicationMaster's node has less room than the others, and is left alone.
    let options = ["-n", &(nodes - 1).to_string()];
    let report = desk.run(&fleet, &options, &["idle", "0"], DEADLINE)?;
    let phases = &report.phases;
    Ok(NodesRow {
        nodes,
        registering: fleet.registering().as_secs_f64(),
        in_time: answered as f64 / due,
        manager_mb: after.0.resident_mb(),
        manager: after.0.percent_since(&before.0),
        ours_mb: after.1.resident_mb(),
        ours: after.1.percent_since(&before.1),
        allocation: seconds(phases.asked_us, phases.granted_us),
        joining: seconds(phases.granted_us, phases.joined_us),
        appmaster_mb: load::megabytes(report.appmaster_resident_kib),
    })
}

fn figure(rows: &[NodesRow], too_many: Option<String>, setting: Setting) -> FigureResult {
    let mut table = Table::new(&[
        "nodes",
        "all registered after, s",
        "heartbeats answered in time, %",
        "ResourceManager, MB",
        "its % of a core",
        "all nodes, MB",
        "their % of a core",
        "a job on all: allocation, s",
        "launchers joined, s",
        "AM, MB",
    ]);
    for row in rows {
        table.row([
            row.nodes.to_string(),
            format!("{:.1}", row.registering),
            format!("{:.0}", row.in_time * 100.0),
            format!("{:.0}", row.manager_mb),
            format!("{:.0}", row.manager),
            format!("{:.0}", row.ours_mb),
            format!("{:.0}", row.ours),
            format!("{:.2}", row.allocation),
            format!("{:.1}", row.joining),
            format!("{:.0}", row.appmaster_mb),
        ]);
    }
    let carried = rows.iter().rfind(|row| row.in_time >= IN_TIME);
    let carried = carried.context("not even the fewest nodes are carried")?;
    let mut findings = vec![format!(
        "Of the sizes tried, this machine carries {} nodes with a heartbeat a second each: the \
         ResourceManager (heap {HEAP_MIB} MiB) takes {:.0} % of a core and all nodes together {:.0} %.",
        carried.nodes, carried.manager, carried.ours
    )];
    findings.extend(too_many);
    let over = |value: fn(&NodesRow) -> f64| {
        let points = rows.iter().map(|row| (row.nodes as f64, value(row)));
        points.collect::<Vec<_>>()
    };
    Ok(Figure {
        name: "scale-nodes".to_owned(),
        title: "Thousands of nodes on one machine".to_owned(),
        command: command("nodes"),
        method: format!(
            "Hollow nodes, in as few processes as the limit of open files allows, each with its address, port and connection, under a real \
             ResourceManager with a heap of {HEAP_MIB} MiB; a heartbeat a second each. The cluster is \
             watched for {} s without a job; then one job is run with a process on every node but the ApplicationMaster's. A cluster is \
             carried when that job does well and {:.0} % of the heartbeats that are due are answered.",
            COUNT.as_secs(),
            IN_TIME * 100.0
        ),
        paper: String::new(),
        findings,
        setting,
        table,
        chart: Chart {
            x: Axis::linear("nodes"),
            y: Axis::linear("% of a core"),
            series: vec![
                Series::measured("ResourceManager", over(|row| row.manager)),
                Series::measured("all nodes together", over(|row| row.ours)),
            ],
            ..Chart::default()
        },
    })
}
