//! Calls that take effect late: whoever made one was told that nobody knows, and went on; the NameNode carries it out
//! at any moment after that, or when everybody else is done.

use super::attempts::{attempt, one_result, two_attempts};
use super::jobs::{commit, give_up, holds_of, two_results};
use super::world::{Walk, World};
use policy::commit::Op;
use sim::NameNode;

#[test]
fn an_attempt_whose_calls_come_late_is_the_result_or_is_not() {
    let mut world = two_attempts(vec![attempt("a0"), attempt("a1")]);
    (world.losses, world.delays) = (1, 2);
    let walk = Walk::through(world, &|_, _| true, &one_result);
    walk.covers("two attempts, late calls", 2_688, 11_368);
}

#[test]
fn a_commit_is_whole_or_nothing_when_its_calls_come_late() {
    let world = World {
        name_node: two_results(),
        actors: vec![commit(1), give_up(2)],
        losses: 0,
        kills: 1,
        delays: 2,
        late: Vec::new(),
    };
    let walk = Walk::through(world, &|_, _| true, &|world, over| {
        holds_of(&["part-r-00000", "part-r-00001"], world, over);
    });
    walk.covers("a commit and a giving up, late calls", 89_790, 400_793);
}

/// Somebody removed the output folder of job `m` and started job `n` on it; what `m` still had on its way arrives.
#[test]
fn late_calls_of_a_job_whose_output_folder_was_used_again_change_nothing() {
    let rename = |from: &str, to: &str| Op::Rename(from.to_owned(), to.to_owned());
    let mut late = vec![
        Op::MakeFolder("_temporary/m/_temporary/a0/.a0".to_owned()),
        rename("_temporary/m/_temporary/a0", "_temporary/m/t0"),
        Op::Create(
            "_temporary/m/.manifest-1".to_owned(),
            "part-r-00000".to_owned(),
        ),
        rename("_temporary/m/t0/part-r-00000", "part-r-00000"),
        rename("_temporary/m/_SUCCESS", "_SUCCESS"),
        rename("_temporary/.owner", "_temporary/m/.owner"),
        Op::DeleteAll("_temporary/m".to_owned()),
        Op::DeleteEmpty("_temporary".to_owned()),
    ];
    late.sort();
    let world = World {
        name_node: two_results(),
        actors: vec![commit(1)],
        losses: 0,
        kills: 0,
        delays: 0,
        late,
    };
    let walk = Walk::through(world, &|_, _| true, &|world, over| {
        holds_of(&["part-r-00000", "part-r-00001"], world, over);
        if over {
            assert_eq!(world.name_node.file("part-r-00000"), Some("a0"));
            assert!(world.name_node.has("_SUCCESS"), "{world:#?}");
        }
    });
    walk.covers("an output folder used again", 3_712, 18_496);
}

/// Why no two attempts ever have the same name: a rename on its way takes along what is in the folder then.
#[test]
fn a_folder_that_a_second_attempt_of_the_same_name_writes_to_would_be_taken_half_written() {
    let mut name_node = NameNode::with(&[
        ("_temporary", None),
        ("_temporary/n", None),
        ("_temporary/n/_temporary", None),
        ("_temporary/n/_temporary/a0", None),
        ("_temporary/n/_temporary/a0/part-m-00000", Some("half")),
    ]);
    let late = Op::Rename(
        "_temporary/n/_temporary/a0".to_owned(),
        "_temporary/n/t0".to_owned(),
    );
    name_node.carry_out(&late);
    assert_eq!(name_node.file("_temporary/n/t0/part-m-00000"), Some("half"));
}
