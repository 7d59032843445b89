//! What follows when a card fails.
//!
//! The card is reset, and what was on it flies once more, alone.  A packet that is lost again ends its
//! lease: it may be the packet that the card cannot do.  Where [`LEASES`] leases end so and the card
//! answers no packet between, it is the card, and the board is off.

use super::lines::{Lines, QueuedPacket};
use super::queue::BoardQueue;
use crate::board::{BoardError, READY, RESET, Register};
use crate::status::Status;
use std::time::{Duration, Instant};

/// A packet flies so often, at most.
pub(super) const TRIES: u32 = 2;
/// The board is off at this lease in a row that lost a packet for good.
const LEASES: usize = 3;

impl BoardQueue {
    /// Resets the card, and lines up again what was on it.  The receiver alone calls it.
    pub(super) fn recover(&self, reason: &str) -> Result<(), BoardError> {
        {
            let mut lines = self.lines();
            // From here to the end the sender places nothing.
            lines.recovering = true;
            lines.generation += 1;
            lines.resets += 1;
            lines.last_reset = Some(reason.to_owned());
            lines.stuck = false;
            lines.tables.clear();
            self.board.write(Register::Command, RESET)?;
        }
        let ready = self.becomes_ready()?;
        let mut lines = self.lines();
        lines.recovering = false;
        if lines.is_off() {
            return Ok(());
        }
        if !ready {
            self.turn_off(&mut lines, &format!("{reason}; a reset did not help"));
            return Ok(());
        }
        lines.progress = Some(Instant::now());
        let mut lost_for_good = Vec::new();
        while let Some(flight) = lines.in_flight.pop_back() {
            let job = flight.job;
            if job.tries >= TRIES {
                lost_for_good.push(job);
            } else {
                lines.waiting.lost_before(job.owner, job);
            }
        }
        for job in lost_for_good {
            self.give_up(&mut lines, &job, reason);
        }
        drop(lines);
        self.wake_sender();
        Ok(())
    }

    /// Whether the card is ready after a reset, which may take as long as the board's patience.  Nobody
    /// waits for the lock meanwhile: leases come and go on this board and on others.
    fn becomes_ready(&self) -> Result<bool, BoardError> {
        let until = Instant::now() + self.patience;
        while self.board.read(Register::State)? != READY {
            if self.lines().closing {
                return Ok(true);
            }
            if Instant::now() > until {
                return Ok(false);
            }
            std::thread::park_timeout(Duration::from_millis(1));
        }
        Ok(true)
    }

    /// Ends the lease of a packet that was lost for good, or turns the board off.
    fn give_up(&self, lines: &mut Lines, job: &QueuedPacket, reason: &str) {
        let number = job.taken.number;
        self.answer(job, Status::Lost, 0, 0);
        lines.lost_by.insert(job.owner);
        if lines.lost_by.len() >= LEASES {
            let why = format!(
                "{reason}; packet {number} was lost {TRIES} times, and so were packets of the {} leases before",
                LEASES - 1
            );
            self.turn_off(lines, &why);
            return;
        }
        for other in lines.waiting.remove(job.owner) {
            self.answer(&other, Status::Lost, 0, 0);
        }
        if let Some(lease) = lines.leases.get(&job.owner) {
            lease.end();
            let why = format!(
                "board {} lost packet {number} {TRIES} times: {reason}; it is reset and serves others: send less in one packet, or look at `fpgad ps`",
                self.name
            );
            self.notices.ended(lease.id, why);
        }
    }

    /// Turns the board off: what waits is lost, and its leases end.
    pub(super) fn turn_off(&self, lines: &mut Lines, reason: &str) {
        let reason = format!(
            "board {} is off: {reason}; start fpgad again when the board works",
            self.name
        );
        lines.off = Some(reason.clone());
        let flights = std::mem::take(&mut lines.in_flight);
        let waiting = lines.waiting.take_all();
        for job in flights.into_iter().map(|it| it.job).chain(waiting) {
            self.answer(&job, Status::Lost, 0, 0);
        }
        for lease in lines.leases.values() {
            self.notices.ended(lease.id, reason.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::queue::Notices;
    use super::*;
    use crate::board::Board;
    use crate::packet::HEADER_LENGTH;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{Arc, OnceLock, Weak};

    /// A card that is busy for some looks at STATE; each of them tries the lock of its queue.
    #[derive(Debug, Default)]
    struct Slow {
        queue: Arc<OnceLock<Weak<BoardQueue>>>,
        looks: Arc<AtomicU32>,
    }

    impl Board for Slow {
        fn read(&self, register: Register) -> Result<u32, BoardError> {
            if register != Register::State {
                return Ok(0);
            }
            let queue = self.queue.get().and_then(Weak::upgrade).unwrap();
            assert!(queue.is_free(), "the lock is held while the card is busy");
            // What the thread of the sockets asks for.
            queue.row();
            queue.remove(7);
            let looks = self.looks.fetch_add(1, Ordering::Relaxed);
            Ok(if looks < 3 { crate::board::BUSY } else { READY })
        }

        fn write(&self, _: Register, _: u32) -> Result<(), BoardError> {
            Ok(())
        }

        fn wait(&self, _: Option<Instant>) -> Result<bool, BoardError> {
            Ok(false)
        }

        fn wake(&self) {}

        fn place(
            &self,
            _: usize,
            _: &[u8; HEADER_LENGTH],
            _: &Arc<Vec<u8>>,
        ) -> Result<(), BoardError> {
            Ok(())
        }

        fn collect(&self, _: usize, _: usize, _: &mut dyn FnMut(&[u8])) -> Result<(), BoardError> {
            Ok(())
        }
    }

    #[derive(Debug)]
    struct Unheard;

    impl Notices for Unheard {
        fn ended(&self, _: u64, _: String) {}
    }

    #[test]
    fn nobody_waits_for_the_lock_while_a_card_comes_back() {
        let board = Slow::default();
        let (cell, looks) = (Arc::clone(&board.queue), Arc::clone(&board.looks));
        // The card is ready long before.
        let patience = Duration::from_secs(600);
        let queue = BoardQueue::new(
            "slow:0".to_owned(),
            Box::new(board),
            patience,
            Arc::new(Unheard),
        );
        let queue = Arc::new(queue.unwrap());
        cell.set(Arc::downgrade(&queue)).unwrap();
        queue.recover("it was silent").unwrap();
        assert_eq!(looks.load(Ordering::Relaxed), 4);
        let row = queue.row();
        assert_eq!((row.resets, row.off), (1, None));
    }
}
