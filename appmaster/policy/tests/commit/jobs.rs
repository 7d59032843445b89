use super::world::{Actor, Walk, World};
use policy::commit::{AT_ONCE, CallAnswer, JobCommit, JobVerdict, Manifest, Op};
use sim::NameNode;

fn results() -> NameNode {
    NameNode::with(&[
        ("_temporary", None),
        ("_temporary/.owner", Some("n")),
        ("_temporary/n", None),
        ("_temporary/n/_temporary", None),
        ("_temporary/n/_temporary/a0.part-r-00000", Some("a0")),
        ("_temporary/n/_temporary/a1.part-r-00001", Some("a1")),
        ("_temporary/n/_temporary/a1.side-r-00001", Some("a1")),
    ])
}

/// The same without the third file: the orders in which three can move are walked through once.
pub(super) fn two_results() -> NameNode {
    let mut name_node = results();
    let side = name_node
        .paths
        .remove("out/_temporary/n/_temporary/a1.side-r-00001");
    assert!(side.is_some());
    name_node
}

const OUTPUT: [&str; 3] = ["part-r-00000", "part-r-00001", "side-r-00001"];

pub(super) fn commit(attempt: u32) -> Actor {
    Actor::Job(JobCommit::commit(
        "n",
        attempt,
        &["a0".to_owned(), "a1".to_owned()],
    ))
}

pub(super) fn give_up(attempt: u32) -> Actor {
    Actor::Job(JobCommit::give_up("n", attempt))
}

fn verdicts(world: &World) -> Vec<&JobVerdict> {
    let jobs = world.actors.iter().filter_map(|actor| match actor {
        Actor::Job(job) => job.verdict(),
        _ => None,
    });
    jobs.collect()
}

/// What is never otherwise, and what is so in the end if anybody lived to see it.
fn holds(world: &World, over: bool) {
    holds_of(&OUTPUT, world, over);
}

pub(super) fn holds_of(output: &[&str], world: &World, over: bool) {
    let there = |name: &&str| world.name_node.has(name);
    let (all, any) = (output.iter().all(there), output.iter().any(there));
    let success = world.name_node.has("_SUCCESS");
    assert!(!success || all, "success on half an output: {world:#?}");
    for verdict in verdicts(world) {
        match verdict {
            JobVerdict::Committed => assert!(success, "{world:#?}"),
            JobVerdict::GivenUp => assert!(!any && !success, "{world:#?}"),
            odd => panic!("{odd:?}: {world:#?}"),
        }
    }
    if over && !verdicts(world).is_empty() {
        assert_eq!(success, any, "{world:#?}");
        assert!(
            !world.name_node.has("_temporary"),
            "left behind: {world:#?}"
        );
    }
}

#[test]
fn a_commit_is_whole_or_nothing_whatever_is_lost_and_whoever_is_killed() {
    // The first ApplicationMaster may be killed or merely slow; the second gives up what it had not begun.
    let world = World {
        name_node: results(),
        actors: vec![commit(1), give_up(2)],
        losses: 2,
        kills: 1,
        delays: 0,
        late: Vec::new(),
    };
    let walk = Walk::through(world, &|_, _| true, &holds);
    walk.covers(
        "a commit is whole or nothing whatever is lost and whoever is killed",
        10_324,
        69_447,
    );
}

#[test]
fn a_third_application_master_changes_nothing_of_that() {
    let world = World {
        name_node: two_results(),
        actors: vec![commit(1), give_up(2), give_up(3)],
        losses: 0,
        kills: 2,
        delays: 0,
        late: Vec::new(),
    };
    let walk = Walk::through(world, &|_, _| true, &|world, over| {
        holds_of(&OUTPUT[..2], world, over);
    });
    walk.covers(
        "a third application master changes nothing of that",
        11_295,
        54_680,
    );
}

/// Both know that all tasks are done.
#[test]
fn two_that_commit_make_one_output() {
    let world = World {
        name_node: two_results(),
        actors: vec![commit(1), commit(2)],
        losses: 1,
        kills: 1,
        delays: 0,
        late: Vec::new(),
    };
    let walk = Walk::through(world, &|_, _| true, &|world, over| {
        holds_of(&OUTPUT[..2], world, over);
    });
    walk.covers("two that commit make one output", 8_296, 32_422);
}

/// An ApplicationMaster sleeps at any point while its output folder is removed and another job writes there.
#[test]
fn who_wakes_in_a_folder_that_is_anothers_now_changes_nothing() {
    let others = NameNode::with(&[
        ("_temporary", None),
        ("_temporary/.owner", Some("m")),
        ("_temporary/m", None),
        ("part-r-00000", Some("m")),
    ]);
    let Actor::Job(mut job) = commit(1) else {
        panic!()
    };
    let mut name_node = results();
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
    assert_eq!((steps, job.verdict()), (12, Some(&JobVerdict::Committed)));
}

#[test]
fn a_job_without_files_has_its_success() {
    let mut name_node = NameNode::with(&[
        ("_temporary", None),
        ("_temporary/n", None),
        ("_temporary/n/_temporary", None),
    ]);
    let mut job = JobCommit::commit("n", 1, &["a0".to_owned()]);
    while let Some(op) = job.next() {
        job.answered(name_node.carry_out(&op));
    }
    assert_eq!(job.verdict(), Some(&JobVerdict::Committed));
    assert_eq!(name_node, NameNode::with(&[("_SUCCESS", Some(""))]));
}

/// A job at the moment when its files are about to move.
fn publishing(files: usize) -> (JobCommit, Vec<String>) {
    let files: Vec<String> = (0..files).map(|n| format!("a0/part-{n:04}")).collect();
    let mut job = JobCommit::commit("n", 1, &["a0".to_owned()]);
    let names = files.iter().map(|file| file.replace('/', ".")).collect();
    job.answered(CallAnswer::Names(names));
    // So many do not fit into a name.
    let manifest = Manifest::Commit(files.clone()).to_text();
    assert!(matches!(job.next(), Some(Op::Create(_, text)) if text == manifest));
    for _draft_and_rename in 0..2 {
        job.answered(CallAnswer::Done);
    }
    (job, files)
}

/// What a manifest says is read back by the next ApplicationMaster, whether a name holds it or a file.
#[test]
fn a_manifest_is_the_name_of_a_folder_where_it_fits_into_one() {
    let long = "x".repeat(250);
    for (name, is_name) in [
        ("part-r-00000", true),
        ("part.r_00001.gz", true),
        ("a b", false),
        ("a+b", false),
        ("a,b", false),
        ("p=1", false),
        ("\u{e9}", false),
        (&long, false),
    ] {
        let mut name_node = NameNode::with(&[("_temporary", None), ("_temporary/n", None)]);
        let files = vec![format!("a0/{name}")];
        let mut job = JobCommit::commit("n", 1, &[]).knowing(files.clone());
        while !matches!(job.next(), Some(Op::Rename(_, to)) if to == name) {
            job.answered(name_node.carry_out(&job.next().unwrap()));
        }
        let said = name_node.says("_temporary/n/.manifest").unwrap();
        assert_eq!(Manifest::from_text(&said), Some(Manifest::Commit(files)));
        let file = name_node.file("_temporary/n/.manifest");
        assert_eq!(file.is_none(), is_name, "{name}");
    }
}

/// So are those of a job with dozens of reduces, whose files are called as usual.
#[test]
fn usual_files_of_many_attempts_fit_into_a_name() {
    let usual = |task: u32| format!("attempt_r_{task:06}_{}/part-r-{task:05}", task % 2);
    let mut files: Vec<String> = (0..30).map(usual).collect();
    for odd in [
        "attempt_r_000007_0/part-r-00008",
        "attempt_r_0000007_0/part-r-00007",
        "attempt_m_000007_0/part-m-00007.gz",
        "attempt_x_000007_0/part-x-00007",
        "r7.1/part-r-00007",
    ] {
        files.truncate(29);
        files.push(odd.to_owned());
        let mut job = JobCommit::commit("n", 1, &[]).knowing(files.clone());
        assert!(matches!(job.next(), Some(Op::MakeFolder(_))));
        job.answered(CallAnswer::Done);
        let Some(Op::MakeFolder(path)) = job.next() else {
            panic!("{job:?}");
        };
        let name = path.rsplit('/').next().unwrap();
        assert!(name.starts_with("commit,r0.0,r1.1,r2.0,"), "{name}");
        let read = Manifest::from_text(name);
        assert_eq!(read, Some(Manifest::Commit(files.clone())));
        // And as a file says it.
        let text = Manifest::Commit(files.clone()).to_text();
        assert!(text.contains("attempt_r_000001_1/part-r-00001\n"));
        assert_eq!(Manifest::from_text(&text), read);
    }
}

/// Who knows what an attempt has written does not ask for it; of others it is listed.
#[test]
fn files_that_are_known_become_output_with_those_that_are_found() {
    for unlisted in [&[][..], &["a1".to_owned()]] {
        let mut name_node = two_results();
        let mut known = vec!["a0/part-r-00000".to_owned()];
        if unlisted.is_empty() {
            known.push("a1/part-r-00001".to_owned());
        }
        let mut job = JobCommit::commit("n", 1, unlisted).knowing(known);
        let mut lists = 0;
        while let Some(op) = job.next() {
            lists += usize::from(matches!(op, Op::List(_)));
            job.answered(name_node.carry_out(&op));
        }
        assert_eq!(
            (job.verdict(), lists),
            (Some(&JobVerdict::Committed), unlisted.len())
        );
        assert!(OUTPUT[..2].iter().all(|file| name_node.has(file)));
        assert!(!name_node.has("_temporary"), "{name_node:#?}");
    }
}

#[test]
fn a_bounded_number_of_files_is_on_its_way_and_they_begin_in_the_manifest_s_order() {
    let (mut job, files) = publishing(200);
    let mut begun: Vec<usize> = Vec::new();
    while matches!(job.next(), Some(Op::Rename(_, to)) if to.starts_with("part-")) {
        let open = job.open();
        assert!(open.len() <= AT_ONCE, "{open:?}");
        begun.extend(
            open.iter()
                .filter(|number| !begun.contains(number))
                .copied()
                .collect::<Vec<_>>(),
        );
        assert_eq!(open.len(), AT_ONCE.min(200 - begun.len() + open.len()));
        // The last begun is answered first.
        job.answered_to(*open.last().unwrap(), CallAnswer::Done);
    }
    assert_eq!(begun, (0..files.len()).collect::<Vec<_>>());
    assert_eq!(job.open(), [0]);
    assert!(matches!(job.next(), Some(Op::Create(path, _)) if path.ends_with("_SUCCESS")));
}

#[test]
fn a_file_that_is_nowhere_is_named_when_all_that_were_begun_are_known() {
    let (mut job, _) = publishing(100);
    for missing in [40, 7] {
        job.answered_to(missing, CallAnswer::NotThere);
        assert_eq!(
            job.call(missing),
            Some(Op::Look(format!("part-{missing:04}")))
        );
        job.answered_to(missing, CallAnswer::NotThere);
        assert_eq!(job.verdict(), None);
    }
    while let Some(number) = job.open().first().copied() {
        assert!(number < AT_ONCE, "{number} was begun after that");
        job.answered_to(number, CallAnswer::Done);
    }
    let first = JobVerdict::Missing("part-0007".to_owned());
    assert_eq!(job.verdict(), Some(&first));
}
