//! What goes wrong with a job, and what is said: one sentence, a true exit code, nothing left behind.

#[cfg(test)]
mod program;

use std::fs;
use std::time::{Duration, Instant};

use program::{Bed, program};

/// Runs `faulty` on `lines` and returns its exit code and what it said; nothing may be left.
#[cfg(test)]
fn fail(lines: &str, options: &[&str]) -> (i32, String) {
    let bed = Bed::new();
    bed.write("in", lines);
    let done = program(
        "faulty",
        &[&["--local", "--quiet"], options].concat(),
        &[&bed.at("in"), &bed.at("out")],
        &[],
    );
    assert!(
        !bed.path("out").exists(),
        "the output of a job that failed is still there"
    );
    done
}

#[test]
fn a_panic_is_named_with_its_record() {
    let (code, said) = fail("good\npanic\n", &[]);
    assert_eq!(code, 1);
    let sentence = said.lines().last().unwrap();
    assert!(
        sentence.starts_with("faulty: map 0 panicked on record 1 of the split, at byte 5 of "),
        "{said}"
    );
    assert!(
        sentence.contains("main.rs:") && sentence.ends_with("this line is not empty"),
        "{said}"
    );
}

#[test]
fn an_error_a_crash_and_an_early_exit_are_told_apart() {
    let (code, said) = fail("a\nb\nerror\n", &[]);
    assert!(
        code == 1
            && said
                .trim_end()
                .ends_with("in, record 2 at byte 4: this line is refused"),
        "{said}"
    );
    let (_, said) = fail("a\nabort\n", &[]);
    assert!(
        said.contains("map 0 was killed by signal 6 on record 1 of the split, at byte 2 of "),
        "{said}"
    );
    let (_, said) = fail("exit\n", &[]);
    assert!(
        said.contains("map 0 ended its process with exit code 0 on record 0 of the split"),
        "{said}"
    );
}

#[test]
fn a_loop_and_a_glutton_are_ended() {
    let (_, said) = fail("a\nloop\n", &["-D", "mapreduce.task.timeout=400"]);
    assert!(
        said.contains("map 0 made no progress for 0.4 s on record 1 of the split"),
        "{said}"
    );
    let (_, said) = fail("eat\n", &["-D", "gerbil.task.memory.mb=100"]);
    assert!(
        said.contains("MiB in memory where 100 are the limit (gerbil.task.memory.mb) on record 0"),
        "{said}"
    );
}

#[test]
fn a_record_that_is_too_long_is_refused_with_its_place() {
    let (_, said) = fail("a\nlong key\n", &[]);
    assert!(
        said.contains("record 1 at byte 2: a record of 100000008 bytes was emitted"),
        "{said}"
    );
    let (_, said) = fail(
        &"x".repeat(2_000_000),
        &[
            "-D",
            "mapreduce.input.linerecordreader.line.maxlength=1000000",
        ],
    );
    assert!(
        said.contains("the line at byte 0 is longer than 1000000 bytes"),
        "{said}"
    );
}

#[test]
fn a_plan_that_differs_in_a_task_is_refused() {
    let bed = Bed::new();
    bed.write("in", "x\n");
    for (role, who) in [("task", "a task process"), ("drive", "the driver")] {
        let (code, said) = program(
            "faulty",
            &["--local", "--quiet"],
            &[&bed.at("in"), &bed.at("out")],
            &[("FAULTY_PLAN", role)],
        );
        assert!(
            code == 1
                && said.contains(who)
                && said.contains("registers other jobs than this process did"),
            "{role}: {said}"
        );
        assert!(!bed.path("out").exists());
    }
}

#[test]
fn what_is_harmless_does_no_harm() {
    let bed = Bed::new();
    bed.write("in", "print\nstdin\nchdir\nfork\nstatus\n");
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
        "chdir\t1\nfork\t1\nprint\t1\nstatus\t1\nstdin\t1\n"
    );
    // What the mapper started has ended with its process.
    let sleeping = fs::read_dir("/proc").unwrap().flatten().filter(|entry| {
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        command.starts_with(b"sleep\x00600")
            && environment
                .windows(16)
                .any(|window| window == b"GERBIL_ROLE=task")
    });
    assert_eq!(sleeping.count(), 0);
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
    assert_eq!(bed.read("out2/part-r-00000"), "a\t1\nb\t1\nc\t1\n");
    let one = ["--local", "--skip-bad", "1"];
    let (code, said) = program("faulty", &one, &[&bed.at("bad"), &bed.at("out3")], &[]);
    assert!(
        code == 1 && said.contains("this line is not empty"),
        "{said}"
    );
    let none = ["--local", "--skip-bad", "some"];
    let (code, said) = program("faulty", &none, &[&bed.at("bad"), &bed.at("out4")], &[]);
    assert!(code == 64 && said.contains("--skip-bad some"), "{said}");
}

#[test]
fn inputs_and_outputs_that_make_no_sense_are_refused_at_once() {
    let bed = Bed::new();
    bed.write("in", "x\n");
    let run = |options: &[&str], operands: &[&str]| program("faulty", options, operands, &[]);
    let (code, said) = run(&["--local"], &[&bed.at("none"), &bed.at("out")]);
    assert!(
        code == 1 && said.contains("none: there is no such file"),
        "{said}"
    );
    fs::create_dir(bed.path("there")).unwrap();
    let (code, said) = run(&["--local"], &[&bed.at("in"), &bed.at("there")]);
    assert!(code == 1 && said.contains("is there already"), "{said}");
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
fn broken_gzip_is_named_by_file_and_place() {
    use std::io::Write as _;
    let bed = Bed::new();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for number in 0..100_000_u32 {
        writeln!(gzip, "line {}", number.wrapping_mul(2_654_435_761)).unwrap();
    }
    let whole = gzip.finish().unwrap();
    fs::write(bed.path("cut.gz"), &whole[..whole.len() / 2]).unwrap();
    let (code, said) = program(
        "faulty",
        &["--local", "--quiet"],
        &[&bed.at("cut.gz"), &bed.at("out")],
        &[],
    );
    assert!(
        code == 1
            && said.contains("Gzip data of")
            && said.contains("cut.gz are broken before byte"),
        "{said}"
    );
    assert!(!bed.path("out").exists());
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
