//! Errors at once, with their numbers and what to change.

use super::*;

fn rejection(demand: &Demand, view: &ClusterView) -> Rejection {
    let rejection = place_fresh(demand, view).unwrap_err();
    assert!(!rejection.may_pass(), "{rejection:?}");
    rejection
}

fn says(rejection: &Rejection, words: &[&str]) {
    let text = sentence(rejection);
    for word in words {
        assert!(text.contains(word), "{word:?} is missing in: {text}");
    }
}

#[test]
fn a_mode_that_keeps_to_a_list_wants_one() {
    let view = cluster(vec![free("a", 8)], 8192);
    for mode in [Mode::None, Mode::Loc, Mode::Dist, Mode::LocDist] {
        let demand = Demand {
            mode,
            ..demand(2, true)
        };
        let rejection = rejection(&demand, &view);
        assert_eq!(rejection, Rejection::NoList { mode });
        says(&rejection, &["-f", "--nodes"]);
    }
}

#[test]
fn an_entry_without_a_host_suits_only_the_modes_that_relax_the_location() {
    let view = cluster(vec![free("a", 8), free("b", 2)], 8192);
    for mode in [Mode::None, Mode::Dist] {
        let mut demand = list(mode, &[("a", 1), ("b", 2)]);
        demand.listed[1].host = None;
        let rejection = rejection(&demand, &view);
        assert_eq!(rejection, Rejection::HostNotGiven { mode, entry: 2 });
        says(&rejection, &["entry 2", "-r loc"]);
    }
    for mode in [Mode::Loc, Mode::LocDist] {
        let mut demand = list(mode, &[("a", 1), ("b", 2)]);
        demand.listed[1].host = None;
        assert_eq!(place_fresh(&demand, &view).unwrap().shares.len(), 2);
    }
}

#[test]
fn a_listed_host_that_is_not_there_is_named() {
    let view = cluster(vec![free("a", 8)], 8192);
    for mode in [Mode::None, Mode::Dist] {
        let rejection = rejection(&list(mode, &[("a", 1), ("n7", 1)]), &view);
        says(&rejection, &["n7", "1 running nodes"]);
    }
}

#[test]
fn numbers_that_do_not_add_up_are_said() {
    let view = cluster(vec![free("a", 8)], 8192);
    for mode in [Mode::None, Mode::Loc] {
        let mut demand = list(mode, &[("a", 3)]);
        demand.processes = NonZeroU32::new(5).unwrap();
        says(
            &rejection(&demand, &view),
            &["3 processes", "5 are wanted", "-n"],
        );
    }
}

#[test]
fn a_listed_node_that_could_never_hold_its_processes_is_named_with_the_key_to_raise() {
    let mut demand = list(Mode::None, &[("a", 6)]);
    demand.oversubscribe = false;
    let own = cluster(vec![node("a", 4096, 0)], 8192);
    says(
        &rejection(&demand, &own),
        &[
            "a can never hold 6 processes",
            "4096 MiB",
            "yarn.nodemanager.resource.memory-mb",
            "-o true",
        ],
    );
    let queue = cluster(vec![node("a", 8192, 0)], 4096);
    says(
        &rejection(&demand, &queue),
        &["yarn.scheduler.maximum-allocation-mb", "--mem-per-proc"],
    );
    let mut cores = cluster(vec![node("a", 8192, 0)], 8192);
    cores.counted = Counted::MemoryAndVcores;
    cores.maximum.vcores.0 = 4;
    says(
        &rejection(&demand, &cores),
        &[
            "yarn.scheduler.maximum-allocation-vcores",
            "--vcores-per-proc",
        ],
    );
    cores.maximum.vcores.0 = 64;
    cores.nodes[0].capability.vcores.0 = 4;
    says(
        &rejection(&demand, &cores),
        &["yarn.nodemanager.resource.cpu-vcores"],
    );
    // Sharing makes it possible, unless the memory was given.
    demand.oversubscribe = true;
    assert!(place_fresh(&demand, &own).is_ok());
    demand.memory_is_explicit = true;
    says(&rejection(&demand, &own), &["without --mem-per-proc"]);
}

#[test]
fn a_listed_node_smaller_than_one_process_is_named_even_when_sharing() {
    let view = cluster(vec![node("a", 8192, 0), node("tiny", 512, 0)], 8192);
    for mode in [Mode::None, Mode::Dist] {
        says(
            &rejection(&list(mode, &[("a", 1), ("tiny", 1)]), &view),
            &["tiny can never hold 1 process of 1024 MiB"],
        );
    }
}

#[test]
fn loc_says_how_many_nodes_are_large_enough() {
    let view = cluster(vec![node("a", 8192, 0), node("b", 4096, 0)], 8192);
    let mut demand = list(Mode::Loc, &[("x", 6), ("y", 6)]);
    demand.oversubscribe = false;
    let rejection = rejection(&demand, &view);
    assert_eq!(
        rejection,
        Rejection::TooFewLargeNodes {
            processes: 6,
            unit: Resources::new(1024, 1),
            wanted: 2,
            usable: 1,
            largest: Resources::new(8192, 64)
        }
    );
    says(&rejection, &["2 entries", "6 or more", "only 1", "-o true"]);
}

#[test]
fn fewer_nodes_than_the_mode_must_use() {
    let view = cluster(vec![free("a", 8), node("tiny", 512, 0)], 8192);
    for demand in [list(Mode::Loc, &[("x", 1), ("y", 1)]), nodes(2, 2)] {
        let mode = demand.mode;
        let rejection = rejection(&demand, &view);
        assert_eq!(
            rejection,
            Rejection::TooFewNodes {
                mode,
                wanted: 2,
                usable: 1,
                unit: Resources::new(1024, 1)
            }
        );
        says(&rejection, &["2 nodes", "only 1", "--nodes", "-r all"]);
    }
}

#[test]
fn fewer_processes_than_nodes_that_have_to_be_used() {
    let view = cluster(vec![free("a", 8), free("b", 8)], 8192);
    let mut dist = list(Mode::Dist, &[("a", 1), ("b", 1)]);
    dist.processes = NonZeroU32::new(1).unwrap();
    for demand in [dist, nodes(2, 1)] {
        says(&rejection(&demand, &view), &["2 nodes", "1 process", "-n"]);
    }
}

#[test]
fn fewer_slots_than_processes_that_must_not_share() {
    let view = cluster(vec![free("a", 8), node("b", 4096, 0)], 8192);
    let dist = list(Mode::Dist, &[("a", 10), ("b", 3)]);
    for mut demand in [dist, nodes(2, 13), demand(13, true)] {
        assert!(place_fresh(&demand, &view).is_ok());
        demand.memory_is_explicit = true;
        let expected = Rejection::TooFewSlots {
            wanted: 13,
            unit: Resources::new(1024, 1),
            slots: 12,
            nodes: 2,
        };
        assert_eq!(rejection(&demand, &view), expected);
        demand.memory_is_explicit = false;
        demand.oversubscribe = false;
        assert_eq!(rejection(&demand, &view), expected);
        says(
            &expected,
            &["13 processes", "12", "2 nodes", "-n", "--mem-per-proc"],
        );
    }
}

#[test]
fn no_mode_takes_a_process_larger_than_every_container() {
    let view = cluster(vec![free("a", 8)], 8192);
    for mode in Mode::EVERY {
        let mut demand = list(mode, &[("a", 1)]);
        demand.unit = Resources::new(9000, 1);
        says(
            &rejection(&demand, &view),
            &[
                "9000 MiB",
                "8192 MiB",
                "yarn.scheduler.maximum-allocation-mb",
                "--mem-per-proc",
            ],
        );
    }
}
