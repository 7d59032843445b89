//! What jobs that wait for containers cost a ResourceManager of thousands of nodes, and who else feels it.

mod count;
mod figure;

use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use it::hollow::job::{Desk, Started, appmasters};
use it::hollow::{Fleet, FleetPlan};
use it::process::signal_by_id;
use it::wait;
use nix::sys::signal::Signal;

use crate::{FigureResult, say};
use count::{MinuteRow, count_once};

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

pub(crate) fn measure(quick: bool, smaller: &Smaller) -> FigureResult {
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
    let plan = FleetPlan {
        nodes: sizes.nodes,
        memory_mib: HELD_MIB + FREE_MIB,
        vcores: 4,
        heap_mib: HEAP_MIB,
        ..FleetPlan::default()
    };
    let fleet = Fleet::start(&plan)?;
    let setting = it::results::Setting::begin(&fleet.cluster().version()?)?;
    let desk = Desk::new()?;
    let holder = hold(&fleet, &desk, sizes.nodes)?;
    let others = appmasters(&fleet)?;
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
    if !waiting.is_empty() {
        let masters = appmasters(&fleet)?;
        let masters: Vec<i32> = masters
            .into_iter()
            .filter(|pid| !others.contains(pid))
            .collect();
        signal_all(&mut waiting, &masters, Signal::SIGSTOP)?;
        let row = count_once(
            &fleet,
            &desk,
            &plan,
            waiting.len(),
            Instant::now(),
            sizes.count,
        );
        signal_all(&mut waiting, &masters, Signal::SIGCONT)?;
        let row = MinuteRow {
            stopped: true,
            ..row?
        };
        say(&row.words())?;
        rows.push(row);
    }
    for mut started in waiting.into_iter().chain([holder]) {
        started.running.signal(Signal::SIGTERM)?;
        started.running.finish()?;
    }
    figure::figure(&rows, &sizes, setting.finish()?)
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

/// To the clients of these jobs and to their ApplicationMasters.
fn signal_all(jobs: &mut [Started], masters: &[i32], signal: Signal) -> Result<()> {
    for job in jobs {
        job.running.signal(signal)?;
    }
    for &master in masters {
        signal_by_id(master, signal)?;
    }
    Ok(())
}
