//! Two attempts at each of two tasks have ended well, and not every ApplicationMaster has heard of the same.

use super::outputs::{OUTPUT, attempt, give_up, heard, holds, written};
use super::world::{Actor, Walk, World};
use policy::commit::{Op, attempt_file};
use sim::NameNode;

fn twins() -> NameNode {
    let of = |task: u32, number: u32| (attempt(task, number), OUTPUT[task as usize]);
    written("n", &[of(0, 0), of(0, 1), of(1, 0), of(1, 1)])
}

fn commit(by: u32, numbers: [u32; 2]) -> Actor {
    Actor::Job(heard("n", by, numbers))
}

/// Whole, or nothing; and of each task that attempt of which one ApplicationMaster has heard.
fn one_of(choices: [[&str; 2]; 2], world: &World, over: bool) {
    holds(world, over);
    let files = OUTPUT.map(|part| world.name_node.file(&format!("out/{part}")));
    if let [Some(first), Some(second)] = files {
        assert!(choices.contains(&[first, second]), "{world:#?}");
    }
}

#[test]
fn of_twins_one_is_the_result_whoever_has_heard_of_which() {
    for (numbers, choices, floor) in [
        ([[0, 0], [1, 1]], [["0", "0"], ["1", "1"]], (8_494, 42_042)),
        ([[0, 1], [1, 0]], [["0", "1"], ["1", "0"]], (4_336, 15_758)),
    ] {
        let world = World {
            name_node: twins(),
            actors: vec![commit(1, numbers[0]), commit(2, numbers[1])],
            losses: 1,
            kills: 1,
            delays: 0,
            late: Vec::new(),
        };
        let walk = Walk::through(world, &|_, _| true, &|world, over| {
            one_of(choices, world, over);
        });
        walk.covers(
            "two that have heard of different attempts",
            floor.0,
            floor.1,
        );
    }
}

#[test]
fn nor_does_a_third_change_that_who_gives_up() {
    let world = World {
        name_node: twins(),
        actors: vec![commit(1, [0, 0]), commit(2, [1, 0]), give_up(3)],
        losses: 0,
        kills: 0,
        delays: 0,
        late: Vec::new(),
    };
    let walk = Walk::through(world, &|_, _| true, &|world, over| {
        one_of([["0", "0"], ["1", "0"]], world, over);
    });
    walk.covers("two of these and one that gives up", 26_588, 73_613);
}

/// Launchers that were given up begin a file, and remove what an attempt has left, whenever they get to it.
#[test]
fn what_launchers_do_late_changes_no_result() {
    let lost = attempt_file("n", attempt(0, 0), OUTPUT[0]);
    let beside = attempt_file("n", attempt(0, 0), "side-r-00000");
    let mut late = vec![
        Op::Create(lost.clone(), "0".to_owned()),
        Op::DeleteAll(lost),
        Op::Create(beside, "0".to_owned()),
    ];
    late.sort();
    let [first, second] = OUTPUT;
    let files = [(attempt(0, 1), first), (attempt(1, 0), second)];
    let world = World {
        name_node: written("n", &files),
        actors: vec![commit(1, [1, 0]), give_up(2)],
        losses: 0,
        kills: 1,
        delays: 0,
        late,
    };
    let walk = Walk::through(world, &|_, _| true, &|world, over| {
        one_of([["1", "0"]; 2], world, over);
    });
    walk.covers("launchers that are late", 15_328, 59_428);
}
