//! Who has how many attempts under way.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Class, Owner};
use crate::Few;
use crate::schedule::{Job, Stage};

/// Attempts under way of each queue and user that has some, by name.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::schedule) struct Used {
    queues: BTreeMap<String, UsedByStage>,
    tenants: BTreeMap<String, UsedByStage>,
    /// By what they take, of all.
    classes: Few<Class, u32>,
    /// The same of each user.
    classes_of: BTreeMap<String, Few<Class, u32>>,
}

/// Of one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct UsedByStage {
    maps: u32,
    reduces: u32,
    ranks: u32,
}

impl UsedByStage {
    const fn of(&self, stage: Stage) -> u32 {
        match stage {
            Stage::Map => self.maps,
            Stage::Reduce => self.reduces,
            Stage::Gang => self.ranks,
        }
    }

    const fn all(&self) -> u32 {
        self.maps
            .saturating_add(self.reduces)
            .saturating_add(self.ranks)
    }

    fn change(&mut self, stage: Stage, to: impl Fn(u32) -> u32) {
        let count = match stage {
            Stage::Map => &mut self.maps,
            Stage::Reduce => &mut self.reduces,
            Stage::Gang => &mut self.ranks,
        };
        *count = to(*count);
    }
}

impl Used {
    /// All of them, or those of one stage.
    pub(in crate::schedule) fn of(&self, owner: &Owner, stage: Option<Stage>) -> u32 {
        let used = match owner {
            Owner::Queue(name) => self.queues.get(name),
            Owner::Tenant(name) => self.tenants.get(name),
        };
        used.map_or(0, |used| match stage {
            Some(stage) => used.of(stage),
            None => used.all(),
        })
    }

    /// Makes of the counts of those whom `job` belongs to others.
    pub(in crate::schedule) fn change(&mut self, job: &Job, stage: Stage, to: impl Fn(u32) -> u32) {
        let both = [
            (&mut self.queues, &job.queue),
            (&mut self.tenants, &job.tenant),
        ];
        for (all, name) in both {
            let Some(used) = all.get_mut(name) else {
                let mut used = UsedByStage::default();
                used.change(stage, &to);
                if used.all() > 0 {
                    all.insert(name.clone(), used);
                }
                continue;
            };
            used.change(stage, &to);
            if used.all() == 0 {
                all.remove(name);
            }
        }
    }

    /// Attempts under way, of each class that has some.
    pub(in crate::schedule) fn classes(&self) -> impl Iterator<Item = (Class, u32)> + '_ {
        self.classes.iter().copied()
    }

    /// The same of one user.
    pub(in crate::schedule) fn classes_of(
        &self,
        tenant: &str,
    ) -> impl Iterator<Item = (Class, u32)> + '_ {
        let classes = self.classes_of.get(tenant).into_iter();
        classes.flat_map(Few::iter).copied()
    }

    /// Makes of the count of a user's attempts of a class another.
    pub(in crate::schedule) fn change_class(
        &mut self,
        tenant: &str,
        class: Class,
        to: impl Fn(u32) -> u32,
    ) {
        change(&mut self.classes, class, &to);
        let Some(own) = self.classes_of.get_mut(tenant) else {
            let mut own = Few::new();
            change(&mut own, class, to);
            if own.iter().next().is_some() {
                self.classes_of.insert(tenant.to_owned(), own);
            }
            return;
        };
        change(own, class, to);
        if own.iter().next().is_none() {
            self.classes_of.remove(tenant);
        }
    }
}

fn change(classes: &mut Few<Class, u32>, class: Class, to: impl Fn(u32) -> u32) {
    match to(classes.get(&class).copied().unwrap_or(0)) {
        0 => classes.remove(&class),
        count => classes.insert(class, count),
    };
}
