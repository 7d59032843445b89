//! Attempts that have another slot while they run.

use job::history::{EarlierSlot, TaskStage};
use job::wire;
use job::wire::task_order::Order;
use policy::ContainerId;
use policy::lending::TaskMove;
use policy::schedule::AttemptIx;

use super::attempts::{MovesTo, PlacedAttempt};
use super::{MapReduce, MapReduceEffect};

impl MapReduce {
    /// The policies want an attempt in another slot of its container, or on the cores that its own has now. One that is
    /// over settles that by its end; one that has not been started starts there.
    pub(super) fn move_attempt(&mut self, moved: TaskMove) {
        let Some(attempt) = self.attempts.get_mut(moved.attempt) else {
            return;
        };
        if attempt.is_stopped || !attempt.is_ordered {
            let why_not = match (attempt.is_stopped, moved.parked) {
                (true, _) => Some("it ends already".to_owned()),
                (false, true) => Some("it has not begun".to_owned()),
                (false, false) => None,
            };
            if why_not.is_none() {
                (attempt.slot, attempt.cpus) = (moved.slot, moved.cpus);
                attempt.speed = moved.speed;
            }
            return self.want(MapReduceEffect::Moved {
                attempt: moved.attempt,
                why_not,
            });
        }
        let to = attempt.container.clone();
        let order = wire::MoveTask {
            process: moved.attempt.0,
            slot: moved.slot,
            cpus: moved.cpus.clone(),
            parked: moved.parked,
        };
        attempt.moves_to.push_back(MovesTo {
            slot: moved.slot,
            cpus: moved.cpus,
            speed: moved.speed,
            parked: moved.parked,
        });
        let order = Box::new(Order::Move(order));
        self.want(MapReduceEffect::Tell { to, order });
    }

    /// A launcher has answered the first of its orders that it had not.
    pub(super) fn moved(&mut self, container: &ContainerId, told: wire::TaskMoved) {
        let ix = AttemptIx(told.process);
        let attempt = self.attempts.get_mut(ix);
        let Some(attempt) = attempt.filter(|of| of.container == *container) else {
            return;
        };
        let Some(MovesTo {
            slot,
            cpus,
            speed,
            parked,
        }) = attempt.moves_to.pop_front()
        else {
            return;
        };
        if told.ok {
            let took = told.took_us;
            match parked {
                true => tracing::info!("attempt {ix} is stopped, in place {slot}, after {took} us"),
                false => tracing::info!(
                    "attempt {ix} goes on in slot {slot}, on cores {cpus:?}, after {took} us"
                ),
            }
            attempt.parked = parked;
            if !parked {
                attempt.speed = speed;
            }
            let before = std::mem::replace(&mut attempt.slot, slot);
            attempt.cpus = cpus;
            if before != slot {
                attempt.earlier_slots.push(EarlierSlot {
                    slot: before,
                    until_ms: self.now.0,
                });
                self.want(MapReduceEffect::InSlot { attempt: ix, slot });
            }
        }
        self.want(MapReduceEffect::Moved {
            attempt: ix,
            why_not: (!told.ok).then_some(told.why),
        });
    }
}

impl MapReduce {
    /// Attempts that run and are bound to cores, and those that are stopped.
    pub(crate) fn bound_attempts(&self) -> Vec<wire::BoundAttempt> {
        let all = self.attempts.all();
        let is_told = |attempt: &PlacedAttempt| attempt.parked || !attempt.cpus.is_empty();
        let bound = all.filter(|attempt| attempt.is_ordered && is_told(attempt));
        let told = bound.map(|attempt| {
            let (stage, task) = self.named(attempt);
            wire::BoundAttempt {
                is_reduce: stage == TaskStage::Reduce,
                task,
                attempt: attempt.number,
                host: attempt.host.clone(),
                pid: attempt.pid,
                slot: attempt.slot,
                cpus: attempt.cpus.clone(),
                parked: attempt.parked,
            }
        });
        told.collect()
    }
}
