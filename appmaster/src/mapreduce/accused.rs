//! Fetches that fail: each accuses two launchers, and which of them is at fault is known when a third has done better.

use std::collections::BTreeSet;

use policy::mapreduce::Event;
use policy::schedule::{AttemptIx, AttemptOutcome, ContainerIx, TaskIx};

use super::{MapReduce, MapReduceEffect};

/// How often a map's output may fail to be fetched, by launchers that are not at fault, before the map runs again.
const DOUBTS: usize = 3;

impl MapReduce {
    /// An attempt at a reduce at `home` could not read what these maps have left: it is over, and the node is to
    /// blame where it is known that others read there.
    pub(super) fn accuse(
        &mut self,
        ix: AttemptIx,
        (home, reads_until): (ContainerIx, u64),
        maps: &[TaskIx],
    ) {
        for source in self.others(maps, home, reads_until) {
            self.step_machine(Event::FetchedFrom { source, home });
        }
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

    /// Launchers from which an attempt has had what it was told to read there, where it lacks what these maps have left.
    fn others(&self, maps: &[TaskIx], home: ContainerIx, reads_until: u64) -> Vec<ContainerIx> {
        let lack = maps.iter().filter_map(|map| self.outputs.get(map));
        let lack: BTreeSet<ContainerIx> = sort::set(lack.map(|output| output.place));
        let read = self.outputs.values();
        let read = read.filter(|output| output.number <= reads_until && output.place != home);
        let read: BTreeSet<ContainerIx> = sort::set(read.map(|output| output.place));
        read.difference(&lack).copied().collect()
    }

    /// Each of the two does well with others: the job's reduces read elsewhere.
    pub(super) fn is_cut(&mut self, source: ContainerIx, home: ContainerIx) {
        self.cut.insert((source, home));
        let (from, to) = (self.name_of(source), self.name_of(home));
        self.notice(format!(
            "{to} cannot fetch what maps have left at {from}, though each of them does well with others: reduces of \
             this job go elsewhere than to {to}"
        ));
        let known = self.known.iter().find(|(_, known)| **known == home);
        if let Some((container, _)) = known {
            self.want(MapReduceEffect::Avoid(container.clone()));
        }
    }

    /// A container, by its node where that is known.
    fn name_of(&self, place: ContainerIx) -> String {
        let known = self.known.iter().find(|(_, known)| **known == place);
        known.map_or_else(
            || format!("container {}", place.0),
            |(id, _)| match self.hosts.get(&place) {
                Some(host) => format!("{host} ({id})"),
                None => id.to_string(),
            },
        )
    }

    /// The output of a map could not be fetched by the launcher that is called `home`.
    fn doubt(&mut self, map: TaskIx, home: ContainerIx) {
        let output = self.outputs.get(&map);
        let Some((attempt, source)) = output.map(|output| (output.attempt, output.place)) else {
            return;
        };
        if self.faulty.contains(&home) || self.cut.contains(&(source, home)) {
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
        let name = self.name_of(place);
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
