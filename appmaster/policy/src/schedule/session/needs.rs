//! What tasks take, each kind of it once: stages that take the same are one class.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::schedule::Need;
use crate::schedule::saved::pairs;
use crate::{Number, Numbered};

/// Number of a [`Need`] among those that stages of jobs have, in the order in which they came; none is used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Class(u32);

impl Number for Class {
    fn of(number: u32) -> Self {
        Self(number)
    }

    fn number(self) -> u32 {
        self.0
    }
}

impl Class {
    /// The first of all.
    pub(in crate::schedule) const FIRST: Self = Self(0);
}

/// The needs of the jobs and attempts that are there, and of none that was.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::schedule) struct Needs {
    /// Each with how many stages and attempts have it.
    known: Numbered<Class, (Need, u32)>,
    #[serde(with = "pairs")]
    classes: BTreeMap<Need, Class>,
    next: u32,
}

impl Needs {
    /// What a task of the class takes.
    pub(in crate::schedule) fn get(&self, class: Class) -> Option<&Need> {
        self.known.get(&class).map(|(need, _)| need)
    }

    /// The class of tasks that take this; `None`: there is none.
    pub(in crate::schedule) fn class(&self, need: &Need) -> Option<Class> {
        self.classes.get(need).copied()
    }

    /// One stage more takes this.
    pub(in crate::schedule) fn enter(&mut self, need: &Need) -> Class {
        if let Some(class) = self.classes.get(need).copied() {
            self.hold(class);
            return class;
        }
        let class = Class(self.next);
        self.next = self.next.saturating_add(1);
        self.known.insert(class, (need.clone(), 1));
        self.classes.insert(need.clone(), class);
        class
    }

    /// An attempt takes what the class says.
    pub(in crate::schedule) fn hold(&mut self, class: Class) {
        if let Some((_, holders)) = self.known.get_mut(&class) {
            *holders = holders.saturating_add(1);
        }
    }

    /// One stage or attempt of the class fewer.
    pub(in crate::schedule) fn leave(&mut self, class: Class) {
        let Some((_, holders)) = self.known.get_mut(&class) else {
            return;
        };
        *holders = holders.saturating_sub(1);
        if *holders == 0
            && let Some((need, _)) = self.known.remove(&class)
        {
            self.classes.remove(&need);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Bundle;

    #[test]
    fn a_class_is_there_as_long_as_a_stage_is_of_it() {
        let need = |amount| Need {
            bundle: Bundle::new().with("memory-mb", amount),
            locks: Vec::new(),
            ..Need::default()
        };
        let mut needs = Needs::default();
        let small = needs.enter(&need(1));
        let large = needs.enter(&need(2));
        assert_eq!((small, needs.enter(&need(1))), (Class::FIRST, small));
        needs.leave(small);
        assert_eq!(needs.get(small), Some(&need(1)));
        needs.leave(small);
        // Neither twice, nor in place of another.
        needs.leave(small);
        assert_eq!((needs.get(small), needs.get(large)), (None, Some(&need(2))));
        let again = needs.enter(&need(1));
        assert!(again > large, "{again:?}");
        needs.leave(again);
        needs.leave(large);
        assert!(needs.known.is_empty() && needs.classes.is_empty());
    }
}
