//! Inputs with a mapper each, as options and drivers name them.

use crate::program::{Bed, program};

const LOCAL: [&str; 2] = ["--local", "--quiet"];

fn bed() -> Bed {
    let bed = Bed::new();
    bed.write("users/a", "2\tbob\n3\tcarol\n");
    bed.write("users/b", "1\tann\n");
    bed.write("orders-1", "1\tpen\n2\tink\n");
    bed.write("orders-2", "2\tcap\n4\tcup\n");
    bed
}

#[test]
fn an_option_names_an_input_as_the_first_one_is_named() {
    let bed = bed();
    let (list, pattern) = (
        format!("{},{}", bed.at("orders-1"), bed.at("orders-2")),
        bed.at("orders-?"),
    );
    for (number, orders) in [&list, &pattern].into_iter().enumerate() {
        // Each file is a split, and two reduces have the keys.
        for more in [&[][..], &["-D", "gerbil.split.pack=1", "--reduces", "2"]] {
            let out = format!("out-{number}-{}", more.len());
            let options = [&LOCAL[..], more, &["--orders", orders]].concat();
            let (code, said) = program("join", &options, &[&bed.at("users"), &bed.at(&out)], &[]);
            assert_eq!((code, said.as_str()), (0, ""), "{options:?}");
            let joined = String::from_utf8(bed.parts(&out)).unwrap();
            let mut lines: Vec<&str> = joined.lines().collect();
            lines.sort_unstable();
            let wanted = ["1\tann\tpen", "2\tbob\tcap", "2\tbob\tink"];
            assert_eq!(lines, wanted, "{options:?}");
        }
    }
}

#[test]
fn an_input_that_is_missing_or_names_nothing_is_said_before_a_task() {
    let bed = bed();
    let gone = bed.at("gone");
    for (options, words) in [
        (&[][..], "--orders is needed: what users have ordered"),
        (&["--orders", ""], "--orders : it takes an input"),
        (
            &["--orders", "a,,b"],
            "it takes an input: a file, folder, list or pattern",
        ),
        (&["--orders", &gone], &gone),
        (&["--order", &gone], "is --orders meant?"),
    ] {
        let options = [&LOCAL[..], options].concat();
        let (code, said) = program("join", &options, &[&bed.at("users"), &bed.at("out")], &[]);
        assert!(
            code == 64 && said.contains(words),
            "{options:?}: {code} {said}"
        );
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(!bed.path("out").exists(), "{options:?}");
    }
}

#[test]
fn an_empty_input_joins_with_nothing() {
    let bed = bed();
    bed.write("empty", "");
    std::fs::create_dir(bed.path("folder")).unwrap();
    for (number, [users, orders]) in [
        ["users", "empty"],
        ["empty", "orders-1"],
        ["folder", "folder"],
    ]
    .into_iter()
    .enumerate()
    {
        let (out, orders_at) = (bed.at(&format!("out-{number}")), bed.at(orders));
        let options = [&LOCAL[..], &["--orders", &orders_at]].concat();
        let (code, said) = program("join", &options, &[&bed.at(users), &out], &[]);
        assert_eq!((code, said.as_str()), (0, ""), "{users} {orders}");
        assert_eq!(bed.read(&format!("out-{number}/part-r-00000")), "");
    }
}

#[test]
fn a_driver_names_an_input() {
    let bed = Bed::new();
    bed.write("in", "a\nb\na\n");
    let run = |how: &str, out: &str| {
        let options = [&LOCAL[..], &["--driver", how]].concat();
        program("faulty", &options, &[&bed.at("in"), &bed.at(out)], &[])
    };
    // It reads the same file three times, twice with the other mapper.
    assert_eq!(run("beside itself", "twice"), (0, String::new()));
    assert_eq!(bed.read("twice/part-r-00000"), "a\t42\nb\t21\n");
    for (how, words) in [
        (
            "beside",
            "the job beside has an input more, and nobody says which: --more IN names it",
        ),
        (
            "no such input",
            "the job faulty has no input \"more\" with a mapper of its own",
        ),
    ] {
        let (code, said) = run(how, "out");
        assert!(code != 0 && said.contains(words), "{how}: {code} {said}");
        assert!(!bed.path("out").exists(), "{how}");
    }
}
