//! Two attempts at each of two tasks have ended well, and not every ApplicationMaster has heard of the same.

use super::jobs::{give_up, holds_of};
use super::world::{Actor, Walk, World};
use policy::commit::{JobCommit, Op, attempt_file};
use sim::NameNode;

const PARTS: [&str; 2] = ["part-r-00000", "part-r-00001"];

fn twins() -> NameNode {
    let of = |attempt: &str, part: &str| attempt_file("n", attempt, part);
    let [first, second] = PARTS;
    NameNode::with(&[
        ("_temporary", None),
        ("_temporary/.owner", Some("n")),
        ("_temporary/n", None),
        ("_temporary/n/_temporary", None),
        (&of("r0_0", first), Some("0")),
        (&of("r0_1", first), Some("1")),
        (&of("r1_0", second), Some("0")),
        (&of("r1_1", second), Some("1")),
    ])
}

/// The ApplicationMaster that has heard of the attempts of this number.
fn heard(attempt: u32, number: u32) -> Actor {
    let files = (0..).zip(PARTS);
    let files = files.map(|(task, part)| format!("r{task}_{number}/{part}"));
    Actor::Job(JobCommit::commit("n", attempt, &[]).knowing(files.collect()))
}

/// Whole, or nothing; and of each task that attempt of which one ApplicationMaster has heard.
fn one_of_each(world: &World, over: bool) {
    holds_of(&PARTS, world, over);
    let written = PARTS.map(|part| world.name_node.file(part));
    if let [Some(first), Some(second)] = written {
        assert_eq!(first, second, "{world:#?}");
    }
}

#[test]
fn of_twins_one_is_the_result_whoever_has_heard_of_which() {
    let world = World {
        name_node: twins(),
        actors: vec![heard(1, 0), heard(2, 1)],
        losses: 1,
        kills: 1,
        delays: 0,
        late: Vec::new(),
    };
    let walk = Walk::through(world, &|_, _| true, &one_of_each);
    walk.covers("two that have heard of different attempts", 2_966, 11_642);
    let world = World {
        name_node: twins(),
        actors: vec![heard(1, 0), heard(2, 1), give_up(3)],
        losses: 0,
        kills: 1,
        delays: 0,
        late: Vec::new(),
    };
    let walk = Walk::through(world, &|_, _| true, &one_of_each);
    walk.covers("these two and one that gives up", 20_128, 85_698);
}

/// Launchers that were given up begin a file, and remove what an attempt has left, whenever they get to it.
#[test]
fn what_launchers_do_late_changes_no_result() {
    let mut late = vec![
        Op::Create(attempt_file("n", "r0_2", PARTS[0]), "2".to_owned()),
        Op::DeleteAll(attempt_file("n", "r0_2", PARTS[0])),
    ];
    late.sort();
    let world = World {
        name_node: twins(),
        actors: vec![heard(1, 0), heard(2, 1)],
        losses: 0,
        kills: 1,
        delays: 1,
        late,
    };
    let walk = Walk::through(world, &|_, _| true, &one_of_each);
    walk.covers("launchers that are late", 72_053, 319_118);
}
