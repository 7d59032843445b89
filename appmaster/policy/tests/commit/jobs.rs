use super::outputs::{OUTPUT, attempt, give_up, heard, holds, holds_of, plain, repeated, written};
use super::world::{Actor, Walk, World};
use policy::commit::{
    AT_ONCE, AttemptName, CallAnswer, JobCommit, JobVerdict, Manifest, Op, TaskResult, attempt_file,
};
use sim::NameNode;

/// A world in which so much may go wrong.
fn world(name_node: NameNode, actors: Vec<Actor>, losses: u32, kills: u32) -> World {
    World {
        name_node,
        actors,
        losses,
        kills,
        delays: 0,
        late: Vec::new(),
    }
}

fn commit(by: u32, numbers: [u32; 2]) -> Actor {
    Actor::Job(heard("n", by, numbers))
}

#[test]
fn a_commit_is_whole_or_nothing_whatever_is_lost_and_whoever_is_killed() {
    // The first ApplicationMaster may be killed or merely slow; the second gives up what it had not begun.
    for (what, name_node, numbers, floor) in [
        (
            "a commit and a giving up",
            plain("n"),
            [0, 0],
            (1_740, 8_147),
        ),
        (
            "the same with a choice",
            repeated("n"),
            [0, 1],
            (9_191, 48_234),
        ),
    ] {
        let actors = vec![commit(1, numbers), give_up(2)];
        let world = world(name_node, actors, 2, 1);
        let walk = Walk::through(world, &|_, _| true, &holds);
        walk.covers(what, floor.0, floor.1);
    }
}

#[test]
fn a_third_application_master_changes_nothing_of_that() {
    for (what, name_node, numbers, kills, floor) in [
        (
            "a third ApplicationMaster",
            plain("n"),
            [0, 0],
            2,
            (4_954, 22_945),
        ),
        (
            "the same with a choice",
            repeated("n"),
            [0, 1],
            1,
            (85_522, 389_327),
        ),
    ] {
        let actors = vec![commit(1, numbers), give_up(2), give_up(3)];
        let world = world(name_node, actors, 0, kills);
        let walk = Walk::through(world, &|_, _| true, &holds);
        walk.covers(what, floor.0, floor.1);
    }
}

/// Both know that all tasks are done.
#[test]
fn two_that_commit_make_one_output() {
    for (what, name_node, numbers, floor) in [
        ("two that commit", plain("n"), [0, 0], (698, 2_628)),
        (
            "the same with a choice",
            repeated("n"),
            [0, 1],
            (6_832, 27_784),
        ),
    ] {
        let actors = vec![commit(1, numbers), commit(2, numbers)];
        let world = world(name_node, actors, 1, 1);
        let walk = Walk::through(world, &|_, _| true, &holds);
        walk.covers(what, floor.0, floor.1);
    }
}

/// An ApplicationMaster sleeps at any point while its output folder is removed and another job writes there.
#[test]
fn who_wakes_in_a_folder_that_is_anothers_now_changes_nothing() {
    for (mut name_node, numbers, calls) in [(plain("n"), [0, 0], 6), (repeated("n"), [0, 1], 13)] {
        let others = plain("m");
        let mut job = heard("n", 1, numbers);
        let mut steps = 0;
        while let Some(op) = job.next() {
            let (mut late, mut elsewhere) = (job.clone(), others.clone());
            let mut calls: Vec<Op> = Vec::new();
            while let Some(op) = late.next() {
                late.answered(elsewhere.carry_out(&op));
                calls.push(op);
                assert!(calls.len() < 50, "{calls:?}");
            }
            assert_eq!(elsewhere, others, "{calls:?}");
            job.answered(name_node.carry_out(&op));
            steps += 1;
        }
        assert_eq!(
            (steps, job.verdict()),
            (calls, Some(&JobVerdict::Committed))
        );
    }
}

fn run(job: &mut JobCommit, name_node: &mut NameNode) -> JobVerdict {
    let mut calls = 0;
    while let Some(op) = job.next() {
        job.answered(name_node.carry_out(&op));
        calls += 1;
        assert!(calls < 100, "{job:?}");
    }
    job.verdict().unwrap().clone()
}

#[test]
fn a_job_without_files_has_its_success() {
    let mut name_node = written("n", &[]);
    let mut job = JobCommit::commit("n", 1, &[]);
    assert_eq!(run(&mut job, &mut name_node), JobVerdict::Committed);
    let whole = NameNode::with(&[("out", None), ("out/_SUCCESS", Some(""))]);
    assert_eq!(name_node, whole);
}

/// Whatever has the output's name by then stays as it is, and the output as well.
#[test]
fn what_somebody_has_made_where_the_output_is_to_be_loses_nothing_and_takes_nothing() {
    for there in [
        vec![("out", None)],
        vec![("out", Some("mine"))],
        vec![("out", None), ("out/notes", Some("mine"))],
    ] {
        let mut name_node = plain("n");
        let there = NameNode::with(&there);
        name_node.paths.extend(there.paths.clone());
        let whole = "work/n/written".to_owned();
        let taken = JobVerdict::Taken { whole };
        assert_eq!(run(&mut heard("n", 1, [0, 0]), &mut name_node), taken);
        for (path, content) in &there.paths {
            assert_eq!(name_node.paths.get(path), Some(content));
        }
        assert!(name_node.has("work/n/written/part-r-00001"));
        // Whoever comes next finds the same, or the name free.
        let mut next = JobCommit::give_up("n", 2);
        assert_eq!(run(&mut next, &mut name_node), taken);
        name_node.carry_out(&Op::DeleteAll("out".to_owned()));
        let mut next = JobCommit::give_up("n", 3);
        assert_eq!(run(&mut next, &mut name_node), JobVerdict::Committed);
        holds_of(&OUTPUT, &world(name_node, Vec::new(), 0, 0), true);
    }
}

/// What a manifest says is read back by the next ApplicationMaster, whether a name holds it or a file.
#[test]
fn a_manifest_is_the_name_of_a_folder_where_it_fits_into_one() {
    let long = format!("{}-r-00000", "x".repeat(240));
    for (name, is_name) in [
        ("part-r-00000", true),
        ("part.r_00001-r-00000.gz", true),
        ("a b-r-00000", false),
        ("a+b-r-00000", false),
        ("a,b-r-00000", false),
        ("p=1-r-00000", false),
        ("\u{e9}-r-00000", false),
        (&long, false),
    ] {
        let mut name_node = written("n", &[(attempt(0, 1), name)]);
        let result = TaskResult {
            attempt: attempt(0, 1),
            names: Some(vec![name.to_owned()]),
        };
        let mut job = JobCommit::commit("n", 1, std::slice::from_ref(&result));
        while !matches!(job.next(), Some(Op::List(_))) {
            job.answered(name_node.carry_out(&job.next().unwrap()));
        }
        let said = name_node.says("work/n/.manifest-1").unwrap();
        let manifest = Manifest(vec![(result.attempt, vec![name.to_owned()])]);
        assert_eq!(Manifest::from_text(&said), Some(manifest));
        let file = name_node.file("work/n/.manifest-1");
        assert_eq!(file.is_none(), is_name, "{name}");
        let mut next = JobCommit::give_up("n", 2);
        assert_eq!(run(&mut next, &mut name_node), JobVerdict::Committed);
        assert!(name_node.has(&format!("out/{name}")), "{name_node:#?}");
    }
}

/// So are those of a job in which dozens of tasks were repeated, whose files are called as usual.
#[test]
fn usual_files_of_many_attempts_fit_into_a_name() {
    let all = (0..30).map(|task| {
        let attempt = attempt(task, 1 + task % 2);
        (attempt, vec![format!("part-r-{task:05}")])
    });
    let mut manifest = Manifest(all.collect());
    manifest.0.push((attempt(30, 1), Vec::new()));
    let results = manifest.0.iter().map(|(attempt, names)| TaskResult {
        attempt: *attempt,
        names: Some(names.clone()),
    });
    let results: Vec<TaskResult> = results.collect();
    let mut job = JobCommit::commit("n", 1, &results);
    assert!(matches!(job.next(), Some(Op::MakeFolder(_))));
    job.answered(CallAnswer::Done);
    let Some(Op::MakeFolder(path)) = job.next() else {
        panic!("{job:?}");
    };
    let name = path.rsplit('/').next().unwrap();
    assert!(name.starts_with("commit,r0.1+,r1.2+,r2.1+,"), "{name}");
    assert_eq!(Manifest::from_text(name), Some(manifest.clone()));
    assert_eq!(Manifest::from_text(&manifest.to_text()), Some(manifest));
    for odd in ["", "abort,r0.1", "commit,x", "commit\nr0.1/part-r-00001\n"] {
        assert_eq!(Manifest::from_text(odd), None, "{odd}");
    }
}

/// Who knows what an attempt has written does not ask for it; of others it is listed.
#[test]
fn files_that_are_known_become_output_with_those_that_are_found() {
    for names in [Some(vec![OUTPUT[1].to_owned()]), None] {
        let mut name_node = repeated("n");
        let expected = 1 + usize::from(names.is_none());
        let results = [
            TaskResult {
                attempt: attempt(0, 0),
                names: None,
            },
            TaskResult {
                attempt: attempt(1, 1),
                names,
            },
        ];
        let mut job = JobCommit::commit("n", 1, &results);
        let mut lists = 0;
        while let Some(op) = job.next() {
            lists += usize::from(matches!(op, Op::List(_)));
            job.answered(name_node.carry_out(&op));
        }
        assert_eq!(
            (job.verdict(), lists),
            (Some(&JobVerdict::Committed), expected)
        );
        assert_eq!(name_node.file("out/part-r-00001"), Some("1"));
        holds_of(&OUTPUT, &world(name_node, Vec::new(), 0, 0), true);
    }
}

/// Results of a job in which every task was repeated, at the moment when they are about to move.
fn moving(files: u32) -> JobCommit {
    let results = (0..files).map(|task| TaskResult {
        attempt: attempt(task, 1),
        names: Some(vec![format!("part-r-{task:05}")]),
    });
    let results: Vec<TaskResult> = results.collect();
    let mut job = JobCommit::commit("n", 1, &results);
    // So many do not fit into a name.
    assert!(matches!(job.next(), Some(Op::Create(_, _))));
    for _draft_and_choice in 0..2 {
        job.answered(CallAnswer::Done);
    }
    job.answered(CallAnswer::Names(Vec::new()));
    job
}

#[test]
fn a_bounded_number_of_files_is_on_its_way_and_they_begin_in_the_manifest_s_order() {
    let mut job = moving(200);
    let mut begun: Vec<usize> = Vec::new();
    while matches!(job.next(), Some(Op::Rename(_, to)) if to.contains("/part-")) {
        let open = job.open();
        assert!(open.len() <= AT_ONCE, "{open:?}");
        let new = open.iter().filter(|number| !begun.contains(number));
        let new: Vec<usize> = new.copied().collect();
        begun.extend(new);
        assert_eq!(open.len(), AT_ONCE.min(200 - begun.len() + open.len()));
        // The last begun is answered first.
        job.answered_to(*open.last().unwrap(), CallAnswer::Done);
    }
    assert_eq!(begun, (0..200).collect::<Vec<_>>());
    assert_eq!(job.open(), [0]);
    assert!(matches!(job.next(), Some(Op::Create(path, _)) if path.ends_with("_SUCCESS")));
}

#[test]
fn a_file_that_is_nowhere_is_named_when_all_that_were_begun_are_known() {
    let mut job = moving(100);
    for missing in [40, 7] {
        job.answered_to(missing, CallAnswer::NotThere);
        let place = format!("work/n/commit-1/part-r-{missing:05}");
        assert_eq!(job.call(missing), Some(Op::Look(place)));
        job.answered_to(missing, CallAnswer::NotThere);
        assert_eq!(job.verdict(), None);
    }
    while matches!(job.next(), Some(Op::Rename(_, _))) {
        let number = job.open()[0];
        assert!(number < AT_ONCE, "{number} was begun after that");
        job.answered_to(number, CallAnswer::Done);
    }
    // It may be elsewhere with all the others.
    assert_eq!(job.next(), Some(Op::List("work/n".to_owned())));
    job.answered(CallAnswer::Names(vec!["commit-1".to_owned()]));
    let first = JobVerdict::Missing("part-r-00007".to_owned());
    assert_eq!(job.verdict(), Some(&first));
}

/// One that a first attempt has written too.
#[test]
fn a_file_that_somebody_has_removed_makes_no_output() {
    let mut name_node = plain("n");
    let gone = attempt_file("n", attempt(1, 0), OUTPUT[1]);
    assert!(name_node.paths.remove(&gone).is_some());
    let mut job = heard("n", 1, [0, 0]);
    let missing = JobVerdict::Missing(OUTPUT[1].to_owned());
    assert_eq!(run(&mut job, &mut name_node), missing);
    assert!(!name_node.has("out"), "{name_node:#?}");
}

/// Names without a stage are of those tasks that write the output, and of no others: of a map that was tried twice the files
/// of the first attempt go, of the reduce with its number they stay.
#[test]
fn files_without_a_stage_in_their_names_are_those_of_the_tasks_that_write_the_output() {
    let map = |number| AttemptName {
        is_map: true,
        ..attempt(1, number)
    };
    let result = |attempt: AttemptName, name: &str| TaskResult {
        attempt,
        names: Some(vec![name.to_owned()]),
    };
    let of_maps = [
        (map(0), "part-00001"),
        (map(0), "side-m-00001"),
        (map(1), "part-00001"),
    ];
    let of_both = [
        (attempt(1, 0), "part-00001"),
        (map(0), "side-m-00001"),
        (map(1), "more-m-00001"),
    ];
    for (files, results, output) in [
        (
            of_maps,
            vec![result(map(1), "part-00001")],
            vec![("part-00001", "1")],
        ),
        (
            of_both,
            vec![
                result(attempt(1, 0), "part-00001"),
                result(map(1), "more-m-00001"),
            ],
            vec![("more-m-00001", "1"), ("part-00001", "0")],
        ),
    ] {
        let mut name_node = written("n", &files);
        let mut job = JobCommit::commit("n", 1, &results);
        assert_eq!(run(&mut job, &mut name_node), JobVerdict::Committed);
        let mut names = vec!["_SUCCESS"];
        names.extend(output.iter().map(|(name, _)| *name));
        assert_eq!(name_node.names("out"), names);
        for (name, by) in output {
            let content = name_node.file(&format!("out/{name}"));
            assert_eq!(content, Some(by), "{name}");
        }
    }
}
