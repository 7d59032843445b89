//! Calls that take effect late: whoever made one was told that nobody knows, and went on; the NameNode carries it out
//! at any moment after that, or when everybody else is done.

use super::outputs::{OUTPUT, attempt, give_up, heard, holds, plain, repeated};
use super::world::{Actor, Walk, World};
use policy::commit::{Op, attempt_file};

#[test]
fn a_commit_is_whole_or_nothing_when_its_calls_come_late() {
    for (what, name_node, numbers, delays, floor) in [
        (
            "a commit and a giving up, late calls",
            plain("n"),
            [0, 0],
            2,
            (28_911, 127_290),
        ),
        (
            "the same with a choice",
            repeated("n"),
            [0, 1],
            1,
            (25_793, 96_480),
        ),
    ] {
        let world = World {
            name_node,
            actors: vec![Actor::Job(heard("n", 1, numbers)), give_up(2)],
            losses: 0,
            kills: 1,
            delays,
            late: Vec::new(),
        };
        let walk = Walk::through(world, &|_, _| true, &holds);
        walk.covers(what, floor.0, floor.1);
    }
}

/// Somebody removed the work folder of job `m` and started job `n` on it; what `m` still had on its way arrives.
#[test]
fn late_calls_of_a_job_whose_output_folder_was_used_again_change_nothing() {
    let rename = |from: &str, to: &str| Op::Rename(from.to_owned(), to.to_owned());
    let of = |number: u32| attempt_file("m", attempt(0, number), OUTPUT[0]);
    let mut late = vec![
        Op::Create(of(0), "half".to_owned()),
        Op::Create("work/m/.manifest-1".to_owned(), "commit\n".to_owned()),
        rename(&of(1), "work/m/commit-1/part-r-00000"),
        Op::DeleteAll(of(0)),
        rename("work/m/written", "out"),
        rename("work/.owner", "work/m/.owner"),
        rename("work/m", "work/.aside-m"),
        Op::DeleteAll("work/m".to_owned()),
        Op::DeleteEmpty("work".to_owned()),
    ];
    late.sort();
    let world = World {
        name_node: repeated("n"),
        actors: vec![Actor::Job(heard("n", 1, [0, 1]))],
        losses: 0,
        kills: 0,
        delays: 0,
        late,
    };
    let walk = Walk::through(world, &|_, _| true, &|world, over| {
        holds(world, over);
        if over {
            let parts = OUTPUT.map(|part| world.name_node.file(&format!("out/{part}")));
            assert_eq!(parts, [Some("0"), Some("1")], "{world:#?}");
        }
    });
    walk.covers("an output folder used again", 8_960, 50_176);
}
