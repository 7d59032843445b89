//! Which attempts of a class run on which speed, and which are on their way.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{AttemptIx, JobClass, Session, Speed, Stage};
use crate::schedule::ContainerIx;
use crate::schedule::saved::pairs;

/// A class on slots of a speed, of one stage.
type Place = (JobClass, Speed, Stage);

/// Where attempts run that have begun.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Placed {
    of: BTreeMap<AttemptIx, (Place, ContainerIx)>,
    #[serde(with = "pairs")]
    by: BTreeMap<Place, BTreeSet<(ContainerIx, AttemptIx)>>,
    /// Batch attempts that leave a fast slot for interactive ones.
    returning: BTreeMap<AttemptIx, Stage>,
    /// Attempts that change places, each with the other.
    swapping: BTreeMap<AttemptIx, AttemptIx>,
}

impl Placed {
    /// Attempts of a class on slots of a speed, by container.
    pub(super) fn at(
        &self,
        class: JobClass,
        speed: Speed,
        stage: Stage,
    ) -> impl Iterator<Item = (ContainerIx, AttemptIx)> {
        self.by
            .get(&(class, speed, stage))
            .into_iter()
            .flatten()
            .copied()
    }

    /// Those in one container.
    pub(super) fn in_container(
        &self,
        class: JobClass,
        speed: Speed,
        stage: Stage,
        container: ContainerIx,
    ) -> impl Iterator<Item = AttemptIx> {
        let there = (container, AttemptIx(0))..=(container, AttemptIx(u32::MAX));
        let all = self.by.get(&(class, speed, stage));
        let here = all
            .into_iter()
            .flat_map(move |all| all.range(there.clone()));
        here.map(|(_, attempt)| *attempt)
    }

    /// How many batch attempts leave fast slots of a stage.
    pub(super) fn returning(&self, stage: Stage) -> usize {
        self.returning.values().filter(|of| **of == stage).count()
    }

    pub(super) fn returns(&mut self, attempt: AttemptIx, stage: Stage) {
        self.returning.insert(attempt, stage);
    }

    pub(super) fn swaps(&mut self, one: AttemptIx, other: AttemptIx) {
        self.swapping.extend([(one, other), (other, one)]);
    }

    /// An attempt runs where the session says that it does, and so does the one that it has changed places with.
    pub(super) fn put(&mut self, session: &Session, attempt: AttemptIx, class: JobClass) {
        let other = self.swapping.get(&attempt).copied();
        let class_of_other = other.and_then(|other| Some(self.of.get(&other)?.0.0));
        self.take(attempt);
        self.put_one(session, attempt, class);
        if let Some((other, class)) = other.zip(class_of_other) {
            self.take(other);
            self.put_one(session, other, class);
        }
    }

    fn put_one(&mut self, session: &Session, ix: AttemptIx, class: JobClass) {
        let Some(attempt) = session.attempt(ix) else {
            return;
        };
        let Some(slot) = session.slot(attempt.slot) else {
            return;
        };
        let place = (class, slot.speed, attempt.stage);
        self.of.insert(ix, (place, slot.container));
        self.by
            .entry(place)
            .or_default()
            .insert((slot.container, ix));
    }

    /// An attempt is over, or is put elsewhere.
    pub(super) fn take(&mut self, attempt: AttemptIx) {
        self.returning.remove(&attempt);
        if let Some(other) = self.swapping.remove(&attempt) {
            self.swapping.remove(&other);
        }
        if let Some((place, container)) = self.of.remove(&attempt)
            && let Some(all) = self.by.get_mut(&place)
        {
            all.remove(&(container, attempt));
            if all.is_empty() {
                self.by.remove(&place);
            }
        }
    }

    /// Attempts in a container, with their classes.
    pub(super) fn all_in(&self, container: ContainerIx) -> Vec<(AttemptIx, JobClass)> {
        let here = self.of.iter().filter(|(_, (_, there))| *there == container);
        here.map(|(attempt, ((class, ..), _))| (*attempt, *class))
            .collect()
    }
}
