//! Jobs at the moment when their tasks are done, and what is true of their outputs whatever happens.

use super::world::{Actor, World};
use policy::commit::{AttemptName, JobCommit, JobVerdict, TaskResult, attempt_file};
use sim::NameNode;

/// What a job has for output.
pub(super) const OUTPUT: [&str; 2] = ["part-r-00000", "part-r-00001"];

/// An attempt at a reduce.
pub(super) const fn attempt(task: u32, number: u32) -> AttemptName {
    AttemptName {
        is_map: false,
        task,
        number,
    }
}

/// The folders of a job that writes, and these files in them: of which attempt, called what.
pub(super) fn written(job: &str, files: &[(AttemptName, &str)]) -> NameNode {
    let mut name_node = NameNode::with(&[("work", None), ("work/.owner", Some(job))]);
    for folder in ["", "/written"] {
        name_node.paths.insert(format!("work/{job}{folder}"), None);
    }
    for (attempt, name) in files {
        let content = Some(attempt.number.to_string());
        let path = attempt_file(job, *attempt, name);
        name_node.paths.insert(path, content);
    }
    name_node
}

/// Both tasks have ended well at once.
pub(super) fn plain(job: &str) -> NameNode {
    let of = |task: u32| (attempt(task, 0), OUTPUT[task as usize]);
    written(job, &[of(0), of(1)])
}

/// The first task has ended well at once; of the second one attempt has failed, and left a file of the output and
/// another one, and the next one has ended well.
pub(super) fn repeated(job: &str) -> NameNode {
    let [first, second] = OUTPUT;
    let files = [
        (attempt(0, 0), first),
        (attempt(1, 0), second),
        (attempt(1, 0), "side-r-00001"),
        (attempt(1, 1), second),
    ];
    written(job, &files)
}

/// The ApplicationMaster that has heard of attempts of these numbers, and of their files.
pub(super) fn heard(job: &str, by: u32, numbers: [u32; 2]) -> JobCommit {
    let result = |task: u32| TaskResult {
        attempt: attempt(task, numbers[task as usize]),
        names: Some(vec![OUTPUT[task as usize].to_owned()]),
    };
    JobCommit::commit(job, by, &[result(0), result(1)])
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

/// Whoever looks sees nothing, or all of it and its success. Whether there is something.
pub(super) fn whole_or_nothing(output: &[&str], name_node: &NameNode) -> bool {
    if !name_node.has("out") {
        return false;
    }
    let mut all: Vec<&str> = output.to_vec();
    all.insert(0, "_SUCCESS");
    assert_eq!(name_node.names("out"), all, "{name_node:#?}");
    true
}

/// What is never otherwise, and what is so in the end if anybody lived to see it.
pub(super) fn holds(world: &World, over: bool) {
    holds_of(&OUTPUT, world, over);
}

pub(super) fn holds_of(output: &[&str], world: &World, over: bool) {
    let is_there = whole_or_nothing(output, &world.name_node);
    for verdict in verdicts(world) {
        match verdict {
            JobVerdict::Committed => assert!(is_there, "{world:#?}"),
            JobVerdict::GivenUp => assert!(!is_there, "{world:#?}"),
            odd => panic!("{odd:?}: {world:#?}"),
        }
    }
    if over && !verdicts(world).is_empty() {
        assert!(!world.name_node.has("work"), "left behind: {world:#?}");
    }
}
