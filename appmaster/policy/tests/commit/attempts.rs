use super::world::{Actor, Walk, World};
use policy::commit::{AttemptCommit, AttemptVerdict, JobCommit};
use sim::NameNode;

pub(super) fn two_attempts(actors: Vec<Actor>) -> World {
    let name_node = NameNode::with(&[
        ("_temporary", None),
        ("_temporary/.owner", Some("n")),
        ("_temporary/n", None),
        ("_temporary/n/_temporary", None),
        ("_temporary/n/_temporary/a0", None),
        ("_temporary/n/_temporary/a0/part-m-00000", Some("a0")),
        ("_temporary/n/_temporary/a1", None),
        ("_temporary/n/_temporary/a1/part-m-00000", Some("a1")),
    ]);
    World {
        name_node,
        actors,
        losses: 2,
        kills: 1,
        delays: 0,
        late: Vec::new(),
    }
}

pub(super) fn attempt(name: &str) -> Actor {
    Actor::Attempt(AttemptCommit::new("n", "t0", name))
}

pub(super) fn winners(world: &World) -> Vec<&Actor> {
    let won = |actor: &&Actor| matches!(actor, Actor::Attempt(attempt) if attempt.verdict() == Some(&AttemptVerdict::Committed));
    world.actors.iter().filter(won).collect()
}

/// At most one of two attempts is the result, and one is when nobody was killed and all is over.
pub(super) fn one_result(world: &World, over: bool) {
    assert!(winners(world).len() <= 1, "{world:#?}");
    // The result is whole: what wrote its file has signed it, and nobody else.
    let wrote = world.name_node.file("_temporary/n/t0/part-m-00000");
    let signed = |by: &&str| world.name_node.has(&format!("_temporary/n/t0/.{by}"));
    let signatures: Vec<&str> = ["a0", "a1"].into_iter().filter(signed).collect();
    assert_eq!(signatures, wrote.into_iter().collect::<Vec<_>>());
    if over && world.kills == 1 {
        assert_eq!(winners(world).len(), 1, "{world:#?}");
    }
}

#[test]
fn one_of_two_attempts_is_the_result() {
    let world = two_attempts(vec![attempt("a0"), attempt("a1")]);
    let walk = Walk::through(world, &|_, _| true, &one_result);
    walk.covers("one of two attempts is the result", 164, 508);
}

#[test]
fn an_attempt_of_a_job_that_is_given_up_ends() {
    let give_up = Actor::Job(JobCommit::give_up("n", 2));
    let world = two_attempts(vec![attempt("a0"), attempt("a1"), give_up]);
    let walk = Walk::through(world, &|_, _| true, &|world, over| {
        assert!(winners(world).len() <= 1);
        for actor in &world.actors {
            let Actor::Attempt(attempt) = actor else {
                continue;
            };
            if over {
                assert!(attempt.verdict().is_some());
            }
        }
        assert!(!world.name_node.has("part-m-00000"));
    });
    walk.covers("an attempt of a job that is given up ends", 2_187, 10_030);
}
