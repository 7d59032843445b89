//! A task goes on in another slot: on that slot's cores, with all that it has of its own, and what brings its bytes. Or it
//! is stopped for a while, and keeps its memory.

use std::time::Instant;

use job::wire::task_event::Event;
use job::wire::{MoveTask, TaskMoved};
use nix::sched::CpuSet;

use super::Tasks;
use super::attempt::Attempt;
use crate::affinity::NotMoved;
use crate::container::OwnContainer;
use crate::cores;
use crate::process::Id;

impl Tasks {
    /// Moves the processes of a task, and says whether that could be done.
    pub(crate) async fn on_move(&mut self, order: &MoveTask, container: &OwnContainer<'_>) {
        let began = Instant::now();
        let (job, number) = (self.job, order.process);
        let moved = match self.attempts.get(&number) {
            Some(attempt) if order.parked => self.park(number, attempt, container).await,
            Some(attempt) => {
                let is_parked = attempt.is_parked;
                self.move_to(number, &order.cpus, is_parked, container)
                    .await
            }
            None => Err(NotMoved::Gone.to_string()),
        };
        if let (Ok(cores), Some(attempt)) = (&moved, self.attempts.get_mut(&number)) {
            attempt.slot = order.slot;
            attempt.park(order.parked);
            if let Some(cores) = cores {
                attempt.porter.follow(*cores);
            }
        }
        let told = TaskMoved {
            process: number,
            ok: moved.is_ok(),
            why: moved.err().unwrap_or_default(),
            took_us: u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX),
        };
        container.outbox.push_of_task(job, Event::Moved(told));
    }

    async fn park(
        &self,
        number: u32,
        attempt: &Attempt,
        container: &OwnContainer<'_>,
    ) -> Result<Option<CpuSet>, String> {
        attempt.may_be_parked()?;
        let job = self.job;
        let parked = container.nursery.park(Id { job, number }).await;
        parked.map(|()| None).map_err(|why| why.to_string())
    }

    async fn move_to(
        &self,
        number: u32,
        cpus: &[u32],
        is_parked: bool,
        container: &OwnContainer<'_>,
    ) -> Result<Option<CpuSet>, String> {
        let all: Vec<u32> = cores::mask().into_iter().collect();
        let cpus = if cpus.is_empty() { &all } else { cpus };
        let set = cores::set_of(cpus)
            .ok_or_else(|| "the launcher may use none of these cores".to_owned())?;
        let job = self.job;
        let id = Id { job, number };
        let moved = container.nursery.move_to(id, set).await;
        moved.map_err(|why| why.to_string())?;
        if is_parked {
            let goes_on = container.nursery.go_on(id).await;
            goes_on.map_err(|why| why.to_string())?;
        }
        Ok(Some(set))
    }
}

/// What is told of a task that is not there.
pub(crate) fn not_moved(process: u32) -> Event {
    Event::Moved(TaskMoved {
        process,
        why: NotMoved::Gone.to_string(),
        ..TaskMoved::default()
    })
}
