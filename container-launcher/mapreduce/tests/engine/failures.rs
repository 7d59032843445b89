//! What becomes of a job beside how it fails, which is a table in `how_it_fails`: attempts, words that make no
//! sense, interrupts.

use std::fs;
use std::time::{Duration, Instant};

use crate::program::{self, Bed, program};

#[test]
fn what_is_harmless_does_no_harm() {
    let bed = Bed::new();
    bed.write("in", "print\nstdin\nchdir\nstatus\n");
    let (code, said) = program(
        "faulty",
        &["--local"],
        &[&bed.at("in"), &bed.at("out")],
        &[],
    );
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains("this goes to standard output") && said.contains("map 0: half way"),
        "{said}"
    );
    assert!(said.contains("read from standard input=0"), "{said}");
    assert_eq!(
        bed.read("out/part-r-00000"),
        "chdir\t1\nprint\t1\nstatus\t1\nstdin\t1\n"
    );
}

#[test]
fn a_task_is_tried_again_and_a_record_that_kills_it_left_out() {
    let bed = Bed::new();
    bed.write("in", "a\nattempt\n");
    let options = ["--local", "--quiet", "-D", "mapreduce.map.maxattempts=2"];
    let (code, said) = program("faulty", &options, &[&bed.at("in"), &bed.at("out")], &[]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(bed.read("out/part-r-00000"), "a\t1\nattempt\t1\n");
    bed.write("bad", "a\nabort\nb\npanic\nc\n");
    let options = ["--local", "--skip-bad", "2"];
    let (code, said) = program("faulty", &options, &[&bed.at("bad"), &bed.at("out2")], &[]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("MAP_SKIPPED_RECORDS=2"), "{said}");
    // Each is named when it is left out.
    assert_eq!(
        said.matches("tried again without that").count(),
        2,
        "{said}"
    );
    assert_eq!(bed.read("out2/part-r-00000"), "a\t1\nb\t1\nc\t1\n");
    // Keys of reduces with all that they have, too.
    bed.write(
        "words",
        "a\nreduce abort\nb\nreduce error\nreduce error\nc\n",
    );
    let (code, said) = program(
        "faulty",
        &options,
        &[&bed.at("words"), &bed.at("out5")],
        &[],
    );
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains("REDUCE_SKIPPED_GROUPS=2") && said.contains("REDUCE_SKIPPED_RECORDS=2"),
        "{said}"
    );
    assert_eq!(bed.read("out5/part-r-00000"), "a\t1\nb\t1\nc\t1\n");
    let one = ["--local", "--skip-bad", "1"];
    let (code, said) = program("faulty", &one, &[&bed.at("words"), &bed.at("out6")], &[]);
    assert!(code == 1 && said.contains("this word is refused"), "{said}");
    let (code, said) = program("faulty", &one, &[&bed.at("bad"), &bed.at("out3")], &[]);
    assert!(
        code == 1 && said.contains("this line is not empty"),
        "{said}"
    );
    let none = ["--local", "--skip-bad", "some"];
    let (code, said) = program("faulty", &none, &[&bed.at("bad"), &bed.at("out4")], &[]);
    assert!(code == 64 && said.contains("--skip-bad some"), "{said}");
}

/// One record that emits for long, and one key with many values, are at work however long they take together. A machine
/// that stands still for longer than the timeout meanwhile has more attempts.
#[test]
fn a_record_and_a_key_may_take_longer_than_the_timeout() {
    let bed = Bed::new();
    bed.write("in/emits", "slow emits\n");
    bed.write("in/combine", "slow combine\n");
    for number in 0..50 {
        bed.write(&format!("in/values-{number}"), "slow values\n");
    }
    let options = [
        "--local",
        "--quiet",
        "--slots",
        "3",
        "-D",
        "gerbil.split.pack=1",
        "-D",
        "mapreduce.task.timeout=1000",
        "-D",
        "mapreduce.map.maxattempts=4",
        "-D",
        "mapreduce.reduce.maxattempts=4",
    ];
    let (code, said) = program("faulty", &options, &[&bed.at("in"), &bed.at("out")], &[]);
    assert_eq!(code, 0, "{said}");
    let combined = (50_u64 << 32) + 1;
    assert_eq!(
        bed.read("out/part-r-00000"),
        format!("slow combine\t{combined}\nslow emits\t51\nslow values\t50\n")
    );
}

/// Whoever kills it, the kernel for memory or a user, may do so at once.
#[test]
fn a_task_process_that_is_killed_before_its_hello_is_tried_again() {
    let bed = Bed::new();
    bed.write("in", "a\n");
    let run = |out: &str, mark: &str| {
        let options = ["--local", "--quiet", "-D", "mapreduce.map.maxattempts=2"];
        let variables = [("FAULTY_START", mark)];
        program(
            "faulty",
            &options,
            &[&bed.at("in"), &bed.at(out)],
            &variables,
        )
    };
    let (code, said) = run("once", &bed.at("mark"));
    assert_eq!(code, 0, "{said}");
    assert_eq!(bed.read("once/part-r-00000"), "a\t1\n");
    let (code, said) = run("always", "");
    let words = "a task process was killed by signal 6 before it said hello";
    assert!(code == 1 && said.contains(words), "{code}: {said}");
}

#[test]
fn inputs_and_outputs_that_make_no_sense_are_refused_at_once() {
    let bed = Bed::new();
    bed.write("in", "x\n");
    let run = |options: &[&str], operands: &[&str]| program("faulty", options, operands, &[]);
    let (code, said) = run(&["--local"], &[&bed.at("none"), &bed.at("out")]);
    assert!(
        code == 64 && said.contains("none: there is no such file"),
        "{said}"
    );
    fs::create_dir(bed.path("there")).unwrap();
    let (code, said) = run(&["--local"], &[&bed.at("in"), &bed.at("there")]);
    assert!(code == 64 && said.contains("is there already"), "{said}");
    for (output, sentence) in [
        ("in", "in: the output is a folder, and a file has this name"),
        ("in/out", "in/out cannot be made: "),
    ] {
        let (code, said) = run(&["--local"], &[&bed.at("in"), &bed.at(output)]);
        assert!(code == 64 && said.contains(sentence), "{said}");
    }
    let (code, said) = run(&["--local", "--no-such"], &[&bed.at("in"), &bed.at("out")]);
    assert!(
        code == 64 && said.contains("--no-such is no option"),
        "{said}"
    );
    let (code, said) = run(
        &["--local", "-D", "mapreduce.job.reducers=1"],
        &[&bed.at("in"), &bed.at("out")],
    );
    assert!(
        code == 64 && said.contains("mapreduce.job.reducers means nothing"),
        "{said}"
    );
    let (code, said) = run(&["--local"], &[&bed.at("in")]);
    assert!(
        code == 64 && said.contains("input and output are needed"),
        "{said}"
    );
    let (code, said) = program(
        "faulty",
        &[],
        &[&bed.at("in"), &bed.at("out")],
        &[("GERBIL", "/no/such/gerbil")],
    );
    assert!(
        code == 69 && said.contains("GERBIL") && said.contains("--local"),
        "{said}"
    );
    let (code, help) = run(&["--help"], &[]);
    assert!(
        code == 0 && help.contains("--slots N") && help.contains("mapreduce.task.io.sort.mb"),
        "{help}"
    );
}

#[test]
fn an_interrupted_job_leaves_nothing() {
    let bed = Bed::new();
    bed.write("in", "loop\n");
    let mut child = program::command(
        "faulty",
        &["--local", "--quiet"],
        &[&bed.at("in"), &bed.at("out")],
        &[],
    )
    .spawn()
    .unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while !bed.path("out/_temporary").exists() && Instant::now() < until {
        std::thread::park_timeout(Duration::from_millis(10));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!bed.path("out").exists());
}

#[test]
fn a_full_disk_is_said_once_and_nothing_is_left() {
    // A limit on the size of files stands for a disk that is full: the kernel refuses the same write.
    let bed = Bed::new();
    let text: String = (0..40_000)
        .map(|number| format!("a word of its own {number}\n"))
        .collect();
    bed.write("in", &text);
    let limited = |limit: &str, output: &str| {
        let run = program::command(
            "faulty",
            &["--local", "--quiet"],
            &[&bed.at("in"), &bed.at(output)],
            &[],
        );
        let mut shell = std::process::Command::new("sh");
        shell.args([
            "-c",
            &format!("trap '' XFSZ; ulimit -f {limit}; exec \"$@\""),
            "sh",
        ]);
        shell.arg(run.get_program()).args(run.get_args());
        let done = shell.output().unwrap();
        (
            done.status.code(),
            String::from_utf8_lossy(&done.stderr).into_owned(),
        )
    };
    let (code, said) = limited("100", "out");
    assert!(
        code == Some(1)
            && (said.contains("spilling map output") || said.contains("writing output")),
        "{said}"
    );
    assert!(!bed.path("out").exists());
}
