use super::world::{Actor, Walk, World};
use policy::commit::{Setup, SetupVerdict};
use sim::NameNode;

fn setup(job: &str) -> Actor {
    Actor::Setup(Setup::new(job))
}

fn owners(world: &World) -> usize {
    let owns = |actor: &&Actor| matches!(actor, Actor::Setup(setup) if setup.verdict() == Some(&SetupVerdict::Owner));
    world.actors.iter().filter(owns).count()
}

/// Jobs `b` and `c` live as long as their actors do; `d` is dead.
fn alive(world: &World, job: &str) -> bool {
    let actor = match job {
        "b" => world.actors.first(),
        "c" => world.actors.get(1),
        _ => None,
    };
    actor.is_some_and(|actor| *actor != Actor::Dead)
}

fn holds(world: &World, over: bool) {
    assert!(owners(world) <= 1, "{world:#?}");
    if owners(world) == 1 {
        let owner = world.name_node.says("_temporary/.owner");
        let owner = owner.unwrap_or_default();
        assert!(owner == "b" || owner == "c", "{world:#?}");
    }
    if over && world.kills == 1 {
        assert_eq!(owners(world), 1, "{world:#?}");
    }
}

#[test]
fn one_of_two_jobs_takes_over_what_a_dead_one_left() {
    let name_node = NameNode::with(&[
        ("_temporary", None),
        ("_temporary/.owner", Some("d")),
        ("_temporary/d", None),
        ("_temporary/d/t0", None),
    ]);
    let world = World {
        name_node,
        actors: vec![setup("b"), setup("c")],
        losses: 2,
        kills: 1,
        delays: 0,
        late: Vec::new(),
    };
    let walk = Walk::through(world, &alive, &holds);
    walk.covers(
        "one of two jobs takes over what a dead one left",
        1_505,
        6_510,
    );
}

#[test]
fn one_of_two_jobs_begins_where_nothing_is() {
    let mut name_node = NameNode::default();
    name_node.paths.clear();
    let world = World {
        name_node,
        actors: vec![setup("b"), setup("c")],
        losses: 2,
        kills: 1,
        delays: 0,
        late: Vec::new(),
    };
    let walk = Walk::through(world, &alive, &holds);
    walk.covers("one of two jobs begins where nothing is", 329, 1_110);
}

#[test]
fn output_that_is_there_is_named() {
    let mut name_node = NameNode::with(&[("_SUCCESS", Some("")), ("part-r-00000", Some("x"))]);
    let mut setup = Setup::new("b");
    while let Some(op) = setup.next() {
        setup.answered(name_node.carry_out(&op));
    }
    let names = ["_SUCCESS", "part-r-00000"].map(str::to_owned).to_vec();
    assert_eq!(setup.verdict(), Some(&SetupVerdict::OutputExists(names)));
}

/// A second ApplicationMaster of the same job finds its own signature.
#[test]
fn a_job_knows_its_own_folder_again() {
    let mut name_node = NameNode::with(&[
        ("_temporary", None),
        ("_temporary/.owner", Some("b")),
        ("_temporary/b", None),
    ]);
    let mut setup = Setup::new("b");
    while let Some(op) = setup.next() {
        setup.answered(name_node.carry_out(&op));
    }
    assert_eq!(setup.verdict(), Some(&SetupVerdict::Owner));
}
