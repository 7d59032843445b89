//! The next run into a folder where a job stopped in the middle of its commit, and nobody is left who would finish it.

use super::outputs::{OUTPUT, attempt, heard, plain, repeated, whole_or_nothing};
use super::owners::alive;
use super::world::{Actor, Walk, World};
use policy::commit::{Inherited, JobCommit, Setup, SetupVerdict, attempt_file};
use sim::NameNode;

/// `d` after so many calls of its commit; more than half of the files that move have moved after the first five.
fn committing(calls: usize) -> (JobCommit, NameNode) {
    let (mut job, mut name_node) = (heard("d", 1, [0, 1]), repeated("d"));
    for _ in 0..calls {
        if let Some(op) = job.next() {
            job.answered(name_node.carry_out(&op));
        }
    }
    (job, name_node)
}

/// It has chosen.
fn half() -> NameNode {
    let (_, name_node) = committing(5);
    assert!(name_node.has("work/d/commit-1") && !name_node.has("out"));
    name_node
}

fn setup(job: &str) -> Actor {
    Actor::Setup(Setup::new(job))
}

/// Runs a setup to its end; all other jobs are dead.
fn run(setup: &mut Setup, name_node: &mut NameNode) -> SetupVerdict {
    for _ in 0..60 {
        if let Some(op) = setup.next() {
            setup.answered(name_node.carry_out(&op));
        } else if setup.asks().is_some() {
            setup.alive(false);
        } else {
            break;
        }
    }
    setup.verdict().unwrap().clone()
}

/// `job` sets up, and has output of the same names.
fn whole(job: &str, name_node: &mut NameNode) {
    assert_eq!(run(&mut Setup::new(job), name_node), SetupVerdict::Owner);
    for (task, part) in (0..).zip(OUTPUT) {
        let path = attempt_file(job, attempt(task, 0), part);
        name_node.paths.insert(path, Some(job.to_owned()));
    }
    let mut commit = heard(job, 1, [0, 0]);
    while let Some(op) = commit.next() {
        commit.answered(name_node.carry_out(&op));
    }
    assert!(whole_or_nothing(&OUTPUT, name_node));
}

fn holds(world: &World, over: bool) {
    let name_node = &world.name_node;
    let is_there = whole_or_nothing(&OUTPUT, name_node);
    let verdicts = world.actors.iter().filter_map(|actor| match actor {
        Actor::Setup(setup) => setup.verdict(),
        _ => None,
    });
    let verdicts: Vec<&SetupVerdict> = verdicts.collect();
    let owners = verdicts.iter().filter(|it| ***it == SetupVerdict::Owner);
    let owners = owners.count();
    assert!(owners <= 1, "{world:#?}");
    if owners == 1 {
        assert!(!is_there, "{world:#?}");
        let owner = name_node.says("work/.owner");
        assert_ne!(owner.as_deref(), Some("d"), "{world:#?}");
    }
    for verdict in verdicts {
        match verdict {
            SetupVerdict::Owner => {}
            SetupVerdict::Taken { by } => assert!(by == "b" || by == "c", "{world:#?}"),
            SetupVerdict::OutputExists => assert!(is_there, "{world:#?}"),
            odd => panic!("{odd:?}: {world:#?}"),
        }
    }
    if over && world.kills == 1 {
        assert!(owners == 1 || is_there, "{world:#?}");
    }
    // Wherever all of them are killed, the next run works.
    let mut left = name_node.clone();
    let verdict = run(&mut Setup::new("e"), &mut left);
    if is_there {
        assert!(matches!(verdict, SetupVerdict::OutputExists), "{world:#?}");
    } else {
        assert_eq!(verdict, SetupVerdict::Owner, "{world:#?}");
        assert!(!left.has("out") && !left.has("work/d"), "{left:#?}");
        assert_eq!(left.says("work/.owner").as_deref(), Some("e"));
    }
}

#[test]
fn two_runs_come_upon_half_a_commit() {
    let world = World {
        name_node: half(),
        actors: vec![setup("b"), setup("c")],
        losses: 2,
        kills: 1,
        delays: 0,
        late: Vec::new(),
    };
    let walk = Walk::through(world, &alive, &holds);
    walk.covers("two runs come upon half a commit", 1_590, 6_598);
}

/// YARN says that the job is over, and one of its ApplicationMasters still commits.
#[test]
fn a_commit_goes_on_while_its_folder_is_taken_over() {
    for (what, name_node, late, floor) in [
        (
            "a commit",
            plain("d"),
            Actor::Job(heard("d", 1, [0, 0])),
            (1_419, 5_075),
        ),
        (
            "a choice",
            repeated("d"),
            Actor::Job(heard("d", 1, [0, 1])),
            (3_814, 14_363),
        ),
        (
            "the next one's",
            half(),
            Actor::Next(Inherited::new("d", 2)),
            (2_773, 10_509),
        ),
    ] {
        let world = World {
            name_node,
            actors: vec![setup("b"), Actor::Dead, late],
            losses: 1,
            kills: 1,
            delays: 0,
            late: Vec::new(),
        };
        let walk = Walk::through(world, &alive, &holds);
        walk.covers(
            &format!("{what} goes on while its folder is taken over"),
            floor.0,
            floor.1,
        );
    }
}

/// Whoever sleeps at any point of a takeover, or of the commit of which that is, and wakes when the next owner has
/// output of the same names, or has gone half the way there.
#[test]
fn who_wakes_in_the_folder_of_the_next_owner_changes_nothing() {
    let mut sleeping = 0;
    loop {
        let (mut name_node, mut late) = (half(), Setup::new("c"));
        let mut calls = 0;
        while calls < sleeping && late.verdict().is_none() {
            match late.next() {
                Some(op) => late.answered(name_node.carry_out(&op)),
                None => late.alive(false),
            }
            calls += 1;
        }
        if late.verdict().is_some() {
            break;
        }
        whole("b", &mut name_node);
        let before = output(&name_node);
        let verdict = run(&mut late, &mut name_node);
        assert!(
            matches!(verdict, SetupVerdict::OutputExists),
            "{sleeping}: {verdict:?}"
        );
        assert_eq!(output(&name_node), before, "{sleeping}");
        sleeping += 1;
    }
    assert!(sleeping > 8, "{sleeping}");
    for calls in 0..20 {
        let (mut late, mut name_node) = committing(calls);
        if name_node.has("out") {
            break;
        }
        whole("b", &mut name_node);
        let before = output(&name_node);
        while let Some(op) = late.next() {
            late.answered(name_node.carry_out(&op));
        }
        assert_eq!(output(&name_node), before, "{calls}");
    }
}

fn output(name_node: &NameNode) -> Vec<(String, Option<String>)> {
    let all = name_node.paths.iter();
    let output = all.filter(|(path, _)| path.starts_with("out"));
    output
        .map(|(path, content)| (path.clone(), content.clone()))
        .collect()
}

#[test]
fn what_somebody_else_has_put_there_is_neither_moved_nor_written_beside() {
    for mut name_node in [half(), plain("d"), NameNode::default()] {
        let notes = NameNode::with(&[("out", None), ("out/notes", Some("mine"))]);
        name_node.paths.extend(notes.paths.clone());
        let before = name_node.clone();
        let verdict = run(&mut Setup::new("b"), &mut name_node);
        assert_eq!(verdict, SetupVerdict::OutputExists);
        assert_eq!(name_node, before);
    }
}
