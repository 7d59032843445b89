//! The next run into a folder where a commit stopped in the middle, and nobody is left who would finish it.

use super::world::{Actor, Walk, World};
use policy::commit::{Inherited, JobCommit, Setup, SetupVerdict, attempt_file};
use sim::NameNode;

const PARTS: [&str; 2] = ["part-r-00000", "part-r-00001"];

/// An attempt of each task of `d` has ended well.
fn results() -> NameNode {
    NameNode::with(&[
        ("_temporary", None),
        ("_temporary/.owner", Some("d")),
        ("_temporary/d", None),
        ("_temporary/d/_temporary", None),
        ("_temporary/d/_temporary/a0.part-r-00000", Some("d0")),
        ("_temporary/d/_temporary/a1.part-r-00001", Some("d1")),
    ])
}

fn attempts() -> [String; 2] {
    ["a0".to_owned(), "a1".to_owned()]
}

/// `d` after so many calls of its commit.
fn committing(calls: usize) -> (JobCommit, NameNode) {
    let (mut job, mut name_node) = (JobCommit::commit("d", 1, &attempts()), results());
    for _ in 0..calls {
        job.answered(name_node.carry_out(&job.next().unwrap()));
    }
    (job, name_node)
}

/// One of two files has its name.
fn half() -> NameNode {
    let (_, name_node) = committing(5);
    assert!(name_node.has(PARTS[0]) && !name_node.has(PARTS[1]));
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
    for (attempt, part) in attempts().iter().zip(PARTS) {
        let path = format!("out/{}", attempt_file(job, attempt, part));
        name_node.paths.insert(path, Some(job.to_owned()));
    }
    let mut commit = JobCommit::commit(job, 1, &attempts());
    while let Some(op) = commit.next() {
        commit.answered(name_node.carry_out(&op));
    }
}

fn any_part(name_node: &NameNode) -> bool {
    PARTS.iter().any(|part| name_node.has(part))
}

/// Jobs `b` and `c` live as long as their actors do, which come first; `d` is dead, whatever it yet does.
fn alive(world: &World, job: &str) -> bool {
    let actor = match job {
        "b" => world.actors.first(),
        "c" => world.actors.get(1),
        _ => None,
    };
    actor.is_some_and(|actor| *actor != Actor::Dead)
}

fn holds(world: &World, over: bool) {
    let name_node = &world.name_node;
    let success = name_node.has("_SUCCESS");
    let all = PARTS.iter().all(|part| name_node.has(part));
    assert!(!success || all, "success on half an output: {world:#?}");
    let verdicts = world.actors.iter().filter_map(|actor| match actor {
        Actor::Setup(setup) => setup.verdict(),
        _ => None,
    });
    let verdicts: Vec<&SetupVerdict> = verdicts.collect();
    let owners = verdicts.iter().filter(|it| ***it == SetupVerdict::Owner);
    let owners = owners.count();
    assert!(owners <= 1, "{world:#?}");
    if owners == 1 {
        assert!(!any_part(name_node) && !success, "{world:#?}");
        let owner = name_node.says("_temporary/.owner");
        assert_ne!(owner.as_deref(), Some("d"), "{world:#?}");
    }
    for verdict in verdicts {
        match verdict {
            SetupVerdict::Owner => {}
            SetupVerdict::Taken { by } => assert!(by == "b" || by == "c", "{world:#?}"),
            SetupVerdict::OutputExists(_) => assert!(success, "{world:#?}"),
            odd => panic!("{odd:?}: {world:#?}"),
        }
    }
    if over && world.kills == 1 {
        assert!(owners == 1 || success, "{world:#?}");
    }
    // Wherever all of them are killed, the next run works.
    let mut left = name_node.clone();
    let verdict = run(&mut Setup::new("e"), &mut left);
    if success {
        assert!(
            matches!(verdict, SetupVerdict::OutputExists(_)),
            "{world:#?}"
        );
    } else {
        assert_eq!(verdict, SetupVerdict::Owner, "{world:#?}");
        assert!(!any_part(&left), "{world:#?}");
        assert_eq!(left.says("_temporary/.owner").as_deref(), Some("e"));
    }
}

#[test]
fn two_runs_come_upon_half_an_output() {
    let world = World {
        name_node: half(),
        actors: vec![setup("b"), setup("c")],
        losses: 2,
        kills: 1,
        delays: 0,
        late: Vec::new(),
    };
    let walk = Walk::through(world, &alive, &holds);
    walk.covers("two runs come upon half an output", 3_409, 15_282);
}

/// YARN says that the job is over, and one of its ApplicationMasters still commits.
#[test]
fn a_commit_goes_on_while_it_is_withdrawn() {
    let commit = JobCommit::commit("d", 1, &attempts());
    let world = World {
        name_node: results(),
        actors: vec![setup("b"), Actor::Dead, Actor::Job(commit)],
        losses: 1,
        kills: 1,
        delays: 0,
        late: Vec::new(),
    };
    let walk = Walk::through(world, &alive, &holds);
    walk.covers("a commit goes on while it is withdrawn", 2_294, 8_371);
    let next = Inherited::new("d", 2);
    let world = World {
        name_node: half(),
        actors: vec![setup("b"), Actor::Dead, Actor::Next(next)],
        losses: 1,
        kills: 1,
        delays: 0,
        late: Vec::new(),
    };
    let walk = Walk::through(world, &alive, &holds);
    walk.covers("a commit goes on while it is withdrawn", 2_294, 8_371);
}

/// Whoever sleeps at any point of a withdrawal, or of the commit that is withdrawn, and wakes when the next owner
/// has output of the same names, or has gone half the way there.
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
            matches!(verdict, SetupVerdict::OutputExists(_)),
            "{sleeping}: {verdict:?}"
        );
        assert_eq!(output(&name_node), before, "{sleeping}");
        sleeping += 1;
    }
    assert!(sleeping > 10, "{sleeping}");
    for calls in 0..9 {
        let (mut late, mut name_node) = committing(calls);
        if name_node.has("_SUCCESS") {
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

/// What does not lie in `_temporary`.
fn output(name_node: &NameNode) -> Vec<(String, Option<String>)> {
    let all = name_node.paths.iter();
    let output = all.filter(|(path, _)| !path.contains("_temporary"));
    output
        .map(|(path, content)| (path.clone(), content.clone()))
        .collect()
}

#[test]
fn files_that_the_manifest_does_not_name_are_neither_moved_nor_written_beside() {
    let names = |verdict| match verdict {
        SetupVerdict::OutputExists(names) => names,
        other => panic!("{other:?}"),
    };
    let mut beside = half();
    let notes = Some("mine".to_owned());
    beside.paths.insert("out/notes".to_owned(), notes.clone());
    let before = output(&beside);
    assert_eq!(
        names(run(&mut Setup::new("b"), &mut beside)),
        ["notes"],
        "{beside:#?}"
    );
    assert_eq!(output(&beside), before);
    // The job had not come to this one, and yet it is there.
    let mut taken = half();
    taken
        .paths
        .insert("out/part-r-00001".to_owned(), notes.clone());
    assert_eq!(names(run(&mut Setup::new("b"), &mut taken)), [PARTS[1]]);
    assert_eq!(taken.file(PARTS[1]), Some("mine"));
    assert_eq!(names(run(&mut Setup::new("c"), &mut taken)), [PARTS[1]]);
    // Somebody's output, and a job that had not begun to commit.
    let mut before_all = results();
    before_all
        .paths
        .insert("out/part-r-00000".to_owned(), notes);
    let verdict = run(&mut Setup::new("b"), &mut before_all);
    assert_eq!(names(verdict), [PARTS[0]]);
    assert_eq!(before_all.file(PARTS[0]), Some("mine"));
}
