//! Jobs that use the same functions of an accelerator are a group, and groups share the cluster by dominant shares.
//!
//! Source: HeteroYARN, §3.2.3 (its HeteroScheduler); A. Ghodsi et al., "Dominant Resource Fairness", NSDI 2011.
//!
//! ```text
//! root ─┬─ kmeans-map ── jobs, first come, first served        with tenants=true:
//!       ├─ bayes-map ─── jobs                                   root ─┬─ ann ─┬─ kmeans-map ── jobs
//!       └─ plain ─────── jobs that need no element                    │       └─ plain ─────── jobs
//!                                                                     └─ bob ─── …
//! ```
//!
//! A free slot walks down from the root: of the children that have a head which it can run, it takes the one with the
//! least dominant share; among equals the one whose head was submitted first, then by name. A child's share is the
//! largest of its used amounts, each of the total of the session: attempts under way times what a task takes, a slot
//! and one of each device that it waits for in turn included. In a group the job of the highest priority is the head,
//! then the one that was submitted first. A head that no free slot can run keeps the jobs behind it waiting, and no
//! other group; one that its own [limit](Need::limit) keeps off a node is passed over there.
//!
//! Differences: a group is told by what stages need, not by a tag of the job, so that maps and reduces of one job may be
//! in two; a slot for one stage alone looks at the heads of that stage. `hetero-literal` knows of no priorities, as the
//! paper.
//!
//! Cost: O(classes of need · log jobs) a decision; with tenants O(tenants · classes) and, where a tenant's jobs are of
//! several priorities, O(jobs) in the worst case.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::can_run::fits;
use super::element::elements;
use super::fifo::{ONE_BY_ONE, start};
use super::{
    Class, Decision, JobIx, Misfit, Nanos, Need, NodeIx, ResourceName, Saved, Scheduler, Session,
    Share, SlotIx, Stage,
};

/// The policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hetero {
    /// Users share first, then the groups of each.
    pub tenants: bool,
    /// Priorities of jobs do not count.
    pub literal: bool,
}

/// The elements that tasks of a group need, by name; of plain ones none.
type Group<'a> = Vec<&'a ResourceName>;

/// The job that is next in a group: lower is first. Priority counted down, order of submission, stage.
type Turn = (i64, u64, Stage, JobIx);

/// A part of the tree with what it uses.
#[derive(Debug, Default)]
struct Branch<'a> {
    slots: u64,
    used: BTreeMap<&'a ResourceName, u64>,
    head: Option<(Turn, Class)>,
}

impl Scheduler for Hetero {
    fn next(&mut self, _now: Nanos, session: &Session, node: Option<NodeIx>) -> Option<Decision> {
        let node = node?;
        session.open_slots(node).find_map(|slot| {
            let (stage, job) = self.choose(session, slot)?;
            start(session, job, stage, slot, node)
        })
    }

    /// Of a gang: the share that the group of its ranks has.
    fn standing(&self, session: &Session, job: JobIx) -> Share {
        let nothing = Share { part: 0, whole: 1 };
        let Some(known) = session.job(job) else {
            return nothing;
        };
        let Some(stage) = known.stages.get(&Stage::Gang) else {
            return nothing;
        };
        let own = group(&stage.need);
        let tenant = self.tenants.then_some(known.tenant.as_str());
        let mut branch = Branch::default();
        for (need, count) in running(session, tenant) {
            if group(need) == own {
                branch.uses(need, count);
            }
        }
        branch.share(session)
    }

    fn looks_everywhere(&self, _now: Nanos) -> bool {
        false
    }

    /// Behind a head that found no room at a node may be one that does.
    fn asks_again(&self) -> bool {
        true
    }

    fn saved(&self) -> Option<Saved> {
        Some(Saved::Hetero(*self))
    }
}

impl Hetero {
    fn choose(&self, session: &Session, slot: SlotIx) -> Option<(Stage, JobIx)> {
        if !self.tenants {
            return self.in_groups(session, slot, None);
        }
        let mut tenants: BTreeMap<&str, Branch<'_>> = BTreeMap::new();
        for stage in stages(session, slot) {
            for tenant in session.tenants(stage) {
                tenants.entry(tenant).or_default();
            }
        }
        let mut shares: Vec<(Share, u64, &str, (Stage, JobIx))> = Vec::new();
        for (tenant, mut branch) in tenants {
            let Some(next) = self.in_groups(session, slot, Some(tenant)) else {
                continue;
            };
            for (need, count) in running(session, Some(tenant)) {
                branch.uses(need, count);
            }
            let (_, job) = next;
            let submitted = session.job(job)?.submitted.0;
            shares.push((branch.share(session), submitted, tenant, next));
        }
        shares.into_iter().min().map(|(.., next)| next)
    }

    /// The head of the group with the least share, of all or of one user's.
    fn in_groups(
        &self,
        session: &Session,
        slot: SlotIx,
        tenant: Option<&str>,
    ) -> Option<(Stage, JobIx)> {
        let mut groups: BTreeMap<Group<'_>, Branch<'_>> = BTreeMap::new();
        for stage in stages(session, slot) {
            let firsts = match self.literal {
                true => session.first_of_classes(stage, tenant),
                false => session.first_by_priority(stage, tenant),
            };
            for (class, job) in firsts {
                let (need, known) = (session.need(class)?, session.job(job)?);
                // What its job keeps off this node keeps no other off it.
                let fit = need.limit.map(|_| fits(session, need, stage, slot));
                if matches!(fit, Some(Err(Misfit::Limit(_)))) {
                    continue;
                }
                let before = match self.literal {
                    true => 0,
                    false => i64::from(known.priority).saturating_neg(),
                };
                let turn = ((before, known.seq, stage, job), class);
                let branch = groups.entry(group(need)).or_default();
                branch.head = Some(branch.head.map_or(turn, |other| other.min(turn)));
            }
        }
        // A head that cannot run here keeps its group off this slot.
        groups.retain(|_, branch| {
            branch.head.is_some_and(|((_, _, stage, _), class)| {
                let need = session.need(class);
                need.is_some_and(|need| fits(session, need, stage, slot).is_ok())
            })
        });
        if groups.len() > 1 {
            for (need, count) in running(session, tenant) {
                if let Some(branch) = groups.get_mut(&group(need)) {
                    branch.uses(need, count);
                }
            }
        }
        let heads = groups.iter().filter_map(|(name, branch)| {
            let ((_, _, stage, job), _) = branch.head?;
            let submitted = session.job(job)?.submitted.0;
            Some((branch.share(session), submitted, name, (stage, job)))
        });
        heads.min().map(|(.., next)| next)
    }
}

impl<'a> Branch<'a> {
    /// So many attempts that need this are under way.
    fn uses(&mut self, need: &'a Need, attempts: u64) {
        self.slots = self.slots.saturating_add(attempts);
        let locks = need.locks.iter().map(|name| (name, 1));
        for (name, amount) in need.bundle.iter().chain(locks) {
            let used = self.used.entry(name).or_default();
            *used = used.saturating_add(amount.saturating_mul(attempts));
        }
    }

    /// The largest share of anything.
    fn share(&self, session: &Session) -> Share {
        let total = session.total();
        let slots = Share {
            part: self.slots,
            whole: u64::try_from(session.slot_count()).unwrap_or(u64::MAX),
        };
        let used = self.used.iter().filter(|(_, part)| **part > 0);
        let shares = used.map(|(name, part)| Share {
            part: *part,
            whole: total.amount(name),
        });
        let shares = shares.chain((self.slots > 0).then_some(slots));
        shares.max().unwrap_or(Share { part: 0, whole: 1 })
    }
}

/// What a group is told by.
fn group(need: &Need) -> Group<'_> {
    let mut names: Group<'_> = elements(need).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Stages of which a slot runs tasks one by one.
fn stages(session: &Session, slot: SlotIx) -> impl Iterator<Item = Stage> + '_ {
    let slot = session.slot(slot);
    ONE_BY_ONE
        .into_iter()
        .filter(move |stage| slot.is_some_and(|slot| slot.stages.contains(stage)))
}

/// Attempts under way by what they take: of all, or of one user.
fn running<'a>(
    session: &'a Session,
    tenant: Option<&str>,
) -> impl Iterator<Item = (&'a Need, u64)> {
    let of_all = tenant.is_none().then(|| session.used_classes());
    let of_one = tenant.map(|tenant| session.used_classes_of(tenant));
    let counts = of_all.into_iter().flatten();
    let counts = counts.chain(of_one.into_iter().flatten());
    counts.filter_map(|(class, count)| Some((session.need(class)?, u64::from(count))))
}
