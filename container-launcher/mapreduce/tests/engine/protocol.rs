//! The protocol by itself: another launcher, and a task in another language.

use std::path::{Path, PathBuf};
use std::process::Command;

use std::os::fd::{AsFd as _, OwnedFd};

use gerbil_task::{Connection, FromTask, Page, ToTask, VERSION, Welcome};

use crate::program::{Bed, example, program};

#[cfg(test)]
fn python_task() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("protocol/examples/wordcount.py")
}

/// Launches `task` over two files with `launch`, which knows nothing of the engine.
#[cfg(test)]
fn launch(bed: &Bed, task: &Path, out: &str, environment: &[(&str, &str)]) -> (bool, String) {
    launch_with(&[], bed, task, out, environment)
}

#[cfg(test)]
fn launch_with(
    options: &[&str],
    bed: &Bed,
    task: &Path,
    out: &str,
    environment: &[(&str, &str)],
) -> (bool, String) {
    let done = Command::new(example("launch"))
        .args(options)
        .arg(task)
        .args(["3", &bed.at("a"), &bed.at("b"), &bed.at(out)])
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    (done.status.success(), said)
}

#[cfg(test)]
fn lines(bed: &Bed, out: &str) -> Vec<String> {
    let parts = String::from_utf8(bed.parts(out)).unwrap();
    let mut lines: Vec<String> = parts.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn another_launcher_and_a_task_in_python_count_the_same_words() {
    let bed = Bed::new();
    let text = |from: u32| -> String {
        (from..from + 3000)
            .map(|line| format!("the word{} of line{line}\n", line % 53))
            .collect()
    };
    bed.write("a", text(0));
    bed.write("b", text(1500));
    let (code, said) = program(
        "wordcount",
        &["--local", "--quiet", "--reduces", "3"],
        &[&bed.at("a"), &bed.at("b"), &bed.at("own")],
        &[],
    );
    assert_eq!(code, 0, "{said}");

    let (ended_well, said) = launch(&bed, &example("wordcount"), "launched", &[]);
    assert!(ended_well, "{said}");
    assert!(said.contains("\"MAP_INPUT_RECORDS\": 6000"), "{said}");
    assert!(
        bed.parts("launched") == bed.parts("own"),
        "the engine wrote other bytes for another launcher"
    );

    let (ended_well, said) = launch(&bed, &python_task(), "python", &[]);
    assert!(ended_well, "{said}");
    assert_eq!(lines(&bed, "python"), lines(&bed, "own"));

    // Cut in the middle of lines, through pipes or not.
    let settings =
        r#"{"mapreduce.input.fileinputformat.split.maxsize": "10000", "gerbil.split.pack": "1"}"#;
    let cut = [("WORDCOUNT_SETTINGS", settings)];
    for (options, out) in [(&[][..], "cut"), (&["--pipes"][..], "piped")] {
        let (ended_well, said) = launch_with(options, &bed, &python_task(), out, &cut);
        assert!(ended_well, "{said}");
        assert_eq!(lines(&bed, out), lines(&bed, "own"));
    }
    assert!(!bed.path("python/_temporary").exists());
}

#[test]
fn another_version_of_the_protocol_is_refused_by_both_sides() {
    let bed = Bed::new();
    bed.write("a", "x\n");
    bed.write("b", "y\n");
    let (ended_well, said) = launch(&bed, &python_task(), "out", &[("WORDCOUNT_VERSION", "99")]);
    assert!(!ended_well);
    assert!(
        said.contains(&format!(
            "the program speaks version 99 of the protocol, this launcher {}",
            VERSION
        )),
        "{said}"
    );

    // A launcher of another version welcomes a task.
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut task = Command::new(example("wordcount"))
        .env("GERBIL_ROLE", "task")
        .env("GERBIL_LAUNCHER", std::process::id().to_string())
        .stdin(OwnedFd::from(theirs))
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut connection = Connection::new(ours);
    assert!(matches!(
        connection.receive().unwrap(),
        FromTask::Hello {
            version: VERSION,
            ..
        }
    ));
    let (_page, page) = Page::create().unwrap();
    let folder = std::fs::File::open("/tmp").unwrap();
    let version = VERSION + 1;
    let welcome = ToTask::Welcome(Welcome {
        version,
        job: "wordcount".to_owned(),
        ..Welcome::default()
    });
    connection
        .send_with(&welcome, &[page.as_fd(), folder.as_fd()])
        .unwrap();
    let said = std::io::read_to_string(task.stderr.take().unwrap()).unwrap();
    assert_eq!(task.wait().unwrap().code(), Some(70));
    assert!(
        said.contains(&format!(
            "the launcher speaks version {version} of the task protocol, this is {VERSION}"
        )),
        "{said}"
    );
}
