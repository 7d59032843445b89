//! Which virtual device is whose: pure bookkeeping.
//!
//! A lease gets a device of its function on the board with the most free ones in proportion; ties go to
//! the board that comes first in the profile.  Whoever waits is served in the order of asking, and holds
//! nothing meanwhile: who asks for several gets all of them at the same time, and nobody who asks for one
//! of the same functions later goes before.

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

/// All virtual devices of a node, and who waits for some.
#[derive(Debug, Default)]
pub struct VirtualDevices {
    all: Vec<VirtualDevice>,
    /// Boards that are off.
    off: Vec<usize>,
    /// First come first.
    line: VecDeque<Wish>,
}

/// A connection that waits.
#[derive(Debug)]
struct Wish {
    connection: u64,
    /// A device for each.
    functions: Vec<Function>,
}

/// Whether functions have a virtual device each for somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// There is one for each, by their indices.
    Free(Vec<usize>),
    /// Too many are taken.
    Taken,
    /// There are not so many of this function, or its boards are off.
    None(Function),
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

    /// Looks for a free one for each of these.
    pub fn find(&self, functions: &[Function]) -> Availability {
        let mut found = Vec::with_capacity(functions.len());
        for &function in functions {
            match self.best(function, &found) {
                Some(index) => found.push(index),
                None => return self.lack(functions),
            }
        }
        Availability::Free(found)
    }

    /// Looks for somebody who comes now: what those wait for who came before is not his.
    pub fn find_last(&self, functions: &[Function]) -> Availability {
        let waits = |wish: &Wish| functions.iter().any(|it| wish.functions.contains(it));
        match self.find(functions) {
            Availability::Free(_) if self.line.iter().any(waits) => Availability::Taken,
            found => found,
        }
    }

    /// Why these are not to be had at the same time.
    fn lack(&self, functions: &[Function]) -> Availability {
        let there = |function| self.on(function).count();
        let asked = |function| functions.iter().filter(|it| **it == function).count();
        let mut functions = functions.iter().copied();
        match functions.find(|function| there(*function) < asked(*function)) {
            Some(function) => Availability::None(function),
            None => Availability::Taken,
        }
    }

    /// Devices of a function on boards that are on.
    pub fn on(&self, function: Function) -> impl Iterator<Item = (usize, &VirtualDevice)> {
        let all = self.all.iter().enumerate();
        all.filter(move |(_, it)| it.function == function && !self.off.contains(&it.board))
    }

    /// The best that is free, besides those that are `chosen`.
    fn best(&self, function: Function, chosen: &[usize]) -> Option<usize> {
        let is_free = |index: usize, device: &VirtualDevice| {
            device.lease.is_none() && !chosen.contains(&index)
        };
        let mut best: Option<(usize, usize, usize)> = None;
        for (index, device) in self.on(function) {
            if !is_free(index, device) {
                continue;
            }
            let on_board = || self.on(function).filter(|(_, it)| it.board == device.board);
            let free = on_board().filter(|(index, it)| is_free(*index, it)).count();
            let total = on_board().count();
            let better = best.is_none_or(|(best_free, best_total, _)| {
                // Shares are compared as cross products: no rounding.
                free * best_total > best_free * total
            });
            if better {
                best = Some((free, total, index));
            }
        }
        best.map(|(_, _, index)| index)
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

    /// Stands in line; how many are before who want one of these too.
    pub fn wait(&mut self, connection: u64, functions: &[Function]) -> usize {
        let same = |wish: &&Wish| functions.iter().any(|it| wish.functions.contains(it));
        let ahead = self.line.iter().filter(same).count();
        self.line.push_back(Wish {
            connection,
            functions: functions.to_vec(),
        });
        ahead
    }

    /// Whether this connection stands in line.
    pub fn waits(&self, connection: u64) -> bool {
        self.line.iter().any(|it| it.connection == connection)
    }

    /// Leaves the line.
    pub fn leave(&mut self, connection: u64) {
        self.line.retain(|it| it.connection != connection);
    }

    /// The first in line for whom there is all that it wants, or never will be; it leaves the line. Nobody goes before
    /// another who wants one of the same functions.
    pub fn next_in_line(&mut self) -> Option<(u64, Vec<Function>, Availability)> {
        let mut awaited: Vec<Function> = Vec::new();
        let mut next = None;
        for (at, wish) in self.line.iter().enumerate() {
            let is_behind = wish.functions.iter().any(|it| awaited.contains(it));
            let found = self.find(&wish.functions);
            let is_next = match found {
                Availability::Free(_) => !is_behind,
                Availability::None(_) => true,
                Availability::Taken => false,
            };
            if is_next {
                next = Some((at, found));
                break;
            }
            awaited.extend(&wish.functions);
        }
        let (at, found) = next?;
        let wish = self.line.remove(at)?;
        Some((wish.connection, wish.functions, found))
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
        let Availability::Free(found) = devices.find(&[KmeansMap]) else {
            panic!("none is free");
        };
        devices.give(found[0], lease);
        devices.all()[found[0]].board
    }

    #[test]
    fn leases_never_exceed_devices_and_boards_fill_in_proportion() {
        let mut devices = two_boards();
        let boards: Vec<usize> = (0..6).map(|lease| grant(&mut devices, lease)).collect();
        assert_eq!(boards, [0, 1, 1, 0, 1, 1]);
        assert_eq!(devices.find(&[KmeansMap]), Availability::Taken);
        let none = Function::BayesMap;
        assert_eq!(devices.find(&[none]), Availability::None(none));
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
        assert_eq!(devices.wait(100, &[KmeansMap]), 0);
        assert_eq!(devices.wait(101, &[KmeansMap]), 1);
        assert_eq!(devices.next_in_line(), None);
        devices.take_back(0);
        // Who comes now comes last, though one is free.
        assert_eq!(devices.find_last(&[KmeansMap]), Availability::Taken);
        let (first, functions, found) = devices.next_in_line().unwrap();
        assert_eq!((first, functions), (100, vec![KmeansMap]));
        assert!(matches!(found, Availability::Free(_)));
        devices.leave(101);
        assert!(!devices.waits(101));
        assert_eq!(devices.next_in_line(), None);
    }

    #[test]
    fn a_board_that_is_off_offers_nothing() {
        let mut devices = two_boards();
        devices.turn_off(1);
        let none = || Availability::None(KmeansReduce);
        assert_eq!(devices.find(&[KmeansReduce]), none());
        assert_eq!(grant(&mut devices, 1), 0);
        devices.wait(9, &[KmeansReduce]);
        assert_eq!(
            devices.next_in_line(),
            Some((9, vec![KmeansReduce], none()))
        );
    }

    #[test]
    fn who_wants_several_gets_all_or_none_and_is_not_passed() {
        let mut devices = VirtualDevices::default();
        devices.add(KmeansMap, 0, 2);
        devices.add(KmeansReduce, 0, 1);
        let two = [KmeansMap, KmeansMap];
        let three = [KmeansMap, KmeansMap, KmeansMap];
        assert_eq!(devices.find(&two), Availability::Free(vec![0, 1]));
        assert_eq!(devices.find(&three), Availability::None(KmeansMap));
        grant(&mut devices, 1);
        assert_eq!(devices.find(&two), Availability::Taken);
        assert_eq!(devices.wait(10, &two), 0);
        // One device is free, and the one who waits for two holds nothing: nor does who comes later get it.
        assert_eq!(devices.find_last(&[KmeansMap]), Availability::Taken);
        assert_eq!(devices.wait(11, &[KmeansMap]), 1);
        assert_eq!(devices.next_in_line(), None);
        // Another function is free for all that.
        assert_eq!(
            devices.find_last(&[KmeansReduce]),
            Availability::Free(vec![2])
        );
        devices.take_back(1);
        let first = devices.next_in_line().unwrap();
        assert_eq!(first, (10, two.to_vec(), Availability::Free(vec![0, 1])));
    }
}
