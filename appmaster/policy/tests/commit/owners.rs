use super::world::{Actor, Walk, World};
use policy::commit::{JobCommit, Setup, SetupVerdict};
use sim::NameNode;

fn setup(job: &str) -> Actor {
    Actor::Setup(Setup::new(job))
}

fn owners(world: &World) -> usize {
    let owns = |actor: &&Actor| matches!(actor, Actor::Setup(setup) if setup.verdict() == Some(&SetupVerdict::Owner));
    world.actors.iter().filter(owns).count()
}

/// Jobs `b` and `c` live as long as their actors do, which come first; `d` is dead, whatever it yet does.
pub(super) fn alive(world: &World, job: &str) -> bool {
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
        let owner = world.name_node.says("work/.owner");
        let owner = owner.unwrap_or_default();
        assert!(owner == "b" || owner == "c", "{world:#?}");
    }
    if over && world.kills == 1 {
        assert_eq!(owners(world), 1, "{world:#?}");
    }
    if over {
        refused_leave_nothing(world);
    }
}

/// Who was refused has no folder there.
fn refused_leave_nothing(world: &World) {
    for (actor, job) in world.actors.iter().zip(["b", "c"]) {
        let Actor::Setup(setup) = actor else {
            continue;
        };
        if setup.verdict() != Some(&SetupVerdict::Owner) {
            let folder = format!("work/{job}");
            assert!(!world.name_node.has(&folder), "{world:#?}");
        }
    }
}

#[test]
fn one_of_two_jobs_takes_over_what_a_dead_one_left() {
    let name_node = NameNode::with(&[
        ("work", None),
        ("work/.owner", Some("d")),
        ("work/d", None),
        ("work/d/written", None),
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
        1_590,
        6_598,
    );
}

#[test]
fn one_of_two_jobs_begins_where_nothing_is() {
    let name_node = NameNode::default();
    let world = World {
        name_node,
        actors: vec![setup("b"), setup("c")],
        losses: 2,
        kills: 1,
        delays: 0,
        late: Vec::new(),
    };
    let walk = Walk::through(world, &alive, &holds);
    walk.covers("one of two jobs begins where nothing is", 494, 1_774);
}

/// As [`one_of_two_jobs_begins_where_nothing_is`], by jobs that were told so and do not look themselves.
#[test]
fn one_of_two_jobs_begins_where_nothing_was() {
    let name_node = NameNode::default();
    let told = |job: &str| Actor::Setup(Setup::new(job).where_nothing_was());
    let world = World {
        name_node,
        actors: vec![told("b"), told("c")],
        losses: 2,
        kills: 1,
        delays: 0,
        late: Vec::new(),
    };
    let walk = Walk::through(world, &alive, &holds);
    walk.covers("one of two jobs begins where nothing was", 431, 1_464);
}

/// What has come since nobody was there is seen: output of another, and one who writes.
#[test]
fn who_was_told_that_nothing_is_there_finds_what_has_come() {
    let run = |name_node: &mut NameNode, lives: bool| {
        let mut setup = Setup::new("b").where_nothing_was();
        loop {
            while let Some(op) = setup.next() {
                setup.answered(name_node.carry_out(&op));
            }
            if let Some(verdict) = setup.verdict() {
                assert_eq!(verdict == &SetupVerdict::Owner, name_node.has("work/b"));
                return verdict.clone();
            }
            setup.alive(lives);
        }
    };
    let output = [
        ("out", None),
        ("out/_SUCCESS", Some("")),
        ("out/part-r-00000", Some("x")),
    ];
    let mut whole = NameNode::with(&output);
    assert_eq!(run(&mut whole, true), SetupVerdict::OutputExists);
    assert_eq!(whole, NameNode::with(&output));
    let begun = [("work", None), ("work/.owner", Some("d")), ("work/d", None)];
    let mut taken = NameNode::with(&begun);
    let by = "d".to_owned();
    assert_eq!(run(&mut taken, true), SetupVerdict::Taken { by });
    assert_eq!(taken, NameNode::with(&begun));
    assert_eq!(run(&mut taken, false), SetupVerdict::Owner);
}

/// A signature that was given up to wait for does not get its place when the owner is gone and its folder with it.
#[test]
fn who_is_refused_does_not_sign_late() {
    let name_node = NameNode::with(&[("work", None), ("work/.owner", Some("b")), ("work/b", None)]);
    let world = World {
        name_node,
        actors: vec![Actor::Job(JobCommit::give_up("b", 1)), setup("c")],
        losses: 0,
        kills: 0,
        delays: 1,
        late: Vec::new(),
    };
    let walk = Walk::through(world, &|_, _| true, &|world, over| {
        let Some(Actor::Setup(setup)) = world.actors.get(1) else {
            return;
        };
        let has_signed = world.name_node.says("work/.owner").as_deref() == Some("c");
        if over {
            let is_owner = setup.verdict() == Some(&SetupVerdict::Owner);
            assert_eq!(is_owner, has_signed, "{world:#?}");
        }
    });
    walk.covers("who is refused does not sign late", 1_082, 2_712);
}

#[test]
fn what_is_there_is_left_alone() {
    for there in [("out", None), ("out", Some("mine"))] {
        let mut name_node = NameNode::with(&[there]);
        let before = name_node.clone();
        let mut setup = Setup::new("b");
        while let Some(op) = setup.next() {
            setup.answered(name_node.carry_out(&op));
        }
        assert_eq!(setup.verdict(), Some(&SetupVerdict::OutputExists));
        assert_eq!(name_node, before);
    }
}

/// A second ApplicationMaster of the same job finds its own signature.
#[test]
fn a_job_knows_its_own_folder_again() {
    let mut name_node =
        NameNode::with(&[("work", None), ("work/.owner", Some("b")), ("work/b", None)]);
    let mut setup = Setup::new("b");
    while let Some(op) = setup.next() {
        setup.answered(name_node.carry_out(&op));
    }
    assert_eq!(setup.verdict(), Some(&SetupVerdict::Owner));
}
