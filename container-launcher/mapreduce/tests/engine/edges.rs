//! Jobs at their edges: killed processes, full disks, inputs that are too many, too long, or change.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::program::{Bed, command, program};

#[cfg(test)]
const SOON: Duration = Duration::from_secs(60);

/// Task processes of a launcher.
#[cfg(test)]
fn tasks(launcher: u32) -> Vec<i32> {
    let mark = format!("GERBIL_LAUNCHER={launcher}\0");
    let role = b"GERBIL_ROLE=task\0";
    let pids = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| {
            let environment = fs::read(entry.path().join("environ")).ok()?;
            let has = |mark: &[u8]| environment.windows(mark.len()).any(|window| window == mark);
            let ours = has(mark.as_bytes()) && has(role);
            ours.then(|| entry.file_name().to_str()?.parse().ok())?
        });
    pids.collect()
}

/// Task processes are killed in the middle, again and again: the output is that of a job left alone.
#[test]
fn slots_that_are_killed_change_no_byte() {
    let bed = Bed::new();
    for file in 0..12 {
        let words: String = (0..400)
            .map(|n| format!("word{} of file{file}\n", n * 31 % 97))
            .collect();
        bed.write(&format!("in/{file:02}"), format!("sleep\n{words}sleep\n"));
    }
    let options = [
        "--local",
        "--quiet",
        "--slots",
        "2",
        "--reduces",
        "3",
        "-D",
        "gerbil.split.pack=1",
        "-D",
        "mapreduce.map.maxattempts=50",
        "-D",
        "mapreduce.reduce.maxattempts=50",
    ];
    let (code, said) = program("faulty", &options, &[&bed.at("in"), &bed.at("calm")], &[]);
    assert_eq!(code, 0, "{said}");
    let mut job = command("faulty", &options, &[&bed.at("in"), &bed.at("killed")], &[])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut killed = 0;
    let until = Instant::now() + SOON;
    while job.try_wait().unwrap().is_none() {
        assert!(Instant::now() < until, "{killed} kills, and no end");
        if killed < 8
            && let Some(pid) = tasks(job.id()).first().copied()
        {
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            // It may have ended by itself meanwhile.
            if rustix::process::kill_process(pid, rustix::process::Signal::KILL).is_ok() {
                killed += 1;
            }
        }
        std::thread::park_timeout(Duration::from_millis(150));
    }
    assert_eq!(job.wait().unwrap().code(), Some(0));
    assert!(killed >= 5, "{killed} kills are not many");
    let names = |out: &str| {
        let mut names: Vec<_> = fs::read_dir(bed.path(out))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names("killed"), names("calm"));
    for part in 0..3 {
        let part = format!("part-r-{part:05}");
        assert_eq!(
            bed.read(&format!("killed/{part}")),
            bed.read(&format!("calm/{part}"))
        );
    }
}

#[test]
fn a_map_that_is_done_twice_must_leave_the_same_records() {
    let bed = Bed::new();
    bed.write("good", "a b\na\n");
    let options = ["--local", "--quiet", "-D", "gerbil.map.repeat=true"];
    let (code, said) = program("faulty", &options, &[&bed.at("good"), &bed.at("out")], &[]);
    assert_eq!((code, said.as_str()), (0, ""));
    assert_eq!(bed.read("out/part-r-00000"), "a\t1\na b\t1\n");
    bed.write("bad", "a\nother\n");
    let (code, said) = program("faulty", &options, &[&bed.at("bad"), &bed.at("none")], &[]);
    assert!(
        code == 1
            && said.contains("map 0, done again, gave other records: partition 0 had 2, now 2"),
        "{said}"
    );
    assert!(!bed.path("none").exists());
}

/// The task's memory is its arena and what the printed settings add to it, whatever there is to combine.
#[test]
fn memory_stays_within_the_arena_with_and_without_a_combiner() {
    let bed = Bed::new();
    let lines: String = (0..600_000_u32)
        .map(|n| {
            format!(
                "{:024}\n",
                u64::from(n).wrapping_mul(2_654_435_761) % 300_007
            )
        })
        .collect();
    bed.write("in", &lines);
    let options = [
        "--local",
        "--slots",
        "1",
        "-D",
        "mapreduce.task.io.sort.mb=16",
    ];
    for (job, counter) in [("wordcount", "MAP"), ("invertedindex", "REDUCE")] {
        let (code, said) = program(job, &options, &[&bed.at("in"), &bed.at(job)], &[]);
        assert_eq!(code, 0, "{said}");
        let most = said
            .split_once(&format!("{counter}_PHYSICAL_MEMORY_BYTES_MAX="))
            .unwrap();
        let most: u64 = most.1.lines().next().unwrap().parse().unwrap();
        // Beside the arena: the program itself, and blocks of spills that are written and read.
        assert!(most < (16 + 16) << 20, "{job}: {} MiB", most >> 20);
    }
}

#[test]
fn a_line_of_three_gigabytes_is_refused_and_not_read() {
    let bed = Bed::new();
    // A hole: no end of line in 3 GB of zeros.
    let file = fs::File::create(bed.path("long")).unwrap();
    file.set_len(3_000_000_000).unwrap();
    let began = Instant::now();
    let options = [
        "--local",
        "--quiet",
        "-D",
        "mapreduce.input.fileinputformat.split.maxsize=4000000000",
    ];
    let (code, said) = program("faulty", &options, &[&bed.at("long"), &bed.at("out")], &[]);
    assert!(
        code == 1 && said.contains("the line at byte 0 is longer than 50331648 bytes"),
        "{said}"
    );
    assert!(began.elapsed() < 2 * SOON);
}

#[test]
fn ten_thousand_files_are_a_few_maps() {
    let bed = Bed::new();
    fs::create_dir(bed.path("many")).unwrap();
    for number in 0..10_000 {
        fs::write(bed.path(&format!("many/{number:05}")), "x\n").unwrap();
    }
    let (code, said) = program(
        "wordcount",
        &["--local"],
        &[&bed.at("many"), &bed.at("out")],
        &[],
    );
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("wordcount: 1 map "), "{said}");
    assert_eq!(bed.parts("out"), b"x\t10000\n");
}

#[test]
fn bars_are_shown_on_a_terminal_and_nothing_in_a_pipe() {
    let bed = Bed::new();
    bed.write("in", "sleep\nsleep\nsleep\nsleep\n");
    let job = |out: &str| {
        command(
            "faulty",
            &["--local", "--slots", "1"],
            &[&bed.at("in"), &bed.at(out)],
            &[],
        )
    };
    let words: Vec<String> = std::iter::once(job("seen").get_program().to_owned())
        .chain(job("seen").get_args().map(ToOwned::to_owned))
        .map(|word| word.to_str().unwrap().to_owned())
        .collect();
    let done = Command::new("script")
        .args(["-qec", &words.join(" "), "/dev/null"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(done.status.success());
    let shown = String::from_utf8_lossy(&done.stdout).into_owned();
    for row in [
        "input    [",
        "maps     [--------------------]   0 %   0 of 1",
        "reduces  [",
    ] {
        assert!(shown.contains(row), "{shown}");
    }
    let done = job("piped").output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(
        done.status.success() && !said.contains('\x1b') && !said.contains("[--"),
        "{said}"
    );
}
