//! Tasks that take functions of accelerators, until each has a device for each: on threads of their own, so that no other
//! start waits for one that another attempt holds.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use gerbil_task::{Blamed, ToTask};
use job::JobId;
use job::wire::StartTask;
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use crate::functions::{self, FunctionLease, NotLeased};

/// How leasing for a task came out.
pub(crate) struct Leased {
    pub(super) order: StartTask,
    pub(super) leases: Result<Vec<FunctionLease>, NotLeased>,
}

/// The orders that wait for devices.
pub(super) struct Leasing {
    under_way: JoinSet<Box<Leased>>,
    /// By the numbers of their processes; of others what was leased is given back.
    wanted: BTreeSet<u32>,
}

impl Leasing {
    pub(super) fn new() -> Self {
        Self {
            under_way: JoinSet::new(),
            wanted: BTreeSet::new(),
        }
    }

    /// Asks the driver at `driver` for what an order names, and waits for what others hold for so long.
    pub(super) fn begin(
        &mut self,
        order: StartTask,
        (driver, holder, wait): (PathBuf, String, Duration),
        carriers: &Handle,
    ) {
        self.wanted.insert(order.process);
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
                Some(Ok(leased)) if self.wanted.remove(&leased.order.process) => return leased,
                // Dropped: what was leased is given back.
                Some(_) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// A task is not to begin any more; whether it has not begun.
    pub(super) fn give_up(&mut self, process: u32) -> bool {
        self.wanted.remove(&process)
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
        assert_eq!(leased.leases.unwrap_err().of, "acc/kmeans-map");
        assert!(!leasing.give_up(2));
    }
}
