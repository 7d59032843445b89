//! HPE to the letter, for comparison.
//!
//! Source: as [`Hpe`](super::Hpe), lines 6 to 21 of Algorithm 1 as printed. Whether a job needs an element is a flag
//! of the whole job; every job that is not done is walked, with pending tasks or without; and a node with an element
//! that finds no job for it gives its slot to the first job in the queue only if exactly three were skipped, and only
//! if that job has a task: else the slot stays empty. So plain jobs may never end where every node has an element
//! and fewer than three of them wait. Of a job's tasks whose input is elsewhere any is taken, by chance.
//!
//! Left to sense: the loop ends with the task that it assigns, as the next slot begins it anew, and a task that cannot
//! run on the slot is not assigned.
//!
//! Cost: O(jobs) a slot.

use serde::{Deserialize, Serialize};

use super::can_run::fits;
use super::element::{has_element, needs_element};
use super::fifo::ONE_BY_ONE;
use super::hpe::{maps_first, preferred_home};
use super::{
    Decision, Job, JobIx, Nanos, NodeIx, Saved, Scheduler, Session, SlotIx, Stage, TaskIx,
};

/// Jobs without need of an element that a node with one passes over.
const SKIP: u32 = 3;

/// The policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HpeLiteral {
    /// Chance: the seed, then what has become of it.
    pub chance: u64,
}

impl Scheduler for HpeLiteral {
    fn next(&mut self, _now: Nanos, session: &Session, node: Option<NodeIx>) -> Option<Decision> {
        let node = node?;
        let has = has_element(session, node);
        let mut slots = maps_first(session, node);
        slots.find_map(|slot| self.walk(session, node, slot, has))
    }

    fn home(
        &mut self,
        _now: Nanos,
        session: &Session,
        job: JobIx,
        _partition: u32,
        _bytes: u64,
    ) -> Option<NodeIx> {
        preferred_home(session, job)
    }

    fn looks_everywhere(&self, _now: Nanos) -> bool {
        false
    }

    fn saved(&self) -> Option<Saved> {
        Some(Saved::HpeLiteral(*self))
    }
}

impl HpeLiteral {
    fn walk(
        &mut self,
        session: &Session,
        node: NodeIx,
        slot: SlotIx,
        node_has: bool,
    ) -> Option<Decision> {
        let mut skipped = 0_u32;
        for (ix, job) in session.unfinished() {
            match (job_needs(job), node_has) {
                (true, true) | (false, false) => {
                    let assigned = self.assign_task(session, ix, node, slot);
                    if assigned.is_some() {
                        return assigned;
                    }
                }
                (true, false) => {}
                (false, true) => skipped = skipped.saturating_add(1),
            }
            if skipped == SKIP {
                let (first, _) = session.unfinished().next()?;
                return self.assign_task(session, first, node, slot);
            }
        }
        None
    }

    fn assign_task(
        &mut self,
        session: &Session,
        job: JobIx,
        node: NodeIx,
        slot: SlotIx,
    ) -> Option<Decision> {
        let stages = ONE_BY_ONE.into_iter();
        let mut runnable = stages.filter(|stage| {
            let state = session.stage(job, *stage);
            state.is_some_and(|state| {
                state.pending > 0 && fits(session, &state.need, *stage, slot).is_ok()
            })
        });
        let stage = runnable.next()?;
        let task = self.task(session, job, stage, node)?;
        Some(Decision::Start {
            job,
            stage,
            task,
            slot,
        })
    }

    /// One whose input is on the node, else any.
    fn task(
        &mut self,
        session: &Session,
        job: JobIx,
        stage: Stage,
        node: NodeIx,
    ) -> Option<TaskIx> {
        let tasks = session.tasks(job, stage)?;
        if let Some(task) = tasks.at_node.get(&node).and_then(|here| here.first()) {
            return Some(*task);
        }
        let count = u64::try_from(tasks.pending.len()).ok()?;
        let number = self.draw().checked_rem(count)?;
        let mut pending = tasks.pending.iter();
        pending.nth(usize::try_from(number).ok()?).copied()
    }

    /// The next number of SplitMix64 (G. L. Steele et al., OOPSLA 2014).
    const fn draw(&mut self) -> u64 {
        self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.chance ^ (self.chance >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// The flag of a job's profile.
fn job_needs(job: &Job) -> bool {
    let mut stages = job.stages.values();
    stages.any(|stage| needs_element(&stage.need))
}
