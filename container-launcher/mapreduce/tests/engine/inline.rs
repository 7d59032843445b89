//! Jobs on one thread of one process, for a debugger.

use std::os::unix::process::ExitStatusExt as _;

use serde_json::Value;

use crate::program::{Bed, command, program};

/// The counters of a report that tell of records and bytes, not of time and memory.
fn counters(report: &str) -> Vec<(String, u64)> {
    let report: Value = serde_json::from_str(report).unwrap();
    let groups = report["counters"].as_object().unwrap().values();
    let counters = groups.flat_map(|group| group.as_object().unwrap());
    let counters = counters.map(|(name, value)| (name.clone(), value.as_u64().unwrap()));
    let is_of_data = |name: &str| {
        ["RECORDS", "GROUPS", "BYTES_"]
            .iter()
            .any(|of| name.contains(of))
    };
    let is_of_memory = |name: &str| name.contains("MEMORY");
    counters
        .filter(|(name, _)| is_of_data(name) && !is_of_memory(name))
        .collect()
}

#[test]
fn a_job_writes_and_counts_what_it_does_in_processes() {
    let bed = Bed::new();
    let text: String = (0..20_000)
        .map(|n| format!("word{} and\n", n % 97))
        .collect();
    bed.write("in/a", &text);
    bed.write("in/b", &text);
    let small = [
        "--quiet",
        "--reduces",
        "3",
        "-D",
        "mapreduce.input.fileinputformat.split.maxsize=50000",
        "-D",
        "gerbil.split.pack=1",
    ];
    let run = |how: &str| {
        let (out, report) = (format!("out{how}"), format!("report{how}"));
        let written = bed.at(&report);
        let options = [&[how, "--report", &written], small.as_slice()].concat();
        let (code, said) = program("wordcount", &options, &[&bed.at("in"), &bed.at(&out)], &[]);
        assert_eq!((code, said.as_str()), (0, ""));
        let parts = (0..3).map(|part| bed.read(&format!("{out}/part-r-0000{part}")));
        assert!(bed.path(&format!("{out}/_SUCCESS")).exists());
        (parts.collect::<Vec<_>>(), counters(&bed.read(&report)))
    };
    let (inline, local) = (run("--inline"), run("--local"));
    assert_eq!(inline, local);
    assert!(
        inline.1.contains(&("MAP_INPUT_RECORDS".to_owned(), 40_000)),
        "{inline:?}"
    );
}

/// Two jobs, of which the second reads what the first wrote, and ranges of keys that are sampled.
#[test]
fn drivers_and_samples_are_of_the_process_too() {
    let bed = Bed::new();
    bed.write("points", "1,1\n1,2\n9,9\n8,9\n");
    let run = |how: &str| {
        let out = bed.at(&format!("centres{how}"));
        let (code, said) = program("kmeans", &[how, "--quiet"], &[&bed.at("points"), &out], &[]);
        assert_eq!(code, 0, "{said}");
        let rows = bed.at(&format!("rows{how}"));
        let generate = [how, "--quiet", "--job", "teragen"];
        let (code, said) = program("tera", &generate, &["2000", &rows], &[]);
        assert_eq!(code, 0, "{said}");
        let sorted = format!("sorted{how}");
        let sort = [how, "--quiet", "--job", "terasort", "--reduces", "3"];
        let (code, said) = program("tera", &sort, &[&rows, &bed.at(&sorted)], &[]);
        assert_eq!(code, 0, "{said}");
        (bed.parts(&format!("centres{how}")), bed.parts(&sorted))
    };
    let inline = run("--inline");
    assert!(inline == run("--local"));
    assert_eq!(inline.1.len(), 200_000);
}

#[test]
fn a_mapper_that_aborts_is_this_process() {
    let bed = Bed::new();
    bed.write("in", "a\nabort\n");
    let operands = [bed.at("in"), bed.at("out")];
    let [from, to] = &operands;
    let status = command("faulty", &["--inline", "--quiet"], &[from, to], &[]).output();
    let status = status.unwrap().status;
    assert_eq!(status.signal(), Some(6), "{status}");
    // What it left counts as absent.
    bed.write("in", "a\n");
    let (code, said) = program("faulty", &["--inline", "--quiet"], &[from, to], &[]);
    assert_eq!(code, 0, "{said}");
}

#[test]
fn a_panic_has_its_backtrace_and_ends_the_job() {
    let bed = Bed::new();
    bed.write("in", "a\npanic\nb\n");
    let run = |options: &[&str], out: &str| {
        let options = [&["--inline", "--quiet"], options].concat();
        program(
            "faulty",
            &options,
            &[&bed.at("in"), &bed.at(out)],
            &[("RUST_BACKTRACE", "1")],
        )
    };
    let (code, said) = run(&[], "out");
    assert_eq!(code, 1, "{said}");
    // From the mapper to main.
    for frame in ["faulty::", "App::main"] {
        assert!(said.contains(frame), "{said}");
    }
    assert_eq!(
        said.matches("this line is not empty\n").count(),
        2,
        "{said}"
    );
    let last = said.lines().last().unwrap();
    assert!(
        last.starts_with("faulty: map 0 panicked ")
            && last.ends_with("with this line is not empty"),
        "{last}"
    );
    assert!(!bed.path("out").exists());
    let (code, said) = run(&["--skip-bad", "1"], "out");
    assert_eq!(code, 0, "{said}");
    assert_eq!(bed.read("out/part-r-00000"), "a\t1\nb\t1\n");
}

#[test]
fn what_goes_not_with_it_is_refused() {
    let bed = Bed::new();
    bed.write("in", "a\n");
    let operands = [bed.at("in"), bed.at("out")];
    let [from, to] = &operands;
    let refused = |options: &[&str], operands: &[&str], environment: &[(&str, &str)]| {
        let (code, said) = program("wordcount", options, operands, environment);
        assert_eq!(code, 64, "{said}");
        said
    };
    let said = refused(&["--inline", "--slots", "2"], &[from, to], &[]);
    assert!(said.contains("--slots and --inline"), "{said}");
    let role = [("GERBIL_ROLE", "drive"), ("GERBIL_LOCAL", "true")];
    let said = refused(&["--inline"], &[from, to], &role);
    assert!(
        said.contains("--inline is of a program that is started by itself"),
        "{said}"
    );
    let said = refused(&["--inline"], &[&bed.at("nothing"), to], &[]);
    assert!(said.ends_with("nothing: there is no such file\n"), "{said}");
    assert!(!bed.path("out").exists());
}
