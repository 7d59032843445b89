//! `gerbil mr` on a real cluster of three nodes: its output beside that of Hadoop and of a local run, and what is
//! left of jobs that do not end well.

mod commits;
mod failures;
mod history;
mod outputs;
mod own;

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use it::bed::{DEADLINE, Given, text_of};
use it::mapreduce::Files;
use it::session::{start_with, told};
use it::suite::{self, Group};
use it::{Cluster, Finished, Run, mapreduce, wait};

fn main() -> ExitCode {
    let builder = mapreduce::with_hadoop(Cluster::builder().nodes(3));
    let cases = [
        outputs::CASES,
        failures::CASES,
        own::CASES,
        history::CASES,
        commits::CASES,
    ];
    suite::run(vec![Group::new(builder, &cases)])
}

fn program(name: &str) -> Result<String> {
    text_of(&mapreduce::example(name)?)
}

/// `gerbil mr --session s ARGUMENTS`.
fn mr(given: &Given, arguments: &[&str]) -> Result<Run> {
    let line = [&["--session", "s"], arguments].concat();
    Ok(mapreduce::mr(&given.cluster, &given.folder, &line)?.deadline(DEADLINE))
}

fn succeeds(given: &Given, arguments: &[&str]) -> Result<Finished> {
    mr(given, arguments)?.finish()?.success("gerbil mr")
}

/// `gerbil mr ARGUMENTS`, without a session.
fn alone(given: &Given, arguments: &[&str]) -> Result<Run> {
    let run = mapreduce::mr(&given.cluster, &given.folder, arguments)?;
    Ok(run.deadline(DEADLINE))
}

/// The newest application is over, with this name and verdict, and nothing is left of it.
fn is_over(given: &Given, name: &str, verdict: &str, diagnostics: &str) -> Result<()> {
    let report = given.newest()?;
    ensure!(
        (report.name.as_str(), report.application_type.as_str()) == (name, "GERBIL"),
        "{report:?}"
    );
    ensure!(
        (report.state.as_str(), report.final_status.as_str()) == ("FINISHED", verdict)
            && report.diagnostics.contains(diagnostics),
        "{report:?}"
    );
    given.is_clean()?;
    let listed = told(given, &["list"], 0)?;
    ensure!(
        listed.stderr_text().contains("there is no session"),
        "{}{}",
        listed.stdout_text(),
        listed.stderr_text()
    );
    Ok(())
}

/// Starts a session, with room for what sorts.
fn start(given: &Given) -> Result<()> {
    start_with(given, "s", "768")
}

/// Puts files into a folder of HDFS, and into one of this machine, whose path is the answer.
fn put(given: &Given, folder: &str, files: &[(&str, &str)]) -> Result<String> {
    let here = given.folder.join("put");
    drop(fs::remove_dir_all(&here));
    fs::create_dir(&here)?;
    for (name, text) in files {
        fs::write(here.join(name), text)?;
    }
    mapreduce::with_hdfs(&given.cluster, async |hdfs| {
        hdfs.make_folder(folder).await?;
        for (name, text) in files {
            let path = format!("{folder}/{name}");
            hdfs.write(&path, text.as_bytes().to_vec()).await?;
        }
        Ok(())
    })?;
    text_of(&here)
}

/// What lies in a folder of HDFS.
fn files(given: &Given, folder: &str) -> Result<Files> {
    mapreduce::files(&given.cluster, folder)
}

fn read(folder: &Path) -> Result<Files> {
    let mut files = Files::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        files.insert(name, fs::read(entry.path())?);
    }
    Ok(files)
}

/// The same by the program on this machine.
fn local(given: &Given, program: &str, arguments: &[&str], out: &str) -> Result<Files> {
    let out = given.folder.join(out);
    drop(fs::remove_dir_all(&out));
    let mut command = Command::new(program);
    command
        .args(["--local", "--quiet"])
        .args(arguments)
        .arg(&out);
    Run::new(command)
        .deadline(DEADLINE)
        .finish()?
        .success("a local run")?;
    read(&out)
}

fn is_same(ours: &Files, theirs: &Files) -> Result<()> {
    let names = |files: &Files| files.keys().cloned().collect::<Vec<_>>();
    ensure!(
        names(ours) == names(theirs),
        "{:?} {:?}",
        names(ours),
        names(theirs)
    );
    for (name, bytes) in ours {
        ensure!(theirs.get(name) == Some(bytes), "{name} differs");
    }
    ensure!(ours.contains_key("_SUCCESS"), "{:?}", names(ours));
    Ok(())
}

/// Nothing of an output is there.
fn is_gone(given: &Given, output: &str) -> Result<()> {
    let left = wait::until("nothing of the output", Duration::from_secs(30), || {
        let left = given.cluster.hdfs().list(output)?;
        Ok(left.is_empty().then_some(()))
    });
    let names = given.cluster.hdfs().list(output)?;
    left.with_context(|| format!("{output} has {names:?}"))
}

/// Words that repeat, lines without any, and one at the end of a file without an end.
fn text(seed: u32) -> String {
    let mut text = String::new();
    let mut state = seed;
    for line in 0..4000 {
        for _ in 0..line % 9 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            text.push_str(&format!("w{} ", (state >> 16) % 700));
        }
        text.push('\n');
    }
    text + "last"
}
