//! First come, first served.
//!
//! `fifo` keeps every slot busy: a slot takes the first job, in order of submission, that has a task for
//! it. `fifo-barrier` also waits as the queues of the first Hadoop papers are drawn: maps of a job start when
//! all maps of earlier jobs are done, its reduces when earlier jobs are done.
//!
//! Cost: O(classes of need · log jobs) a decision.

use serde::{Deserialize, Serialize};

use super::can_run::fits;
use super::{
    Class, Decision, JobIx, Nanos, NodeIx, Owner, Saved, Scheduler, Session, SlotIx, Stage,
    assign_task,
};

/// The policy, with or without the barrier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fifo {
    /// Jobs wait for the stages of earlier ones.
    pub barrier: bool,
}

impl Scheduler for Fifo {
    fn next(&mut self, _now: Nanos, session: &Session, node: Option<NodeIx>) -> Option<Decision> {
        let node = node?;
        session.open_slots(node).find_map(|slot| {
            let (_, stage, job) = first(session, slot, None, |stage, job| {
                !self.barrier || passes_barrier(session, stage, job)
            })?;
            start(session, job, stage, slot, node)
        })
    }

    fn looks_everywhere(&self, _now: Nanos) -> bool {
        false
    }

    fn saved(&self) -> Option<Saved> {
        Some(Saved::Fifo(*self))
    }
}

/// Stages whose tasks start one by one, in the order in which a slot that runs several prefers them.
pub(super) const ONE_BY_ONE: [Stage; 2] = [Stage::Map, Stage::Reduce];

/// The first job in order of submission with a pending task that `slot` can run: of all, or of one
/// owner. Only each class's first job is looked at, and left if it may not.
pub(super) fn first(
    session: &Session,
    slot: SlotIx,
    owner: Option<&Owner>,
    may: impl Fn(Stage, JobIx) -> bool,
) -> Option<(u64, Stage, JobIx)> {
    let of_class = |stage: Stage, class: Class| {
        let need = session.need(class)?;
        fits(session, need, stage, slot).ok()?;
        let job = match owner {
            Some(owner) => session.runnable_of(owner, stage, class).next(),
            None => session.runnable(stage, class).next(),
        };
        // Whom the barrier stops stops all of its class that come later.
        let job = job.filter(|job| may(stage, *job))?;
        Some((session.job(job)?.seq, stage, job))
    };
    let stages = ONE_BY_ONE.into_iter();
    let classes = stages.flat_map(|stage| session.classes(stage).map(move |class| (stage, class)));
    classes
        .filter_map(|(stage, class)| of_class(stage, class))
        .min()
}

/// The task of a job that starts on a slot.
pub(super) fn start(
    session: &Session,
    job: JobIx,
    stage: Stage,
    slot: SlotIx,
    node: NodeIx,
) -> Option<Decision> {
    let (task, _) = assign_task(session, job, stage, node)?;
    Some(Decision::Start {
        job,
        stage,
        task,
        slot,
    })
}

fn passes_barrier(session: &Session, stage: Stage, job: JobIx) -> bool {
    let first = |stage| session.first_unfinished(stage);
    let Some(own) = session.job(job).map(|job| job.seq) else {
        return false;
    };
    let behind = |other: Option<JobIx>| {
        other
            .and_then(|other| session.job(other))
            .is_some_and(|other| other.seq < own)
    };
    match stage {
        Stage::Map => !behind(first(Stage::Map)),
        Stage::Reduce | Stage::Gang => {
            !behind(first(Stage::Map))
                && !behind(first(Stage::Reduce))
                && !behind(first(Stage::Gang))
        }
    }
}
