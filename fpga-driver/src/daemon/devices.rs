//! Which virtual device is whose: pure bookkeeping.
//!
//! A lease gets a device of its function on the board with the most free ones in proportion; ties go to
//! the board that comes first in the profile.  Whoever waits is served in the order of asking.

use crate::function::Function;
use std::collections::VecDeque;

/// A virtual device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VirtualDevice {
    /// Its name, as `kmeans-map#0`: the function, and a number among those of the node.
    pub name: String,
    /// What it computes.
    pub function: Function,
    /// The board behind it, by its place in the profile.
    pub board: usize,
    /// Whose it is.
    pub lease: Option<u64>,
}

/// All virtual devices of a node, and who waits for one.
#[derive(Debug, Default)]
pub struct VirtualDevices {
    all: Vec<VirtualDevice>,
    /// Boards that are off.
    off: Vec<usize>,
    /// Connections that wait, first come first.
    line: VecDeque<(u64, Function)>,
}

/// Whether a function has a virtual device for somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Availability {
    /// There is one, by its index.
    Free(usize),
    /// All are taken.
    Taken,
    /// There is none of this function, or its boards are off.
    None,
}

impl VirtualDevices {
    /// Adds `count` devices of a function on a board.
    pub fn add(&mut self, function: Function, board: usize, count: usize) {
        for _ in 0..count {
            let same = self.all.iter().filter(|it| it.function == function).count();
            self.all.push(VirtualDevice {
                name: format!("{function}#{same}"),
                function,
                board,
                lease: None,
            });
        }
    }

    /// All of them, in the order of the profile.
    pub fn all(&self) -> &[VirtualDevice] {
        &self.all
    }

    /// Looks for a free one.
    pub fn find(&self, function: Function) -> Availability {
        let mut best: Option<(usize, usize, usize)> = None;
        let mut any = false;
        for (index, device) in self.all.iter().enumerate() {
            if device.function != function || self.off.contains(&device.board) {
                continue;
            }
            any = true;
            if device.lease.is_some() {
                continue;
            }
            let on_board = |free: bool| {
                self.all
                    .iter()
                    .filter(|it| it.function == function && it.board == device.board)
                    .filter(|it| !free || it.lease.is_none())
                    .count()
            };
            let (free, total) = (on_board(true), on_board(false));
            let better = best.is_none_or(|(best_free, best_total, _)| {
                // Shares are compared as cross products: no rounding.
                free * best_total > best_free * total
            });
            if better {
                best = Some((free, total, index));
            }
        }
        match best {
            Some((_, _, index)) => Availability::Free(index),
            None if any => Availability::Taken,
            None => Availability::None,
        }
    }

    /// Gives a device to a lease.
    pub fn give(&mut self, index: usize, lease: u64) {
        if let Some(device) = self.all.get_mut(index) {
            device.lease = Some(lease);
        }
    }

    /// Takes a lease's device back; the board that it was on.
    pub fn take_back(&mut self, lease: u64) -> Option<usize> {
        let device = self.all.iter_mut().find(|it| it.lease == Some(lease))?;
        device.lease = None;
        Some(device.board)
    }

    /// Offers nothing of this board any more.
    pub fn turn_off(&mut self, board: usize) {
        if !self.off.contains(&board) {
            self.off.push(board);
        }
    }

    /// Stands in line; how many are before.
    pub fn wait(&mut self, connection: u64, function: Function) -> usize {
        let ahead = self.line.iter().filter(|it| it.1 == function).count();
        self.line.push_back((connection, function));
        ahead
    }

    /// Whether this connection stands in line.
    pub fn waits(&self, connection: u64) -> bool {
        self.line.iter().any(|it| it.0 == connection)
    }

    /// Leaves the line.
    pub fn leave(&mut self, connection: u64) {
        self.line.retain(|it| it.0 != connection);
    }

    /// The first in line for whom there is a device, or never will be one; it leaves the line.
    pub fn next_in_line(&mut self) -> Option<(u64, Function, Availability)> {
        let at = self
            .line
            .iter()
            .position(|it| self.find(it.1) != Availability::Taken)?;
        let (connection, function) = self.line.remove(at)?;
        Some((connection, function, self.find(function)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Function::{KmeansMap, KmeansReduce};

    fn two_boards() -> VirtualDevices {
        let mut devices = VirtualDevices::default();
        devices.add(KmeansMap, 0, 2);
        devices.add(KmeansMap, 1, 4);
        devices.add(KmeansReduce, 1, 1);
        devices
    }

    fn grant(devices: &mut VirtualDevices, lease: u64) -> usize {
        let Availability::Free(index) = devices.find(KmeansMap) else {
            panic!("none is free");
        };
        devices.give(index, lease);
        devices.all()[index].board
    }

    #[test]
    fn leases_never_exceed_devices_and_boards_fill_in_proportion() {
        let mut devices = two_boards();
        let boards: Vec<usize> = (0..6).map(|lease| grant(&mut devices, lease)).collect();
        assert_eq!(boards, [0, 1, 1, 0, 1, 1]);
        assert_eq!(devices.find(KmeansMap), Availability::Taken);
        assert_eq!(devices.find(Function::BayesMap), Availability::None);
        assert_eq!(devices.take_back(3), Some(0));
        assert_eq!(devices.take_back(3), None);
        assert_eq!(grant(&mut devices, 7), 0);
    }

    #[test]
    fn who_waits_is_served_in_order() {
        let mut devices = two_boards();
        for lease in 0..6 {
            grant(&mut devices, lease);
        }
        assert_eq!(devices.wait(100, KmeansMap), 0);
        assert_eq!(devices.wait(101, KmeansMap), 1);
        assert_eq!(devices.next_in_line(), None);
        devices.take_back(0);
        assert!(matches!(
            devices.next_in_line(),
            Some((100, KmeansMap, Availability::Free(_)))
        ));
        devices.leave(101);
        assert!(!devices.waits(101));
        assert_eq!(devices.next_in_line(), None);
    }

    #[test]
    fn a_board_that_is_off_offers_nothing() {
        let mut devices = two_boards();
        devices.turn_off(1);
        assert_eq!(devices.find(KmeansReduce), Availability::None);
        assert_eq!(grant(&mut devices, 1), 0);
        devices.wait(9, KmeansReduce);
        assert_eq!(
            devices.next_in_line(),
            Some((9, KmeansReduce, Availability::None))
        );
    }
}
