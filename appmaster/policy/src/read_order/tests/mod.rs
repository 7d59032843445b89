//! Orders on a disk and a GPU whose times are given.

mod bed;
mod broker;
mod properties;

use bed::{Bed, BedTask};

use super::{ChunkCost, Next, READ_ORDERS, ReadState, ReadTask, ReadTaskIx, Turn, read_order};
use crate::schedule::Nanos;

const A: ReadTaskIx = ReadTaskIx(0);
const B: ReadTaskIx = ReadTaskIx(1);
const TURN: Turn = Turn {
    container: 0,
    quota: u64::MAX,
};

/// Two tasks of two jobs with ten chunks of 1 MiB and two buffers each.
fn two() -> ReadState {
    let mut state = ReadState::new();
    for job in 0..2 {
        state.add(ReadTask {
            job,
            ..ReadTask::new(1 << 20, 10 << 20, 2)
        });
    }
    state
}

/// A chunk is issued, read and done; reading takes 100, the GPU so long.
fn chunk(state: &mut ReadState, task: ReadTaskIx, gpu: u64) {
    let bytes = state.issue(task).unwrap();
    state.read(Nanos(0), task);
    state.freed(task);
    let cost = ChunkCost {
        bytes,
        io: Nanos(100),
        transfer: Nanos(gpu / 4),
        kernel: Nanos(gpu - gpu / 4),
    };
    state.done(Nanos(0), task, &cost);
}

fn next(order: &str, state: &ReadState, now: u64) -> Next {
    read_order(order).unwrap().next(Nanos(now), state, &TURN)
}

#[test]
fn a_task_of_which_nothing_is_known_is_tried_first() {
    let mut state = two();
    assert_eq!(next("spmario", &state, 0), Next::Read(A));
    chunk(&mut state, A, 500);
    assert_eq!(next("spmario", &state, 0), Next::Read(B));
}

#[test]
fn a_gpu_without_work_gets_the_chunk_that_gives_it_most() {
    let mut state = two();
    chunk(&mut state, B, 150);
    chunk(&mut state, A, 30);
    for order in ["spmario", "spmario:backlog=unit", "spmario-literal"] {
        assert_eq!(next(order, &state, 0), Next::Read(B), "{order}");
    }
    // A priority goes before all of that.
    let mut state = ReadState::new();
    for priority in [3, 1] {
        state.add(ReadTask {
            priority,
            ..ReadTask::new(1 << 20, 10 << 20, 2)
        });
    }
    chunk(&mut state, A, 30);
    chunk(&mut state, B, 150);
    assert_eq!(next("spmario", &state, 0), Next::Read(A));
}

#[test]
fn a_gpu_with_more_than_a_read_of_work_leaves_the_disk_to_who_waits_longest() {
    let mut state = two();
    chunk(&mut state, A, 30);
    chunk(&mut state, B, 150);
    state.issue(B).unwrap();
    state.read(Nanos(1_000), B);
    // 150 of work, then 100, then 99.
    assert_eq!(state.gpu_backlog(0, Nanos(1_000)), Nanos(150));
    assert_eq!(next("spmario", &state, 1_000), Next::Read(A));
    assert_eq!(next("spmario", &state, 1_049), Next::Read(A));
    assert_eq!(next("spmario", &state, 1_050), Next::Read(B));
    // No longer than the chunk was expected to take.
    assert_eq!(state.gpu_backlog(0, Nanos(9_000)), Nanos(0));
    state.remove(B);
    assert_eq!(state.gpu_backlog(0, Nanos(1_000)), Nanos(0));
}

#[test]
fn who_has_no_buffer_is_not_named_while_another_has_one() {
    let mut state = two();
    chunk(&mut state, A, 30);
    chunk(&mut state, B, 80);
    state.issue(B).unwrap();
    state.issue(B).unwrap();
    assert_eq!(next("spmario", &state, 0), Next::Read(A));
    assert_eq!(next("rr:wait=false", &state, 0), Next::Read(A));
    // To the letter it is waited for, and read when its buffer is free.
    let mut literal = read_order("spmario-literal").unwrap();
    assert_eq!(literal.next(Nanos(0), &state, &TURN), Next::Wait);
    assert_eq!(literal.next(Nanos(0), &state, &TURN), Next::Wait);
    state.freed(B);
    assert_eq!(literal.next(Nanos(0), &state, &TURN), Next::Read(B));
    state.issue(B).unwrap();
    state.issue(A).unwrap();
    state.issue(A).unwrap();
    assert_eq!(next("spmario", &state, 0), Next::Wait);
    assert_eq!(next("gpmr", &state, 0), Next::Wait);
    let nothing = ReadState::new();
    for (order, _) in READ_ORDERS {
        assert_eq!(next(order, &nothing, 0), Next::GiveBack, "{order}");
        let mut order = read_order(order).unwrap();
        assert_eq!(order.turn(Nanos(0), &nothing), None);
    }
}

#[test]
fn the_mean_of_costs_is_a_quarter_of_the_newest() {
    let mut state = two();
    assert_eq!((state.ratio(A), state.io_time(1 << 20)), (None, None));
    chunk(&mut state, A, 100);
    assert_eq!(state.ratio(A), Some(1 << 20));
    chunk(&mut state, A, 500);
    assert_eq!(state.ratio(A), Some(2 << 20));
    assert_eq!(state.io_time(3 << 20), Some(Nanos(300)));
}

#[test]
fn the_number_of_a_task_that_ended_is_used_again() {
    let mut state = two();
    state.issue(A).unwrap();
    state.remove(A);
    let next = || ReadTask::new(1 << 20, 1 << 20, 2);
    assert_eq!(state.add(next()), A);
    // Nothing of the one before is left.
    assert_eq!(state.task(A).unwrap().under_way, 0);
    assert_eq!(state.add(next()), ReadTaskIx(2));
    state.remove(B);
    state.remove(ReadTaskIx(2));
    assert_eq!(state.add(next()), B);
    // One that is waited for to the letter is not waited for under another container's name.
    let mut state = two();
    chunk(&mut state, A, 80);
    chunk(&mut state, B, 30);
    state.issue(A).unwrap();
    state.issue(A).unwrap();
    let mut literal = read_order("spmario-literal").unwrap();
    assert_eq!(literal.next(Nanos(0), &state, &TURN), Next::Wait);
    state.remove(A);
    let other = ReadTask {
        container: 1,
        ..next()
    };
    assert_eq!(state.add(other), A);
    assert_eq!(literal.next(Nanos(0), &state, &TURN), Next::Read(B));
}

#[test]
fn jobs_take_turns_of_so_many_chunks() {
    let task = |io, kernel| BedTask {
        chunks: 5,
        io,
        kernel,
        ..BedTask::default()
    };
    let read = |order: &str, tasks: [BedTask; 2]| {
        let reads = Bed::play(order, &tasks).reads;
        let reads = reads.into_iter();
        reads.map(|task| ["a", "b"][task]).collect::<String>()
    };
    let fast = task(10, 1);
    assert_eq!(read("rr:turn=1", [fast, fast]), "ababababab");
    assert_eq!(read("rr:turn=2", [fast, fast]), "aabbaabbab");
    assert_eq!(read("rr", [fast, fast]), "aaaaabbbbb");
    // a's third chunk has no buffer before its first is computed.
    let slow = task(10, 100);
    assert_eq!(read("rr:turn=3", [slow, fast]), "aaabbbaabb");
    assert_eq!(read("rr:turn=3,wait=false", [slow, fast]), "aabbaabbab");
}

#[test]
fn a_container_has_a_turn_a_round_and_more_in_it_by_its_priority() {
    let task = |container, priority, chunks| BedTask {
        container,
        priority,
        chunks,
        ..BedTask::default()
    };
    let played = Bed::play("spmario", &[task(7, 1, 20), task(2, 2, 50), task(4, 1, 0)]);
    let turns: Vec<(u32, u64)> = played
        .turns
        .iter()
        .map(|turn| (turn.turn.container, turn.turn.quota >> 20))
        .collect();
    assert_eq!(turns, [(2, 32), (7, 16), (2, 32), (7, 16)]);
    let read: Vec<u64> = played.turns.iter().map(|turn| turn.read >> 20).collect();
    assert_eq!(read, [32, 16, 18, 4]);
}

#[test]
fn processes_that_know_nothing_of_each_other_have_one_chunk_under_way_each() {
    let task = BedTask {
        chunks: 3,
        io: 10,
        kernel: 5,
        ..BedTask::default()
    };
    let played = Bed::play("gpmr", &[task, task]);
    // 10 of io, 5 of transfer and kernel each; the bed reads one after the other.
    assert_eq!(played.reads, [0, 1, 0, 1, 0, 1]);
    assert!(played.most_under_way == 1, "{played:?}");
}

#[test]
fn a_text_that_names_no_order_is_refused_with_what_there_is() {
    let said = |text: &str| read_order(text).unwrap_err().to_string();
    assert_eq!(
        said("mario"),
        "read order \"mario\" is not known; there are spmario, spmario-literal, rr, gpmr"
    );
    assert_eq!(
        said("rr:turns=1"),
        "read order rr has no key \"turns\"; it has turn, wait"
    );
    assert_eq!(
        said("gpmr:p=4"),
        "read order gpmr has no key \"p\"; it has none"
    );
    assert_eq!(
        said("rr:turn=0"),
        "read order rr: turn=0: a whole number above 0 is wanted"
    );
    assert_eq!(
        said("rr:wait"),
        "read order rr: wait=: true or false is wanted"
    );
    assert_eq!(
        said("spmario:backlog=1"),
        "read order spmario: backlog=1: measured or unit is wanted"
    );
    assert!(read_order("").is_err());
}
