use super::world::{Actor, Walk, World};
use policy::commit::{Inheritance, Inherited, JobCommit};
use sim::NameNode;

fn next(attempt: u32) -> Actor {
    Actor::Next(Inherited::new("n", attempt))
}

fn commit() -> JobCommit {
    JobCommit::commit("n", 1, &["a0".to_owned(), "a1".to_owned()])
}

fn results() -> NameNode {
    NameNode::with(&[
        ("_temporary", None),
        ("_temporary/.owner", Some("n")),
        ("_temporary/n", None),
        ("_temporary/n/_temporary", None),
        ("_temporary/n/_temporary/a0.part-r-00000", Some("a0")),
        ("_temporary/n/_temporary/a1.part-r-00001", Some("a1")),
    ])
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
    let output = ["part-r-00000", "part-r-00001"];
    let there = |name: &&str| world.name_node.has(name);
    let (all, any) = (output.iter().all(there), output.iter().any(there));
    let success = world.name_node.has("_SUCCESS");
    assert!(!success || all, "success on half an output: {world:#?}");
    let mut seen = false;
    for actor in &world.actors {
        let Actor::Next(next) = actor else { continue };
        let Some(verdict) = next.verdict() else {
            continue;
        };
        seen = true;
        match verdict {
            Inheritance::Finished | Inheritance::Before => assert!(success, "{world:#?}"),
            Inheritance::GivenUp | Inheritance::Absent => {
                assert!(!any && !success, "{world:#?}");
            }
            odd => panic!("{odd:?}: {world:#?}"),
        }
    }
    if over && seen {
        assert_eq!(success, any, "{world:#?}");
        assert!(
            !world.name_node.has("_temporary"),
            "left behind: {world:#?}"
        );
    }
}

/// The first ApplicationMaster commits, and may be killed or merely slow; the next knows only the folder.
#[test]
fn who_knows_only_the_folder_makes_a_commit_whole_or_nothing() {
    let world = World {
        name_node: results(),
        actors: vec![Actor::Job(commit()), next(2)],
        losses: 1,
        kills: 1,
        delays: 0,
        late: Vec::new(),
    };
    let walk = Walk::through(world, &|_, _| true, &holds);
    walk.covers(
        "who knows only the folder makes a commit whole or nothing",
        1_818,
        7_015,
    );
}

#[test]
fn a_commit_that_stops_after_any_call_is_finished_once_its_manifest_stands() {
    let (mut name_node, mut job) = (results(), commit());
    let mut verdicts = Vec::new();
    loop {
        let (verdict, left) = inherit(name_node.clone());
        let success = left.has("_SUCCESS");
        assert_eq!(success, left.has("part-r-00001"), "{left:#?}");
        assert!(!left.has("_temporary"), "{left:#?}");
        verdicts.push(verdict);
        let Some(op) = job.next() else { break };
        job.answered(name_node.carry_out(&op));
    }
    // A listing, a draft, what it says, its rename, and from there on until its folder is gone; then nobody's is.
    assert_eq!(verdicts[..4], vec![Inheritance::GivenUp; 4]);
    let (last, rest) = verdicts[4..].split_last().unwrap();
    let (before, finished) = rest.split_last().unwrap();
    assert!(finished.len() > 5, "{verdicts:?}");
    assert!(
        finished.iter().all(|it| *it == Inheritance::Finished),
        "{verdicts:?}"
    );
    assert_eq!([before, last], [&Inheritance::Before; 2]);
}

/// Its setup was refused, or not over: what is another's stays.
#[test]
fn the_folder_of_another_job_stays_as_it_is() {
    let others = NameNode::with(&[
        ("_temporary", None),
        ("_temporary/.owner", Some("m")),
        ("_temporary/m", None),
        ("_temporary/m/_temporary", None),
        ("_temporary/m/_temporary/a0.part-r-00000", Some("m")),
    ]);
    assert_eq!(
        inherit(others.clone()),
        (Inheritance::Absent, others.clone())
    );
    let mut with_ours = others.clone();
    with_ours.paths.insert("out/_temporary/n".to_owned(), None);
    assert_eq!(inherit(with_ours), (Inheritance::GivenUp, others));
}

#[test]
fn where_nothing_was_begun_nothing_is_made() {
    let mut nothing = NameNode::default();
    nothing.paths.clear();
    assert_eq!(inherit(nothing.clone()), (Inheritance::Absent, nothing));
    let unsigned = NameNode::with(&[("_temporary", None), ("_temporary/n", None)]);
    assert_eq!(
        inherit(unsigned),
        (Inheritance::GivenUp, NameNode::with(&[]))
    );
}

#[test]
fn a_file_that_somebody_has_removed_is_named() {
    let (mut name_node, mut job) = (results(), commit());
    for _ in 0..4 {
        job.answered(name_node.carry_out(&job.next().unwrap()));
    }
    let gone = "out/_temporary/n/_temporary/a1.part-r-00001";
    assert!(name_node.paths.remove(gone).is_some());
    let (verdict, left) = inherit(name_node);
    assert_eq!(verdict, Inheritance::Missing("part-r-00001".to_owned()));
    assert!(!left.has("_SUCCESS"));
}
