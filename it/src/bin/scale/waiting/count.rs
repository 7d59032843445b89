//! What the ResourceManager counts of itself in a minute, and how long a small job takes beside.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use it::hollow::job::{Desk, seconds};
use it::hollow::{Fleet, FleetPlan};
use it::load::Usage;
use it::results::Spread;
use it::{Daemon, wait};

use super::MINUTE;

const SCHEDULER_PORT: u16 = 8030;
const CLIENT_PORT: u16 = 8032;
/// Its methods, as it counts them.
const ALLOCATE: &str = "Allocate";
const NODE_LIST: &str = "GetClusterNodes";
/// Small jobs beside, for each row.
pub(super) const BESIDE: usize = 3;

/// Of one minute.
pub(super) struct MinuteRow {
    pub(super) waiting: usize,
    /// Neither their ApplicationMasters nor their clients say anything: what is left is the scheduler's.
    pub(super) stopped: bool,
    /// How long the youngest has waited at the beginning, seconds.
    pub(super) waited: u64,
    pub(super) allocates: f64,
    pub(super) node_lists: f64,
    pub(super) others: f64,
    /// By method.
    pub(super) calls: BTreeMap<String, f64>,
    pub(super) sent_mb: f64,
    /// Of one core, percent.
    pub(super) manager: f64,
    /// Of the heartbeats that are due, those answered, 0 to 1.
    pub(super) in_time: f64,
    /// From asking to the last container, and the whole command, of a small job beside: seconds.
    pub(super) granted: Spread,
    pub(super) whole: Spread,
}

/// What has been counted so far.
struct Mark {
    at: Instant,
    calls: BTreeMap<String, u64>,
    sent: u64,
    manager: Usage,
    heartbeats: u64,
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

/// Counts for as long as `lasts`, then runs small jobs beside.
pub(super) fn count_once(
    fleet: &Fleet,
    desk: &Desk,
    plan: &FleetPlan,
    waiting: usize,
    since: Instant,
    lasts: Duration,
) -> Result<MinuteRow> {
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
    Ok(MinuteRow {
        waiting,
        stopped: false,
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

impl MinuteRow {
    /// For who watches.
    pub(super) fn words(&self) -> String {
        let calls = self.calls.iter();
        let calls: Vec<_> = calls
            .map(|(method, count)| format!("{count:.0} {method}"))
            .collect();
        let stopped = match self.stopped {
            true => ", stopped",
            false => "",
        };
        format!(
            "{} waiting for {} s{stopped}: a minute {}, {:.1} MB; ResourceManager {:.0} %, {:.0} % of heartbeats; a small \
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
