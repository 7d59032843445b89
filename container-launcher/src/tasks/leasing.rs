//! Tasks that take functions of accelerators, until each has a device for each: on threads of their own, so that no other
//! start waits for one that another attempt holds.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use gerbil_task::{Blamed, ToTask};
use job::JobId;
use job::wire::{StartTask, TaskSeen};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::functions::{self, FunctionLease, NotLeased};

/// A task that stands in line for longer says so.
const SHOWN: Duration = Duration::from_secs(1);

/// How leasing for a task came out.
pub(crate) struct Leased {
    pub(super) order: StartTask,
    pub(super) leases: Result<Vec<FunctionLease>, NotLeased>,
}

/// The orders that wait for devices.
pub(super) struct Leasing {
    under_way: JoinSet<Box<Leased>>,
    /// By the numbers of their processes; of others what was leased is given back.
    wanted: BTreeMap<u32, InLine>,
}

/// A task that has no devices yet.
struct InLine {
    /// What it takes.
    functions: Vec<String>,
    /// When it is told that it waits; none: it was.
    shows_at: Option<Instant>,
}

impl Leasing {
    pub(super) fn new() -> Self {
        Self {
            under_way: JoinSet::new(),
            wanted: BTreeMap::new(),
        }
    }

    /// Asks the driver at `driver` for what an order names, and waits for what others hold for so long.
    pub(super) fn begin(
        &mut self,
        order: StartTask,
        (driver, holder, wait): (PathBuf, String, Duration),
        carriers: &Handle,
    ) {
        let waits = InLine {
            functions: order.functions.clone(),
            shows_at: Some(Instant::now() + SHOWN),
        };
        self.wanted.insert(order.process, waits);
        let leasing = move || {
            let leases = functions::lease(&driver, &order.functions, &holder, wait);
            Box::new(Leased { order, leases })
        };
        self.under_way.spawn_blocking_on(leasing, carriers);
    }

    /// The next that is not given up; never, while there is none. May be dropped and called again.
    pub(super) async fn next(&mut self) -> Box<Leased> {
        loop {
            match self.under_way.join_next().await {
                Some(Ok(leased)) if self.wanted.remove(&leased.order.process).is_some() => {
                    return leased;
                }
                // Dropped: what was leased is given back.
                Some(_) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// A task is not to begin any more; whether it has not begun.
    pub(super) fn give_up(&mut self, process: u32) -> bool {
        self.wanted.remove(&process).is_some()
    }

    /// When the next is told that it waits.
    pub(super) fn shows_at(&self) -> Option<Instant> {
        self.wanted.values().filter_map(|of| of.shows_at).min()
    }

    /// Those of which it is to be told that they wait, and for what; once of each.
    pub(super) fn in_line(&mut self) -> Vec<TaskSeen> {
        let now = Instant::now();
        let due = self.wanted.iter_mut();
        let due = due.filter(|(_, of)| of.shows_at.is_some_and(|at| at <= now));
        let seen = due.map(|(&process, of)| {
            of.shows_at = None;
            TaskSeen {
                process,
                status: format!(
                    "stands in line for {}: others hold what is there",
                    of.functions.join(" and ")
                ),
                ..TaskSeen::default()
            }
        });
        seen.collect()
    }
}

/// Who holds a lease, for those who look at the driver's map: container, job and attempt.
pub(super) fn holder(container: &str, job: JobId, order: &StartTask) -> String {
    let task = serde_json::from_str::<ToTask>(&order.task).ok();
    let task = task.as_ref().and_then(Blamed::of).map(Blamed::title);
    let title = task.unwrap_or_else(|| "a task".to_owned());
    format!(
        "{container} job {} {title} process {}",
        job.0, order.process
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_stands_in_line_for_a_while_is_told_of_once() {
        let mut leasing = Leasing::new();
        assert_eq!(leasing.shows_at(), None);
        let waits = |process: u32, later: Duration| {
            let functions = ["acc/kmeans-map=2", "acc/bayes-map"].map(str::to_owned);
            let waits = InLine {
                functions: functions.into(),
                shows_at: Some(Instant::now() + SHOWN + later),
            };
            (process, waits)
        };
        leasing.wanted = [waits(1, Duration::ZERO), waits(2, SHOWN)].into();
        assert!(leasing.in_line().is_empty());
        tokio::time::advance(SHOWN).await;
        let told = leasing.in_line();
        let words =
            "stands in line for acc/kmeans-map=2 and acc/bayes-map: others hold what is there";
        assert_eq!((told.len(), told[0].process, told[0].pid), (1, 1, 0));
        assert_eq!(told[0].status, words);
        assert!(leasing.in_line().is_empty() && leasing.give_up(1));
        assert_eq!(leasing.shows_at(), Some(Instant::now() + SHOWN));
    }

    #[tokio::test]
    async fn who_is_given_up_is_not_begun_and_others_are() {
        let mut leasing = Leasing::new();
        for process in [1, 2] {
            let order = StartTask {
                process,
                functions: vec!["acc/kmeans-map".to_owned()],
                ..StartTask::default()
            };
            let nowhere = PathBuf::from("/nonexistent/fpgad.sock");
            let place = (nowhere, "me".to_owned(), Duration::ZERO);
            leasing.begin(order, place, &Handle::current());
        }
        assert!(leasing.give_up(1) && !leasing.give_up(1));
        let leased = leasing.next().await;
        assert_eq!(leased.order.process, 2);
        assert_eq!(leased.leases.unwrap_err().of, ["acc/kmeans-map"]);
        assert!(!leasing.give_up(2));
    }
}
