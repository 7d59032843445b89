//! What jobs that wait for containers cost a ResourceManager of thousands of nodes, and who else feels it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use clap::Args;
use it::hollow::job::{Desk, Started, seconds};
use it::hollow::{Fleet, Plan};
use it::load::Usage;
use it::results::{Axis, Chart, Figure, Series, Spread, Table};
use it::{Daemon, wait};
use nix::sys::signal::Signal;

use crate::{Answer, command, say};

const SCHEDULER_PORT: u16 = 8030;
const CLIENT_PORT: u16 = 8032;
/// Its methods, as it counts them.
const ALLOCATE: &str = "Allocate";
const NODE_LIST: &str = "GetClusterNodes";
/// Of each node: what the holder takes, and room for one ApplicationMaster.
const HELD_MIB: u64 = 2048;
const FREE_MIB: u64 = 1024;
const HEAP_MIB: u32 = 2048;
/// Everything, at most.
const DEADLINE: Duration = Duration::from_secs(2400);
/// Between the starts of two jobs: their clients and ApplicationMasters are processes of this machine.
const APART: Duration = Duration::from_millis(1500);
/// Between two countings of the same jobs.
const LATER: Duration = Duration::from_secs(120);
const MINUTE: Duration = Duration::from_secs(60);
/// Small jobs beside, for each row.
const BESIDE: usize = 3;

/// Another size of this part: its figure is shown, and not kept.
#[derive(Debug, Default, Args)]
pub(crate) struct Smaller {
    /// Waiting: so many hollow nodes.
    #[arg(long)]
    nodes: Option<usize>,
    /// Waiting: so many jobs, in steps (0,1,10).
    #[arg(long, value_delimiter = ',')]
    jobs: Option<Vec<usize>>,
    /// Waiting: between the two countings, seconds.
    #[arg(long)]
    later: Option<u64>,
}

impl Smaller {
    pub(crate) const fn is_whole(&self) -> bool {
        matches!(
            self,
            Self {
                nodes: None,
                jobs: None,
                later: None
            }
        )
    }
}

struct Sizes {
    nodes: usize,
    waiting: Vec<usize>,
    count: Duration,
    later: Duration,
}

/// Of one minute.
struct Row {
    waiting: usize,
    /// How long the youngest has waited at the beginning, seconds.
    waited: u64,
    allocates: f64,
    node_lists: f64,
    others: f64,
    /// By method.
    calls: BTreeMap<String, f64>,
    sent_mb: f64,
    /// Of one core, percent.
    manager: f64,
    /// Of the heartbeats that are due, those answered, 0 to 1.
    in_time: f64,
    /// From asking to the last container, and the whole command, of a small job beside: seconds.
    granted: Spread,
    whole: Spread,
}

/// What has been counted so far.
struct Mark {
    at: Instant,
    calls: BTreeMap<String, u64>,
    sent: u64,
    manager: Usage,
    heartbeats: u64,
}

pub(crate) fn measure(quick: bool, smaller: &Smaller) -> Answer {
    let mut sizes = match quick {
        true => Sizes {
            nodes: 100,
            waiting: vec![0, 1, 5],
            count: Duration::from_secs(10),
            later: Duration::from_secs(5),
        },
        false => Sizes {
            nodes: 5000,
            waiting: vec![0, 1, 10, 100],
            count: MINUTE,
            later: LATER,
        },
    };
    sizes.nodes = smaller.nodes.unwrap_or(sizes.nodes);
    sizes.later = smaller.later.map_or(sizes.later, Duration::from_secs);
    if let Some(jobs) = &smaller.jobs {
        sizes.waiting.clone_from(jobs);
    }
    let plan = Plan {
        nodes: sizes.nodes,
        memory_mib: HELD_MIB + FREE_MIB,
        vcores: 4,
        heap_mib: HEAP_MIB,
        ..Plan::default()
    };
    let fleet = Fleet::start(&plan)?;
    let setting = it::results::Setting::begin(&fleet.cluster().version()?)?;
    let desk = Desk::new()?;
    let holder = hold(&fleet, &desk, sizes.nodes)?;
    let mut waiting: Vec<Started> = Vec::new();
    let mut rows = Vec::new();
    for &count in &sizes.waiting {
        let there = waiting.len();
        while waiting.len() < count {
            waiting.push(start_waiting(&fleet, &desk)?);
            wait::pause(APART);
        }
        // In a pipe a client says only after a while that it waits: so all say it at once.
        for started in waiting.iter_mut().skip(there) {
            started.running.wait_for_stderr("waiting: ")?;
        }
        let since = Instant::now();
        for round in 0..2 {
            if round == 1 {
                if count == 0 {
                    break;
                }
                wait::pause(sizes.later);
            }
            let row = count_once(&fleet, &desk, &plan, count, since, sizes.count)?;
            say(&row.words())?;
            rows.push(row);
        }
    }
    for started in waiting.into_iter().chain([holder]) {
        started.running.signal(Signal::SIGTERM)?;
        started.running.finish()?;
    }
    figure(&rows, &sizes, setting.finish()?)
}

/// One job that takes nearly all of every node but one.
fn hold(fleet: &Fleet, desk: &Desk, nodes: usize) -> Result<Started> {
    let joined = fleet.account()?.joined;
    let all = (nodes - 1).to_string();
    let memory = HELD_MIB.to_string();
    let options = ["-n", &all, "--mem-per-proc", &memory];
    let lasts = DEADLINE.as_secs().to_string();
    let started = desk.start(fleet, &options, &["idle", &lasts], DEADLINE)?;
    wait::until("the holder to have all nodes", MINUTE * 5, || {
        Ok((fleet.account()?.joined >= joined + nodes as u64 - 1).then_some(()))
    })?;
    Ok(started)
}

/// A job that asks for more than is left, and will wait.
fn start_waiting(fleet: &Fleet, desk: &Desk) -> Result<Started> {
    let memory = HELD_MIB.to_string();
    let options = ["-n", "4", "--mem-per-proc", &memory];
    desk.start(fleet, &options, &["idle", "0"], DEADLINE)
}

impl Mark {
    fn now(fleet: &Fleet) -> Result<Self> {
        let resource_manager = fleet.cluster().resource_manager();
        let of = |port| -> Result<(Vec<(String, u64)>, u64)> {
            let sent = resource_manager.calls(port)?.sent;
            Ok((resource_manager.calls_by_method(port)?, sent))
        };
        let (scheduler, of_scheduler) = of(SCHEDULER_PORT)?;
        let (clients, of_clients) = of(CLIENT_PORT)?;
        let mut calls = BTreeMap::new();
        for (method, count) in scheduler.into_iter().chain(clients) {
            *calls.entry(method).or_default() += count;
        }
        let process = fleet.cluster().daemon_process(Daemon::ResourceManager);
        Ok(Self {
            at: Instant::now(),
            calls,
            sent: of_scheduler + of_clients,
            manager: Usage::of(process.context("no ResourceManager")?)?,
            heartbeats: fleet.account()?.heartbeats,
        })
    }
}

fn count_once(
    fleet: &Fleet,
    desk: &Desk,
    plan: &Plan,
    waiting: usize,
    since: Instant,
    lasts: Duration,
) -> Result<Row> {
    let waited = since.elapsed().as_secs();
    let before = Mark::now(fleet)?;
    wait::pause(lasts);
    let after = Mark::now(fleet)?;
    let elapsed = after.at.duration_since(before.at);
    let a_minute = |count: u64| count as f64 * MINUTE.div_duration_f64(elapsed);
    let calls: BTreeMap<String, f64> = after
        .calls
        .iter()
        .map(|(method, count)| {
            let before = before.calls.get(method).copied().unwrap_or(0);
            (method.clone(), a_minute(count - before))
        })
        .filter(|(_, count)| *count > 0.0)
        .collect();
    let of = |method: &str| calls.get(method).copied().unwrap_or(0.0);
    let (allocates, node_lists) = (of(ALLOCATE), of(NODE_LIST));
    let due = plan.nodes as f64 * elapsed.div_duration_f64(plan.heartbeat);
    let (mut granted, mut whole) = (Vec::new(), Vec::new());
    for _ in 0..BESIDE {
        let begin = Instant::now();
        let report = desk.run(fleet, &["-n", "1"], &["idle", "0"], MINUTE * 3)?;
        whole.push(begin.elapsed().as_secs_f64());
        granted.push(seconds(report.phases.asked_us, report.phases.granted_us));
    }
    Ok(Row {
        waiting,
        waited,
        allocates,
        node_lists,
        others: calls.values().sum::<f64>() - allocates - node_lists,
        calls,
        sent_mb: a_minute(after.sent - before.sent) / 1e6,
        manager: after.manager.percent_since(&before.manager),
        in_time: (after.heartbeats - before.heartbeats) as f64 / due,
        granted: Spread::of(&granted).context("no round")?,
        whole: Spread::of(&whole).context("no round")?,
    })
}

impl Row {
    fn words(&self) -> String {
        let calls = self.calls.iter();
        let calls: Vec<_> = calls
            .map(|(method, count)| format!("{count:.0} {method}"))
            .collect();
        format!(
            "{} waiting for {} s: a minute {}, {:.1} MB; ResourceManager {:.0} %, {:.0} % of heartbeats; a small \
             job beside: {} s",
            self.waiting,
            self.waited,
            calls.join(", "),
            self.sent_mb,
            self.manager,
            self.in_time * 100.0,
            self.whole.words()
        )
    }
}

fn figure(rows: &[Row], sizes: &Sizes, setting: it::results::Setting) -> Answer {
    let nodes = sizes.nodes;
    let mut table = Table::new(&[
        "jobs that wait",
        "the youngest since, s",
        "allocates a minute",
        "node lists a minute",
        "other calls a minute",
        "MB out a minute",
        "ResourceManager, % of a core",
        "heartbeats answered in time, %",
        "a small job beside: granted after, s",
        "the whole command, s",
    ]);
    for row in rows {
        table.row([
            row.waiting.to_string(),
            row.waited.to_string(),
            format!("{:.0}", row.allocates),
            format!("{:.1}", row.node_lists),
            format!("{:.0}", row.others),
            format!("{:.1}", row.sent_mb),
            format!("{:.0}", row.manager),
            format!("{:.0}", row.in_time * 100.0),
            row.granted.words(),
            row.whole.words(),
        ]);
    }
    let idle = rows.first().context("no row")?;
    let last = rows.last().context("no row")?;
    let over = |value: fn(&Row) -> f64| {
        // The second counting of each number.
        let settled = rows.iter().enumerate().filter(|(at, _)| at % 2 == 0);
        settled
            .map(|(_, row)| (row.waiting as f64, value(row)))
            .collect::<Vec<_>>()
    };
    Ok(Figure {
        name: "scale-waiting".to_owned(),
        title: format!("Jobs that wait, on {nodes} nodes"),
        command: command("waiting"),
        method: format!(
            "{nodes} hollow nodes under a real ResourceManager; one job holds all but {FREE_MIB} MiB of each, \
             and jobs of four processes that fit nowhere wait beside it, each a `gerbil-run` and an \
             ApplicationMaster as processes of this machine. Counted twice, as the ResourceManager counts \
             itself (JMX): as soon as the last of them waits, and {} s later. Then {BESIDE} small jobs, for \
             which there is room, one after the other.",
            sizes.later.as_secs()
        ),
        paper: String::new(),
        findings: vec![format!(
            "{} waiting jobs make {:.0} calls and {:.1} MB a minute, {:.1} and {:.2} each; the ResourceManager \
             takes {:.0} % of a core with them and {:.0} % without, and answers {:.0} and {:.0} % of its \
             nodes' heartbeats in time. A small job beside them takes {:.2} s, without them {:.2} s.",
            last.waiting,
            last.allocates + last.node_lists + last.others,
            last.sent_mb,
            (last.allocates + last.node_lists + last.others) / last.waiting.max(1) as f64,
            last.sent_mb / last.waiting.max(1) as f64,
            last.manager,
            idle.manager,
            last.in_time * 100.0,
            idle.in_time * 100.0,
            last.whole.median,
            idle.whole.median,
        )],
        setting,
        table,
        chart: Chart {
            x: Axis::linear("jobs that wait"),
            y: Axis::linear("a minute"),
            series: vec![
                Series::measured("allocates", over(|row| row.allocates)),
                Series::measured("node lists", over(|row| row.node_lists)),
            ],
            ..Chart::default()
        },
    })
}
