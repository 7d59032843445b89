//! What a job leaves while its session goes on: nothing, however it ended.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use it::bed::{Case, Given};
use it::chaos::traces;
use it::session::{start, stop};
use it::wait;
use nix::sys::signal::Signal;

use super::{interrupt, job, lingering, lingering_with, succeeds};

pub const CASES: &[(&str, Case)] = &[("nothing is left of a job", nothing)];

/// Two jobs may still be ending when the next case begins.
const GONE: Duration = Duration::from_secs(20);
/// Where launchers keep the folders of jobs, in their working folder.
const FOLDER: &str = "jobs";

fn nothing(given: &Given) -> Result<()> {
    start(given, "s")?;
    succeeds(given, &["-n", "6", "true"])?;
    let application = given.newest()?.id;
    // Launchers, their wardens, and the ApplicationMaster.
    let idle = seen(given, &application, 1)?;
    ensure!(!idle.is_empty(), "there is no session");
    let is_gone = |how: &str, number: u32| {
        let mut left = BTreeSet::new();
        let gone = wait::until("nothing is left", GONE, || {
            left = &seen(given, &application, number)? - &idle;
            Ok(left.is_empty().then_some(()))
        });
        gone.map_err(|error| error.context(format!("after {how}: {left:#?}")))
    };

    // Each rank leaves a process behind that has a session of its own and no parent.
    let chaos = given.program("chaos")?;
    let gate = given.folder.join("gate");
    let path = it::bed::text_of(&gate)?;
    let mut running = job(given, &["-n", "6", &chaos, &path])?.start()?;
    running.wait_for_stdout("ready")?;
    // The first of the ranks is ready; each is to have left its process behind.
    let mut while_it_runs = BTreeSet::new();
    let all = wait::until("all that the job has", GONE, || {
        while_it_runs = &seen(given, &application, 2)? - &idle;
        let at_least = |what: &str, at_least: usize| {
            let of_kind = while_it_runs.iter().filter(|line| line.starts_with(what));
            of_kind.count() >= at_least
        };
        let is_there =
            at_least("process", 12) && at_least("folder", 3) && at_least("/dev/shm/mpich", 1);
        Ok(is_there.then_some(()))
    });
    all.map_err(|error| error.context(format!("{while_it_runs:#?}")))?;
    fs::write(&gate, "")?;
    running.finish()?.success("a job that is let go")?;
    is_gone("an end by itself", 2)?;

    fs::remove_file(&gate)?;
    let mut running = job(given, &["-n", "6", &chaos, &path])?.start()?;
    running.wait_for_stdout("ready")?;
    running.signal(Signal::SIGKILL)?;
    drop(running.finish()?);
    is_gone("kill -9 of gerbil-run", 3)?;

    let segv = given.program("segv")?;
    let finished = job(given, &["-n", "6", &segv, "2"])?.finish()?;
    ensure!(finished.code() == 128 + 11, "{}", finished.stderr_text());
    is_gone("a crash", 4)?;

    interrupt(lingering(given, "6")?)?;
    is_gone("Ctrl-C", 5)?;

    let limited = lingering_with(given, &["-n", "6", "-timeout", "1"]);
    // It may end before all ranks are up.
    if let Ok(limited) = limited {
        drop(limited.finish()?);
    }
    is_gone("the end of its time", 6)?;
    stop(given, "s")
}

/// What there is of a session and of its job of this number: processes, working folders of jobs, shared memory and
/// temporary files.
fn seen(given: &Given, application: &str, number: u32) -> Result<BTreeSet<String>> {
    let processes = given.cluster.container_processes()?;
    let mut seen: BTreeSet<String> = traces::of_job(processes, application)
        .iter()
        .map(|found| format!("process {}: {}", found.pid, found.arguments.join(" ")))
        .collect();
    seen.extend(traces::shared(application, &format!("_000001_{number}"))?);
    folders(&given.cluster.folder().join("nodes"), &mut seen);
    Ok(seen)
}

/// Every folder of a job below `within`. What is removed meanwhile is gone.
fn folders(within: &Path, found: &mut BTreeSet<String>) {
    let Ok(entries) = fs::read_dir(within) else {
        return;
    };
    let is_of_jobs = within.file_name().is_some_and(|name| name == FOLDER);
    for entry in entries.flatten() {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && is_of_jobs {
            found.insert(format!("folder {}", entry.path().display()));
        } else if is_folder {
            folders(&entry.path(), found);
        }
    }
}
