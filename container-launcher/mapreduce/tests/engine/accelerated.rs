//! Jobs that compute on accelerators, as processes beside a driver of modelled boards, and without one.

use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use fpga_driver::client::map;
use fpga_driver::daemon::{Driver, DriverOptions, Stop};
use fpga_driver::profile::Profile;

use crate::program::{Bed, command, program};

/// A driver of its own for a test.
#[cfg(test)]
pub struct RunningDriver {
    socket: PathBuf,
    running: Option<(Stop, JoinHandle<()>)>,
}

#[cfg(test)]
impl RunningDriver {
    pub fn start(bed: &Bed, board: &str) -> Self {
        bed.write(
            "fpga.toml",
            format!("[[board]]\nkind = \"model\"\n{board}\n"),
        );
        let socket = bed.path("fpgad.sock");
        let options = DriverOptions {
            socket: socket.clone(),
            allowed: Vec::new(),
            profile: Profile::read(&bed.path("fpga.toml")).unwrap(),
        };
        let driver = Driver::start(options, |_| {}).unwrap();
        let stop = driver.stopper();
        let thread = std::thread::spawn(move || driver.run().unwrap());
        Self {
            socket,
            running: Some((stop, thread)),
        }
    }

    /// Packets that its boards have answered.
    pub fn packets(&self) -> u64 {
        map(&self.socket)
            .unwrap()
            .1
            .iter()
            .map(|board| board.packets)
            .sum()
    }
}

impl Drop for RunningDriver {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            stop.stop();
            thread.join().unwrap();
        }
    }
}

#[cfg(test)]
const BOARD: &str = "functions = { kmeans-map = 2, kmeans-reduce = 1 }";

/// So many vectors in a file.
#[cfg(test)]
fn vectors(bed: &Bed, lines: &str) {
    let options = ["--local", "--job", "generate", "--lines", lines];
    let (code, said) = program("spherical", &options, &["1", &bed.at("in")], &[]);
    assert_eq!(code, 0, "{said}");
}

/// Runs the job with the driver that listens there; what it said.
#[cfg(test)]
fn run(bed: &Bed, options: &[&str], out: &str) -> (i32, String) {
    let socket = bed.at("fpgad.sock");
    let here = [("GERBIL_FPGAD", socket.as_str())];
    let options = [&["--local", "--rounds", "2"], options].concat();
    program("spherical", &options, &[&bed.at("in"), &bed.at(out)], &here)
}

#[cfg(test)]
fn rounds(bed: &Bed, out: &str) -> Vec<u8> {
    ["first", "round-0", "round-1"]
        .iter()
        .flat_map(|round| bed.parts(&format!("{out}/{round}")))
        .collect()
}

#[test]
fn a_job_writes_the_same_bytes_with_boards_and_without() {
    let bed = Bed::new();
    vectors(&bed, "9000");
    let (code, said) = run(&bed, &["--k", "32"], "none");
    assert_eq!(code, 0, "{said}");
    for function in ["kmeans-map", "kmeans-reduce"] {
        let once = format!("no acc/{function}: no fpgad answers");
        assert_eq!(said.matches(&once).count(), 1, "{said}");
    }
    assert!(
        said.contains("PROCESSOR_PACKETS=") && !said.contains("DEVICE_PACKETS="),
        "{said}"
    );
    let wanted = rounds(&bed, "none");
    assert!(!wanted.is_empty());
    let driver = RunningDriver::start(&bed, BOARD);
    let cut = "mapreduce.input.fileinputformat.split.maxsize=3000000";
    for (out, options) in [
        ("board", &["--k", "32"][..]),
        (
            "serial",
            &["--k", "32", "-D", "acc.modules=serial", "--slots", "1"],
        ),
        ("cut", &["--k", "32", "-D", cut, "--slots", "3"]),
        (
            "cpu",
            &["--k", "32", "-D", "needs.map=cpu", "-D", "needs.reduce=cpu"],
        ),
    ] {
        let before = driver.packets();
        let (code, said) = run(&bed, options, out);
        assert_eq!(code, 0, "{said}");
        assert!(!said.contains("no acc/"), "{said}");
        assert_eq!(driver.packets() > before, out != "cpu", "{out}: {said}");
        assert!(rounds(&bed, out) == wanted, "{out}: {said}");
    }
}

#[test]
fn rounds_of_packed_vectors_write_the_bytes_of_rounds_of_text() {
    let bed = Bed::new();
    vectors(&bed, "5000");
    let (code, said) = run(&bed, &[], "text");
    assert_eq!(code, 0, "{said}");
    let wanted = rounds(&bed, "text");
    assert!(!bed.path("text/round-0/packed-m-00000").exists());
    let cut = [
        "-D",
        "mapreduce.input.fileinputformat.split.maxsize=1000000",
        "--slots",
        "2",
    ];
    for driver in [None, Some(RunningDriver::start(&bed, BOARD))] {
        // What the output is called is no pattern.
        let out = format!("[packed*]-{}", driver.is_some());
        let (code, said) = run(&bed, &[&cut[..], &["--packed", "true"]].concat(), &out);
        assert_eq!(code, 0, "{said}");
        assert!(rounds(&bed, &out) == wanted, "{said}");
        let left = std::fs::read_dir(bed.path(&format!("{out}/round-0"))).unwrap();
        let left = left.map(|file| file.unwrap());
        let packed = left.filter(|file| {
            file.file_name()
                .as_encoded_bytes()
                .starts_with(b"packed-m-")
        });
        let bytes: Vec<u64> = packed.map(|file| file.metadata().unwrap().len()).collect();
        assert!(bytes.len() > 3, "{bytes:?}");
        assert_eq!(bytes.iter().sum::<u64>(), 5000 * 512, "{bytes:?}");
        assert!(!bed.path(&format!("{out}/round-1/packed-m-00000")).exists());
        // Later rounds read those.
        let input = format!("MAP_INPUT_RECORDS={}", 5000);
        assert_eq!(said.matches(&input).count(), 3, "{said}");
    }
}

/// A job whose driver is gone after its first answers; its board gives no other.
#[cfg(test)]
fn deserted(bed: &Bed, options: &[&str], out: &str) -> (i32, String) {
    let driver = RunningDriver::start(
        bed,
        &format!("{BOARD}\nfaults = [\"stuck@3\"]\npatience_ms = 600000"),
    );
    let socket = bed.at("fpgad.sock");
    let here = [("GERBIL_FPGAD", socket.as_str())];
    let options = [&["--local", "--rounds", "2", "--slots", "2"], options].concat();
    let mut started = command("spherical", &options, &[&bed.at("in"), &bed.at(out)], &here);
    let mut job: Child = started
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while driver.packets() < 2 {
        assert_eq!(job.try_wait().unwrap(), None, "it is over already");
        std::thread::park_timeout(Duration::from_millis(1));
    }
    drop(driver);
    let done = job.wait_with_output().unwrap();
    let said = [done.stdout, done.stderr].concat();
    (
        done.status.code().unwrap(),
        String::from_utf8_lossy(&said).into_owned(),
    )
}

#[test]
fn a_driver_that_goes_in_the_middle_takes_no_byte_with_it() {
    let bed = Bed::new();
    vectors(&bed, "20000");
    let (code, said) = run(&bed, &[], "none");
    assert_eq!(code, 0, "{said}");
    let wanted = rounds(&bed, "none");
    // The attempt is tried again, where that computes on the processor, and does not count.
    let (code, said) = deserted(&bed, &["-D", "mapreduce.map.maxattempts=1"], "start");
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains("it does not count: the task is tried again")
            && said.contains("it computes on the processor"),
        "{said}"
    );
    assert!(rounds(&bed, "start") == wanted, "{said}");
    // The attempt itself goes on.
    let (code, said) = deserted(&bed, &["-D", "acc.fallback=always"], "always");
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("it goes on on the processor"), "{said}");
    assert!(rounds(&bed, "always") == wanted, "{said}");
    let (code, said) = deserted(&bed, &["-D", "acc.fallback=never"], "never");
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("no acc/kmeans-map: "), "{said}");
}

#[test]
fn what_is_no_vector_is_named_and_may_be_left_out_with_a_board_and_without() {
    let bed = Bed::new();
    vectors(&bed, "3000");
    let text = String::from_utf8(bed.parts("in")).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let words: Vec<&str> = text.lines().next().unwrap().split(' ').collect();
    lines[100] = words[..127].join(" ");
    lines[2500] = [&["NaN"], &words[1..]].concat().join(" ");
    lines[2900] = ["0"; 128].join(" ");
    bed.write("in/part-m-00000", lines.join("\n"));
    let mut rounds_of = Vec::new();
    for driver in [None, Some(RunningDriver::start(&bed, BOARD))] {
        let out = |name: &str| format!("{name}-{}", driver.is_some());
        let (code, said) = run(&bed, &["--quiet"], &out("refused"));
        assert_eq!(code, 1, "{said}");
        let at = format!(
            "spherical: map 0: {}/part-m-00000, record 100 at byte ",
            bed.at("in")
        );
        assert!(
            said.contains(&at) && said.contains(": 127 numbers, not 128"),
            "{said}"
        );
        for (most, reason) in [
            ("1", "element 1 is not finite"),
            ("2", "a vector of zeros has no direction"),
        ] {
            let (code, said) = run(&bed, &["--quiet", "--skip-bad", most], &out(most));
            assert!(code == 1 && said.contains(reason), "{said}");
        }
        let (code, said) = run(&bed, &["--skip-bad", "3"], &out("skipped"));
        assert_eq!(code, 0, "{said}");
        assert!(said.contains("MAP_SKIPPED_RECORDS=3"), "{said}");
        rounds_of.push(rounds(&bed, &out("skipped")));
    }
    assert!(rounds_of[0] == rounds_of[1]);
}

#[test]
fn what_makes_no_sense_of_accelerators_is_refused_before_a_task_begins() {
    let bed = Bed::new();
    vectors(&bed, "20");
    for (setting, reason) in [
        (
            "acc.timeout=abc",
            "acc.timeout=abc: give a number of seconds",
        ),
        ("acc.fallback=perhaps", "known are never, start, always"),
        ("acc.modules=both", "known are overlap, serial"),
        (
            "acc.fallback=never",
            "no acc/kmeans-map: no fpgad answers at ",
        ),
    ] {
        let (code, said) = run(
            &bed,
            &["-D", setting, "--k", "2"],
            &setting.replace('=', "-"),
        );
        assert!(code == 64 && said.contains(reason), "{setting}: {said}");
    }
}
