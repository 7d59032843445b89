//! Asks a policy for decisions until it has none, and keeps it honest.

use super::can_run::{could_run, fits};
use super::{
    Decision, Event, JobIx, Nanos, Saved, Session, SlotIx, Snapshot, Stage, Taken, TaskIx,
};

/// One policy's way of choosing between jobs.
pub trait Scheduler: std::fmt::Debug + Send + Sync {
    /// The policy that a rule goes around; none of a policy.
    fn inner(&self) -> Option<&dyn Scheduler> {
        None
    }

    /// The same, to be told and asked.
    fn inner_mut(&mut self) -> Option<&mut dyn Scheduler> {
        None
    }

    /// What happened. A policy keeps only what `session` does not show: skips, ages.
    fn hear(&mut self, now: Nanos, session: &Session, event: &Event) {
        if let Some(inner) = self.inner_mut() {
            inner.hear(now, session, event);
        }
    }

    /// The next decision at `node`, or one for the whole session. It is applied before the next is asked.
    fn next(
        &mut self,
        now: Nanos,
        session: &Session,
        node: Option<super::NodeIx>,
    ) -> Option<Decision>;

    /// Where a partition of so many bytes is gathered.
    fn home(
        &mut self,
        now: Nanos,
        session: &Session,
        job: JobIx,
        partition: u32,
        bytes: u64,
    ) -> Option<super::NodeIx> {
        match self.inner_mut() {
            Some(inner) => inner.home(now, session, job, partition, bytes),
            None => super::home(session),
        }
    }

    /// When it wants to be asked again, if nothing happens before.
    fn wakes_at(&self) -> Option<Nanos> {
        self.inner()?.wakes_at()
    }

    /// The policy as it can be kept on file; nothing of one that cannot.
    fn saved(&self) -> Option<Saved> {
        None
    }
}

/// A session, and the policy that decides for it. The ApplicationMaster and the simulator each own one.
#[derive(Debug)]
pub struct Driver {
    session: Session,
    scheduler: Box<dyn Scheduler>,
    refused: Vec<Illegal>,
}

/// A decision that cannot be carried out, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Illegal {
    /// What was decided.
    pub decision: Decision,
    /// What is wrong with it.
    pub why: String,
}

impl Driver {
    /// A new session under `scheduler`.
    #[must_use]
    pub fn new(scheduler: Box<dyn Scheduler>) -> Self {
        Self {
            session: Session::new(),
            scheduler,
            refused: Vec::new(),
        }
    }

    /// What [`load`](Self::load) makes this driver of again; nothing where the policy cannot be saved. Decisions
    /// that could not be carried out are not in it.
    #[must_use]
    pub fn snapshot(&self) -> Option<Snapshot> {
        Some(Snapshot {
            session: self.session.clone(),
            scheduler: self.scheduler.saved()?,
        })
    }

    /// The driver that a snapshot was taken of: the same events lead it to the same decisions.
    #[must_use]
    pub fn load(snapshot: Snapshot) -> Self {
        Self {
            session: snapshot.session,
            scheduler: snapshot.scheduler.scheduler(),
            refused: Vec::new(),
        }
    }

    /// What is known.
    #[must_use]
    pub const fn session(&self) -> &Session {
        &self.session
    }

    /// Decisions that could not be carried out since this was last called: faults of the policy.
    pub fn refused(&mut self) -> Vec<Illegal> {
        std::mem::take(&mut self.refused)
    }

    /// When to tell [`Event::Wake`], if nothing happens before.
    #[must_use]
    pub fn wakes_at(&self) -> Option<Nanos> {
        let both = self
            .scheduler
            .wakes_at()
            .into_iter()
            .chain(self.session.first_hold_ends());
        both.min()
    }

    /// Takes what happened into account, and decides.
    pub fn happened(&mut self, now: Nanos, event: &Event) -> Vec<Decision> {
        self.tell(now, event);
        self.decide(now)
    }

    /// Takes what happened into account, and leaves deciding for later: several events of one moment.
    pub fn tell(&mut self, now: Nanos, event: &Event) {
        self.session.apply(now, event);
        self.scheduler.hear(now, &self.session, event);
    }

    /// Nodes with free slots by number, one decision each, so that work spreads, until a round has
    /// none; then for the whole session, until there is none. A node without a decision is not asked
    /// again before something happens.
    pub fn decide(&mut self, now: Nanos) -> Vec<Decision> {
        let mut decisions = Vec::new();
        let mut silent: std::collections::BTreeSet<super::NodeIx> =
            std::collections::BTreeSet::new();
        loop {
            let before = decisions.len();
            let mut at = self.session.free_node_after(None);
            while let Some(node) = at {
                if !silent.contains(&node) && !self.ask(now, Some(node), &mut decisions) {
                    silent.insert(node);
                }
                at = self.session.free_node_after(Some(node));
            }
            if decisions.len() == before {
                break;
            }
        }
        while self.ask(now, None, &mut decisions) {}
        decisions
    }

    fn ask(
        &mut self,
        now: Nanos,
        node: Option<super::NodeIx>,
        decisions: &mut Vec<Decision>,
    ) -> bool {
        let Some(decision) = self.scheduler.next(now, &self.session, node) else {
            return false;
        };
        if let Err(why) = legal(&self.session, &decision) {
            self.refused.push(Illegal { decision, why });
            return false;
        }
        self.tell(now, &Event::Ordered(decision.clone()));
        decisions.push(decision);
        true
    }
}

/// Whether a decision can be carried out.
fn legal(session: &Session, decision: &Decision) -> Result<(), String> {
    match decision {
        Decision::Start {
            job,
            stage,
            task,
            slot,
        } => {
            pending(session, *job, *stage, *task)?;
            free(session, *slot)?;
            takes(session, *job, *stage, *slot)
        }
        Decision::Copy { of, slot } => {
            let attempt = session.attempt(*of).ok_or("the attempt is over")?;
            free(session, *slot)?;
            takes(session, attempt.job, attempt.stage, *slot)
        }
        Decision::Move { attempt, to } => {
            let moved = session.attempt(*attempt).ok_or("the attempt is over")?;
            let settled = session
                .slot(moved.slot)
                .is_some_and(|slot| slot.taken == Taken::Busy(*attempt));
            settled
                .then_some(())
                .ok_or("the attempt does not run, or moves already")?;
            free(session, *to)?;
            let same = session.node_of(*to) == session.node_of(moved.slot);
            same.then_some(())
                .ok_or_else(|| "the slots are on two nodes".to_owned())
        }
        Decision::Swap { one, other } => {
            let slot = |ix: &super::AttemptIx| {
                let attempt = session
                    .attempt(*ix)
                    .filter(|attempt| attempt.to.is_none())?;
                session.node_of(attempt.slot)
            };
            let same = one != other && slot(one).is_some() && slot(one) == slot(other);
            same.then_some(())
                .ok_or_else(|| "not two attempts that run on one node".to_owned())
        }
        Decision::Stop { attempt, .. } => {
            let running = session
                .attempt(*attempt)
                .is_some_and(|attempt| !attempt.stopping);
            running
                .then_some(())
                .ok_or_else(|| "the attempt is over, or ends already".to_owned())
        }
        Decision::Rehome { job, to, .. } => {
            let there = !session.has_left(*job) && session.node(*to).is_some();
            there
                .then_some(())
                .ok_or_else(|| "the job or the node is not there".to_owned())
        }
        Decision::Gang { job, slots } => gang(session, *job, slots),
        Decision::Hold { job, slots, .. } => {
            let there = !session.has_left(*job) && !slots.is_empty();
            there
                .then_some(())
                .ok_or("the job is over, or nothing is to be held")?;
            slots.iter().try_for_each(|slot| free(session, *slot))
        }
    }
}

fn pending(session: &Session, job: JobIx, stage: Stage, task: TaskIx) -> Result<(), String> {
    let tasks = session.tasks(job, stage).ok_or("the job is over")?;
    let pending = tasks.pending.contains(&task);
    pending
        .then_some(())
        .ok_or_else(|| format!("task {task} is not pending"))
}

fn free(session: &Session, slot: SlotIx) -> Result<(), String> {
    let node = session.node_of(slot).ok_or("the slot is gone")?;
    let free = session.is_free(slot) && session.free_slots(node).any(|other| other == slot);
    free.then_some(())
        .ok_or_else(|| format!("slot {slot} is not free"))
}

fn takes(session: &Session, job: JobIx, stage: Stage, slot: SlotIx) -> Result<(), String> {
    super::can_run(session, job, stage, slot).map_err(|misfit| misfit.to_string())
}

fn gang(session: &Session, job: JobIx, slots: &[SlotIx]) -> Result<(), String> {
    let state = session
        .stage(job, Stage::Gang)
        .ok_or("the job is no gang")?;
    let wanted = usize::try_from(state.pending).unwrap_or(usize::MAX);
    let distinct: std::collections::BTreeSet<_> = slots.iter().collect();
    if slots.len() != wanted || distinct.len() != wanted {
        return Err(format!("{} slots for {wanted} ranks", distinct.len()));
    }
    let own: std::collections::BTreeSet<SlotIx> = session.held(job).collect();
    for slot in slots {
        if !own.contains(slot) {
            free(session, *slot)?;
        }
        if !could_run(session, &state.need, Stage::Gang, *slot) {
            return Err(fits(session, &state.need, Stage::Gang, *slot).map_or_else(
                |misfit| misfit.to_string(),
                |()| "the slot is too small".to_owned(),
            ));
        }
    }
    Ok(())
}
