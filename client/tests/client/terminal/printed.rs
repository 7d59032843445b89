//! Every command that prints, where standard output takes nothing, or nobody reads it.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::Signal;
use nix::unistd::pipe;
use tokio::process::Child;
use tokio::time::{Instant, sleep, timeout};

use super::{command, past, run, staging};
use crate::session::night::{Night, SOON, output, signal, told};

/// The end of a command whose output's reader has gone.
const SIGPIPE: i32 = 128 + 13;

/// What prints, and what it returns where it can.
const PRINTS: &[(&str, i32)] = &[
    ("gerbil-run -h", 0),
    ("gerbil-run --help", 0),
    ("gerbil-run --version", 0),
    ("gerbil-run --generate man", 0),
    ("gerbil-run --ps", 0),
    ("gerbil-run --dry-run sh", 65),
    ("gerbil-run --dry-run --json sh", 65),
    ("gerbil-run --session night --dry-run sh", 0),
    ("gerbil-run --session night --dry-run --json sh", 0),
    ("gerbil-run --session night STAGING --detach sh exit", 0),
    ("gerbil --help", 0),
    ("gerbil version", 0),
    ("gerbil man", 0),
    ("gerbil man mr", 0),
    ("gerbil completions bash", 0),
    ("gerbil run --help", 0),
    ("gerbil ps", 0),
    ("gerbil ps --json", 0),
    ("gerbil clean STAGING", 0),
    ("gerbil probe", 0),
    ("gerbil probe --json", 0),
    ("gerbil probe --node-attributes", 0),
    ("gerbil attach DETACHED", SIGPIPE),
    ("gerbil logs DETACHED", SIGPIPE),
    ("gerbil logs s1.5", 0),
    ("gerbil logs s1.5 m3", 0),
    ("gerbil session list", 0),
    ("gerbil session list --json", 0),
    ("gerbil session status night", 0),
    ("gerbil session status night --json", 0),
    ("gerbil session nodes night", 0),
    ("gerbil session nodes night --json", 0),
    ("gerbil session key night", 0),
    ("gerbil session attach DETACHED", SIGPIPE),
    ("gerbil session logs DETACHED", SIGPIPE),
    ("gerbil mr --help", 0),
    ("gerbil mr list STAGING", 0),
    ("gerbil mr list --json STAGING", 0),
    ("gerbil mr status s42.7 STAGING", 0),
    ("gerbil mr counters s42.7 STAGING", 0),
    ("gerbil mr history s42.7 STAGING", 0),
    ("gerbil mr history s42.7 --json STAGING", 0),
    ("gerbil mr history s42.7 --html STAGING", 0),
    ("gerbil mr scan /bin/sh", 0),
    ("gerbil mr scan /bin/sh --json", 0),
];

/// What prints nothing, or is another program; a session's start is tried by itself.
const SILENT: [&str; 6] = ["kill", "fpga", "fpgad", "start", "import", "stop"];

/// The commands that a help lists.
async fn commands(night: &Night, line: &str) -> BTreeSet<String> {
    let (code, help, said) = run(command(night, line)).await;
    assert_eq!(code, Some(0), "{said}");
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.trim().is_empty());
    let names = commands.filter_map(|line| line.strip_prefix("  "));
    // What is further to the right goes on with what stands above.
    let names = names.filter(|line| !line.starts_with(' '));
    let names = names.filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// The words behind `gerbil mr` that show jobs. No help lists them: any other word is a program.
fn commands_of_mr() -> BTreeSet<String> {
    let source = include_str!("../../../src/subcommands/past.rs");
    let (_, names) = source.split_once("const NAMES").unwrap();
    let (_, names) = names.split_once('=').unwrap();
    let (names, _) = names.split_once(';').unwrap();
    let names = names.split('"').skip(1).step_by(2);
    names.map(str::to_owned).collect()
}

/// A session, a job that was left to it, and the words of the commands.
async fn bed() -> (Night, Vec<(String, i32)>) {
    let night = Night::start().await;
    past(&night, "words");
    super::listed(&night, "words", "gerbil-mapreduce").await;
    let detached = format!("s{}.7", night.id.id);
    let (code, name, said) = told(output(night.job(&["--detach"], "exit")).await);
    assert_eq!(
        (code, name.trim_end()),
        (Some(0), detached.as_str()),
        "{said}"
    );
    let staging = staging(&night);
    let own = format!("s{}.5", night.id.id);
    let lines = PRINTS.iter().map(|(line, code)| {
        let line = line.replace("DETACHED", &detached).replace("s1.5", &own);
        (line.replace("STAGING", &staging), *code)
    });
    let lines = lines.collect();
    (night, lines)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_is_in_the_table() {
    let night = Night::start().await;
    for (of, at, names) in [
        ("gerbil", 1, commands(&night, "gerbil --help").await),
        (
            "gerbil session",
            2,
            commands(&night, "gerbil session --help").await,
        ),
        ("gerbil mr", 2, commands_of_mr()),
    ] {
        assert!(names.len() > 5, "{names:?}");
        for name in names {
            let is_tried = PRINTS.iter().any(|(line, _)| {
                line.starts_with(of) && line.split_whitespace().nth(at) == Some(name.as_str())
            });
            let is_known = is_tried || SILENT.contains(&name.as_str()) || name == "session";
            assert!(
                is_known,
                "{of} {name} prints something or nothing: say which"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_written_is_a_failure_with_a_sentence() {
    let (night, lines) = bed().await;
    for (line, _) in lines {
        let mut command = command(&night, &line);
        command.stdout(File::options().write(true).open("/dev/full").unwrap());
        let (code, _, said) = run(command).await;
        assert_eq!(code, Some(74), "{line}: {said}");
        let why = "No space left on device";
        assert_eq!(said.matches(why).count(), 1, "{line}: {said}");
        assert!(said.lines().count() <= 3, "{line}: {said}");
        if line.contains("--detach") {
            // What the user needs is not lost.
            assert!(
                said.contains(&format!("which is s{}.8", night.id.id)),
                "{line}: {said}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_has_left_has_seen_enough() {
    let (night, lines) = bed().await;
    for (line, wanted) in lines {
        let mut command = command(&night, &line);
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        command.stdout(writer);
        let (code, _, said) = run(command).await;
        assert_eq!(code, Some(wanted), "{line}: {said}");
        assert!(!said.to_lowercase().contains("pipe"), "{line}: {said}");
    }
}

/// The end of a pipe into which nothing goes any more, and the one that keeps it so.
fn full() -> (std::os::fd::OwnedFd, Stdio) {
    let (reader, writer) = pipe().unwrap();
    fcntl(writer.as_fd(), FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
    let mut writer = File::from(writer);
    while writer.write(&[b'x'; 4096]).is_ok() {}
    fcntl(writer.as_fd(), FcntlArg::F_SETFL(OFlag::empty())).unwrap();
    (reader, Stdio::from(writer))
}

/// Until one of the command's threads waits in a system call of this number; the command, if it has ended instead.
pub(super) async fn waits_in(child: &mut Child, calls: &[i64], line: &str) -> bool {
    let began = Instant::now();
    loop {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        let tasks = format!("/proc/{}/task", child.id().unwrap());
        let tasks = std::fs::read_dir(tasks).into_iter().flatten().flatten();
        let mut calling = tasks.filter_map(|task| {
            let text = std::fs::read_to_string(task.path().join("syscall")).ok()?;
            text.split_whitespace().next()?.parse::<i64>().ok()
        });
        if calling.any(|call| calls.contains(&call)) {
            return true;
        }
        assert!(began.elapsed() < SOON, "{line} does not wait");
        sleep(std::time::Duration::from_millis(5)).await;
    }
}

/// Linux's numbers.
#[cfg(target_arch = "x86_64")]
const WRITE: i64 = 1;

/// The process ends for the signal, whoever has taken it.
pub(super) async fn ended_by(mut child: Child, line: &str) {
    // A wait closes it otherwise, and the command would be at its end.
    let _open = child.stdin.take();
    let ended = timeout(SOON, child.wait()).await;
    let status = ended.unwrap_or_else(|_| panic!("{line} is deaf")).unwrap();
    let is_of_signal = status.code() == Some(143) || status.signal() == Some(15);
    assert!(is_of_signal, "{line}: {status}");
}

#[cfg(target_arch = "x86_64")]
#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_stands_still_keeps_no_signal_from_being_heard() {
    let (night, lines) = bed().await;
    // Those that follow a job end it first.
    let lines = lines
        .into_iter()
        .filter(|(line, code)| *code != SIGPIPE && !line.contains("--version"));
    for (line, _) in lines {
        let (_reader, writer) = full();
        let mut command = command(&night, &line);
        command.stdout(writer);
        let mut child = command.spawn().unwrap();
        assert!(
            waits_in(&mut child, &[WRITE], &line).await,
            "{line} has ended"
        );
        signal(&child, Signal::SIGTERM);
        ended_by(child, &line).await;
    }
    // So with what is said on standard error.
    for line in [
        "gerbil session status nobody",
        "gerbil kill application_1_0001",
        "gerbil mr status s1.1",
    ] {
        let (_reader, writer) = full();
        let mut command = command(&night, line);
        command.stderr(writer);
        let mut child = command.spawn().unwrap();
        assert!(
            waits_in(&mut child, &[WRITE], line).await,
            "{line} has ended"
        );
        signal(&child, Signal::SIGTERM);
        ended_by(child, line).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_whose_start_cannot_be_told_is_named_and_stays() {
    let night = Night::start().await;
    let mut starting = command(
        &night,
        "gerbil session start own --local --session-timeout 1s",
    );
    starting.env("TMPDIR", night.folder.path());
    starting.stdout(File::options().write(true).open("/dev/full").unwrap());
    let (code, _, said) = run(starting).await;
    assert_eq!(code, Some(74), "{said}");
    assert!(
        said.contains("session own stays until gerbil session stop own"),
        "{said}"
    );
    let mut stopping = command(&night, "gerbil session stop own --now");
    stopping.env("TMPDIR", night.folder.path());
    let (code, _, said) = run(stopping).await;
    assert_eq!(code, Some(0), "{said}");
}
