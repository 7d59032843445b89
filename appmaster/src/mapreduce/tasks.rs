//! Tasks: placed and started, where everything that they need is.

use std::collections::VecDeque;

use policy::lending::TaskStart;
use policy::mapreduce::Event;
use policy::schedule::{AttemptIx, AttemptOutcome, Stage, Why};
use policy::{ContainerId, Millis};

use super::attempts::{Far, PlacedAttempt};
use super::hearing::OfJob;
use super::orders::Orders;
use super::{ContainerUse, MapReduce, MapReduceEffect, MapReduceEvent, sentences};
use crate::lent_events::LentEvent;
use crate::work::Do;

/// For how long reduces keep slots that maps want, whose results they wait for.
const PARKED: Millis = Millis(1_000);

impl MapReduce {
    pub(super) fn hear_running(&mut self, heard: OfJob) {
        match heard {
            OfJob::Tasks(event) => self.hear_of_tasks(event),
            OfJob::Container(event) => match event {
                LentEvent::Joined { container, .. } => self.joined(&container),
                LentEvent::NotFetched {
                    container,
                    sentence,
                } => self.not_fetched(&container, &sentence),
                LentEvent::Left(container)
                | LentEvent::LauncherLost(container)
                | LentEvent::Ended { container, .. }
                | LentEvent::NotStarted(container)
                | LentEvent::Misbehaved { container, .. } => self.lost(&container),
            },
            OfJob::Finished(_) | OfJob::Tick => {}
        }
    }

    fn hear_of_tasks(&mut self, event: MapReduceEvent) {
        match event {
            MapReduceEvent::SlotsCome => self.step_machine(Event::SlotsCome),
            MapReduceEvent::Homes(homes) => self.have_homes(homes),
            MapReduceEvent::Leaves { container, within } => self.leaves(container, within),
            MapReduceEvent::NoNode(lack) => self.no_node(&lack),
            MapReduceEvent::Placed(start) => self.placed(start),
            MapReduceEvent::Move(moved) => self.move_attempt(moved),
            MapReduceEvent::Stop { attempt, why } => self.stop(attempt, why),
            MapReduceEvent::Said { container, event } => self.task_said(&container, *event),
            // Its folder is worked on before and after.
            MapReduceEvent::Folder(_)
            | MapReduceEvent::FolderWaits(_)
            | MapReduceEvent::Kept(_) => {}
        }
    }

    /// A task has a slot.
    fn placed(&mut self, start: TaskStart) {
        let TaskStart {
            attempt: ix,
            stage,
            task,
            container,
            host,
            place,
            slot,
            cpus,
            speed,
            level,
            ..
        } = start;
        let attempt = PlacedAttempt {
            ix,
            stage,
            task,
            number: self.attempts.next_try(stage, task),
            container: container.clone(),
            host: host.clone(),
            place,
            slot,
            cpus,
            speed,
            parked: false,
            moves_to: VecDeque::new(),
            has_needs: !self.terms(stage).needs.is_empty(),
            is_ordered: false,
            reads_until: 0,
            skips: Vec::new(),
            is_stopped: false,
            far: Far::default(),
            pid: 0,
            earlier_slots: Vec::new(),
            began: None,
        };
        if self.machine.has_result(stage, task) {
            // A second attempt, decided on before the first one's end was known.
            return self.want(MapReduceEffect::Over {
                attempt: ix,
                how: AttemptOutcome::Killed,
                phases: Vec::new(),
            });
        }
        let first = self.attempts.at(stage, task).first().copied();
        if let Some(first) = first {
            self.is_copied(first, &attempt.host);
        }
        self.explain_placed(&attempt, level, first.is_some());
        self.attempts.insert(ix, attempt);
        self.known.insert(container.clone(), place);
        self.hosts.insert(place, host);
        self.tasks_began.get_or_insert(self.now);
        self.step_machine(Event::Started {
            attempt: ix,
            stage,
            task,
            at: place,
        });
        match self.places.get(&container) {
            None | Some(ContainerUse::WithoutFiles) => {
                self.places
                    .insert(container.clone(), ContainerUse::Fetching);
                self.todo.push(Do::Start(container));
            }
            Some(ContainerUse::Joined) => self.order(ix),
            Some(ContainerUse::Fetching | ContainerUse::Leaving) => {}
        }
        self.unpark();
    }

    /// An attempt has another beside it from now on.
    fn is_copied(&mut self, first: AttemptIx, host: &str) {
        let Some(first) = self.attempts.get(first) else {
            return;
        };
        let title = sentences::title(first.stage, first.task, &self.machine);
        let words = format!(
            "{title} takes much longer than others on {}: it is tried on {host} as well",
            first.host
        );
        tracing::info!("{words}");
        self.notice(words);
    }

    /// The job's files are in a container: what waits there is started.
    fn joined(&mut self, container: &ContainerId) {
        if let Some(place @ ContainerUse::Fetching) = self.places.get_mut(container) {
            *place = ContainerUse::Joined;
        }
        for ix in self.attempts.within(container) {
            self.order(ix);
        }
    }

    /// Starts an attempt, if everything that it needs is there.
    pub(super) fn order(&mut self, ix: AttemptIx) {
        let Some(attempt) = self.attempts.get_mut(ix) else {
            return;
        };
        if attempt.is_ordered || self.places.get(&attempt.container) != Some(&ContainerUse::Joined)
        {
            return;
        }
        attempt.skips = self.machine.skips(attempt.stage, attempt.task);
        let attempt = &*attempt;
        let description = &self.description;
        let order = match attempt.stage {
            Stage::Map => self.orders.map(description, ix, attempt),
            Stage::Reduce | Stage::Gang => {
                let Some(partition) = self.machine.partition(attempt.task) else {
                    return;
                };
                if self.outputs.len() < description.splits.len() {
                    // Parked until what was lost is made again.
                    return;
                }
                let of_maps = self.outputs.iter().map(|(map, output)| {
                    let here = output.container == attempt.container;
                    let address = (!here).then_some(output.address.as_str());
                    (*map, address, output.attempt)
                });
                self.orders
                    .reduce(description, (ix, attempt), partition, of_maps)
            }
        };
        let to = attempt.container.clone();
        let order = Box::new(order);
        self.want(MapReduceEffect::Tell { to, order });
        self.want(MapReduceEffect::Began(ix));
        if let Some(attempt) = self.attempts.get_mut(ix) {
            attempt.is_ordered = true;
            attempt.reads_until = self.outputs_made;
            attempt.began = Some(self.now);
        }
    }

    /// Where no map is missing, reduces that have waited for one start. Else they give their slots up, soon, if
    /// a map has none.
    pub(super) fn unpark(&mut self) {
        let parked = self.attempts.waiting(Stage::Reduce);
        if parked.is_empty() {
            return;
        }
        let is_complete = self.outputs.len() == self.description.splits.len();
        if is_complete {
            return parked.into_iter().for_each(|ix| self.order(ix));
        }
        let missing = self.description.splits.len() - self.outputs.len();
        if self.attempts.tasks(Stage::Map) < missing {
            self.unpark_at.get_or_insert(self.now.plus(PARKED));
        }
    }

    /// Reduces have waited for a while in slots that maps want.
    pub(super) fn give_slots_up(&mut self) {
        if self.unpark_at.is_none_or(|at| self.now < at) {
            return;
        }
        self.unpark_at = None;
        let missing = self.description.splits.len() - self.outputs.len();
        if self.attempts.tasks(Stage::Map) < missing {
            for ix in self.attempts.waiting(Stage::Reduce) {
                self.over(ix, AttemptOutcome::Killed);
            }
        }
    }

    /// The policies want an attempt ended.
    pub(super) fn stop(&mut self, ix: AttemptIx, why: Why) {
        tracing::info!("attempt {} is stopped: {why:?}", ix.0);
        let Some(attempt) = self.attempts.get_mut(ix) else {
            return;
        };
        attempt.is_stopped = true;
        if attempt.is_ordered {
            let to = attempt.container.clone();
            let order = Box::new(Orders::end(ix));
            self.want(MapReduceEffect::Tell { to, order });
        } else {
            self.over(ix, AttemptOutcome::Killed);
        }
    }

    /// The job's files could not be brought: what waits there has failed, and goes elsewhere where that is possible.
    fn not_fetched(&mut self, container: &ContainerId, why: &str) {
        let Some(place @ ContainerUse::Fetching) = self.places.get_mut(container) else {
            return;
        };
        *place = ContainerUse::WithoutFiles;
        // Before the tasks are queued again.
        self.want(MapReduceEffect::Avoid(container.clone()));
        for ix in self.attempts.within(container) {
            if let Some(attempt) = self.attempts.get(ix).cloned() {
                self.failed(ix, &attempt, why.to_owned());
            }
        }
    }
}
