//! Jobs of a session that are ended before they have ended, alone or with the session.

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, Given};
use it::expect;
use it::session::{session, shows, start, stop, told};
use nix::sys::signal::Signal;

use super::{fails, interrupt, job, lingering, succeeds};

pub(crate) const CASES: &[(&str, Case)] = &[
    ("Ctrl-C ends one job alone", interrupted),
    ("a job is killed by its name", killed_by_name),
    ("a program's crash is its own end alone", crashed),
    ("a program that eats memory ends alone", overfed),
    ("gerbil-run killed -9", client_killed),
    ("stop --now ends what runs", stopped_now),
    ("stop runs jobs to their ends", drained),
];

fn interrupted(given: &Given) -> Result<()> {
    start(given, "s")?;
    let (one, other) = (lingering(given, "3")?, lingering(given, "3")?);
    interrupt(one)?;
    let shown = shows(given, "1 job runs, 0 waiting, 1 ended")?;
    ensure!(shown.contains("3 of them in use"), "{shown}");
    succeeds(given, &["-n", "3", "true"])?;
    interrupt(other)?;
    let stubborn = given.program("stubborn")?;
    let mut running = job(given, &["-n", "2", &stubborn])?.start()?;
    running.wait_for_stdout("ready")?;
    running.signal(Signal::SIGINT)?;
    running.wait_for_stderr("once more")?;
    running.signal(Signal::SIGINT)?;
    expect::sentence(
        &running.finish()?,
        130,
        &["was told to end, and not waited for"],
    )?;
    shows(given, "no job runs, 0 waiting, 4 ended")?;
    stop(given, "s")
}

fn killed_by_name(given: &Given) -> Result<()> {
    start(given, "s")?;
    let (one, other) = (lingering(given, "3")?, lingering(given, "3")?);
    let shown = shows(given, "2 jobs run")?;
    let mut words = shown.split_whitespace();
    let first = words.find(|word| word.starts_with('s') && word.ends_with(".1"));
    let first = first.with_context(|| shown.clone())?;
    let listed = given.gerbil(&["--ps"])?.finish()?.success("--ps")?;
    let listed = listed.stdout_text();
    ensure!(listed.contains(&format!("  {first} ")), "{listed}");
    let over = told(given, &["kill", first], 0)?;
    ensure!(
        over.stderr_text().contains(&format!("{first} is over")),
        "{}",
        over.stderr_text()
    );
    ensure!(one.finish()?.code() == 130, "the job that was killed");
    shows(given, "1 job runs, 0 waiting, 1 ended")?;
    let again = told(given, &["kill", first], 70)?;
    let none = again.stderr_text();
    ensure!(none.contains("there is no job 1 here"), "{none}");
    let none = told(given, &["kill", "s9999.1"], 64)?.stderr_text();
    ensure!(
        none.contains("no session of yours has a job s9999.1; there is s"),
        "{none}"
    );
    interrupt(other)?;
    stop(given, "s")
}

fn crashed(given: &Given) -> Result<()> {
    start(given, "s")?;
    let other = lingering(given, "2")?;
    let segv = given.program("segv")?;
    let finished = job(given, &["-n", "4", &segv, "2"])?.finish()?;
    ensure!(
        finished.code() == 128 + 11,
        "{}: {}",
        finished.code(),
        finished.stderr_text()
    );
    let abort = given.program("abort")?;
    fails(given, &["-n", "4", &abort, "1", "9"], 9, &["rank 1"])?;
    shows(given, "1 job runs, 0 waiting, 2 ended")?;
    interrupt(other)?;
    stop(given, "s")
}

/// YARN would end its container, and the rank of another job that is there.
fn overfed(given: &Given) -> Result<()> {
    start(given, "s")?;
    let other = lingering(given, "5")?;
    // It holds all that it reads until a line ends, and is not the rank itself.
    let eats = "setsid -w tail < /dev/zero";
    let words = ["rank 0", "more than its share of its container's memory"];
    fails(given, &["-n", "1", "sh", "-c", eats], 128 + 9, &words)?;
    shows(given, "1 job runs, 0 waiting, 1 ended")?;
    shows(given, "3 containers with 6 slots, 5 of them in use")?;
    succeeds(given, &["-n", "1", "true"])?;
    interrupt(other)?;
    stop(given, "s")
}

fn client_killed(given: &Given) -> Result<()> {
    start(given, "s")?;
    let mut running = lingering(given, "4")?;
    running.signal(Signal::SIGKILL)?;
    drop(running.finish()?);
    // A job that is followed ends with whoever follows it.
    shows(given, "no job runs, 0 waiting, 1 ended")?;
    succeeds(given, &["-n", "6", "true"])?;
    stop(given, "s")
}

fn stopped_now(given: &Given) -> Result<()> {
    start(given, "s")?;
    let (running, waiting) = (lingering(given, "6")?, job(given, &["true"])?.start()?);
    shows(given, "1 job runs, 1 waiting")?;
    told(given, &["stop", "s", "--now"], 0)?;
    for job in [running, waiting] {
        let finished = job.finish()?;
        expect::sentence(&finished, 143, &["of session s was ended with its session"])?;
    }
    given.is_clean()?;
    fails(given, &["true"], 64, &["there is no session s"])
}

fn drained(given: &Given) -> Result<()> {
    start(given, "s")?;
    let mut running = job(
        given,
        &["-n", "2", "sh", "-c", "echo up; sleep 8; echo done"],
    )?
    .start()?;
    running.wait_for_stdout("up")?;
    let stopping = session(given, &["stop", "s"])?.start()?;
    shows(given, "it takes no further job")?;
    let refused = job(given, &["true"])?.finish()?;
    ensure!(
        refused.code() == 65,
        "{}: {}",
        refused.code(),
        refused.stderr_text()
    );
    let finished = running.finish()?.success("the one that was there")?;
    ensure!(
        finished.stdout_text().matches("done").count() == 2,
        "{}",
        finished.stdout_text()
    );
    ensure!(stopping.finish()?.code() == 0);
    given.is_clean()
}
