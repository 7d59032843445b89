//! Drivers: over the socket with another client, and what is said when they go wrong.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use gerbil_task::{Connection, FrameError, FromDriver, Listed, ToDriver, VERSION};

use crate::program::{Bed, command, example, program};

#[cfg(test)]
const SOON: Duration = Duration::from_secs(30);

/// Lets `launch`, which knows nothing of the engine, serve the driver of `program`.
#[cfg(test)]
fn launch(program: PathBuf, words: &[&str], environment: &[(&str, &str)]) -> (bool, String) {
    let done = Command::new(example("launch"))
        .arg("--drive")
        .arg(program)
        .args(words)
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = [done.stdout, done.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    (done.status.success(), said)
}

/// The driver of `name`, with this test as its client.
#[cfg(test)]
fn driver(name: &str, words: &[&str]) -> (Child, Connection) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let child = Command::new(example(name))
        .args(words)
        .env("GERBIL_ROLE", "drive")
        .env("GERBIL_LAUNCHER", std::process::id().to_string())
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let connection = Connection::new(ours).of_driver();
    connection.set_deadline(Some(SOON)).unwrap();
    (child, connection)
}

#[cfg(test)]
fn welcome(version: u32) -> ToDriver {
    ToDriver::Welcome {
        version,
        defaults: BTreeMap::new(),
        given: BTreeMap::new(),
        split_max: BTreeMap::new(),
    }
}

#[test]
fn a_loop_of_jobs_is_the_same_with_another_client() {
    let bed = Bed::new();
    let points: String = (0..300)
        .map(|n| format!("{},{}\n", n % 7 + n / 150 * 40, n % 11))
        .collect();
    bed.write("points", points);
    let words = |out: &str| [bed.at("points"), bed.at(out)];
    let own = words("own");
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let options = ["--local", "--quiet", "--k", "3"];
    let (code, said) = program("kmeans", &options, &own, &[]);
    assert_eq!((code, said.as_str()), (0, ""));
    let other = words("other");
    let other = ["--k", "3", &other[0], &other[1]];
    let (ended_well, said) = launch(example("kmeans"), &other, &[]);
    assert!(ended_well, "{said}");
    let rounds = |out: &str| {
        let folders = std::fs::read_dir(bed.path(out)).unwrap();
        let mut names: Vec<_> = folders.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert!(rounds("own").len() > 2, "one round moves no centre");
    assert_eq!(rounds("other"), rounds("own"));
    // Each round has the centres of the last as its params: one that had others would differ.
    let mut before = Vec::new();
    for round in rounds("own") {
        let round = round.to_str().unwrap();
        let parts = bed.parts(&format!("own/{round}"));
        assert_eq!(bed.parts(&format!("other/{round}")), parts);
        if round != "round-0" && rounds("own").last().unwrap() != round {
            assert_ne!(parts, before, "{round}");
        }
        before = parts;
    }
}

#[test]
fn a_chain_of_jobs_removes_what_lies_between() {
    let bed = Bed::new();
    bed.write("in", "a b a\nc a b\n");
    let words = ["--pattern", "[ab]", &bed.at("in"), &bed.at("out")];
    let (ended_well, said) = launch(example("grep"), &words, &[]);
    assert!(ended_well, "{said}");
    assert_eq!(bed.read("out/part-r-00000"), "3\ta\n2\tb\n");
    let words = ["--pattern", "[ab]", &bed.at("in"), &bed.at("new/out")];
    let (code, said) = program("grep", &["--local", "--quiet"], &words, &[]);
    assert_eq!((code, said.as_str()), (0, ""));
    assert_eq!(bed.read("new/out/part-r-00000"), "3\ta\n2\tb\n");
    let left = std::fs::read_dir(bed.path("new")).unwrap().count();
    assert_eq!(left, 1, "something lies beside the output");
}

#[test]
fn a_driver_in_another_language() {
    let bed = Bed::new();
    bed.write("in", "to be or not to be\n");
    let python = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("protocol/examples/wordcount.py");
    let (input, output) = (bed.at("in"), bed.at("out"));
    let (ended_well, said) = launch(python.clone(), &[&input, &output], &[]);
    assert!(
        ended_well && said.contains("reduces 1 words 4\nreduces 2 words 4\n"),
        "{said}"
    );
    assert_eq!(
        bed.read("out1/part-r-00000"),
        "be\t2\nnot\t1\nor\t1\nto\t2\n"
    );
    assert!(bed.path("out2/part-r-00001").exists());
    let (ended_well, said) = launch(python.clone(), &[&input, &output], &[]);
    assert!(!ended_well && said.contains("File exists"), "{said}");
    let another = [("WORDCOUNT_VERSION", "99")];
    let (ended_well, said) = launch(python, &[&input, &output], &another);
    assert!(!ended_well && said.contains("version 99"), "{said}");
}

#[test]
fn a_client_of_another_version_is_refused() {
    let (child, mut client) = driver("kmeans", &["in", "out"]);
    assert!(matches!(
        client.receive().unwrap(),
        FromDriver::Hello {
            version: VERSION,
            ..
        }
    ));
    let version = VERSION + 1;
    client.send(&welcome(version)).unwrap();
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(70));
    assert_eq!(
        String::from_utf8_lossy(&done.stderr),
        format!(
            "kmeans: the client speaks version {version} of the task protocol, this is {VERSION}\n"
        )
    );
}

/// A client of another file system: paths are its own, and it is the driver who cuts.
#[test]
fn splits_fit_a_device_where_the_client_says_so() {
    let words = ["--quiet", "-D", "gerbil.split.pack=2000", "/in", "/out"];
    let (mut child, mut client) = driver("wordcount", &words);
    client.receive::<FromDriver>().unwrap();
    let ToDriver::Welcome {
        version,
        defaults,
        given,
        ..
    } = welcome(VERSION)
    else {
        unreachable!()
    };
    let split_max = [("wordcount".to_owned(), 1000), ("another".to_owned(), 1)].into();
    client
        .send(&ToDriver::Welcome {
            version,
            defaults,
            given,
            split_max,
        })
        .unwrap();
    let FromDriver::Files { .. } = client.receive().unwrap() else {
        panic!("the driver asks for no files");
    };
    let file = |path: &str, length| Listed {
        path: path.to_owned(),
        length,
    };
    let files = ["/in/b", "/in/c", "/in/d"].map(|path| file(path, 400));
    let files = [&[file("/in/a", 4500)][..], &files].concat();
    client.send(&ToDriver::Listed { files }).unwrap();
    let FromDriver::Submit(submission) = client.receive().unwrap() else {
        panic!("the driver submits nothing");
    };
    let bytes = |split: &Vec<gerbil_task::Piece>| split.iter().map(|piece| piece.length).sum();
    let bytes: Vec<u64> = submission.splits.iter().map(bytes).collect();
    assert_eq!(bytes, [1000, 1000, 1000, 1000, 900, 800]);
    // What tasks and history are told is what was cut by.
    for name in [
        "mapreduce.input.fileinputformat.split.maxsize",
        "gerbil.split.pack",
    ] {
        assert_eq!(submission.settings[name], "1000");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn files_of_another_file_system_are_listed_by_the_client_and_cut_by_the_driver() {
    let (child, mut client) = driver(
        "wordcount",
        &["--quiet", "hdfs://nn:8020/in", "/more*", "hdfs:///out"],
    );
    assert!(matches!(
        client.receive().unwrap(),
        FromDriver::Hello { .. }
    ));
    client.send(&welcome(VERSION)).unwrap();
    let FromDriver::Files {
        inputs, recursive, ..
    } = client.receive().unwrap()
    else {
        panic!("the driver asks for no files");
    };
    assert_eq!(inputs, ["hdfs://nn:8020/in", "/more*"]);
    assert!(!recursive);
    let file = |path: &str, length| Listed {
        path: path.to_owned(),
        length,
    };
    let gib = 1 << 30;
    let files = vec![
        file("hdfs://nn:8020/in/a", gib),
        file("hdfs://nn:8020/in/b.gz", gib),
        file("/more1", 10),
        file("/more2", 20),
    ];
    client.send(&ToDriver::Listed { files }).unwrap();
    let FromDriver::Submit(submission) = client.receive().unwrap() else {
        panic!("the driver submits nothing");
    };
    assert_eq!(submission.inputs, inputs);
    assert_eq!(submission.output, "hdfs:///out");
    assert_eq!(submission.splits.len(), 8 + 1 + 1);
    let last = submission.splits.last().unwrap();
    let names: Vec<_> = last.iter().map(|piece| piece.name.as_str()).collect();
    assert_eq!(names, ["/more1", "/more2"]);
    let setting = |name: &str| submission.settings.get(name).map(String::as_str);
    assert_eq!(setting("mapreduce.job.reduces"), Some("3"));
    assert_eq!(setting("gerbil.quiet"), Some("true"));
    let sentence = "no such cluster".to_owned();
    client.send(&ToDriver::Refused { sentence }).unwrap();
    let said = client.receive().unwrap();
    assert!(
        matches!(&said, FromDriver::Failed { sentence } if sentence == "no such cluster"),
        "{said:?}"
    );
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(1));
}

#[test]
fn a_command_line_that_a_driver_dislikes_ends_it_before_its_hello() {
    for (words, code, start) in [
        (
            &["--rounds", "many", "in", "out"],
            64,
            "kmeans: --rounds many",
        ),
        (
            &["--slots", "2", "in", "out"],
            64,
            "kmeans: --slots is of a run on this machine",
        ),
        (&["--help", "in", "out", "x"], 0, "Usage: kmeans"),
    ] {
        let (child, mut client) = driver("kmeans", words);
        let heard = client.receive::<FromDriver>();
        assert!(matches!(heard, Err(FrameError::Closed)), "{heard:?}");
        let done = child.wait_with_output().unwrap();
        let said = [done.stdout, done.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert_eq!(done.status.code(), Some(code), "{said}");
        assert!(said.starts_with(start), "{said}");
    }
}

#[test]
fn a_driver_ends_with_its_client() {
    let (mut child, mut client) = driver("kmeans", &["in", "out"]);
    assert!(matches!(
        client.receive().unwrap(),
        FromDriver::Hello { .. }
    ));
    client.send(&welcome(VERSION)).unwrap();
    assert!(matches!(client.receive().unwrap(), FromDriver::List { path } if path == "in"));
    drop(client);
    let until = Instant::now() + SOON;
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < until, "it is still there");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

/// Runs `faulty` with a driver that does `how`; its exit code and what was said.
#[cfg(test)]
fn faulty(bed: &Bed, how: &str) -> (i32, String) {
    program(
        "faulty",
        &["--local", "--quiet", "--driver", how],
        &[&bed.at("in"), &bed.at("out")],
        &[],
    )
}

#[test]
fn what_drivers_must_not_do_is_said_in_one_sentence() {
    let bed = Bed::new();
    bed.write("in", "a\n");
    for (how, sentence) in [
        (
            "exit",
            "faulty: the driver ended its process with exit code 0 before it submitted a job\n",
        ),
        (
            "exit later",
            "faulty: the driver ended its process with exit code 0",
        ),
        ("error", "faulty: this driver wants no job\n"),
    ] {
        let (code, said) = faulty(&bed, how);
        assert!(code == 1 && said.starts_with(sentence), "{how}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        std::fs::remove_dir_all(bed.path("out")).ok();
    }
    let (code, said) = faulty(&bed, "panic");
    let last = said.lines().last().unwrap();
    assert!(
        code == 1
            && last.starts_with("faulty: the driver panicked at ")
            && last.ends_with(": this driver had enough"),
        "{said}"
    );
    std::fs::remove_dir_all(bed.path("out")).ok();
    let (code, said) = faulty(&bed, "remove");
    assert!(
        code == 64 && said.contains("in is no output of a job of this driver, and stays"),
        "{said}"
    );
    assert!(bed.path("in").exists());
}

#[test]
fn params_of_another_kind_are_named() {
    let bed = Bed::new();
    bed.write("in", "params\n");
    let (code, said) = faulty(&bed, "params");
    assert!(
        code == 1
            && said
                .contains("the job's params: invalid type: string \"not a number\", expected u64"),
        "{said}"
    );
    assert!(!bed.path("out").exists());
}

#[test]
fn a_job_that_nobody_waits_for_is_waited_for() {
    let bed = Bed::new();
    bed.write("in", "a\nsleep\n");
    assert_eq!(faulty(&bed, "forget"), (0, String::new()));
    assert_eq!(bed.read("out/part-r-00000"), "a\t1\nsleep\t1\n");
    bed.write("in", "a\nerror\n");
    std::fs::remove_dir_all(bed.path("out")).unwrap();
    let (code, said) = faulty(&bed, "forget");
    assert!(code == 1 && said.contains("this line is refused"), "{said}");
}

#[test]
fn a_driver_that_is_killed_takes_its_job_along() {
    let bed = Bed::new();
    bed.write("in", "loop\n");
    let options = ["--local", "--quiet", "--driver", "loop"];
    let mut client = command("faulty", &options, &[&bed.at("in"), &bed.at("out")], &[])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let until = Instant::now() + SOON;
    // Its children are the driver and, later, a task.
    let driver = loop {
        assert!(Instant::now() < until, "no driver, or no job");
        let children = format!("/proc/{0}/task/{0}/children", client.id());
        let children = std::fs::read_to_string(children).unwrap();
        let first = children.split_whitespace().next().map(str::to_owned);
        if let Some(first) = first.filter(|_| bed.path("out/_temporary").exists()) {
            break first.parse().unwrap();
        }
        std::thread::park_timeout(Duration::from_millis(10));
    };
    let driver = rustix::process::Pid::from_raw(driver).unwrap();
    rustix::process::kill_process(driver, rustix::process::Signal::KILL).unwrap();
    let said = std::io::read_to_string(client.stderr.take().unwrap()).unwrap();
    assert_eq!(client.wait().unwrap().code(), Some(1), "{said}");
    assert_eq!(
        said,
        "faulty: the driver was killed by signal 9 while the job ran\n"
    );
    assert!(!bed.path("out").exists());
}

#[test]
fn local_behind_the_program_is_refused_by_a_driver_whose_client_runs_jobs_elsewhere() {
    let bed = Bed::new();
    bed.write("in", "a\n");
    let operands = [bed.at("in"), bed.at("out")];
    let operands = [operands[0].as_str(), operands[1].as_str()];
    let (code, said) = program(
        "wordcount",
        &["--local"],
        &operands,
        &[("GERBIL_ROLE", "drive")],
    );
    assert_eq!(code, 64, "{said}");
    assert!(said.contains("gerbil mr --local PROGRAM"), "{said}");
    assert!(!bed.path("out").exists());
}
