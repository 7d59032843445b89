//! A pipe in place of each file that a command opens, with nobody at its other end: a signal ends the wait.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::time::timeout;

use super::printed::{ended_by, waits_in};
use super::{command, run};
use crate::session::night::{Night, SOON, signal, told, until_it_hears};

/// Linux's numbers of what waits at a pipe: to read, to open.
const AT_A_PIPE: [i64; 3] = [0, 2, 257];

fn pipe(path: PathBuf) -> PathBuf {
    let _before = std::fs::remove_file(&path).is_ok();
    mkfifo(&path, Mode::S_IRWXU).unwrap();
    path
}

/// Starts it, waits until it waits itself, and ends it.
async fn ends(mut command: Command, line: &str) {
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    if !waits_in(&mut child, &AT_A_PIPE, line).await {
        let (code, _, said) = told(child.wait_with_output().await.unwrap());
        panic!("{line} has ended with {code:?}: {said}");
    }
    signal(&child, Signal::SIGTERM);
    ended_by(child, line).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_whose_file_is_a_pipe_holds_up_nobody() {
    let night = Night::start().await;
    pipe(night.file("night"));
    let staging = super::staging(&night);
    for line in [
        "gerbil session status night",
        "gerbil session status night --gantt chart.svg",
        "gerbil session nodes night",
        "gerbil session list",
        "gerbil session stop night",
        "gerbil session kill s1.7",
        "gerbil session key night",
        "gerbil attach s1.7",
        "gerbil logs s1.7",
        "gerbil ps",
        "gerbil mr list STAGING",
        "gerbil mr --session night STAGING /bin/true",
        "gerbil-run --session night STAGING /bin/true",
        "gerbil-run --session night --dry-run /bin/true",
    ] {
        let line = line.replace("STAGING", &staging);
        // It is none; who looks for all does without it.
        let (code, _, said) = run(command(&night, &line)).await;
        assert!(matches!(code, Some(0..=127)), "{line}: {code:?} {said}");
    }
}

#[cfg(target_arch = "x86_64")]
#[tokio::test(flavor = "multi_thread")]
async fn settings_that_are_a_pipe() {
    let night = Night::start().await;
    pipe(night.folder.path().join("conf/yarn-site.xml"));
    let list = night.folder.path().join("list");
    std::fs::write(&list, "/bin/true\n").unwrap();
    let list = format!("gerbil-run --list {}", list.display());
    for line in [
        "gerbil ps",
        "gerbil kill application_1_0001",
        "gerbil session start",
        "gerbil mr /bin/true",
        "gerbil mr list",
        "gerbil mr status s1.1",
        "gerbil-run /bin/true",
        "gerbil-run --dry-run /bin/true",
        "gerbil-run --session night /bin/true",
        &list,
    ] {
        ends(command(&night, line), line).await;
    }
}

#[cfg(target_arch = "x86_64")]
#[tokio::test(flavor = "multi_thread")]
async fn files_of_options_that_are_pipes() {
    let night = Night::start().await;
    let folder = night.folder.path();
    let (file, chart) = (pipe(folder.join("pipe")), pipe(folder.join("pipe.svg")));
    let (file, chart) = (file.display(), chart.display());
    for line in [
        format!("gerbil session import {file}"),
        format!("gerbil session status night --gantt {chart}"),
        format!("gerbil-run --hostfile {file} /bin/true"),
        format!("gerbil-run --list {file}"),
        format!("gerbil-run --local --input {file} cat"),
    ] {
        let mut command = command(&night, &line);
        command.env("TMPDIR", folder);
        ends(command, &line).await;
    }
    let mut from_input = command(&night, "gerbil session import -");
    from_input.stdin(Stdio::piped());
    ends(from_input, "gerbil session import -").await;
}

/// What is to travel is read to its end before anything else.
#[tokio::test(flavor = "multi_thread")]
async fn what_may_never_end_does_not_travel() {
    let night = Night::start().await;
    let folder = night.folder.path();
    let file = pipe(folder.join("pipe"));
    for option in ["--files", "--archives"] {
        for file in [file.as_path(), Path::new("/dev/zero")] {
            let mut command = command(&night, "gerbil-run --local");
            command.env("TMPDIR", folder).arg(option);
            command
                .arg(format!("{}#x.tar", file.display()))
                .arg("/bin/true");
            let (code, _, said) = run(command).await;
            assert!(
                code.is_some_and(|code| code >= 64),
                "{option} {file:?}: {code:?} {said}"
            );
            assert!(
                said.contains("it is a pipe or a device"),
                "{option} {file:?}: {said}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipe_is_read_as_input_once_it_is_written() {
    let night = Night::start().await;
    let folder = night.folder.path();
    let file = pipe(folder.join("pipe"));
    let mut reading = command(
        &night,
        &format!("gerbil-run --local --input {} cat", file.display()),
    );
    let child = reading.env("TMPDIR", folder).spawn().unwrap();
    let write = async {
        let mut pipe = tokio::fs::File::options()
            .write(true)
            .open(&file)
            .await
            .unwrap();
        pipe.write_all(b"one\ntwo\n").await.unwrap();
        pipe.flush().await.unwrap();
    };
    let written = timeout(SOON, write).await;
    written.unwrap();
    let (code, printed, said) = told(
        timeout(SOON, child.wait_with_output())
            .await
            .unwrap()
            .unwrap(),
    );
    assert_eq!((code, printed.as_str()), (Some(0), "one\ntwo\n"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_system_that_says_nothing() {
    let night = Night::start().await;
    let mute = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("hdfs://{}/out", mute.local_addr().unwrap());
    for words in [vec![], vec!["--session", "night"]] {
        let mut command = night.command("gerbil-run");
        command.args(words).args(["--output", &url, "/bin/true"]);
        let child = command.spawn().unwrap();
        let dialled = timeout(SOON, mute.accept()).await;
        let _held = dialled.unwrap().unwrap();
        until_it_hears(&child, Signal::SIGTERM).await;
        signal(&child, Signal::SIGTERM);
        let ended = timeout(SOON, child.wait_with_output()).await;
        let (code, _, said) = told(ended.unwrap().unwrap());
        assert_eq!(code, Some(143), "{said}");
    }
}
