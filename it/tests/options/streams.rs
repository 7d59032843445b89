//! Input, output and the terminal.

use std::fs::File;
use std::io::Read as _;

use anyhow::{Context as _, Result, bail, ensure};
use it::{Finished, expect, gerbil};

use it::bed::{Case, Given, said, text_of};

pub const CASES: &[(&str, Case)] = &[
    ("bytes of any kind go in and out", bytes),
    ("input that is empty", empty_input),
    ("input that is closed", closed_input),
    ("input that nobody reads and that never ends", open_input),
    ("a reader that leaves", reader_leaves),
    (
        "a reader that stands still loses nothing",
        reader_stands_still,
    ),
    ("on a terminal", terminal),
    ("a failure on a terminal", failure_on_terminal),
];

fn bytes(given: &Given) -> Result<()> {
    const SIZE: u64 = 5_000_000;
    let mut sent = Vec::new();
    File::open("/dev/urandom")?
        .take(SIZE)
        .read_to_end(&mut sent)?;
    for ranks in ["1", "4"] {
        let run = given.gerbil(&["-n", ranks, "cat"])?.stdin(sent.clone());
        let finished = expect::job(&given.cluster, run)?;
        ensure!(
            finished.stdout == sent,
            "{} bytes came back of {SIZE}, the first {} of them right",
            finished.stdout_bytes,
            sent.iter()
                .zip(&finished.stdout)
                .take_while(|(one, other)| one == other)
                .count()
        );
    }
    Ok(())
}

fn empty_input(given: &Given) -> Result<()> {
    let run = given.gerbil(&["-n", "2", "cat"])?.stdin(Vec::new());
    let finished = expect::job(&given.cluster, run)?;
    ensure!(finished.stdout_bytes == 0, "{finished:?}");
    Ok(())
}

fn closed_input(given: &Given) -> Result<()> {
    let run = given.shell("exec \"$@\" <&-", &["-n", "2", "cat"])?;
    let finished = expect::job(&given.cluster, run)?;
    ensure!(finished.stdout_bytes == 0, "{finished:?}");
    Ok(())
}

fn open_input(given: &Given) -> Result<()> {
    // The shell holds both ends of the pipe.
    let script = "exec 3<> <(:); exec \"$@\" <&3";
    expect::job(&given.cluster, given.shell(script, &["-n", "2", "true"])?)?;
    Ok(())
}

fn reader_leaves(given: &Given) -> Result<()> {
    let finished = given
        .shell("\"$@\" | head -n 1", &["-n", "2", "yes"])?
        .finish()?;
    ensure!(finished.stdout == b"y\n", "{finished:?}");
    // As a local program that SIGPIPE ends.
    ensure!(finished.code() == 141, "{finished:?}");
    ensure!(said(&finished).is_empty(), "{finished:?}");
    given.is_clean()
}

/// More than all pipes and windows on the way hold together.
fn reader_stands_still(given: &Given) -> Result<()> {
    let script = given.script("count", "seq -f \"$PMI_RANK %.0f\" 1 200000")?;
    let finished = given
        .shell(
            "\"$@\" | { sleep 8; sort -u | wc -l; }",
            &["-n", "2", &script],
        )?
        .finish()?;
    ensure!(finished.code() == 0, "{finished:?}");
    ensure!(finished.stdout_text().trim() == "400000", "{finished:?}");
    given.is_clean()
}

/// `gerbil-run ARGUMENTS` on a terminal; all that the terminal was sent, as stdout.
fn on_terminal(given: &Given, arguments: &[&str]) -> Result<Finished> {
    let mut line = vec![text_of(&gerbil::binary()?)?];
    line.extend(arguments.iter().map(|&argument| argument.to_owned()));
    let script = "shift; exec script --quiet --return --command \"$LINE\" /dev/null";
    given
        .shell(script, &[])?
        .env("LINE", &line.join(" "))
        .env("TERM", "xterm")
        .finish()
}

/// What stays visible of a line on which the cursor went back to its beginning, or which was erased.
fn visible(line: &str) -> String {
    let erased = line.rsplit("\u{1b}[2K").next().unwrap_or(line);
    erased.trim_matches('\r').to_owned()
}

fn terminal(given: &Given) -> Result<()> {
    let script = given.script(
        "lines",
        "i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo \"rank $PMI_RANK line $i of 200\"; done",
    )?;
    let finished = on_terminal(given, &["-n", "2", &script])?;
    ensure!(finished.code() == 0, "{finished:?}");
    let shown = finished.stdout_text();
    let report = given.newest()?;
    let progress = format!("{}: submitted", report.id);
    ensure!(shown.contains(&progress), "no progress in {shown:?}");
    let lines: Vec<String> = shown.split('\n').map(visible).collect();
    for rank in 0..2 {
        let start = format!("rank {rank} ");
        let found: Vec<_> = lines
            .iter()
            .filter(|line| line.starts_with(&start))
            .collect();
        let expected: Vec<_> = (1..=200)
            .map(|number| format!("{start}line {number} of 200"))
            .collect();
        ensure!(found.into_iter().eq(expected.iter()), "{shown:?}");
    }
    // Whatever the line showed is erased before the program's first byte.
    let first = shown.find("rank ").context("no output")?;
    ensure!(!shown[first..].contains(&report.id), "{shown:?}");
    given.is_clean()
}

fn failure_on_terminal(given: &Given) -> Result<()> {
    let script = given.script("seven", "exit 7")?;
    let finished = on_terminal(given, &["-n", "1", &script])?;
    ensure!(finished.code() == 7, "{finished:?}");
    let shown = finished.stdout_text();
    let own: Vec<String> = shown
        .split('\n')
        .map(visible)
        .filter(|line| line.starts_with(expect::OWN))
        .collect();
    // Which application it is, and how it ended.
    let [id, end] = own.as_slice() else {
        bail!("{own:?} in {shown:?}");
    };
    ensure!(
        id.contains("application_") && end.contains("code 7"),
        "{own:?} in {shown:?}"
    );
    given.is_clean()
}
