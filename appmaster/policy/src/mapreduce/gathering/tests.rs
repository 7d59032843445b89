use proptest::prelude::*;

use super::*;

const MIB: u64 = 1 << 20;

fn id(number: u32) -> ContainerId {
    ContainerId(format!("c{number}"))
}

fn all(count: u32) -> BTreeSet<ContainerId> {
    (0..count).map(id).collect()
}

/// Homes that gather at speeds of their own, looked at once a second.
struct Bed {
    gathering: Gathering,
    now: Millis,
    /// Of a container, MiB a second.
    speeds: Vec<u64>,
    /// Of a partition: its size beside the average, in hundredths; its home.
    sizes: Vec<u64>,
    homes: Vec<u32>,
    /// Told so far, each output of so many MiB in an average partition.
    outputs: u32,
    mib: u64,
    /// Of a partition at its home, KiB.
    has: Vec<u64>,
    moved: Vec<Vec<u32>>,
}

impl Bed {
    fn new(speeds: &[u64], sizes: &[u64], mib: u64) -> Self {
        let containers = u32::try_from(speeds.len()).unwrap();
        let homes: Vec<u32> = (0..u32::try_from(sizes.len()).unwrap())
            .map(|partition| partition % containers)
            .collect();
        let mut gathering = Gathering::default();
        for (partition, home) in (0..).zip(&homes) {
            gathering.begins(partition, id(*home));
        }
        Self {
            gathering,
            now: Millis(0),
            speeds: speeds.to_vec(),
            sizes: sizes.to_vec(),
            moved: homes.iter().map(|home| vec![*home]).collect(),
            has: vec![0; homes.len()],
            homes,
            outputs: 0,
            mib,
        }
    }

    /// Maps have left so many more outputs.
    fn leave(&mut self, outputs: u32) {
        self.outputs += outputs;
        for partition in 0..u32::try_from(self.homes.len()).unwrap() {
            let bytes = u64::from(outputs) * self.mib * MIB;
            self.gathering.told(self.now, partition, outputs, bytes);
        }
    }

    fn wanted_kib(&self, partition: usize, outputs: u32) -> u64 {
        u64::from(outputs) * self.mib * 1024 * self.sizes[partition] / 100
    }

    /// A second passes, and what is to move does.
    fn second(&mut self) -> Vec<Move> {
        self.now = self.now.plus(Millis(1_000));
        for container in 0..u32::try_from(self.speeds.len()).unwrap() {
            // One partition after the other, as a launcher does.
            let mut left = self.speeds[container as usize] * 1024;
            for partition in 0..self.homes.len() {
                if self.homes[partition] != container {
                    continue;
                }
                let lacks = self.wanted_kib(partition, self.outputs) - self.has[partition];
                self.has[partition] += lacks.min(left);
                left -= lacks.min(left);
                let each = self.wanted_kib(partition, 1).max(1);
                let handled = u32::try_from(self.has[partition] / each).unwrap();
                let handled = handled.min(self.outputs);
                let number = u32::try_from(partition).unwrap();
                let bytes = self.has[partition] * 1024;
                self.gathering.seen(&id(container), number, handled, bytes);
            }
        }
        let containers = u32::try_from(self.speeds.len()).unwrap();
        let moves = self.gathering.moves(self.now, &all(containers));
        for (index, one) in moves.partitions.iter().enumerate() {
            let to = moves.among.iter().cycle().nth(index).unwrap();
            assert!(*to != one.from);
            let number = to.0.trim_start_matches('c').parse().unwrap();
            let partition = one.partition as usize;
            self.homes[partition] = number;
            self.has[partition] = 0;
            self.moved[partition].push(number);
            self.gathering.begins(one.partition, to.clone());
            let bytes = u64::from(self.outputs) * self.mib * MIB;
            self.gathering
                .told(self.now, one.partition, self.outputs, bytes);
        }
        moves.partitions
    }

    fn run(&mut self, seconds: u32) -> Vec<Move> {
        (0..seconds).flat_map(|_| self.second()).collect()
    }
}

#[test]
fn a_partition_moves_whose_home_stands_still() {
    let mut bed = Bed::new(&[100, 0, 100], &[100; 3], 5);
    bed.leave(2);
    assert_eq!(bed.run(4), []);
    let moves = bed.second();
    let wanted = Move {
        partition: 1,
        from: id(1),
        why: MoveReason::Lags,
        lacks: 10 * MIB,
        behind: Millis(5_000),
    };
    assert_eq!(moves, [wanted]);
    assert!(!bed.gathering.may_be_home(&id(1)) && bed.gathering.may_be_home(&id(0)));
    // Once, and nothing is looked at any more when all is there.
    bed.speeds[1] = 500;
    assert_eq!(bed.run(20), []);
    assert_eq!(bed.gathering.wakes_at(), None);
    // Whoever has lagged has nothing to say of it any more.
    bed.gathering.seen(&id(1), 1, 9, 99 * MIB);
    bed.leave(1);
    assert_eq!(bed.gathering.wakes_at(), Some(bed.now.plus(LOOK)));
}

#[test]
fn few_bytes_do_not_move_and_neither_does_a_large_partition() {
    let mut bed = Bed::new(&[100, 0, 100], &[100; 3], 1);
    bed.leave(3);
    assert_eq!(bed.run(60), []);
    // Its home takes forty times as long as the others, at the same speed.
    let mut bed = Bed::new(&[10, 10, 10], &[100, 4_000, 100], 5);
    bed.leave(2);
    assert_eq!(bed.run(60), []);
}

#[test]
fn nothing_moves_where_all_wait_for_the_same_launcher() {
    let mut gathering = Gathering::default();
    for partition in 0..3 {
        gathering.begins(partition, id(partition));
        gathering.told(Millis(0), partition, 6, 60 * MIB);
        // What lies at the first launcher does not come; that itself lacks nothing of its own.
        gathering.seen(&id(partition), partition, 3, 30 * MIB);
    }
    for second in 1..30 {
        let moves = gathering.moves(Millis(second * 1_000), &all(3));
        assert_eq!(moves.partitions, []);
    }
}

#[test]
fn a_full_home_is_left_at_once_and_never_chosen_again() {
    let mut bed = Bed::new(&[100, 100, 100], &[100; 6], 5);
    bed.leave(1);
    bed.gathering.is_full(&id(2));
    let moves = bed.second();
    let named: Vec<(u32, MoveReason)> = moves.iter().map(|of| (of.partition, of.why)).collect();
    assert_eq!(named, [(2, MoveReason::Full), (5, MoveReason::Full)]);
    bed.leave(1);
    assert_eq!(bed.run(9), []);
    assert!(!bed.homes.contains(&2));
}

#[test]
fn where_there_is_no_other_home_it_stays() {
    let mut gathering = Gathering::default();
    gathering.begins(0, id(0));
    gathering.told(Millis(0), 0, 9, 900 * MIB);
    gathering.is_full(&id(0));
    assert_eq!(gathering.moves(Millis(1_000), &all(1)), Moves::default());
    assert_eq!(gathering.moves(Millis(2_000), &all(2)).partitions.len(), 1);
    gathering.lose(&id(0));
    assert_eq!(gathering.wakes_at(), None);
    gathering.begins(0, id(1));
    gathering.told(Millis(3_000), 0, 1, 1);
    gathering.ends();
    assert_eq!(gathering.wakes_at(), None);
}

proptest! {
    #[test]
    fn a_partition_moves_seldom_and_never_back(
        speeds in prop::collection::vec(0..200_u64, 1..6),
        sizes in prop::collection::vec(1..500_u64, 1..12),
        mib in 1..20_u64,
        steps in prop::collection::vec((0..6_u32, 0..4_u32, 0..200_u64, 0..6_usize), 1..60),
    ) {
        let mut bed = Bed::new(&speeds, &sizes, mib);
        for (outputs, seconds, speed, container) in steps {
            bed.leave(outputs);
            if let Some(known) = bed.speeds.get_mut(container) {
                *known = speed;
            }
            bed.run(seconds);
        }
        for homes in &bed.moved {
            let apart: BTreeSet<&u32> = homes.iter().collect();
            prop_assert!(homes.len() <= usize::from(MOVES) + 1 && apart.len() == homes.len(), "{:?}", homes);
        }
    }

    #[test]
    fn nothing_moves_among_containers_that_are_alike(
        containers in 1..6_usize,
        speed in 1..100_u64,
        sizes in prop::collection::vec(1..500_u64, 1..12),
        steps in prop::collection::vec((0..6_u32, 0..9_u32), 1..30),
    ) {
        let mut bed = Bed::new(&vec![speed; containers], &sizes, 5);
        for (outputs, seconds) in steps {
            bed.leave(outputs);
            prop_assert_eq!(bed.run(seconds), []);
        }
    }
}
