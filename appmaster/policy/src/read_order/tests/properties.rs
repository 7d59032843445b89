//! What holds for all tasks: everything is read, each container has its turn and no more than its quota.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::bed::{Bed, BedTask};
use crate::read_order::QUOTA;

const ORDERS: [&str; 8] = [
    "spmario",
    "spmario:backlog=unit",
    "spmario-literal",
    "rr",
    "rr:turn=1",
    "rr:turn=3,wait=false",
    "rr:turn=16,wait=false",
    "gpmr",
];
/// Those that follow Algorithm 1.
const IN_ROUNDS: [&str; 3] = ["spmario", "spmario:backlog=unit", "spmario-literal"];

fn task() -> impl Strategy<Value = BedTask> {
    (0..4_u32, 1..=10_u8, 0..40_u64, 1..50_u64, 1..100_u64).prop_map(
        |(container, priority, chunks, io, kernel)| BedTask {
            container,
            priority,
            chunks,
            io,
            kernel,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The bed sees that nothing is left and that nobody reads without a buffer.
    #[test]
    fn everything_is_read_once(tasks in prop::collection::vec(task(), 1..8)) {
        let chunks: u64 = tasks.iter().map(|task| task.chunks).sum();
        for order in ORDERS {
            let played = Bed::play(order, &tasks);
            prop_assert_eq!(played.reads.len() as u64, chunks, "{}", order);
            let most = if order == "gpmr" { 1 } else { 2 };
            prop_assert!(played.most_under_way <= most);
        }
    }

    #[test]
    fn each_container_has_a_turn_a_round(tasks in prop::collection::vec(task(), 1..8)) {
        for order in IN_ROUNDS {
            let turns = Bed::play(order, &tasks).turns;
            for (at, turn) in turns.iter().enumerate() {
                let same = |other: &super::bed::BedTurn| other.turn.container == turn.turn.container;
                let Some(next) = turns.iter().skip(at + 1).position(same) else { continue };
                let between: BTreeSet<u32> =
                    turns[at..=at + next].iter().map(|turn| turn.turn.container).collect();
                for wanting in &turns[at + 1 + next].wanting {
                    prop_assert!(between.contains(wanting), "{}: {} had no turn in {:?}", order, wanting, turns);
                }
            }
        }
    }

    #[test]
    fn a_turn_is_of_its_quota_and_no_more(tasks in prop::collection::vec(task(), 1..8)) {
        for order in IN_ROUNDS {
            let turns = Bed::play(order, &tasks).turns;
            for (at, turn) in turns.iter().enumerate() {
                prop_assert!(turn.read > 0 && turn.read <= turn.turn.quota, "{}: {:?}", order, turn);
                let chunks = turn.turn.quota >> 20;
                prop_assert!(chunks.is_multiple_of(QUOTA) && (QUOTA..=10 * QUOTA).contains(&chunks));
                // One that ends before its quota has nothing left to read.
                let goes_on = turns.get(at + 1).is_some_and(|next| next.wanting.contains(&turn.turn.container));
                prop_assert!(turn.read == turn.turn.quota || !goes_on, "{}: {:?}", order, turns);
            }
        }
    }

    /// Within one container the disk waits for nothing but buffers, and jobs that pass on never wait for one.
    #[test]
    fn the_disk_reads_whatever_can_be_read(tasks in prop::collection::vec(task(), 1..8)) {
        let shared: Vec<BedTask> = tasks.iter().map(|task| BedTask { container: 0, ..*task }).collect();
        for order in ["spmario", "spmario:backlog=unit", "rr:turn=1,wait=false", "rr:turn=5,wait=false"] {
            prop_assert_eq!(Bed::play(order, &shared).stood, 0, "{}", order);
        }
    }
}
