//! Jobs at their edges: killed processes, full disks, inputs that are too many, too long, or change.

#[cfg(test)]
mod program;

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use program::{Bed, command, program};

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

#[test]
fn an_input_that_changes_meanwhile_is_named() {
    let bed = Bed::new();
    bed.write("in", format!("grow\n{}", "x\n".repeat(100)));
    let options = [
        "--local",
        "--quiet",
        "--slots",
        "1",
        "-D",
        "mapreduce.input.fileinputformat.split.maxsize=100",
        "-D",
        "gerbil.split.pack=1",
    ];
    let (code, said) = program("faulty", &options, &[&bed.at("in"), &bed.at("out")], &[]);
    assert!(
        code == 1
            && said.contains("had 205 bytes and has 210 now: it was changed while it was read"),
        "{said}"
    );
    assert!(!bed.path("out").exists());
}

#[test]
fn an_input_that_is_cut_off_meanwhile_is_named() {
    let bed = Bed::new();
    bed.write("in", format!("shrink\n{}", "x\n".repeat(1_000_000)));
    let options = ["--local", "--quiet"];
    let (code, said) = program("faulty", &options, &[&bed.at("in"), &bed.at("out")], &[]);
    assert!(
        code == 1
            && said.contains("/in: it had 2000007 bytes and ends at ")
            && said.contains(" now: it was changed while it was read"),
        "{said}"
    );
    assert!(!bed.path("out").exists());
}

#[test]
fn an_input_that_may_not_be_read_is_named() {
    use std::os::unix::fs::PermissionsExt as _;
    let bed = Bed::new();
    bed.write("in", "x\n");
    let close = |name: &str, mode| {
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(bed.path(name), mode).unwrap();
    };
    close("in", 0o000);
    let options = ["--local", "--quiet"];
    let job = command("faulty", &options, &[&bed.at("in"), &bed.at("out")], &[]);
    let mut job = if rustix::process::geteuid().is_root() {
        // Root may read everything: as somebody else, who needs the program and a folder to write to.
        fs::copy(job.get_program(), bed.path("program")).unwrap();
        close(".", 0o777);
        let mut other = Command::new("setpriv");
        other.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        other.arg(bed.path("program")).args(job.get_args());
        other
    } else {
        job
    };
    let done = job.output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(
        said.contains("/in: Permission denied") && said.lines().count() == 1,
        "{said}"
    );
    assert!(!bed.path("out").exists());
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
    assert!(said.contains("wordcount: 1 maps"), "{said}");
    assert_eq!(bed.parts("out"), b"x\t10000\n");
}

/// A file system of a few MiB, in a mount namespace of the command's own; root alone can have one.
#[cfg(test)]
fn on_a_small_disk(job: &Command, script: &str) -> Option<(Option<i32>, String)> {
    if !rustix::process::geteuid().is_root() {
        use std::io::Write as _;
        drop(writeln!(
            std::io::stderr(),
            "the tests with a full disk are left out: only root can mount one"
        ));
        return None;
    }
    let mut shell = Command::new("unshare");
    shell.args(["--mount", "sh", "-c", script, "sh"]);
    shell.arg(job.get_program()).args(job.get_args());
    let done = shell.output().unwrap();
    Some((
        done.status.code(),
        String::from_utf8_lossy(&done.stderr).into_owned(),
    ))
}

#[test]
fn a_disk_that_is_full_is_said_of_spills_and_of_output() {
    let bed = Bed::new();
    // What is spilled at once is more than 16 MiB: less than that stays in memory.
    let text: String = (0..400_000_u32)
        .map(|n| {
            format!(
                "word {:055}\n",
                u64::from(n) * 2_654_435_761 % 1_000_000_007
            )
        })
        .collect();
    bed.write("in", &text);
    fs::create_dir(bed.path("small")).unwrap();
    let job = |out: &str| {
        let options = ["--local", "--quiet"];
        command("faulty", &options, &[&bed.at("in"), &bed.at(out)], &[])
    };
    let mount = format!("mount -t tmpfs -o size=512k none {} && ", bed.at("small"));
    let spills = format!("{mount} TMPDIR={} exec \"$@\"", bed.at("small"));
    if let Some((code, said)) = on_a_small_disk(&job("out"), &spills) {
        assert_eq!(code, Some(1), "{said}");
        assert!(
            said.contains("No space left on device") || said.contains("bytes free"),
            "{said}"
        );
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(!bed.path("out").exists());
    }
    let output = format!(
        "{mount} \"$@\"; code=$?; ls -A {}; exit $code",
        bed.at("small")
    );
    if let Some((code, said)) = on_a_small_disk(&job("small/out"), &output) {
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("No space left on device"), "{said}");
    }
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
