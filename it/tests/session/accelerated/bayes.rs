//! Naive Bayes on the boards: maps alone, whose table is loaded once a map.

use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};
use it::bed::{DEADLINE, Given, text_of};
use it::mapreduce::{self, files, is_same};

use super::{counted, reported};

/// Some maps, of which two can have a board at a time.
const CUT: &str = "mapreduce.input.fileinputformat.split.maxsize=200000";
/// What the jobs leave.
const JOBS: [&str; 2] = ["counts", "classes"];

pub fn documents_are_sorted(given: &Given, program: &str) -> Result<()> {
    let here = given.folder.join("documents");
    let generate = ["--job", "generate", "--lines", "1500", "2"];
    mapreduce::local(given, program, &generate, "documents")?;
    let parts = ["part-m-00000", "part-m-00001"];
    let texts: Result<Vec<_>, _> = parts
        .map(|part| fs::read_to_string(here.join(part)))
        .into_iter()
        .collect();
    let texts = texts?;
    let all: Vec<(&str, &str)> = parts
        .into_iter()
        .zip(texts.iter().map(String::as_str))
        .collect();
    mapreduce::put(given, "/acc/documents", &all)?;
    let mut command = Command::new(program);
    command
        .args(["--local", "--quiet", "-D", "needs.map=cpu", "-D", CUT])
        .args([&text_of(&here)?, &text_of(&given.folder.join("sorted"))?]);
    let run = it::Run::new(command).deadline(DEADLINE).finish()?;
    run.success("bayes on processors")?;

    let report = format!("--report={}", given.folder.join("report.json").display());
    let line = ["--session", "s", &report, "-D", CUT, program];
    let line = [&line[..], &["/acc/documents", "/acc/sorted"]].concat();
    let run = mapreduce::mr(&given.cluster, &given.folder, &line)?;
    let said = run
        .deadline(DEADLINE)
        .finish()?
        .success("bayes on boards")?;
    let jobs = reported(given, "classify")?;
    let names = [
        "DEVICE_PACKETS",
        "PROCESSOR_PACKETS",
        "MODELS_LOADED",
        "MODELS_RELOADED",
        "RIGHT",
    ];
    let found = counted(&jobs, names);
    let [devices, processors, loaded, again, right] = found;
    ensure!(
        devices > 1 && processors == 0 && loaded == devices && again == 0 && right > 2700,
        "{found:?}: {}",
        said.stderr_text()
    );
    for job in JOBS {
        let wanted = mapreduce::read(&given.folder.join("sorted").join(job))?;
        is_same(
            &files(&given.cluster, &format!("/acc/sorted/{job}"))?,
            &wanted,
        )?;
    }
    Ok(())
}
