//! Containers that YARN takes: what maps have left there for reduces is made again before it is gone.

use std::collections::BTreeMap;

use policy::mapreduce::Event;
use policy::schedule::{Stage, TaskIx};
use policy::{ContainerId, Millis};

use super::MapReduce;

/// What is there for longer than this is not made again yet: the job may have read it by then, or be over.
const SOON: Millis = Millis(60_000);

/// Containers that leave, and since when what lies there is not counted on.
#[derive(Debug, Default)]
pub(super) struct Leaving(BTreeMap<ContainerId, Millis>);

impl Leaving {
    pub(super) fn wakes_at(&self) -> Option<Millis> {
        self.0.values().min().copied()
    }

    /// It is gone, and what lay there with it.
    pub(super) fn forget(&mut self, container: &ContainerId) {
        self.0.remove(container);
    }
}

impl MapReduce {
    /// YARN takes a container, about so soon.
    pub(super) fn leaves(&mut self, container: ContainerId, within: Millis) {
        // No reduce begins there: what is gathered there is of use to nobody.
        self.homes.lose(&container);
        let at = self.now.plus(Millis(within.0.saturating_sub(SOON.0)));
        self.leaving.0.insert(container, at);
    }

    /// Has made again what lies where it is gone soon.
    pub(super) fn make_again(&mut self) {
        let due = self.leaving.0.iter().filter(|(_, at)| self.now >= **at);
        let due: Vec<ContainerId> = due.map(|(container, _)| container.clone()).collect();
        for container in due {
            self.leaving.forget(&container);
            self.outputs_leave(&container);
        }
    }

    fn outputs_leave(&mut self, container: &ContainerId) {
        let there = self.outputs.iter();
        let there = there.filter(|(_, output)| output.container == *container);
        let maps: Vec<TaskIx> = there.map(|(map, _)| *map).collect();
        let first = maps.first().and_then(|map| self.outputs.get(map));
        let Some((place, address)) = first.map(|of| (of.place, of.address.as_str())) else {
            return;
        };
        if self.is_read(container) {
            return;
        }
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        let sentence = format!(
            "what {} left on {host} is made again elsewhere: YARN takes the container there",
            match maps.len() {
                1 => "1 map has".to_owned(),
                count => format!("{count} maps have"),
            }
        );
        self.notice(sentence);
        self.lose(&maps, Event::LauncherLeaves(place));
    }

    /// Whether every reduce has a result, or an attempt elsewhere than in `container` that has read all it needs.
    fn is_read(&self, container: &ContainerId) -> bool {
        let has_read = |ix| {
            let attempt = self.attempts.get(ix);
            attempt.is_some_and(|of| of.far.of > 0 && of.container != *container)
        };
        let mut told = (0..self.reduces_told).map(TaskIx);
        self.reduces_told == self.description.reduces
            && told.all(|task| {
                let mut attempts = self.attempts.at(Stage::Reduce, task).into_iter();
                self.machine.has_committed(task) || attempts.any(has_read)
            })
    }
}
