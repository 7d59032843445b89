//! The cores that the launcher may use, looked at again and again: a control group may lose some while it runs, and a
//! machine may take some off.
//!
//! A core keeps its class: what is left of the classes is told, and nothing is measured beside tasks. Cores that are
//! new are told to their classes by files alone.

use std::collections::BTreeSet;
use std::time::Duration;

use job::element::{Element, Scan};
use tokio::time::{Instant, sleep_until};

use super::core_classes;
use crate::cores;

/// Between two looks: one call of the kernel.
const LOOK: Duration = Duration::from_secs(1);

/// The classes of the launcher's cores.
#[derive(Debug)]
pub(super) struct CoreWatch {
    /// Those that it may use, as they were seen last.
    mask: BTreeSet<u32>,
    /// Those of which `classes` tell.
    classified: BTreeSet<u32>,
    classes: Vec<Element>,
    due: Instant,
}

impl CoreWatch {
    pub(super) fn new(scan: &Scan) -> Self {
        let mask = cores::mask();
        Self {
            classes: core_classes(scan, &mask),
            classified: mask.clone(),
            mask,
            due: next_look(),
        }
    }

    /// Until the launcher may use other cores than before. May be dropped and called again.
    pub(super) async fn next(&mut self, scan: &Scan) {
        loop {
            sleep_until(self.due).await;
            self.due = next_look();
            if self.see(cores::mask(), |mask| core_classes(scan, mask)) {
                return;
            }
        }
    }

    /// Whether these are other cores than before. None: the kernel does not say.
    fn see(
        &mut self,
        mask: BTreeSet<u32>,
        classify: impl FnOnce(&BTreeSet<u32>) -> Vec<Element>,
    ) -> bool {
        if mask.is_empty() || mask == self.mask {
            return false;
        }
        if !mask.is_subset(&self.classified) {
            self.classes = classify(&mask);
            self.classified = mask.clone();
        }
        self.mask = mask;
        true
    }

    /// Each class with what it still has, which may be no core.
    pub(super) fn classes(&self) -> Vec<Element> {
        let classes = self.classes.iter().map(|class| {
            let there = class.cpus.iter().filter(|core| self.mask.contains(core));
            let cpus: Vec<u32> = there.copied().collect();
            Element {
                count: u32::try_from(cpus.len()).unwrap_or(u32::MAX),
                cpus,
                ..class.clone()
            }
        });
        classes.collect()
    }
}

fn next_look() -> Instant {
    let now = Instant::now();
    now.checked_add(LOOK).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use job::element::ElementKind;

    use super::*;

    fn class(model: &str, cpus: &[u32]) -> Element {
        Element {
            model: model.to_owned(),
            count: u32::try_from(cpus.len()).unwrap(),
            cpus: cpus.to_vec(),
            ..Element::none_of(ElementKind::CoreClass)
        }
    }

    fn watch() -> CoreWatch {
        CoreWatch {
            mask: [0, 1, 2, 3].into(),
            classified: [0, 1, 2, 3].into(),
            classes: vec![class("fast", &[0, 1]), class("slow", &[2, 3])],
            due: Instant::now(),
        }
    }

    fn no_class(_mask: &BTreeSet<u32>) -> Vec<Element> {
        panic!("the cores are known")
    }

    #[test]
    fn a_class_loses_the_cores_that_the_launcher_loses_and_has_them_again() {
        let mut watch = watch();
        assert!(!watch.see([0, 1, 2, 3].into(), no_class));
        assert!(watch.see([1, 2].into(), no_class));
        assert_eq!(watch.classes(), [class("fast", &[1]), class("slow", &[2])]);
        // No fast slot is left, and the slow ones are still slow.
        assert!(watch.see([2, 3].into(), no_class));
        assert_eq!(
            watch.classes(),
            [class("fast", &[]), class("slow", &[2, 3])]
        );
        // The kernel may not say.
        assert!(!watch.see(BTreeSet::new(), no_class));
        assert!(watch.see([0, 1, 2, 3].into(), no_class));
        assert_eq!(
            watch.classes(),
            [class("fast", &[0, 1]), class("slow", &[2, 3])]
        );
    }

    #[test]
    fn cores_that_are_new_are_classified() {
        let mut watch = watch();
        let seen = watch.see([1, 4].into(), |mask| {
            assert_eq!(*mask, [1, 4].into());
            vec![class("fast", &[1, 4])]
        });
        assert!(seen);
        assert_eq!(watch.classes(), [class("fast", &[1, 4])]);
    }
}
