//! A task goes on in another slot: on that slot's cores, with all that it has of its own, and what brings its bytes.

use std::time::Instant;

use job::wire::task_event::Event;
use job::wire::{MoveTask, TaskMoved};
use nix::sched::CpuSet;

use super::Tasks;
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
            Some(_) => self.move_to(number, &order.cpus, container).await,
            None => Err(NotMoved::Gone.to_string()),
        };
        if let (Ok(cores), Some(attempt)) = (&moved, self.attempts.get_mut(&number)) {
            attempt.slot = order.slot;
            attempt.porter.follow(*cores);
        }
        let told = TaskMoved {
            process: number,
            ok: moved.is_ok(),
            why: moved.err().unwrap_or_default(),
            took_us: u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX),
        };
        container.outbox.push_of_task(job, Event::Moved(told));
    }

    async fn move_to(
        &self,
        number: u32,
        cpus: &[u32],
        container: &OwnContainer<'_>,
    ) -> Result<CpuSet, String> {
        let all: Vec<u32> = cores::mask().into_iter().collect();
        let cpus = if cpus.is_empty() { &all } else { cpus };
        let set = cores::set_of(cpus)
            .ok_or_else(|| "the launcher may use none of these cores".to_owned())?;
        let job = self.job;
        let moved = container.nursery.move_to(Id { job, number }, set).await;
        moved.map_err(|why| why.to_string())?;
        Ok(set)
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
