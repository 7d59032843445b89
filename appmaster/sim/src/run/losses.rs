//! What a run loses: nodes, and cores of them.
//!
//! What ran there, or was ordered there, runs again; tasks start by number, so it comes before the job's others.
//! Outputs of maps that are done stay: they are taken to lie where any node can read them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, ensure};
use policy::schedule::record::What;
use policy::schedule::{
    AttemptIx, AttemptOutcome, ContainerIx, Event, JobIx, Slot, SlotIx, SlotUse, Stage,
};

use super::WorkloadRun;
use crate::workload::{Loss, LostCore};

impl WorkloadRun<'_> {
    pub(super) fn lose(&mut self, loss: &Loss) -> Result<()> {
        let container = ContainerIx(loss.node);
        match loss.core {
            Some(core) => self.lose_core(container, core),
            None => self.lose_node(container),
        }
    }

    fn lose_node(&mut self, container: ContainerIx) -> Result<()> {
        let slots = self.driver.session().slots_of(container).iter().copied();
        for attempt in self.attempts_on(&slots.collect()) {
            self.lose_attempt(attempt)?;
        }
        self.tell(&Event::Lost(container))
    }

    /// Nothing is decided before its slots are gone, too.
    fn lose_core(&mut self, container: ContainerIx, core: LostCore) -> Result<()> {
        let session = self.driver.session();
        let there = session.slots_of(container).iter();
        let there = there.filter_map(|ix| Some((*ix, session.slot(*ix)?)));
        let there: Vec<(SlotIx, &Slot)> = there.collect();
        let speed = core.speed.of_slots();
        ensure!(
            there.iter().any(|(_, slot)| slot.speed == speed),
            "losses: node {} has no {:?} core",
            container.0,
            core.speed
        );
        // One that is cut off already goes with its attempt.
        let there: Vec<(SlotIx, &Slot)> = there
            .into_iter()
            .filter(|(_, slot)| slot.starts_tasks() && !slot.stages.is_empty())
            .collect();
        let mut by_kind: BTreeMap<&BTreeSet<Stage>, Vec<SlotIx>> = BTreeMap::new();
        for (ix, slot) in &there {
            if slot.speed == speed {
                by_kind.entry(&slot.stages).or_default().push(*ix);
            }
        }
        let of_core = by_kind.values().filter_map(|slots| {
            let number = usize::try_from(core.number).ok()?;
            slots.get(number.checked_rem(slots.len())?).copied()
        });
        let lost: BTreeSet<SlotIx> = of_core.collect();
        let left = there.iter().filter(|(ix, _)| !lost.contains(ix));
        let now = left.map(|(_, slot)| Slot {
            taken: SlotUse::Free,
            ..(*slot).clone()
        });
        let now: Vec<Slot> = now.collect();
        let mut ended: Vec<(JobIx, Stage)> = Vec::new();
        for attempt in self.attempts_on(&lost) {
            let of = self.driver.session().attempt(attempt);
            ended.extend(of.map(|of| (of.job, of.stage)));
            self.lose_attempt(attempt)?;
            let event = Event::Ended {
                attempt,
                how: AttemptOutcome::Lost,
                phases: Vec::new(),
            };
            self.record(|| What::Told(event.clone()));
            self.driver.tell(self.now, &event);
        }
        self.tell(&Event::Slots { container, now })?;
        // A twin may have been faster.
        let mut ended = ended.into_iter();
        ended.try_for_each(|(job, stage)| self.advance(job, stage))
    }

    /// Attempts that are, or are ordered to, one of these slots.
    fn attempts_on(&self, slots: &BTreeSet<SlotIx>) -> Vec<AttemptIx> {
        let attempts = self.driver.session().attempts();
        let there = attempts.filter(|(_, attempt)| {
            slots.contains(&attempt.slot) || attempt.to.is_some_and(|to| slots.contains(&to))
        });
        there.map(|(ix, _)| ix).collect()
    }

    fn lose_attempt(&mut self, attempt: AttemptIx) -> Result<()> {
        self.leave_line(attempt)?;
        self.count_busy(attempt);
        self.loads.remove(&attempt);
        self.note(attempt, AttemptOutcome::Lost);
        self.outcome.lost = self.outcome.lost.saturating_add(1);
        Ok(())
    }
}
