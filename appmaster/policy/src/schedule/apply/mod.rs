//! How each event changes a session.
//!
//! ```text
//!  slot:  Free ──Ordered(Start)──▶ Reserved ──Began──▶ Busy ──Ended──▶ Free
//!                                                       │ ▲
//!                                    Ordered(Move, Swap)│ │Moved
//!                                                       ▼ │
//!                                                      Moving
//! ```

mod attempts;
mod jobs;
mod needs;
mod places;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::session::{AVOIDED, JobRecord};
use super::{Event, JobIx, Nanos, Session, Stage, StageState};
use crate::Numbered;

impl Session {
    /// Takes an event into account. What names something that is gone, or never was, changes nothing.
    pub fn apply(&mut self, now: Nanos, event: &Event) {
        let state = Arc::make_mut(&mut self.state);
        state.now = state.now.max(now);
        match event {
            Event::Arrived(job) => state.arrived(job),
            Event::Left(job) => state.left(*job),
            Event::Hosts(hosts) => state.named(hosts),
            Event::Runnable { job, stage, tasks } => state.runnable(*job, *stage, tasks),
            Event::Needed {
                job,
                stage,
                locks,
                counted,
            } => state.needed(*job, *stage, locks, counted),
            Event::Avoided { job, nodes } => {
                if state.jobs.get(job).is_some_and(|record| !record.left) {
                    let failed = nodes.iter().map(|node| ((*node, *job), AVOIDED));
                    state.failed.extend(failed);
                }
            }
            Event::Joined(node, container, slots) => state.joined(node, container, slots),
            Event::Slots { container, now } => state.recut(*container, now),
            Event::Pool { container, pool } => state.has_now(*container, pool),
            Event::Allowed { container, tasks } => state.allowed(*container, tasks),
            Event::Lost(container) => state.lost(*container),
            Event::Ordered(decision) => state.ordered(decision),
            Event::Began(attempt) => state.began(*attempt),
            Event::Progress {
                attempt,
                phase,
                done,
                of,
            } => {
                state.progress(*attempt, (*phase, *done, *of));
            }
            Event::Ended { attempt, how, .. } => state.ended(*attempt, *how),
            Event::Moved { attempt, ok } => state.moved(*attempt, *ok),
            Event::OutputLost { job, maps } => state.output_lost(*job, maps),
            Event::Gathered {
                job,
                partition,
                node,
                bytes,
            } => {
                if let Some(record) = state.jobs.get_mut(job).filter(|record| !record.left) {
                    let before = record.gathered.insert((*partition, *node), *bytes);
                    let sum = state.gathered_at.entry(*node).or_default();
                    *sum = sum
                        .saturating_sub(before.unwrap_or(0))
                        .saturating_add(*bytes);
                }
            }
            Event::Preempt { containers, by } => state.wanted_back(containers, *by),
            Event::Wake => {}
        }
        state.give_up_holds();
    }
}

fn record_stage(
    jobs: &mut Numbered<JobIx, JobRecord>,
    job: JobIx,
    stage: Stage,
) -> Option<&mut StageState> {
    jobs.get_mut(&job)?.job.stages.get_mut(&stage)
}

/// Puts `entry` into the set at `key`, or takes it out; no empty set stays.
fn put<K: Ord, Entry: Ord>(
    sets: &mut BTreeMap<K, BTreeSet<Entry>>,
    key: K,
    entry: Entry,
    is_in: bool,
) {
    if is_in {
        sets.entry(key).or_default().insert(entry);
    } else if let Some(set) = sets.get_mut(&key) {
        set.remove(&entry);
        if set.is_empty() {
            sets.remove(&key);
        }
    }
}
