//! Inputs with a mapper each, as options and drivers name them.

use crate::program::{Bed, program};

const LOCAL: [&str; 2] = ["--local", "--quiet"];

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
