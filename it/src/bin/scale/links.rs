//! Memory and processor of the ApplicationMaster, by the number of its launchers.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use it::hollow::job::{Desk, appmaster, seconds};
use it::hollow::{Fleet, FleetPlan};
use it::load::{self, Usage};
use it::results::{Axis, Chart, Figure, Series, Setting, Table};
use it::{Daemon, wait};

use crate::{DEADLINE, FigureResult, command, say};

/// After the last launcher has joined, before anything is counted: ranks start, messages settle.
const SETTLE: Duration = Duration::from_secs(3);
/// How long is counted.
const COUNT: Duration = Duration::from_secs(15);
/// What the project wants.
const MEMORY_TARGET_MB: f64 = 150.0;
const PROCESSOR_TARGET: f64 = 10.0;

/// What was counted while a job ran.
struct LinkCount {
    resident_mb: f64,
    peak_mb: f64,
    /// Of one core, percent.
    appmaster: f64,
    resource_manager: f64,
}

struct LinksRow {
    links: u32,
    joining: f64,
    idle: LinkCount,
    busy: LinkCount,
    allocates_per_second: f64,
}

pub(crate) fn measure(quick: bool) -> FigureResult {
    let sizes: &[u32] = match quick {
        true => &[100, 500],
        false => &[100, 500, 1000, 2000],
    };
    let most = sizes.last().copied().context("no size")?;
    let plan = FleetPlan {
        // The ApplicationMaster's node has less room than the others, and is left alone.
        nodes: usize::try_from(most)? + 1,
        memory_mib: 2048,
        vcores: 2,
        ..FleetPlan::default()
    };
    let fleet = Fleet::start(&plan)?;
    let setting = Setting::begin(&fleet.cluster().version()?)?;
    let desk = Desk::new()?;
    desk.run(&fleet, &["-n", "1"], &["idle", "0"], DEADLINE)?;
    let manager = manager(&fleet)?;
    let before = Usage::of(manager)?;
    wait::pause(COUNT);
    let without = Usage::of(manager)?.percent_since(&before);
    let mut rows = Vec::new();
    for &links in sizes {
        let (idle, report, allocates_per_second) = run(&fleet, &desk, links, "idle")?;
        let (busy, ..) = run(&fleet, &desk, links, "busy")?;
        let joining = seconds(report.phases.granted_us, report.phases.joined_us);
        say(&format!(
            "{links} launchers joined in {joining:.1} s; {:.0} MB; {:.1} % idle, {:.1} % busy",
            idle.resident_mb, idle.appmaster, busy.appmaster
        ))?;
        rows.push(LinksRow {
            links,
            joining,
            idle,
            busy,
            allocates_per_second,
        });
    }
    figure(&rows, without, plan.nodes, setting.finish()?)
}

fn manager(fleet: &Fleet) -> Result<u32> {
    let process = fleet.cluster().daemon_process(Daemon::ResourceManager);
    process.context("no ResourceManager")
}

fn run(
    fleet: &Fleet,
    desk: &Desk,
    links: u32,
    program: &str,
) -> Result<(LinkCount, job::report::Report, f64)> {
    // Long enough for all to join on a busy machine; the ranks begin when all have.
    let lasts = (SETTLE + COUNT).as_secs() + 5;
    let joined = fleet.account()?.joined;
    let options = ["-n", &links.to_string()];
    let line = [program, &lasts.to_string()];
    let started = desk.start(fleet, &options, &line, DEADLINE)?;
    wait::until("all launchers to join", DEADLINE, || {
        Ok((fleet.account()?.joined >= joined + u64::from(links)).then_some(()))
    })
    .with_context(|| format!("{:?}", fleet.account()))?;
    wait::pause(SETTLE);
    let manager = manager(fleet)?;
    let before = (appmaster(fleet)?, Usage::of(manager)?);
    let began = Instant::now();
    wait::pause(COUNT.saturating_sub(began.elapsed()));
    let after = (appmaster(fleet)?, Usage::of(manager)?);
    let report = started.finish(fleet)?;
    let lived = seconds(report.phases.registered_us, report.phases.ended_us);
    let per_second = f64::from(report.allocates) / lived;
    let count = LinkCount {
        resident_mb: after.0.resident_mb(),
        peak_mb: load::megabytes(after.0.peak_kib),
        appmaster: after.0.percent_since(&before.0),
        resource_manager: after.1.percent_since(&before.1),
    };
    Ok((count, report, per_second))
}

fn figure(rows: &[LinksRow], without: f64, nodes: usize, setting: Setting) -> FigureResult {
    let mut table = Table::new(&[
        "launchers",
        "last one joined after, s",
        "AM resident, MB",
        "AM peak, MB",
        "AM idle, % of a core",
        "AM busy, % of a core",
        "allocate calls a second",
        "ResourceManager, % of a core",
    ]);
    for row in rows {
        table.row([
            row.links.to_string(),
            format!("{:.1}", row.joining),
            format!("{:.0}", row.idle.resident_mb),
            format!("{:.0}", row.idle.peak_mb.max(row.busy.peak_mb)),
            format!("{:.1}", row.idle.appmaster),
            format!("{:.1}", row.busy.appmaster),
            format!("{:.1}", row.allocates_per_second),
            format!("{:.0}", row.idle.resource_manager),
        ]);
    }
    let last = rows.last().context("no row")?;
    let peak = last.idle.peak_mb.max(last.busy.peak_mb);
    let kept = |is_kept| match is_kept {
        true => "kept",
        false => "missed",
    };
    let findings = vec![
        format!(
            "{} launchers: {:.0} MB resident, {peak:.0} MB at most (target: under {MEMORY_TARGET_MB:.0} MB, \
             {}); {:.1} % of a core while all is idle (target: under {PROCESSOR_TARGET:.0} %, {}).",
            last.links,
            last.idle.resident_mb,
            kept(peak < MEMORY_TARGET_MB),
            last.idle.appmaster,
            kept(last.idle.appmaster < PROCESSOR_TARGET),
        ),
        format!(
            "The ResourceManager used {without:.0} % of a core for the heartbeats of its {nodes} nodes \
             without any job, and {:.0} % beside the largest: the job's own part are {:.1} allocate \
             calls a second.",
            last.idle.resource_manager, last.allocates_per_second
        ),
    ];
    let over = |value: fn(&LinksRow) -> f64| {
        let points = rows.iter().map(|row| (f64::from(row.links), value(row)));
        points.collect::<Vec<_>>()
    };
    Ok(Figure {
        name: "scale-links".to_owned(),
        title: "The ApplicationMaster by its launchers: memory".to_owned(),
        command: command("links"),
        method: format!(
            "A job with one process on each of many hollow nodes, of {nodes} under one ResourceManager. \
             Every launcher is a connection of its own, with TLS and gRPC and the keys of the job, from a \
             task that does nothing else. Once with processes that sleep: nothing is said but the \
             keep-alive of both ends, every 5 s. Once with processes that compute: every launcher tells \
             once a second what they use. Counted for {} s, the ApplicationMaster as a process of its own.",
            COUNT.as_secs()
        ),
        paper: String::new(),
        findings,
        setting,
        table,
        chart: Chart {
            x: Axis::linear("launchers"),
            y: Axis::linear("resident memory, MB"),
            series: vec![
                Series::measured("in use", over(|row| row.idle.resident_mb)),
                Series::measured(
                    "at most",
                    over(|row| row.idle.peak_mb.max(row.busy.peak_mb)),
                ),
                Series::given("target", over(|_| MEMORY_TARGET_MB)),
            ],
            ..Chart::default()
        },
    })
}
