//! Whether a decision can be carried out.

use std::collections::BTreeSet;

use super::can_run::{can_run, can_run_blindly, could_run, fits};
use super::{Decision, JobIx, Session, SlotIx, SlotUse, Stage, TaskIx};

/// Whether a decision can be carried out, as far as one who is `blind` to elements can tell.
pub(super) fn legal(session: &Session, decision: &Decision, blind: bool) -> Result<(), String> {
    match decision {
        Decision::Start {
            job,
            stage,
            task,
            slot,
        } => {
            pending(session, *job, *stage, *task)?;
            free(session, *slot)?;
            takes(session, *job, *stage, *slot, blind)
        }
        Decision::Copy { of, slot } => {
            let attempt = session.attempt(*of).ok_or("the attempt is over")?;
            free(session, *slot)?;
            takes(session, attempt.job, attempt.stage, *slot, blind)
        }
        Decision::Move { attempt, to } => {
            let moved = session.attempt(*attempt).ok_or("the attempt is over")?;
            let settled = session
                .slot(moved.slot)
                .is_some_and(|slot| slot.taken == SlotUse::Busy(*attempt));
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

fn takes(
    session: &Session,
    job: JobIx,
    stage: Stage,
    slot: SlotIx,
    blind: bool,
) -> Result<(), String> {
    let can_run = if blind { can_run_blindly } else { can_run };
    can_run(session, job, stage, slot).map_err(|misfit| misfit.to_string())
}

fn gang(session: &Session, job: JobIx, slots: &[SlotIx]) -> Result<(), String> {
    let state = session
        .stage(job, Stage::Gang)
        .ok_or("the job is no gang")?;
    let wanted = usize::try_from(state.pending).unwrap_or(usize::MAX);
    let distinct: BTreeSet<_> = slots.iter().collect();
    if slots.len() != wanted || distinct.len() != wanted {
        return Err(format!("{} slots for {wanted} ranks", distinct.len()));
    }
    let own: BTreeSet<SlotIx> = session.held(job).collect();
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
