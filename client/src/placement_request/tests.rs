use std::ffi::OsString;

use super::*;
use crate::arguments::Arguments;

fn wanted(line: &str) -> Result<PlacementRequest, Contradiction> {
    let words = std::iter::once("gerbil-run")
        .chain(line.split_whitespace())
        .chain(std::iter::once("./cpi"));
    let given = Arguments::parse(words.map(OsString::from)).unwrap();
    PlacementRequest::new(&given.placement)
}

/// Mode, number of processes, entries, nodes.
fn flat(line: &str) -> (Mode, u32, String, Option<u32>) {
    let wanted = wanted(line).unwrap();
    let entry = |entry: &NodeProcesses| {
        let name = entry.name.as_deref().unwrap_or("*");
        format!("{name}{}", entry.processes)
    };
    let listed: Vec<String> = wanted.listed.iter().map(entry).collect();
    (
        wanted.mode,
        wanted.processes.get(),
        listed.join(" "),
        wanted.nodes.map(NonZeroU32::get),
    )
}

#[test]
fn a_map_says_which_ranks_are_where() {
    let flat = |line: &str| {
        let wanted = wanted(line)?;
        let entry = |entry: &NodeProcesses| {
            let name = entry.name.as_deref().unwrap_or("*");
            format!("{name}{}", entry.processes)
        };
        let listed: Vec<String> = wanted.listed.iter().map(entry).collect();
        let Numbering::Map(map) = wanted.numbering else {
            panic!("no map")
        };
        Ok::<_, Contradiction>((wanted.mode, listed.join(" "), map))
    };
    for (line, mode, listed, map) in [
        ("-rankmap 0,1,0", Mode::Loc, "*2 *1", &[0, 1, 0][..]),
        ("-rankmap (0,2,1) -n 4", Mode::Loc, "*2 *2", &[0, 1, 0, 1]),
        ("-hosts a,b -rankmap 1,0", Mode::None, "a1 b1", &[1, 0]),
        (
            "-hosts a,b,c:9 -rankmap 2,0,2",
            Mode::None,
            "a1 c2",
            &[1, 0, 1],
        ),
        ("-hosts a,b -r loc -rankmap 1,1", Mode::Loc, "b2", &[0, 0]),
    ] {
        let expected = (mode, listed.to_owned(), map.to_vec());
        assert_eq!(flat(line), Ok(expected), "{line}");
    }
    let refused = |line: &str| flat(line).unwrap_err();
    assert_eq!(
        refused("-hosts a,b -rankmap 0,2"),
        Contradiction::MapBeyondList { node: 2, hosts: 2 }
    );
    for (line, node) in [
        ("-rankmap 1,1", 1),
        ("-rankmap 0,7", 7),
        ("-rankmap 0,2,2", 2),
    ] {
        assert_eq!(
            refused(line),
            Contradiction::MapLeavesOut { node },
            "{line}"
        );
    }
    assert_eq!(refused("-rankmap 0 -ppn 1"), Contradiction::MapAndNumbers);
    for mode in ["all", "dist", "auto"] {
        let line = format!("-hosts a -rankmap 0 -r {mode}");
        assert_eq!(refused(&line), Contradiction::MapIsRelaxed, "{line}");
    }
    let order = |line: &str| wanted(line).unwrap().numbering;
    assert_eq!(order("-n 4 -rank-by node"), Numbering::Node);
    assert_eq!(order("-n 4 -map-by node"), Numbering::Node);
    assert_eq!(order("-n 4 -bynode"), Numbering::Node);
    assert_eq!(order("-n 4 --distribution=cyclic"), Numbering::Node);
    assert_eq!(order("-n 4 -rank-by core"), Numbering::Slot);
    assert_eq!(order("-n 4"), Numbering::Slot);
}

#[test]
fn what_the_flags_say_together() {
    use Mode::{All, Dist, Loc, LocDist, None as Strict};
    for (line, mode, processes, listed, nodes) in [
        ("", All, 1, "", None),
        ("-n 4", All, 4, "", None),
        ("-n 4 -r all", All, 4, "", None),
        ("-hosts a:2,b:2", Strict, 4, "a2 b2", None),
        ("-hosts a:2,b:2 -n 3", Strict, 3, "a2 b1", None),
        ("-hosts a:2,b:2 -n 2", Strict, 2, "a2", None),
        ("-hosts a:2,b:1 -n 5", Strict, 5, "a4 b1", None),
        ("-hosts a,b,c", Strict, 3, "a1 b1 c1", None),
        ("-hosts a,b,c -n 7", Strict, 7, "a3 b2 c2", None),
        ("-hosts a,b -ppn 4", Strict, 8, "a4 b4", None),
        ("-hosts a:9,b -ppn 4 -n 6", Strict, 6, "a4 b2", None),
        ("-hosts a:3,b:3 -n 3 -r loc", Loc, 3, "a3", None),
        ("-hosts a:3,b:3 -n 3 -r dist", Dist, 3, "a2 b1", None),
        ("-hosts a:3,b:3 -n 2 -r loc+dist", LocDist, 2, "a1 b1", None),
        ("-hosts a:3,b:3 -r alloc_relax_dist", Dist, 6, "a3 b3", None),
        ("-ppn 4 -n 10", Loc, 10, "*4 *4 *2", None),
        ("-ppn 4 -n 8 -r loc", Loc, 8, "*4 *4", None),
        ("-ppn 4 --nodes 3", Loc, 12, "*4 *4 *4", None),
        ("-ppn 4 --nodes 3 -n 10", Loc, 10, "*4 *4 *2", None),
        ("--nodes 3", LocDist, 3, "", Some(3)),
        ("--nodes 3 -n 8 -r loc+dist", LocDist, 8, "", Some(3)),
        ("-hosts a:2,b:2 -r auto", Strict, 4, "a2 b2", None),
        ("-n 8 -r auto", All, 8, "", None),
        ("-n 8 -r auto --nodes 2", LocDist, 8, "", Some(2)),
    ] {
        let expected = (mode, processes, listed.to_owned(), nodes);
        assert_eq!(flat(line), expected, "{line}");
    }
    assert!(wanted("-r auto").unwrap().auto);
    assert!(!wanted("-r all").unwrap().auto);
}

#[test]
fn what_contradicts_itself_gets_a_sentence() {
    for (line, wanted_words) in [
        (
            "-r none",
            "-r none keeps to the hosts of a list, and there is none",
        ),
        (
            "-r dist -n 4",
            "-r dist keeps to the hosts of a list, and there is none",
        ),
        ("-r dist --nodes 2", "-r dist keeps to the hosts of a list"),
        (
            "-r loc -n 4",
            "-r loc keeps to the number of processes on each node",
        ),
        (
            "-r loc --nodes 2 -n 4",
            "-r loc keeps to the number of processes on each node",
        ),
        (
            "-r loc+dist -n 4",
            "-r loc+dist keeps to the number of nodes",
        ),
        (
            "-r all -hosts a,b",
            "-r all places processes on any nodes, so that the list a,b would",
        ),
        ("-r all -ppn 2 -n 4", "-r all spreads processes"),
        (
            "-r loc+dist --nodes 2 -ppn 2",
            "-r loc+dist spreads processes",
        ),
        ("-r all --nodes 2 -n 4", "-r all uses any number of nodes"),
        ("-hosts a,b --nodes 2", "the list a,b says already"),
        (
            "-hosts a,b --nodes 2 -r loc+dist",
            "the list a,b says already",
        ),
        (
            "-hosts a,b --same-rack",
            "--same-rack chooses among nodes, and in mode none",
        ),
        (
            "-hosts a,b -r dist --sort-nodes no",
            "--sort-nodes chooses among nodes, and in mode dist",
        ),
        (
            "-hosts a,b --reissue-after 3s",
            "--reissue-after chooses among nodes",
        ),
        (
            "-hosts a,b --pack",
            "--pack chooses how many processes a node gets",
        ),
        (
            "-hosts a,b -r loc --pack",
            "--pack chooses how many processes a node gets",
        ),
        (
            "-ppn 2 -n 4 --pack",
            "--pack chooses how many processes a node gets",
        ),
        (
            "-hosts a,b,c -n 2 -r dist",
            "-r dist starts at least one process on each of the 3 listed",
        ),
        (
            "-hosts a,b,c -n 2 -r loc+dist",
            "-r loc+dist starts at least one",
        ),
        (
            "--nodes 4 -n 3",
            "4 nodes want at least one process each, and -n 3 is fewer",
        ),
        ("-ppn 4", "-ppn 4 says how many processes a node gets"),
        (
            "-ppn 4 -n 8 --nodes 3",
            "-n 8 with -ppn 4 takes 2 nodes, not 3",
        ),
        (
            "-ppn 4 -n 13 --nodes 3",
            "-n 13 with -ppn 4 takes 4 nodes, not 3",
        ),
        (
            "-ppn 1000000 --nodes 2",
            "2000000 processes are more than 1000000",
        ),
        (
            "-hosts a,b -ppn 600000",
            "1200000 processes are more than 1000000",
        ),
        (
            "-n 4 --reissue-after 1m --gang-timeout 1m",
            "--reissue-after (60s",
        ),
        ("-n 4 --gang-timeout 2s", "--reissue-after (3s"),
        ("-n 4 --reissue-after 6m", "--reissue-after (360s"),
        ("--nodes 2000000", "2000000 processes are more than 1000000"),
    ] {
        let sentence = wanted(line).unwrap_err().to_string();
        assert!(sentence.starts_with(wanted_words), "{line}: {sentence}");
    }
}

#[test]
fn flags_that_a_mode_can_use_are_taken() {
    for line in [
        "-hosts a,b -r loc --same-rack",
        "-hosts a,b -r dist --pack",
        "--nodes 2 --pack --same-rack --sort-nodes false --reissue-after 1s",
        "-n 4 --pack --same-rack",
        "-hosts a,b -r auto --pack --same-rack",
        "-hosts a,b --exclude c --node-label gpu --gang-timeout 2m --wait-timeout 1h -o no",
    ] {
        assert!(wanted(line).is_ok(), "{line}");
    }
}
