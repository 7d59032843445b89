//! Calls that take effect late: whoever made one was told that nobody knows, and went on; the NameNode carries it out
//! at any moment after that, or when everybody else is done.

use super::jobs::{commit, give_up, holds_of, two_results};
use super::world::{Walk, World};
use policy::commit::{Op, attempt_file};

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
    walk.covers("a commit and a giving up, late calls", 79_527, 355_057);
}

/// Somebody removed the output folder of job `m` and started job `n` on it; what `m` still had on its way arrives.
#[test]
fn late_calls_of_a_job_whose_output_folder_was_used_again_change_nothing() {
    let rename = |from: &str, to: &str| Op::Rename(from.to_owned(), to.to_owned());
    let written = attempt_file("m", "a0", "part-r-00000");
    let mut late = vec![
        Op::Create(written.clone(), "half".to_owned()),
        Op::Create(
            "_temporary/m/.manifest-1".to_owned(),
            "part-r-00000".to_owned(),
        ),
        rename(&written, "part-r-00000"),
        Op::DeleteAll(written.clone()),
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
    walk.covers("an output folder used again", 3_456, 17_216);
}
