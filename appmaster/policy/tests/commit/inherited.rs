use super::outputs::{OUTPUT, attempt, heard, plain, repeated, whole_or_nothing};
use super::world::{Actor, Walk, World};
use policy::commit::{Inheritance, Inherited, attempt_file};
use sim::NameNode;

fn next(attempt: u32) -> Actor {
    Actor::Next(Inherited::new("n", attempt))
}

/// What the next ApplicationMaster comes to, and what it leaves.
fn inherit(mut name_node: NameNode) -> (Inheritance, NameNode) {
    let mut next = Inherited::new("n", 2);
    while let Some(number) = next.open().first().copied() {
        let op = next.call(number).unwrap();
        next.answered_to(number, name_node.carry_out(&op));
    }
    (next.verdict().unwrap().clone(), name_node)
}

/// What is never otherwise, and what is so in the end if anybody lived to see it.
fn holds(world: &World, over: bool) {
    let is_there = whole_or_nothing(&OUTPUT, &world.name_node);
    let mut seen = false;
    for actor in &world.actors {
        let Actor::Next(next) = actor else { continue };
        let Some(verdict) = next.verdict() else {
            continue;
        };
        seen = true;
        match verdict {
            Inheritance::Finished | Inheritance::Before => assert!(is_there, "{world:#?}"),
            Inheritance::GivenUp | Inheritance::Absent => assert!(!is_there, "{world:#?}"),
            odd => panic!("{odd:?}: {world:#?}"),
        }
    }
    if over && seen {
        assert!(!world.name_node.has("work"), "left behind: {world:#?}");
    }
}

/// The first ApplicationMaster commits, and may be killed or merely slow; the next knows only the folder.
#[test]
fn who_knows_only_the_folder_makes_a_commit_whole_or_nothing() {
    for (what, name_node, numbers, nexts, floor) in [
        (
            "who knows only the folder",
            plain("n"),
            [0, 0],
            2,
            (24_527, 147_084),
        ),
        (
            "the same with a choice",
            repeated("n"),
            [0, 1],
            1,
            (5_275, 21_907),
        ),
    ] {
        let mut actors = vec![Actor::Job(heard("n", 1, numbers))];
        actors.extend((2..).map(next).take(nexts));
        let world = World {
            name_node,
            actors,
            losses: 1,
            kills: 1,
            delays: 0,
            late: Vec::new(),
        };
        let walk = Walk::through(world, &|_, _| true, &holds);
        walk.covers(what, floor.0, floor.1);
    }
}

/// One that is whole gets its name, and what was chosen becomes whole; nothing else does.
#[test]
fn a_commit_that_stops_after_any_call_is_finished_once_it_is_whole_or_chosen() {
    for (mut name_node, numbers, given_up, finished) in
        [(plain("n"), [0, 0], 2, 3), (repeated("n"), [0, 1], 3, 9)]
    {
        let mut job = heard("n", 1, numbers);
        let mut verdicts = Vec::new();
        loop {
            let (verdict, left) = inherit(name_node.clone());
            whole_or_nothing(&OUTPUT, &left);
            assert!(!left.has("work"), "{left:#?}");
            verdicts.push(verdict);
            let Some(op) = job.next() else { break };
            job.answered(name_node.carry_out(&op));
        }
        let count = |wanted: Inheritance| verdicts.iter().filter(|it| **it == wanted).count();
        assert_eq!(
            (
                count(Inheritance::GivenUp),
                count(Inheritance::Finished),
                count(Inheritance::Before)
            ),
            (given_up, finished, 2),
            "{verdicts:?}"
        );
    }
}

/// Its setup was refused, or not over: what is another's stays.
#[test]
fn the_folder_of_another_job_stays_as_it_is() {
    let others = plain("m");
    assert_eq!(
        inherit(others.clone()),
        (Inheritance::Absent, others.clone())
    );
    let mut with_ours = others.clone();
    with_ours.paths.insert("work/n".to_owned(), None);
    assert_eq!(inherit(with_ours), (Inheritance::GivenUp, others));
}

#[test]
fn where_nothing_was_begun_nothing_is_made() {
    let nothing = NameNode::default();
    assert_eq!(inherit(nothing.clone()), (Inheritance::Absent, nothing));
    let unsigned = NameNode::with(&[("work", None), ("work/n", None)]);
    let left = inherit(unsigned);
    assert_eq!(left, (Inheritance::GivenUp, NameNode::default()));
}

#[test]
fn a_file_that_somebody_has_removed_is_named() {
    let (mut name_node, mut job) = (repeated("n"), heard("n", 1, [0, 1]));
    for _ in 0..3 {
        job.answered(name_node.carry_out(&job.next().unwrap()));
    }
    let place = format!("work/n/commit-1/{}", OUTPUT[1]);
    for gone in [attempt_file("n", attempt(1, 1), OUTPUT[1]), place] {
        assert!(name_node.paths.remove(&gone).is_some());
    }
    let (verdict, left) = inherit(name_node);
    assert_eq!(verdict, Inheritance::Missing(OUTPUT[1].to_owned()));
    assert!(!left.has("out"));
}
