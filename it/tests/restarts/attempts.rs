//! ApplicationMasters that are killed.

use anyhow::{Result, ensure};
use it::bed::{Case, DEADLINE, Given, text_of};
use it::victims::kill_master;
use it::{expect, wait};
use nix::sys::signal::Signal;

use it::booked::{StartedJob, said};

pub const CASES: &[(&str, Case)] = &[
    (
        "attempts: a killed AM is replaced and the program runs again",
        replaced,
    ),
    (
        "attempts: one that is lost before it was seen is told",
        unseen,
    ),
    ("attempts: --no-restart", no_restart),
    ("attempts: the last one that is killed ends the job", last),
    ("attempts: input from a pipe cannot be given twice", spent),
    ("attempts: input from a file is given again", again),
];

fn attempts(given: &Given) -> Result<usize> {
    let report = given.newest()?;
    given.cluster.resource_manager().attempts(&report.id)
}

fn replaced(given: &Given) -> Result<()> {
    let job = StartedJob::running(given, "replaced", 4, &[])?;
    kill_master(given)?;
    job.wait_for_runs(2)?;
    let finished = job.let_go(2)?;
    said(&finished, &["attempt 2 of 2: ", "attempt 1 was lost"])?;
    ensure!(attempts(given)? == 2);
    given.is_clean()
}

/// The client is stopped between its submit and the first attempt's death, so that it finds the second.
fn unseen(given: &Given) -> Result<()> {
    let mut job = StartedJob::start(given, "unseen", 2, &[])?;
    wait::until("the job at the ResourceManager", DEADLINE, || {
        let all = given.applications()?;
        Ok(all.iter().any(|found| found.name == "unseen").then_some(()))
    })?;
    job.running.signal(Signal::SIGSTOP)?;
    wait::until("the ApplicationMaster", DEADLINE, || {
        Ok(kill_master(given).ok())
    })?;
    wait::until("the next attempt", DEADLINE, || {
        Ok((attempts(given)? == 2).then_some(()))
    })?;
    job.running.signal(Signal::SIGCONT)?;
    job.wait_for_runs(1)?;
    let finished = job.let_go(1)?;
    said(&finished, &["attempt 2 of 2: ", "attempt 1 was lost"])?;
    given.is_clean()
}

fn no_restart(given: &Given) -> Result<()> {
    let job = StartedJob::running(given, "no-restart", 4, &["--no-restart"])?;
    kill_master(given)?;
    let finished = job.ends(1)?;
    ensure!(
        !finished.stderr_text().contains("attempt 2"),
        "{finished:?}"
    );
    ensure!(attempts(given)? == 1);
    expect::failure(&given.cluster, &finished, 70, &["ApplicationMaster"])
}

fn last(given: &Given) -> Result<()> {
    let job = StartedJob::running(given, "last", 2, &[])?;
    kill_master(given)?;
    job.wait_for_runs(2)?;
    kill_master(given)?;
    let finished = job.ends(2)?;
    expect::failure(&given.cluster, &finished, 70, &["ApplicationMaster"])
}

fn spent(given: &Given) -> Result<()> {
    let script = given.script("takes", "read line; echo took $line; sleep 600")?;
    let run = given
        .gerbil(&["-n", "1", &script])?
        .stdin(b"one\n".to_vec());
    let mut running = run.start()?;
    running.wait_for_stdout("took one")?;
    kill_master(given)?;
    let finished = running.finish()?;
    expect::failure(
        &given.cluster,
        &finished,
        70,
        &["standard input", "--input"],
    )
}

fn again(given: &Given) -> Result<()> {
    let folder = given.folder.join("again");
    std::fs::create_dir_all(&folder)?;
    let input = folder.join("input");
    std::fs::write(&input, "one\ntwo\n")?;
    let (folder, input) = (text_of(&folder)?, text_of(&input)?);
    // It begins to read at the second line, and so does the attempt after it.
    let script = given.script(
        "takes-again",
        r#"read line; echo took $line; while [ ! -e "$1/gate" ]; do sleep 0.1; done"#,
    )?;
    let shell = format!("{{ read skipped; exec \"$@\"; }} < {input}");
    let mut running = given
        .shell(&shell, &["-n", "1", &script, &folder])?
        .start()?;
    running.wait_for_stdout("took two")?;
    kill_master(given)?;
    running.wait_for_stdout("took two\ntook two")?;
    std::fs::write(format!("{folder}/gate"), "")?;
    let finished = running.finish()?;
    ensure!(finished.code() == 0, "{finished:?}");
    given.is_clean()
}
