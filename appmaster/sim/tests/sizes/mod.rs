//! Numbers that no memory has room for, and those of which nothing is left: a sentence each, before anything is played.

use std::process::Command;

use sim::dyscale::DyScaleWorld;
use sim::figure::FigureWorld;
use sim::hetero::HeteroWorld;
use sim::hpe::HpeWorld;
use sim::spmario::SpmarioWorld;

/// Sets each key to the largest whole number there is; `free` are those that size nothing.
fn bounded<World: FigureWorld>(free: &[&str]) {
    for (key, _) in World::KEYS.0.iter().filter(|(key, _)| !free.contains(key)) {
        let setting = format!("{key}={}", u64::MAX);
        let refused = World::default().set(&setting);
        assert!(refused.is_err(), "{} -D {setting} is taken", World::NAME);
        let why = format!("{:#}", refused.unwrap_err());
        assert!(why.contains(&setting) && why.contains(" wanted"), "{why}");
    }
}

#[test]
fn every_key_of_a_figure_has_an_upper_bound() {
    bounded::<DyScaleWorld>(&["trace"]);
    bounded::<HeteroWorld>(&[]);
    bounded::<SpmarioWorld>(&[]);
    // The policies' own.
    bounded::<HpeWorld>(&["skip", "window", "age", "seed", "per"]);
    for key in [
        "maps", "reduces", "load", "device", "store", "cpu", "reduce",
    ] {
        let job = format!("M:{key}=4294967295");
        let why = HpeWorld::default().set_job(&job).unwrap_err();
        assert!(format!("{why:#}").contains(" wanted"), "{why:#}");
    }
}

/// What the command says, which has to be its last line and its own code for what was typed.
fn refused(words: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gerbil-sim"));
    let done = command.args(words).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).trim_end().to_owned();
    assert_eq!(done.status.code(), Some(64), "{words:?}: {said}");
    assert_eq!(said.lines().count(), 1, "{words:?}: {said}");
    said
}

#[test]
fn the_command_refuses_sizes_with_one_sentence() {
    let most = u64::MAX.to_string();
    let slots = refused(&["hpe", "fig7", "-D", &format!("slots.map={most}")]);
    let said = format!("slots.map={most}: a whole number from 1 to 1000 is wanted");
    assert!(slots.ends_with(&said), "{slots}");
    for name in ["--nodes", "--jobs", "--tasks", "--seeds"] {
        for value in ["4294967295", "0"] {
            let said = format!("{name}={value}: a whole number from 1 to 1000000 is wanted");
            assert!(refused(&["bench", name, value]).ends_with(&said));
        }
    }
    let many = refused(&["bench", "--jobs", "1000000", "--tasks", "1000000"]);
    assert!(many.ends_with("10000000 in all are the most"), "{many}");
    let none = refused(&["replay", "/dev/null"]);
    assert!(none.contains("the record has no decision"), "{none}");
    let nothing = "load=0,device=0,cpu=0,reduce=0";
    let (m, d) = (format!("M:{nothing}"), format!("D:{nothing}"));
    let jobs = ["--job", &m, "--job", &d, "--job", "W:cpu=0,reduce=0"];
    let none = refused(&[&["hpe", "fig7"], jobs.as_slice()].concat());
    assert!(none.contains("takes no time at all"), "{none}");
}

#[test]
fn a_workload_has_no_more_than_there_is_room_for() {
    let at = format!("{}/sizes", env!("CARGO_TARGET_TMPDIR"));
    let job = |count: u64| format!(r#"{{ "name": "a", "maps": {{ "count": {count} }} }}"#);
    let (few, many) = (job(1), job(4_294_967_295));
    for (nodes, job, said) in [
        (r#"{ "slots": 18446744073709551615 }"#, &few, "slots"),
        (r#"{ "slow_map_slots": 20000000 }"#, &few, "slots"),
        (r#"{ "count": 4294967295 }"#, &few, "nodes"),
        (r#"{ "slots": 1 }"#, &many, "tasks"),
    ] {
        let workload = format!(r#"{{ "nodes": [{nodes}], "jobs": [{job}] }}"#);
        std::fs::write(&at, workload).unwrap();
        let why = refused(&["run", &at]);
        assert!(
            why.contains(&format!(" {said} in all: a workload may have ")),
            "{why}"
        );
    }
}
