//! The thread that answers a card's interrupts.

use super::lines::Flight;
use super::queue::BoardQueue;
use crate::board::{BoardError, RESULT, Register, SENT, error};
use crate::packet::Field;
use crate::status::Status;
use std::time::Instant;

/// Serves a board until it is closed or off.
pub(super) fn run(queue: &BoardQueue) {
    while queue.is_serving() {
        if let Err(gone) = serve(queue) {
            queue.turn_off(&mut queue.lines(), &gone.to_string());
        }
    }
    // The sender may wait for a card that nobody answers any more.
    queue.wake_sender();
}

/// Waits for one interrupt, and does what it asks for.
fn serve(queue: &BoardQueue) -> Result<(), BoardError> {
    let until = {
        let mut lines = queue.lines();
        let idle = lines.in_flight.is_empty() && !lines.stuck && !lines.closing;
        lines.receiver_sleeps = idle;
        let since = lines.progress.unwrap_or_else(Instant::now);
        (!idle).then(|| since + queue.patience)
    };
    if queue.board.wait(until)? {
        let irq = queue.board.read(Register::Irq)?;
        let wrong = answer(queue, irq)?;
        queue.lines().progress = Some(Instant::now());
        if let Some(wrong) = wrong {
            queue.recover(&wrong)?;
        }
        if let Some(sender) = queue.sender.get() {
            sender.unpark();
        }
        return Ok(());
    }
    if until.is_none() {
        // Woken for a packet that has just been sent: how long the card is silent is watched from now on,
        // however late this thread was run.
        return Ok(());
    }
    let late = {
        let lines = queue.lines();
        let still = lines
            .progress
            .is_some_and(|since| since.elapsed() >= queue.patience);
        let waited = queue.patience.as_millis();
        if lines.closing {
            None
        } else if lines.stuck {
            Some(format!("STATE said busy for {waited} ms"))
        } else if still && let Some(flight) = lines.in_flight.front() {
            let awaited = if flight.arrived { "result" } else { "sent" };
            Some(format!("no interrupt ({awaited}) for {waited} ms"))
        } else {
            None
        }
    };
    late.map_or(Ok(()), |reason| queue.recover(&reason))
}

/// Answers what the IRQ register says; something that only a reset cures is said in a sentence.
fn answer(queue: &BoardQueue, irq: u32) -> Result<Option<String>, BoardError> {
    if irq & SENT != 0 {
        queue.board.write(Register::Acknowledge, SENT)?;
        let mut lines = queue.lines();
        if let Some(flight) = lines.in_flight.iter_mut().find(|flight| !flight.arrived) {
            flight.arrived = true;
            let number = flight.job.taken.number;
            // A packet that is sent again has no block to give back.
            let again = std::mem::replace(&mut flight.job.sent, true);
            let lease = flight.job.lease.upgrade();
            drop(lines);
            if let Some(lease) = lease.filter(|_| !again)
                && let Err(broken) = lease.sent(number)
            {
                queue.expel(&lease, &broken);
            }
        }
    }
    if irq & RESULT != 0 {
        // It stays first in line until its answer is given.
        let flight = queue.lines().in_flight.front().map(|flight| {
            let number = flight.job.taken.number;
            (
                flight.slot,
                flight.number,
                flight.shape.result,
                number,
                flight.job.lease.clone(),
            )
        });
        let Some((slot, called, expected, number, lease)) = flight else {
            queue.board.write(Register::Acknowledge, RESULT)?;
            return Ok(None);
        };
        let answered = queue.board.read(Register::ResultSequence)?;
        if answered != called {
            return Ok(Some(format!(
                "a result of packet {answered} where that of {called} was due"
            )));
        }
        let length = queue.board.read(Register::ResultLength)?;
        let code = queue.board.read(Register::Error)?;
        let crc = queue.board.read(Register::ResultCrc)?;
        let status = match code {
            error::NONE => Status::Done,
            error::NO_MODEL => Status::NoModel,
            error::DATA => Status::Data,
            error::TOO_LARGE => Status::Bad(Field::Dimension),
            other => return Ok(Some(format!("the card says error {other}"))),
        };
        let expected = if status == Status::Done { expected } else { 0 };
        if usize::try_from(length).ok() != Some(expected) {
            return Ok(Some(format!("a result of {length} bytes, not {expected}")));
        }
        let mut found = 0;
        let mut at = 0;
        queue.board.collect(slot, expected, &mut |bytes| {
            found = crc32c::crc32c_append(found, bytes);
            if let Some(lease) = lease.upgrade() {
                lease.write_result(number, at, bytes);
            }
            at += bytes.len();
        })?;
        if found != crc || at != expected {
            return Ok(Some(format!(
                "a result of {at} bytes with CRC {found:#010x}, not {expected} with {crc:#010x}"
            )));
        }
        let flight: Option<Flight> = {
            let mut lines = queue.lines();
            lines.count();
            let flight = lines.in_flight.pop_front();
            lines.note();
            flight
        };
        queue.board.write(Register::Acknowledge, RESULT)?;
        if let Some(flight) = flight {
            queue.answer(&flight.job, status, expected, crc);
        }
    }
    Ok(None)
}
