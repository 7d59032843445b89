//! DyScale: fast cores for interactive jobs, slow cores for batch, spare slots for both.
//!
//! Source: F. Yan, L. Cherkasova, Z. Zhang, E. Smirni, "DyScale: A MapReduce Job Scheduler for Heterogeneous Multicore
//! Processors", IEEE Transactions on Cloud Computing 5(2), 2017, §4.
//!
//! Slots on fast cores are the pool of interactive jobs, slots on slow cores that of batch jobs, for maps and reduces
//! alike. Within a class it is first come, first served:
//!
//! ```text
//! own:    a fast slot goes to the first interactive job, a slow one to the first batch job
//! late:   a slow slot goes to an interactive job before, which would miss its deadline: see [`late`]
//! spare:  a fast slot that no interactive job can use goes to the first batch job, where no slow one is free; and the
//!         mirror image
//! moves, of `dyscale` alone, between slots of one container and one stage:
//!   return    interactive waits, batch is on fast, slow is free:  batch goes down
//!   lift      interactive is on slow, fast is free, none waits:   the one with most left goes up
//!   lift      batch is on slow, fast is free, nothing waits:      the same, as [`LiftBatch`] says
//!   exchange  interactive is on slow, batch on fast, none free:   they change places
//!   park      interactive waits, batch is on fast, no slow is free: batch is stopped, where [`DyScale::park`] leaves a place
//!   go on     one that is stopped has the next slow slot of its container, or a fast one that is spare, before others
//!             start there
//! ```
//!
//! | paper | here |
//! |---|---|
//! | vFast, vSlow | slots of [`Speed::Fast`], [`Speed::Slow`] |
//! | vShare | what `spare` gives out |
//! | `MIGRATE_TASK` | [`Decision::Move`], [`Decision::Swap`] |
//! | job queue | the job's queue, `interactive` or `batch`; of another one, its size: at most [`DyScale::most`] tasks are interactive |
//!
//! Differences: the paper says that tasks move, and not which; what is spare is looked for once all nodes have had their
//! turn, so that it does not depend on their order. Slots whose speed is not known go to the first job of either class.
//! `return` comes before `spare`, which would put the waiting task on the slow slot. `park` and `late` are not the paper's.
//!
//! Cost: O(classes of need · log jobs) a slot, O(free slots of the other speed) where a spare one is looked for, O(attempts
//! on the wrong speed) for moves. Jobs of other queues than the two are walked until one is of the class.

mod late;
mod moves;
mod parked;
mod placed;

use serde::{Deserialize, Serialize};

use super::can_run::{can_run, fits};
use super::fifo::{ONE_BY_ONE, first, start};
use super::{
    AttemptIx, Decision, Event, JobIx, Nanos, NodeIx, Owner, Saved, Scheduler, Session, SlotIx,
    Speed, Stage,
};
use late::FastSlots;
use placed::Placed;

/// Queues that jobs may name, by class.
const INTERACTIVE: &str = "interactive";
const BATCH: &str = "batch";
/// The queue of jobs that name none: their size tells.
const DEFAULT: &str = "default";

/// Whom a job belongs with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum JobClass {
    /// Small, and somebody waits for it.
    Interactive,
    /// Large.
    Batch,
}

impl JobClass {
    /// Each of them.
    pub const BOTH: [Self; 2] = [Self::Interactive, Self::Batch];

    /// The queue of such jobs.
    #[must_use]
    pub const fn queue(self) -> &'static str {
        match self {
            Self::Interactive => INTERACTIVE,
            Self::Batch => BATCH,
        }
    }

    /// Of the jobs of a queue; `None`: of both.
    #[must_use]
    pub fn of_queue(queue: &str) -> Option<Self> {
        Self::BOTH.into_iter().find(|class| class.queue() == queue)
    }

    const fn own(self) -> Speed {
        match self {
            Self::Interactive => Speed::Fast,
            Self::Batch => Speed::Slow,
        }
    }

    const fn other(self) -> Speed {
        match self {
            Self::Interactive => Speed::Slow,
            Self::Batch => Speed::Fast,
        }
    }
}

/// When batch attempts go up to a fast slot that stands idle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LiftBatch {
    /// While no interactive job is unfinished.
    #[default]
    Idle,
    /// Whenever no interactive task waits.
    Always,
    /// Never.
    Off,
}

/// The policy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DyScale {
    /// Whether attempts that run are moved: `dyscale`; else `dyscale-basic`.
    pub moves: bool,
    /// When batch attempts go up.
    pub lift_batch: LiftBatch,
    /// An attempt with less time left is not moved.
    pub move_least: Nanos,
    /// Jobs of at most so many tasks are interactive, where their queue does not say.
    pub most: u32,
    /// Hundredths of a place for stopped batch attempts for each fast slot.
    #[serde(default)]
    pub park: u64,
    /// When one that was not continued is ordered again.
    #[serde(default)]
    again: Option<Nanos>,
    #[serde(default)]
    fast: FastSlots,
    owners: [Owner; 2],
    placed: Placed,
}

impl DyScale {
    /// Without moves, or with them; jobs of at most 300 tasks are interactive.
    #[must_use]
    pub fn new(moves: bool) -> Self {
        Self {
            moves,
            lift_batch: LiftBatch::default(),
            move_least: Nanos::from_secs(1),
            most: 300,
            park: 0,
            again: None,
            fast: [0; 2],
            owners: [INTERACTIVE, BATCH].map(|name| Owner::Queue(name.to_owned())),
            placed: Placed::default(),
        }
    }

    /// Whom a job belongs with. One that grows beyond the size becomes batch.
    fn class(&self, session: &Session, job: JobIx) -> JobClass {
        let queue = session.job(job).map(|job| job.queue.as_str());
        self.class_in(queue.unwrap_or_default(), || session.task_count(job))
    }

    /// The same of one in this queue, with so many tasks.
    fn class_in(&self, queue: &str, tasks: impl FnOnce() -> u32) -> JobClass {
        match JobClass::of_queue(queue) {
            Some(named) => named,
            None if tasks() <= self.most => JobClass::Interactive,
            None => JobClass::Batch,
        }
    }

    const fn owner(&self, class: JobClass) -> &Owner {
        let [interactive, batch] = &self.owners;
        match class {
            JobClass::Interactive => interactive,
            JobClass::Batch => batch,
        }
    }

    /// The first job of a class with a pending task that `slot` can run.
    fn first(
        &self,
        session: &Session,
        slot: SlotIx,
        class: JobClass,
    ) -> Option<(u64, Stage, JobIx)> {
        let named = first(session, slot, Some(self.owner(class)), |_, _| true);
        let by_size = self.has_others(session).then(|| {
            let stages = ONE_BY_ONE.into_iter();
            let classes =
                stages.flat_map(|stage| session.classes(stage).map(move |of| (stage, of)));
            let firsts = classes.filter_map(|(stage, of)| {
                fits(session, session.need(of)?, stage, slot).ok()?;
                let mut jobs = session.runnable(stage, of);
                let job = jobs.find(|job| self.class(session, *job) == class)?;
                Some((session.job(job)?.seq, stage, job))
            });
            firsts.min()
        });
        named.into_iter().chain(by_size.flatten()).min()
    }

    /// Whether jobs with pending tasks are in other queues than the two.
    fn has_others(&self, session: &Session) -> bool {
        let mut owners = ONE_BY_ONE
            .into_iter()
            .flat_map(|stage| session.owners(stage));
        owners.any(|owner| matches!(owner, Owner::Queue(_)) && !self.owners.contains(owner))
    }

    /// Jobs of a class with pending tasks of a stage.
    fn pending<'a>(
        &'a self,
        session: &'a Session,
        stage: Stage,
        class: JobClass,
    ) -> impl Iterator<Item = JobIx> + 'a {
        let jobs = session
            .classes(stage)
            .flat_map(move |of| session.runnable(stage, of));
        jobs.filter(move |job| self.class(session, *job) == class)
    }

    /// Whether jobs of a class wait with tasks of a stage.
    fn waits(&self, session: &Session, stage: Stage, class: JobClass) -> bool {
        let mut of_class = session.classes(stage);
        let named = of_class.any(|of| {
            let mut jobs = session.runnable_of(self.owner(class), stage, of);
            jobs.next().is_some()
        });
        named || (self.has_others(session) && self.pending(session, stage, class).next().is_some())
    }

    /// A slot that its own class has no use for.
    fn spare(&self, session: &Session) -> Option<Decision> {
        let each = ONE_BY_ONE
            .into_iter()
            .flat_map(|stage| JobClass::BOTH.map(|class| (stage, class)));
        let mut waiting = each.filter(|(stage, class)| self.waits(session, *stage, *class));
        waiting.find_map(|(stage, class)| {
            // Those whose fast slots are being cleared for them do not start on slow ones.
            if class == JobClass::Interactive && self.is_cleared(session, stage) {
                return None;
            }
            let mut slots = session.free_for(stage, class.other());
            slots.find_map(|(node, slot)| {
                let (_, at, job) = self.first(session, slot, class)?;
                let own_is_free = || {
                    let mut own = session.free_for(stage, class.own());
                    own.any(|(_, own)| can_run(session, job, stage, own).is_ok())
                };
                let is_meant = at == stage
                    && !session.avoids(job, node)
                    && !own_is_free()
                    && !self.is_waited_for(session, stage, slot);
                is_meant.then(|| start(session, job, stage, slot, node))?
            })
        })
    }
}

impl Scheduler for DyScale {
    fn hear(&mut self, now: Nanos, session: &Session, event: &Event) {
        if self.moves {
            self.note(session, event);
            self.note_parked(now, session, event);
        }
        self.note_fast(session, event);
    }

    fn next(&mut self, _now: Nanos, session: &Session, node: Option<NodeIx>) -> Option<Decision> {
        let Some(node) = node else {
            let moved = |what: fn(&Self, &Session) -> Option<Decision>| {
                self.moves.then(|| what(self, session)).flatten()
            };
            return moved(Self::back)
                .or_else(|| moved(Self::go_on))
                .or_else(|| self.spare(session))
                .or_else(|| moved(Self::park))
                .or_else(|| moved(Self::lift_or_exchange));
        };
        session.open_slots(node).find_map(|slot| {
            let first = self.goes_on(session, slot);
            if let Some(first) = first.or_else(|| self.late(session, slot, node)) {
                return Some(first);
            }
            let own: &[JobClass] = match session.slot(slot)?.speed {
                Speed::Fast => &[JobClass::Interactive],
                Speed::Slow => &[JobClass::Batch],
                Speed::Plain => &JobClass::BOTH,
                Speed::Parked => &[],
            };
            let firsts = own
                .iter()
                .filter_map(|class| self.first(session, slot, *class));
            let (_, stage, job) = firsts.min()?;
            start(session, job, stage, slot, node)
        })
    }

    fn queues(&self) -> Option<Vec<&str>> {
        Some(vec![BATCH, DEFAULT, INTERACTIVE])
    }

    fn parks(&self) -> u64 {
        self.park
    }

    fn own_speed(&self, queue: &str, tasks: u32) -> Option<Speed> {
        Some(self.class_in(queue, || tasks).own())
    }

    fn wakes_at(&self, asked: Nanos) -> Option<Nanos> {
        self.again.filter(|at| *at > asked)
    }

    fn looks_everywhere(&self, _now: Nanos) -> bool {
        false
    }

    fn saved(&self) -> Option<Saved> {
        Some(Saved::DyScale(Box::new(self.clone())))
    }
}
