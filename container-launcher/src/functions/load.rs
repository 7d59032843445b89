//! What the boards of functions have to do, between two looks at them.

use std::collections::{BTreeMap, BTreeSet};

use fpga_client::wire::{BoardRow, MappedDevice};
use job::wire::FunctionLoad;

use super::TYPE;

/// What boards said of themselves when they were looked at last.
#[derive(Debug, Default)]
pub(super) struct SeenBoards(BTreeMap<String, SeenTimes>);

/// Of one of them, µs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SeenTimes {
    served: u64,
    waited: u64,
}

/// Of the boards of a function.
#[derive(Clone, Copy, Debug, Default)]
struct SummedBoards {
    served: u64,
    waited: u64,
    queued: usize,
    ring: usize,
}

impl SeenBoards {
    /// Looks at boards, and says what those have to do that have a function on lease. Nothing is known of one that was not
    /// seen before, or whose driver is another one.
    pub(super) fn look(
        &mut self,
        devices: &[MappedDevice],
        boards: &[BoardRow],
    ) -> Vec<FunctionLoad> {
        let mut sums: BTreeMap<&str, SummedBoards> = BTreeMap::new();
        let mut counted: BTreeSet<(&str, &str)> = BTreeSet::new();
        for device in devices.iter().filter(|device| device.lease.is_some()) {
            let name = device.device.split('#').next().unwrap_or_default();
            let board = boards.iter().find(|board| board.board == device.board);
            let before = self.0.get(&device.board);
            let (Some(board), Some(before)) = (board, before) else {
                continue;
            };
            let served = board.served_us.checked_sub(before.served);
            let waited = board.waited_us.checked_sub(before.waited);
            let (Some(served), Some(waited)) = (served, waited) else {
                continue;
            };
            if !counted.insert((name, board.board.as_str())) {
                continue;
            }
            let sum = sums.entry(name).or_default();
            sum.served = sum.served.saturating_add(served);
            sum.waited = sum.waited.saturating_add(waited);
            sum.queued = sum.queued.saturating_add(board.queued);
            sum.ring = sum.ring.saturating_add(board.ring);
        }
        let times = boards.iter().map(|board| {
            let times = SeenTimes {
                served: board.served_us,
                waited: board.waited_us,
            };
            (board.board.clone(), times)
        });
        self.0 = times.collect();
        let loads = sums.into_iter().filter(|(_, sum)| sum.served > 0);
        loads
            .map(|(name, sum)| {
                let empty = sum.served.saturating_sub(sum.waited);
                let empty = empty.saturating_mul(1000) / sum.served;
                FunctionLoad {
                    name: format!("{TYPE}{name}"),
                    empty: u32::try_from(empty).unwrap_or(1000),
                    long: sum.queued > sum.ring,
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use fpga_client::wire::LeaseRow;

    use super::super::tests::{board, device};
    use super::*;

    fn times(name: &str, served_us: u64, waited_us: u64, queued: usize) -> BoardRow {
        BoardRow {
            served_us,
            waited_us,
            queued,
            ring: 4,
            ..board(name, None)
        }
    }

    fn leased(name: &str, on: &str) -> MappedDevice {
        let lease = LeaseRow {
            lease: 1,
            pid: 1,
            uid: 0,
            holder: String::new(),
            packets: 0,
            bytes_in: 0,
            bytes_out: 0,
            age_ms: 1,
            queued: 0,
        };
        MappedDevice {
            lease: Some(lease),
            ..device(name, on)
        }
    }

    #[test]
    fn queues_were_empty_for_what_is_left_of_the_time_between_two_looks() {
        let devices = [
            leased("kmeans-map#0", "a"),
            leased("kmeans-map#1", "a"),
            leased("kmeans-map#2", "b"),
            device("bayes-map#0", "b"),
        ];
        let mut seen = SeenBoards::default();
        let mut look = |a, b| {
            let loads = seen.look(&devices, &[a, b]);
            let all = loads.into_iter();
            all.map(|load| (load.name, load.empty, load.long))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            look(times("a", 5000, 100, 0), times("b", 5000, 5000, 0)),
            []
        );
        let name = "acc/kmeans-map".to_owned();
        // A board counts once, however many of its devices are on lease.
        let found = look(times("a", 6000, 1000, 0), times("b", 6000, 5000, 8));
        assert_eq!(found, [(name.clone(), 550, false)]);
        let found = look(times("a", 7000, 2000, 9), times("b", 7000, 6000, 0));
        assert_eq!(found, [(name, 0, true)]);
        // Another driver.
        assert_eq!(look(times("a", 10, 0, 0), times("b", 10, 0, 0)), []);
    }
}
