//! Clusters of thousands of nodes on this machine: what they cost, and one job on all of each.

use std::time::Duration;

use anyhow::{Context as _, Result};
use it::hollow::job::{Desk, seconds};
use it::hollow::{Fleet, Plan};
use it::load::{self, Usage};
use it::results::{Axis, Chart, Figure, Series, Setting, Table};
use it::{Daemon, wait};

use crate::{Answer, DEADLINE, command, say};

/// How long the cluster is watched without a job.
const COUNT: Duration = Duration::from_secs(10);
const HEAP_MIB: u32 = 1024;

struct Row {
    nodes: usize,
    registering: f64,
    manager_mb: f64,
    manager: f64,
    ours_mb: f64,
    ours: f64,
    allocation: f64,
    joining: f64,
    appmaster_mb: f64,
}

pub(crate) fn measure(quick: bool) -> Answer {
    let sizes: &[usize] = match quick {
        true => &[200],
        false => &[500, 1000, 2000, 5000],
    };
    let mut rows = Vec::new();
    let mut setting = None;
    for &nodes in sizes {
        let row = one(nodes, &mut setting)?;
        say(&format!(
            "{nodes} nodes registered in {:.1} s; ResourceManager {:.0} MB, {:.0} %; a job on all: \
             allocation {:.2} s, joined {:.1} s later",
            row.registering, row.manager_mb, row.manager, row.allocation, row.joining
        ))?;
        rows.push(row);
    }
    figure(&rows, setting.context("no size")?.finish()?)
}

fn one(nodes: usize, setting: &mut Option<Setting>) -> Result<Row> {
    let plan = Plan {
        nodes,
        memory_mib: 2048,
        vcores: 2,
        heap_mib: HEAP_MIB,
        ..Plan::default()
    };
    let fleet = Fleet::start(&plan)?;
    if setting.is_none() {
        *setting = Some(Setting::begin(&fleet.cluster().version()?)?);
    }
    let manager = fleet.cluster().daemon_process(Daemon::ResourceManager);
    let manager = manager.context("no ResourceManager")?;
    let desk = Desk::new()?;
    desk.run(&fleet, &["-n", "1"], &["idle", "0"], DEADLINE)?;
    let before = (Usage::of(manager)?, Usage::of_self()?);
    wait::pause(COUNT);
    let after = (Usage::of(manager)?, Usage::of_self()?);
    // The ApplicationMaster's node has less room than the others, and is left alone.
    let options = ["-n", &(nodes - 1).to_string()];
    let report = desk.run(&fleet, &options, &["idle", "0"], DEADLINE)?;
    let phases = &report.phases;
    Ok(Row {
        nodes,
        registering: fleet.registering().as_secs_f64(),
        manager_mb: after.0.resident_mb(),
        manager: after.0.percent_since(&before.0),
        ours_mb: after.1.resident_mb(),
        ours: after.1.percent_since(&before.1),
        allocation: seconds(phases.asked_us, phases.granted_us),
        joining: seconds(phases.granted_us, phases.joined_us),
        appmaster_mb: load::megabytes(report.appmaster_resident_kib),
    })
}

fn figure(rows: &[Row], setting: Setting) -> Answer {
    let mut table = Table::new(&[
        "nodes",
        "all registered after, s",
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
            format!("{:.0}", row.manager_mb),
            format!("{:.0}", row.manager),
            format!("{:.0}", row.ours_mb),
            format!("{:.0}", row.ours),
            format!("{:.2}", row.allocation),
            format!("{:.1}", row.joining),
            format!("{:.0}", row.appmaster_mb),
        ]);
    }
    let last = rows.last().context("no row")?;
    let findings = vec![format!(
        "{} nodes with a heartbeat a second each: the ResourceManager (heap {HEAP_MIB} MiB) takes {:.0} % \
         of a core and all nodes together {:.0} %.",
        last.nodes, last.manager, last.ours
    )];
    let over = |value: fn(&Row) -> f64| {
        let points = rows.iter().map(|row| (row.nodes as f64, value(row)));
        points.collect::<Vec<_>>()
    };
    Ok(Figure {
        name: "scale-nodes".to_owned(),
        title: "Thousands of nodes on one machine".to_owned(),
        command: command("nodes"),
        method: format!(
            "Hollow nodes, all in one process, each with its address, port and connection, under a real \
             ResourceManager with a heap of {HEAP_MIB} MiB; a heartbeat a second each. The cluster is \
             watched for {} s without a job; then one job is run with a process on every node but the ApplicationMaster's.",
            COUNT.as_secs()
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
