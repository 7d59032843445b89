//! What the machine wants, and what becomes of the results of maps.

use job::history::AttemptEnd;
use policy::ContainerId;
use policy::lending::TaskInput;
use policy::mapreduce::{Action, Event};
use policy::schedule::{AttemptIx, ContainerIx, Stage, TaskIx, Why};

use super::orders::Orders;
use super::{MapReduce, MapReduceEffect, sentences};

impl MapReduce {
    /// The machine hears an event; what it wants is done.
    pub(super) fn step_machine(&mut self, event: Event) {
        let actions = self.machine.step(event);
        for action in actions {
            self.act(action);
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Runnable { stage, count } => {
                let inputs = match stage {
                    Stage::Reduce => self.reduce_inputs(count),
                    Stage::Map | Stage::Gang => self.map_inputs(),
                };
                self.want(MapReduceEffect::Runnable { stage, inputs });
            }
            Action::Again(maps) => {
                for map in &maps {
                    self.maps_done = self.maps_done.saturating_sub(1);
                    self.attempts
                        .unread(Orders::length(&self.description, *map));
                }
                self.want(MapReduceEffect::MapsLost(maps));
            }
            Action::Gather(attempt) => {
                let home = self.outputs.values().find(|of| of.attempt == attempt);
                if let Some(home) = home.map(|output| output.place) {
                    self.gathered(attempt, home);
                }
            }
            Action::Stop(attempt) => self.stop(attempt, Why::TwinWon),
            Action::Repeated(map) => {
                tracing::info!("map {} gave the same records when it ran again", map.0);
            }
            Action::Differed(map) => self.notice(format!(
                "two attempts at map {} gave different records, and the first one's count: what the mapper emits \
                 must depend on its input alone",
                map.0
            )),
            Action::Done => self.done(),
            Action::Fail(failure) => {
                let sentence = sentences::failure(&failure, &self.failures, &self.machine);
                self.fail(sentence);
            }
            // The next order has it.
            Action::Skip { .. } => {}
            // Outputs are read where they lie, and committed without being asked for.
            Action::Verify(_) | Action::Grant(_) => {}
            Action::Cut { source, home } => self.is_cut(source, home),
            Action::Faulty(place) => self.is_faulty(place),
        }
    }

    /// What the maps read.
    fn map_inputs(&self) -> Vec<TaskInput> {
        let inputs = self.description.splits.iter().map(|split| TaskInput {
            hosts: split.hosts.clone(),
            bytes: split.pieces.iter().map(|piece| piece.length).sum(),
        });
        inputs.collect()
    }

    /// Reduces fetch where they run: an output that is there is as good as gathered by all.
    pub(super) fn gathered(&mut self, attempt: AttemptIx, home: ContainerIx) {
        for partition in 0..self.description.reduces {
            self.step_machine(Event::Gathered {
                attempt,
                partition,
                home,
            });
        }
    }

    /// A container is gone, with what runs there and what maps have left there.
    pub(super) fn lost(&mut self, container: &ContainerId) {
        self.places.remove(container);
        self.homes.lose(container);
        self.leaving.forget(container);
        let mut place = self.known.remove(container);
        for ix in self.attempts.within(container) {
            if let Some(attempt) = self.attempts.remove(ix, 0) {
                place.get_or_insert(attempt.place);
                self.remember(&attempt, AttemptEnd::Lost, 0);
            }
        }
        let Some(place) = place else { return };
        self.faulty.remove(&place);
        self.cut
            .retain(|(source, home)| ![*source, *home].contains(&place));
        self.hosts.remove(&place);
        self.output_lost(container, place);
        self.unpark();
    }

    /// What maps have left in a container is gone.
    fn output_lost(&mut self, container: &ContainerId, place: ContainerIx) {
        let gone: Vec<TaskIx> = (self.outputs.iter())
            .filter(|(_, output)| output.container == *container)
            .map(|(map, _)| *map)
            .collect();
        self.lose(&gone, Event::LauncherLost(place));
    }

    /// These outputs are gone, as `event` tells. Nobody keeps a copy: for the machine, what was as good as
    /// gathered is not any more.
    pub(super) fn lose(&mut self, maps: &[TaskIx], event: Event) {
        for map in maps {
            self.outputs.remove(map);
        }
        if !maps.is_empty() {
            for partition in 0..self.description.reduces {
                self.step_machine(Event::Dropped { partition });
            }
        }
        self.step_machine(event);
        if maps.is_empty() {
            return;
        }
        let there = self.outputs.values();
        let there: Vec<(AttemptIx, ContainerIx)> =
            there.map(|output| (output.attempt, output.place)).collect();
        for (attempt, place) in there {
            self.gathered(attempt, place);
        }
    }
}
