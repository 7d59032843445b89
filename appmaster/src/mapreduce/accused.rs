//! Fetches that fail: each accuses two launchers, and which of them is at fault is known when a third has done better.

use policy::mapreduce::Event;
use policy::schedule::{AttemptIx, AttemptOutcome, ContainerIx, TaskIx};

use super::MapReduce;

/// How often a map's output may fail to be fetched, by launchers that are not at fault, before the map runs again.
const DOUBTS: usize = 3;

impl MapReduce {
    /// An attempt at a reduce at `home` could not read what these maps have left: it is over, and the node is to
    /// blame where it is known that others read there.
    pub(super) fn accuse(&mut self, ix: AttemptIx, home: ContainerIx, maps: &[TaskIx]) {
        for map in maps {
            if let Some(attempt) = self.outputs.get(map).map(|output| output.attempt) {
                self.step_machine(Event::FetchFailed { attempt, home });
            }
        }
        match self.faulty.contains(&home) {
            // The task is not.
            true => self.over_by(ix, AttemptOutcome::Lost, AttemptOutcome::Failed),
            false => self.over(ix, AttemptOutcome::Lost),
        }
        for map in maps {
            self.doubt(*map, home);
        }
    }

    /// The output of a map could not be fetched by the launcher that is called `home`.
    fn doubt(&mut self, map: TaskIx, home: ContainerIx) {
        let Some(attempt) = self.outputs.get(&map).map(|output| output.attempt) else {
            return;
        };
        if self.faulty.contains(&home) {
            return;
        }
        let homes = self.unfetched.entry(attempt).or_default();
        homes.push(home);
        if homes.len() >= DOUBTS {
            self.notice(format!(
                "map {} runs again: what it has left could not be fetched {DOUBTS} times",
                map.0
            ));
            let sound = false;
            self.lose(&[map], Event::Verified { attempt, sound });
        }
    }

    /// It is known now that this launcher is the one at fault: what was held against others because of it is not
    /// any more, and what maps have left there is made again if others cannot have it.
    pub(super) fn is_faulty(&mut self, place: ContainerIx) {
        self.faulty.insert(place);
        for homes in self.unfetched.values_mut() {
            homes.retain(|home| *home != place);
        }
        self.unfetched.retain(|_, homes| !homes.is_empty());
        let known = self.known.iter().find(|(_, known)| **known == place);
        let name = known.map_or_else(
            || format!("container {}", place.0),
            |(id, _)| id.to_string(),
        );
        // The machine has given up what a source has, and keeps what a home has that cannot fetch.
        let there: Vec<(TaskIx, AttemptIx)> = (self.outputs.iter())
            .filter(|(_, output)| output.place == place)
            .map(|(map, output)| (*map, output.attempt))
            .filter(|(_, attempt)| !self.machine.has_output(*attempt))
            .collect();
        let Some((_, attempt)) = there.first().copied() else {
            return self.notice(format!(
                "{name} cannot fetch what maps have left elsewhere, and others can: reduces go elsewhere when more fail \
                 there"
            ));
        };
        self.notice(format!(
            "what maps have left in {name} cannot be fetched by others, who fetch elsewhere: {} made again",
            match there.len() {
                1 => "1 map is".to_owned(),
                count => format!("{count} maps are"),
            }
        ));
        let maps: Vec<TaskIx> = there.into_iter().map(|(map, _)| map).collect();
        let sound = false;
        self.lose(&maps, Event::Verified { attempt, sound });
    }
}
