//! Whether a decision can be carried out.

use std::collections::BTreeSet;

use super::can_run::{can_run, can_run_blindly, could_run, fits};
use super::{Attempt, AttemptIx, Decision, JobIx, Session, SlotIx, SlotUse, Stage, TaskIx};

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
            let moved = settled(session, *attempt)?;
            takes_moves(session, *to)?;
            goes_to(session, moved, *to)
        }
        Decision::Swap { one, other } => {
            let (first, second) = (settled(session, *one)?, settled(session, *other)?);
            if one == other {
                return Err("an attempt changes with itself".to_owned());
            }
            let parked = |attempt: &Attempt| {
                let slot = session.slot(attempt.slot);
                slot.is_some_and(|slot| !slot.starts_tasks())
            };
            if parked(first) || parked(second) {
                return Err("an attempt that is stopped changes with none".to_owned());
            }
            goes_to(session, first, second.slot)?;
            goes_to(session, second, first.slot)
        }
        Decision::Stop { attempt, .. } => {
            let running = session
                .attempt(*attempt)
                .is_some_and(|attempt| !attempt.stopping);
            running
                .then_some(())
                .ok_or_else(|| "the attempt is over, or ends already".to_owned())
        }
        Decision::Gang { job, slots } => gang(session, *job, slots),
        Decision::Hold { job, slots, until } => {
            let there = !session.has_left(*job) && !slots.is_empty() && *until > session.now();
            there
                .then_some(())
                .ok_or("the job is over, or nothing is to be held, or for no time")?;
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

/// Whether an attempt may come to a slot that nobody has: one that tasks start on, or a place for stopped ones.
fn takes_moves(session: &Session, slot: SlotIx) -> Result<(), String> {
    let place = session.slot(slot).ok_or("the slot is gone")?;
    if place.starts_tasks() {
        return free(session, slot);
    }
    let free = session.is_free(slot) && !session.is_leaving(place.container);
    free.then_some(())
        .ok_or_else(|| format!("place {slot} is not free"))
}

/// An attempt that runs and is to go on: its launcher has said that it has begun, and nothing is ordered of it.
fn settled(session: &Session, ix: AttemptIx) -> Result<&Attempt, String> {
    let attempt = session.attempt(ix).ok_or("the attempt is over")?;
    let slot = session.slot(attempt.slot);
    let is_settled = slot.is_some_and(|slot| slot.taken == SlotUse::Busy(ix)) && !attempt.stopping;
    is_settled
        .then_some(attempt)
        .ok_or_else(|| "the attempt does not run, or moves or ends already".to_owned())
}

/// Whether an attempt can go on in another slot: one of its own launcher, which runs its stage.
fn goes_to(session: &Session, attempt: &Attempt, to: SlotIx) -> Result<(), String> {
    let (from, to) = (session.slot(attempt.slot), session.slot(to));
    let (from, to) = from.zip(to).ok_or("the slot is gone")?;
    if from.container != to.container {
        return Err("the slots are of two containers".to_owned());
    }
    match to.stages.contains(&attempt.stage) {
        true => Ok(()),
        false => Err(format!("the slot runs no {:?}", attempt.stage)),
    }
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
