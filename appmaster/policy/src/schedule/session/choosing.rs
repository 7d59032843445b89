//! Looking for the job that is next: the orders in which policies walk, and what they may see of them.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Class, Owner, Shown};
use crate::schedule::{Bundle, Job, JobIx, Nanos, Need, NodeIx, Session, Share, Stage};

/// Jobs in order of submission.
type BySubmission = BTreeSet<(u64, JobIx)>;

static NONE: BySubmission = BTreeSet::new();

impl Session {
    /// What a task of the class takes.
    #[must_use]
    pub fn need(&self, class: Class) -> Option<&Need> {
        self.state.needs.get(class)
    }

    /// Classes of which a job has pending tasks of `stage`.
    pub fn classes(&self, stage: Stage) -> impl Iterator<Item = Class> {
        let from = (stage, Class::FIRST);
        let of_stage = self.state.runnable.range(from..);
        of_stage
            .take_while(move |((other, _), _)| *other == stage)
            .map(|((_, class), _)| *class)
    }

    /// The first job in sight of each class with pending tasks of a stage, in order of submission: of all jobs, or of one
    /// user's. Each with its class.
    pub(in crate::schedule) fn first_of_classes(
        &self,
        stage: Stage,
        tenant: Option<&str>,
    ) -> Vec<(Class, JobIx)> {
        if let Some(tenant) = tenant {
            let all = self.of_tenant(stage, tenant);
            let firsts = all.filter_map(|(class, jobs)| {
                let mut seen = self.in_sight([jobs, &NONE]);
                Some((class, seen.next()?))
            });
            return firsts.collect();
        }
        let classes = self.classes(stage);
        let firsts = classes.filter_map(|class| {
            let first = self.runnable(stage, class).next()?;
            Some((class, first))
        });
        firsts.collect()
    }

    /// The same, of those of the highest priority of each class.
    ///
    /// Cost: O(priorities · classes · log jobs); of one user O(its jobs).
    pub(in crate::schedule) fn first_by_priority(
        &self,
        stage: Stage,
        tenant: Option<&str>,
    ) -> Vec<(Class, JobIx)> {
        if let Some(tenant) = tenant {
            let all = self.of_tenant(stage, tenant);
            let firsts = all.filter_map(|(class, jobs)| {
                let seen = self.in_sight([jobs, &NONE]).enumerate();
                let turn = |(place, job): &(usize, JobIx)| {
                    let priority = self.job(*job).map_or(i32::MIN, |job| job.priority);
                    (Reverse(priority), *place)
                };
                let (_, first) = seen.min_by_key(turn)?;
                Some((class, first))
            });
            return firsts.collect();
        }
        let of_stage = (stage, i32::MIN, Class::FIRST)..;
        let of_stage = self.state.by_priority.range(of_stage);
        let mut all: Vec<_> = of_stage.take_while(|((at, ..), _)| *at == stage).collect();
        let mut firsts: Vec<(Class, JobIx)> = Vec::new();
        while let Some(((.., class), jobs)) = all.pop() {
            if firsts.iter().all(|(known, _)| known != class)
                && let Some(first) = self.in_sight([jobs, &NONE]).next()
            {
                firsts.push((*class, first));
            }
        }
        firsts
    }

    /// Jobs of a user with pending tasks of a stage, by class.
    fn of_tenant(
        &self,
        stage: Stage,
        tenant: &str,
    ) -> impl Iterator<Item = (Class, &BySubmission)> {
        let owner = Owner::Tenant(tenant.to_owned());
        let from = (stage, owner.clone(), Class::FIRST)..;
        let all = self.state.by_owner.range(from);
        let own = all.take_while(move |((at, of, _), _)| *at == stage && *of == owner);
        own.map(|((.., class), jobs)| (*class, jobs))
    }

    /// Users with pending tasks of a stage, by name. Cost: O(owners · classes).
    pub(in crate::schedule) fn tenants(&self, stage: Stage) -> impl Iterator<Item = &str> {
        self.owners(stage).filter_map(|owner| match owner {
            Owner::Tenant(name) => Some(name.as_str()),
            Owner::Queue(_) => None,
        })
    }

    /// Whether tasks of a stage are pending, of whichever job.
    #[must_use]
    pub fn is_pending(&self, stage: Stage) -> bool {
        self.classes(stage).next().is_some()
    }

    /// Jobs in sight with pending tasks of a stage and class, in order of submission.
    pub fn runnable(&self, stage: Stage, class: Class) -> impl Iterator<Item = JobIx> {
        let all = match self.shown.priority {
            Some(priority) => self.state.by_priority.get(&(stage, priority, class)),
            None => self.state.runnable.get(&(stage, class)),
        };
        self.in_sight(self.nearest(stage, class, all))
    }

    /// The same of one queue or user.
    pub fn runnable_of(
        &self,
        owner: &Owner,
        stage: Stage,
        class: Class,
    ) -> impl Iterator<Item = JobIx> {
        let all = self.state.by_owner.get(&(stage, owner.clone(), class));
        let jobs = self.nearest(stage, class, all);
        self.in_sight(jobs).filter(move |job| {
            self.job(*job).is_some_and(|job| match owner {
                Owner::Queue(name) => job.queue == *name,
                Owner::Tenant(name) => job.tenant == *name,
            })
        })
    }

    /// Two sets that have every job of `all` which is in sight, and few others: where only jobs near a node are,
    /// and they are fewer, these and those that need no place.
    fn nearest<'a>(
        &'a self,
        stage: Stage,
        class: Class,
        all: Option<&'a BySubmission>,
    ) -> [&'a BySubmission; 2] {
        let all = [all.unwrap_or(&NONE), &NONE];
        let Some(node) = self.shown.near else {
            return all;
        };
        let near = self.state.near.get(&(stage, class, node));
        let placeless = self.state.placeless.get(&(stage, class));
        let near = [near.unwrap_or(&NONE), placeless.unwrap_or(&NONE)];
        let count = |sets: &[&BySubmission; 2]| sets.iter().map(|jobs| jobs.len()).sum::<usize>();
        if count(&near) < count(&all) {
            near
        } else {
            all
        }
    }

    fn in_sight<'a>(
        &'a self,
        [one, other]: [&'a BySubmission; 2],
    ) -> impl Iterator<Item = JobIx> + 'a {
        let jobs = one.union(other).map(|(_, job)| *job);
        jobs.filter(move |job| self.sees(*job) && self.of_priority(*job))
    }

    fn of_priority(&self, job: JobIx) -> bool {
        let wanted = self.shown.priority;
        wanted.is_none_or(|wanted| self.job(job).is_some_and(|job| job.priority == wanted))
    }

    /// The job in sight with pending tasks of a stage and class that has the fewest attempts under way,
    /// and how many; among equals the one that was submitted first, by that number. All are looked at, unless they are
    /// kept in this order for a policy that [goes by it](crate::schedule::Scheduler::goes_by_running).
    #[must_use]
    pub fn fewest_running(&self, stage: Stage, class: Class) -> Option<(u32, u64, JobIx)> {
        let (least, most) = match self.shown.priority {
            Some(priority) => (priority, priority),
            None => (i32::MIN, i32::MAX),
        };
        let is_kept = self.state.by_running_is_kept;
        if self.shown.near.is_some() || !is_kept {
            let all = self.state.runnable.get(&(stage, class));
            let near = self.nearest(stage, class, all);
            let count = near.iter().map(|jobs| jobs.len()).sum::<usize>();
            let all = all.map_or(0, |all| all.len());
            // Of all in their order, about one in `all / count` is near: so many are looked at before it is found.
            if !is_kept || count.saturating_mul(count) < all {
                let each = self.in_sight(near).filter_map(|ix| {
                    let record = self.state.jobs.get(&ix)?;
                    Some((record.under_way, record.job.seq, ix))
                });
                return each.min();
            }
        }
        let keys = (stage, class, least)..=(stage, class, most);
        let each = self.state.by_running.range(keys).filter_map(|(_, jobs)| {
            let mut seen = jobs.iter().copied().filter(|(_, _, job)| self.sees(*job));
            seen.next()
        });
        each.min()
    }

    /// The gang in sight that waits and is next: of those of the highest priority the one that holds slots, else the
    /// one whose `standing` is least, else the one that was submitted first. It has at most as many ranks as `most` says
    /// for what a rank takes and, unless it holds, one that starts by what `lets` says of it.
    ///
    /// Of gangs of the same owner one is asked for, and of the same need and size, too, the first is looked at: a policy
    /// goes by nothing else.
    /// Cost: O(priorities · owners · classes · sizes), however many wait.
    #[must_use]
    pub fn first_gang(
        &self,
        most: impl Fn(Class) -> usize,
        standing: impl Fn(JobIx) -> Share,
        lets: impl Fn(JobIx) -> bool,
    ) -> Option<JobIx> {
        let mut first: Option<(i32, (bool, Share, u64, JobIx))> = None;
        let holders: Vec<(u64, JobIx)> = self.holders().collect();
        // Of one owner all have the same standing.
        let mut known: Option<(&(String, String), Share, bool)> = None;
        for (key, jobs) in self.state.gangs.iter().rev() {
            let (priority, owner, class, ranks) = key;
            if first.is_some_and(|(highest, ..)| highest > *priority) {
                break;
            }
            if most(*class) < *ranks as usize {
                continue;
            }
            let holder = holders.iter().find(|holder| jobs.contains(holder)).copied();
            let waits = holder.is_none();
            let of_owner = known.filter(|(of, ..)| *of == owner);
            if let (Some((_, stands, may)), Some((_, (_, least, ..)))) = (of_owner, first)
                && waits
                && (!may || stands > least)
            {
                continue;
            }
            let mut seen = holder.into_iter().chain(jobs.iter().copied());
            let next = seen.find(|(_, job)| self.sees(*job) && self.of_priority(*job));
            let Some((seq, job)) = next else {
                continue;
            };
            let (stands, may) = match of_owner {
                Some((_, stands, may)) => (stands, may),
                None => (standing(job), lets(job)),
            };
            known = Some((owner, stands, may));
            if waits && !may {
                continue;
            }
            let turn = (waits, stands, seq, job);
            if first.is_none_or(|(_, least)| turn < least) {
                first = Some((*priority, turn));
            }
        }
        first.map(|(_, (.., job))| job)
    }

    /// The gangs that slots are held for, with their order of submission.
    fn holders(&self) -> impl Iterator<Item = (u64, JobIx)> {
        let mut held = self.state.held_of.iter().map(|(job, _)| *job);
        let mut last = None;
        let each = std::iter::from_fn(move || {
            let next = held.find(|job| last != Some(*job));
            last = next;
            next
        });
        each.filter_map(|job| Some((self.job(job)?.seq, job)))
    }

    fn sees(&self, job: JobIx) -> bool {
        let Shown {
            job: only, hidden, ..
        } = &self.shown;
        let near = self.shown.near;
        only.is_none_or(|only| only == job)
            && !hidden.contains(&job)
            && near.is_none_or(|node| self.has_task_at(job, node))
    }

    fn has_task_at(&self, job: JobIx, node: NodeIx) -> bool {
        let record = self.state.jobs.get(&job);
        let mut stages = record.into_iter().flat_map(|record| record.tasks.values());
        stages.any(|tasks| {
            let here = tasks.at_node.get(&node);
            here.is_some_and(|here| !here.is_empty()) || !tasks.placeless.is_empty()
        })
    }

    /// Queues and users with pending tasks of a stage, by name. Cost: O(owners · classes).
    pub fn owners(&self, stage: Stage) -> impl Iterator<Item = &Owner> {
        let keys = self.state.by_owner.keys();
        let mut last = None;
        keys.filter(move |(other, _, _)| *other == stage)
            .map(|(_, owner, _)| owner)
            .filter(move |owner| last.replace(*owner) != Some(*owner))
    }

    /// Priorities of jobs with pending tasks, highest first.
    #[must_use]
    pub fn priorities(&self) -> Vec<i32> {
        let all: BTreeSet<i32> = self
            .state
            .by_priority
            .keys()
            .map(|(_, priority, _)| *priority)
            .collect();
        all.into_iter().rev().collect()
    }

    /// The first job, in order of submission, whose stage is there and not done.
    #[must_use]
    pub fn first_unfinished(&self, stage: Stage) -> Option<JobIx> {
        let jobs = self.state.unfinished.get(&stage)?;
        jobs.first().map(|(_, job)| *job)
    }

    /// Jobs in sight whose maps or reduces are not done, in order of submission, with pending tasks or without.
    pub fn unfinished(&self) -> impl Iterator<Item = (JobIx, &Job)> {
        let of_stage = |stage| self.state.unfinished.get(&stage).unwrap_or(&NONE);
        let jobs = self.in_sight([of_stage(Stage::Map), of_stage(Stage::Reduce)]);
        jobs.filter_map(|job| Some((job, self.job(job)?)))
    }

    /// Jobs in sight whose stage, of a class, waits with nothing of it running, and since when: who has waited
    /// longest first.
    pub fn waiting(&self, stage: Stage, class: Class) -> impl Iterator<Item = (Nanos, JobIx)> {
        let waiting = self.state.waiting.get(&(stage, class));
        let all = waiting.into_iter().flatten().copied();
        all.filter(move |(_, job)| self.sees(*job) && self.of_priority(*job))
    }

    /// Attempts under way of a queue or user.
    #[must_use]
    pub fn used(&self, owner: &Owner) -> u32 {
        self.state.used.of(owner, None)
    }

    /// The same of one stage.
    #[must_use]
    pub fn used_by(&self, owner: &Owner, stage: Stage) -> u32 {
        self.state.used.of(owner, Some(stage))
    }

    /// Attempts under way of each class of need that has some.
    pub(in crate::schedule) fn used_classes(&self) -> impl Iterator<Item = (Class, u32)> + '_ {
        self.state.used.classes()
    }

    /// The same of one user.
    pub(in crate::schedule) fn used_classes_of(
        &self,
        tenant: &str,
    ) -> impl Iterator<Item = (Class, u32)> + '_ {
        self.state.used.classes_of(tenant)
    }

    /// What all containers and their nodes have, free and taken.
    #[must_use]
    pub fn total(&self) -> &Bundle {
        &self.state.total
    }

    /// Bytes of a partition that lie at a node.
    #[must_use]
    pub fn gathered(&self, job: JobIx, partition: u32, node: NodeIx) -> u64 {
        let record = self.state.jobs.get(&job);
        record
            .and_then(|record| record.gathered.get(&(partition, node)))
            .copied()
            .unwrap_or(0)
    }

    /// Bytes of all partitions of all jobs that lie at a node.
    #[must_use]
    pub fn gathered_at(&self, node: NodeIx) -> u64 {
        self.state.gathered_at.get(&node).copied().unwrap_or(0)
    }

    /// The same facts, with only the jobs of one priority in sight.
    #[must_use]
    pub fn only_priority(&self, priority: i32) -> Self {
        let mut shown = self.shown.clone();
        shown.priority = Some(priority);
        Self {
            state: Arc::clone(&self.state),
            shown,
        }
    }

    /// The same facts, with one job in sight.
    #[must_use]
    pub fn only(&self, job: JobIx) -> Self {
        let mut shown = self.shown.clone();
        shown.job = Some(job);
        Self {
            state: Arc::clone(&self.state),
            shown,
        }
    }

    /// The same facts, with only those jobs in sight that have a pending task whose input is at `node`, or
    /// that needs none.
    #[must_use]
    pub fn near(&self, node: NodeIx) -> Self {
        let mut shown = self.shown.clone();
        shown.near = Some(node);
        Self {
            state: Arc::clone(&self.state),
            shown,
        }
    }

    /// The same facts, with one job less in sight.
    #[must_use]
    pub fn without(&self, job: JobIx) -> Self {
        let mut shown = self.shown.clone();
        shown.hidden.insert(job);
        Self {
            state: Arc::clone(&self.state),
            shown,
        }
    }
}
