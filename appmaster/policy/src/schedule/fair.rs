//! Equal shares for whoever has work.
//!
//! A slot goes to the user (or queue, or job) that has the fewest attempts under way for its weight;
//! among equals to the job that was submitted first.

use std::collections::BTreeMap;

use super::can_run::fits;
use super::dominant::Share;
use super::fifo::{ONE_BY_ONE, first, start};
use super::{Decision, JobIx, Nanos, NodeIx, Owner, Scheduler, Session, SlotIx, Stage};

/// Among whom slots are shared equally.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// Users.
    #[default]
    Tenant,
    /// Queues.
    Queue,
    /// Jobs.
    Job,
}

/// The policy.
#[derive(Clone, Debug, Default)]
pub struct Fair {
    /// Among whom.
    pub by: By,
    /// How many shares a user or queue has; 1 where it is not named.
    pub weights: BTreeMap<String, u64>,
}

impl Scheduler for Fair {
    fn next(&mut self, _now: Nanos, session: &Session, node: Option<NodeIx>) -> Option<Decision> {
        let node = node?;
        session.free_slots(node).find_map(|slot| {
            let (_, _, stage, job) = match self.by {
                By::Job => jobs(session, slot),
                By::Tenant | By::Queue => self.owners(session, slot),
            }?;
            start(session, job, stage, slot, node)
        })
    }
}

impl Fair {
    fn owners(&self, session: &Session, slot: SlotIx) -> Option<(Share, u64, Stage, JobIx)> {
        let owners = ONE_BY_ONE
            .into_iter()
            .flat_map(|stage| session.owners(stage));
        let firsts = owners.filter_map(|owner| {
            let ((Owner::Tenant(name), By::Tenant) | (Owner::Queue(name), By::Queue)) =
                (owner, self.by)
            else {
                return None;
            };
            let whole = self.weights.get(name).copied().unwrap_or(1).max(1);
            let share = Share {
                part: u64::from(session.used(owner)),
                whole,
            };
            let (seq, stage, job) = first(session, slot, Some(owner), |_, _| true)?;
            Some((share, seq, stage, job))
        });
        firsts.min()
    }
}

/// By job every runnable one is looked at: O(jobs).
fn jobs(session: &Session, slot: SlotIx) -> Option<(Share, u64, Stage, JobIx)> {
    let stages = ONE_BY_ONE.into_iter();
    let classes = stages.flat_map(|stage| session.classes(stage).map(move |class| (stage, class)));
    let fitting = classes.filter(|(stage, class)| {
        session
            .need(*class)
            .is_some_and(|need| fits(session, need, *stage, slot).is_ok())
    });
    let each = fitting
        .flat_map(|(stage, class)| session.runnable(stage, class).map(move |job| (stage, job)));
    let shares = each.filter_map(|(stage, ix)| {
        let job = session.job(ix)?;
        let running = job.stages.values().fold(0_u64, |sum, state| {
            sum.saturating_add(u64::from(state.running))
        });
        Some((
            Share {
                part: running,
                whole: 1,
            },
            job.seq,
            stage,
            ix,
        ))
    });
    shares.min()
}
