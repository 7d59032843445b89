//! Equal shares for whoever has work.
//!
//! A slot goes to the user (or queue, or job) that has the fewest attempts under way for its weight;
//! among equals to the job that was submitted first.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::can_run::fits;
use super::dominant::Share;
use super::fifo::{ONE_BY_ONE, first, start};
use super::{Decision, JobIx, Nanos, NodeIx, Owner, Saved, Scheduler, Session, SlotIx, Stage};

/// Among whom slots are shared equally.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum By {
    /// Users, whatever queues their jobs are in.
    #[default]
    Tenant,
    /// Queues, whoever submitted to them.
    Queue,
    /// Jobs, each for itself.
    Job,
}

/// The policy.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Fair {
    /// Among whom.
    pub by: By,
    /// How many shares a user or queue has; 1 where it is not named.
    pub weights: BTreeMap<String, u64>,
}

impl Scheduler for Fair {
    fn next(&mut self, _now: Nanos, session: &Session, node: Option<NodeIx>) -> Option<Decision> {
        let node = node?;
        session.open_slots(node).find_map(|slot| {
            let (_, stage, job) = match self.by {
                By::Job => jobs(session, slot),
                By::Tenant | By::Queue => self.owners(session, slot),
            }?;
            start(session, job, stage, slot, node)
        })
    }

    fn standing(&self, session: &Session, job: JobIx) -> Share {
        let Some(known) = session.job(job) else {
            return Share { part: 0, whole: 1 };
        };
        let (owner, name) = match self.by {
            By::Tenant => (Owner::Tenant(known.tenant.clone()), &known.tenant),
            By::Queue => (Owner::Queue(known.queue.clone()), &known.queue),
            By::Job => {
                let running = known.stages.values().map(|stage| u64::from(stage.running));
                let part = running.fold(0, u64::saturating_add);
                return Share { part, whole: 1 };
            }
        };
        Share {
            part: u64::from(session.used(&owner)),
            whole: self.weight(name),
        }
    }

    fn shares_among(&self) -> Option<By> {
        Some(self.by)
    }

    fn goes_by_running(&self) -> bool {
        self.by == By::Job
    }

    fn looks_everywhere(&self, _now: Nanos) -> bool {
        false
    }

    fn saved(&self) -> Option<Saved> {
        Some(Saved::Fair(self.clone()))
    }
}

impl Fair {
    /// Of a user or queue, at least 1.
    fn weight(&self, name: &str) -> u64 {
        self.weights.get(name).copied().unwrap_or(1).max(1)
    }

    /// The first job of whoever has least for its weight. Owners are walked from the least on, those of one
    /// share together: O(owners · log owners), and one look into the jobs of each that ties.
    fn owners(&self, session: &Session, slot: SlotIx) -> Option<(u64, Stage, JobIx)> {
        let owners = ONE_BY_ONE
            .into_iter()
            .flat_map(|stage| session.owners(stage));
        let shares = owners.filter_map(|owner| {
            let ((Owner::Tenant(name), By::Tenant) | (Owner::Queue(name), By::Queue)) =
                (owner, self.by)
            else {
                return None;
            };
            let whole = self.weight(name);
            let part = u64::from(session.used(owner));
            Some((Share { part, whole }, owner))
        });
        let mut shares: Vec<(Share, &Owner)> = shares.collect();
        shares.sort_unstable();
        shares.dedup_by(|one, other| one.1 == other.1);
        let mut groups = shares.chunk_by(|one, other| one.0 == other.0);
        groups.find_map(|equal| {
            let owners = equal.iter().map(|(_, owner)| *owner);
            let firsts = owners.filter_map(|owner| first(session, slot, Some(owner), |_, _| true));
            firsts.min()
        })
    }
}

/// The job with the fewest attempts under way. Cost: O(classes · log jobs).
fn jobs(session: &Session, slot: SlotIx) -> Option<(u64, Stage, JobIx)> {
    let stages = ONE_BY_ONE.into_iter();
    let classes = stages.flat_map(|stage| session.classes(stage).map(move |class| (stage, class)));
    let fitting = classes.filter(|(stage, class)| {
        session
            .need(*class)
            .is_some_and(|need| fits(session, need, *stage, slot).is_ok())
    });
    let fewest = fitting.filter_map(|(stage, class)| {
        let (running, seq, job) = session.fewest_running(stage, class)?;
        Some((running, seq, stage, job))
    });
    let (_, seq, stage, job) = fewest.min()?;
    Some((seq, stage, job))
}
