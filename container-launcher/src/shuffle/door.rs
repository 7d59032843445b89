//! Connections to the fetch port before they are authenticated.
//!
//! Any host may connect and say nothing. So handshakes have places of their own, apart from those of launchers that are
//! served, and one address has a few of them at the most. A connection that finds no place waits; addresses take
//! turns. Where very many wait, the server closes the newest one of the address that has most.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Handshakes at the same time: each has a thread.
const LOOKED_AT: usize = 64;
/// Those of one address among them: several launchers of a node connect at once.
const LOOKED_AT_OF_ONE: usize = 16;
/// Connections that wait for a handshake.
const WAITING: usize = 256;
/// Where no address has more waiting than this, further connections stay in the kernel's queue, and none is closed.
const WAITING_OF_ONE: usize = 32;

/// What happens to a new connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Caller<S> {
    /// Its handshake begins.
    LookedAt(S),
    /// It waits.
    Waiting,
}

/// The places of connections that are not authenticated.
#[derive(Debug)]
pub(super) struct Door<S> {
    callers: Mutex<Callers<S>>,
    fewer: Condvar,
}

impl<S> Default for Door<S> {
    fn default() -> Self {
        Self {
            callers: Mutex::default(),
            fewer: Condvar::new(),
        }
    }
}

impl<S> Door<S> {
    /// Waits until one more connection may be accepted.
    pub(super) fn wait(&self) {
        let is_full = |callers: &mut Callers<S>| callers.is_full();
        drop(self.fewer.wait_while(self.lock(), is_full));
    }

    /// Takes a connection in.
    pub(super) fn comes(&self, from: IpAddr, stream: S) -> Caller<S> {
        self.lock().comes(from.to_canonical(), stream)
    }

    /// A handshake with that address is over; the connection whose handshake begins next.
    pub(super) fn leaves(&self, from: IpAddr) -> Option<(IpAddr, S)> {
        let next = self.lock().leaves(from.to_canonical());
        self.fewer.notify_all();
        next
    }

    /// Closes all that wait.
    pub(super) fn close(&self) {
        self.lock().waiting.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Callers<S>> {
        // Nothing in here panics while it holds the lock.
        self.callers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// By address.
#[derive(Debug)]
struct Callers<S> {
    looked_at: BTreeMap<IpAddr, usize>,
    /// None is empty.
    waiting: BTreeMap<IpAddr, VecDeque<S>>,
    /// The address that had the last turn.
    turn: Option<IpAddr>,
}

impl<S> Default for Callers<S> {
    fn default() -> Self {
        Self {
            looked_at: BTreeMap::new(),
            waiting: BTreeMap::new(),
            turn: None,
        }
    }
}

impl<S> Callers<S> {
    fn has_place(&self, from: IpAddr) -> bool {
        let of_it = self.looked_at.get(&from).copied().unwrap_or_default();
        of_it < LOOKED_AT_OF_ONE && self.looked_at.values().sum::<usize>() < LOOKED_AT
    }

    fn waiting(&self) -> usize {
        self.waiting.values().map(VecDeque::len).sum()
    }

    /// The address with most connections waiting, and how many.
    fn most(&self) -> Option<(IpAddr, usize)> {
        let lengths = self.waiting.iter().map(|(of, all)| (*of, all.len()));
        lengths.max_by_key(|(_, length)| *length)
    }

    fn is_full(&self) -> bool {
        let most = self.most().map_or(0, |(_, most)| most);
        self.waiting() >= WAITING && most <= WAITING_OF_ONE
    }

    fn comes(&mut self, from: IpAddr, stream: S) -> Caller<S> {
        if !self.waiting.contains_key(&from) && self.has_place(from) {
            self.begin(from);
            return Caller::LookedAt(stream);
        }
        self.waiting.entry(from).or_default().push_back(stream);
        if self.waiting() > WAITING
            && let Some((of, _)) = self.most()
        {
            // Dropping it closes it.
            drop(self.take(of, VecDeque::pop_back));
        }
        Caller::Waiting
    }

    fn leaves(&mut self, from: IpAddr) -> Option<(IpAddr, S)> {
        if let Some(of_it) = self.looked_at.get_mut(&from) {
            *of_it = of_it.saturating_sub(1);
            if *of_it == 0 {
                self.looked_at.remove(&from);
            }
        }
        let may = |of: &IpAddr| self.has_place(*of);
        let behind = |of: &IpAddr| self.turn.is_none_or(|turn| *of > turn);
        let mut all = self.waiting.keys().copied();
        let next = all.clone().find(|of| behind(of) && may(of));
        let next = next.or_else(|| all.find(may))?;
        let stream = self.take(next, VecDeque::pop_front)?;
        self.turn = Some(next);
        self.begin(next);
        Some((next, stream))
    }

    fn begin(&mut self, from: IpAddr) {
        let of_it = self.looked_at.entry(from).or_default();
        *of_it = of_it.saturating_add(1);
    }

    fn take(&mut self, of: IpAddr, end: impl Fn(&mut VecDeque<S>) -> Option<S>) -> Option<S> {
        let all = self.waiting.get_mut(&of)?;
        let taken = end(all);
        if all.is_empty() {
            self.waiting.remove(&of);
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn host(number: u8) -> IpAddr {
        Ipv4Addr::new(10, 0, 0, number).into()
    }

    /// Connections with these numbers from a host; those whose handshakes begin.
    fn come(callers: &mut Callers<u32>, from: u8, numbers: std::ops::Range<u32>) -> Vec<u32> {
        let come = numbers.filter_map(|number| match callers.comes(host(from), number) {
            Caller::LookedAt(number) => Some(number),
            Caller::Waiting => None,
        });
        come.collect()
    }

    #[test]
    fn connections_of_one_address_take_no_place_of_another() {
        let mut callers = Callers::default();
        let first = come(&mut callers, 1, 0..1000);
        assert_eq!(first.len(), LOOKED_AT_OF_ONE);
        assert_eq!(callers.waiting(), WAITING);
        assert!(!callers.is_full());
        assert_eq!(come(&mut callers, 2, 0..1), [0]);
        // The next of it waits for one of its own.
        assert_eq!(callers.leaves(host(2)), None);
        assert_eq!(callers.leaves(host(1)), Some((host(1), 16)));
        // Connections of other addresses are not closed for that.
        assert_eq!(come(&mut callers, 3, 0..20).len(), LOOKED_AT_OF_ONE);
        assert_eq!(callers.waiting.get(&host(3)).map(VecDeque::len), Some(4));
        assert_eq!(callers.waiting(), WAITING);
    }

    #[test]
    fn addresses_take_turns_and_none_is_closed_while_no_address_has_many() {
        let mut callers = Callers::default();
        for from in 1..=4 {
            assert_eq!(come(&mut callers, from, 0..16).len(), 16);
        }
        for from in 5..=7 {
            assert_eq!(come(&mut callers, from, 0..2), [] as [u32; 0]);
        }
        let next: Vec<_> = (0..6).map(|_| callers.leaves(host(1))).collect();
        let expected: Vec<_> = [(5, 0), (6, 0), (7, 0), (5, 1), (6, 1), (7, 1)]
            .map(|(from, number)| Some((host(from), number)))
            .into();
        assert_eq!(next, expected);
        assert_eq!(callers.leaves(host(1)), None);
        // Where all have as many, the next one waits before the door.
        for from in 11..=18 {
            come(
                &mut callers,
                from,
                0..u32::try_from(WAITING).unwrap() / 8 + 16,
            );
        }
        assert_eq!(callers.most().unwrap().1, WAITING_OF_ONE);
        assert!(callers.is_full());
    }

    #[test]
    fn an_address_is_one_in_both_families() {
        let door = Door::default();
        let mapped = IpAddr::V6(Ipv4Addr::new(10, 0, 0, 1).to_ipv6_mapped());
        for number in 0..LOOKED_AT_OF_ONE {
            let from = if number % 2 == 0 { host(1) } else { mapped };
            assert_eq!(door.comes(from, number), Caller::LookedAt(number));
        }
        assert_eq!(door.comes(mapped, 99), Caller::Waiting);
        assert_eq!(door.leaves(host(1)), Some((host(1), 99)));
        door.close();
        assert_eq!(door.leaves(mapped), None);
    }
}
