//! Jobs that are left to a session: they last without whoever submitted them, and are watched by whoever wants to.

use anyhow::{Result, ensure};
use it::bed::{Case, Given, text_of};
use it::session::{command, shows, start, stop, told};
use it::{Finished, expect};
use nix::sys::signal::Signal;

use super::{lingering, succeeds};

pub(crate) const CASES: &[(&str, Case)] = &[
    ("detached jobs are watched, at once and later", detached),
    ("detached jobs need nothing of this machine", left_alone),
    ("detached jobs end with stop --now", detached_stopped),
];

/// Leaves a job to the session; its name.
fn detach(given: &Given, arguments: &[&str]) -> Result<String> {
    let taken = succeeds(given, &[&["--detach"], arguments].concat())?;
    let name = taken.stdout_text().trim_end().to_owned();
    ensure!(
        name.starts_with('s') && name.contains('.') && taken.stderr.is_empty(),
        "{name}: {}",
        taken.stderr_text()
    );
    Ok(name)
}

/// A shell of two ranks that lasts until the file is there, and ends with 4 when both have said so.
fn patient(given: &Given, go: &str) -> Result<(String, std::path::PathBuf)> {
    let path = given.folder.join(go);
    let script = format!(
        "go={}; echo up $PMI_RANK; while ! test -e $go; do sleep 0.1; done; echo end $PMI_RANK; \
         : > $go.$PMI_RANK; while ! test -e $go.0 || ! test -e $go.1; do sleep 0.1; done; \
         exit $((PMI_RANK * 4))",
        text_of(&path)?
    );
    let name = detach(given, &["-n", "2", "sh", "-c", &script])?;
    Ok((name, path))
}

const PRINTED: [&str; 4] = ["end 0", "end 1", "up 0", "up 1"];

/// All output and the exit code of [`patient`].
fn is_whole(watched: &Finished) -> Result<()> {
    let printed = watched.stdout_text();
    let mut lines: Vec<&str> = printed.lines().collect();
    lines.sort_unstable();
    ensure!(
        watched.code() == 4 && lines == PRINTED,
        "{}: {printed}{}",
        watched.code(),
        watched.stderr_text()
    );
    expect::sentence(watched, 4, &["rank 1", "code 4"])
}

fn detached(given: &Given) -> Result<()> {
    start(given, "s")?;
    let (name, go) = patient(given, "watched")?;
    shows(given, "sh (detached)")?;
    let listed = given.gerbil(&["--ps"])?.finish()?.success("--ps")?;
    let listed = listed.stdout_text();
    ensure!(listed.contains("sh (detached)"), "{listed}");
    let mut watching = Vec::new();
    for _ in 0..2 {
        let mut one = command(given, &["attach", &name])?.start()?;
        one.wait_for_stdout("up 1")?;
        watching.push(one);
    }
    let so_far = command(given, &["logs", &name, "1"])?.finish()?;
    let so_far = so_far.success("gerbil logs")?;
    ensure!(so_far.stdout_text() == "up 1\n", "{}", so_far.stdout_text());
    let mut leaving = command(given, &["attach", &name])?.start()?;
    leaving.wait_for_stdout("up 1")?;
    leaving.signal(Signal::SIGINT)?;
    let left = leaving.finish()?;
    expect::sentence(&left, 130, &[&format!("{name} goes on")])?;
    std::fs::write(&go, "")?;
    for one in watching {
        is_whole(&one.finish()?)?;
    }
    shows(given, "no job runs, 0 waiting, 1 ended")?;
    is_whole(&command(given, &["attach", &name])?.finish()?)?;
    let of_one = command(given, &["logs", &name, "0"])?.finish()?;
    let of_one = of_one.success("gerbil logs")?;
    ensure!(
        of_one.stdout_text() == "up 0\nend 0\n",
        "{}",
        of_one.stdout_text()
    );
    // An MPI program, and one that reads what somebody gives who comes later.
    let cpi = detach(given, &["-n", "6", &given.example("cpi")?])?;
    let watched = command(given, &["attach", &cpi])?.finish()?;
    let watched = watched.success("cpi")?;
    let printed = watched.stdout_text();
    ensure!(printed.contains("pi is about 3.14159265358"), "{printed}");
    let cat = given.program("cat")?;
    let name = detach(given, &["--input", "0", "-n", "3", &cat])?;
    let given_later = command(given, &["attach", "--input", &name])?;
    let given_later = given_later
        .stdin(b"late\n".to_vec())
        .finish()?
        .success("cat")?;
    ensure!(given_later.stdout_text() == "late\n");
    // More than is kept.
    let name = detach(given, &["seq", "1", "1000000"])?;
    shows(given, "no job runs, 0 waiting, 4 ended")?;
    let watched = command(given, &["attach", &name])?.finish()?;
    let printed = watched.success("seq")?.stdout_text();
    ensure!(printed.starts_with("1\n2\n") && printed.ends_with("\n1000000\n"));
    ensure!(printed.contains("bytes of output are left out here]"));
    stop(given, "s")
}

/// A machine that is switched off: whoever was there is gone without a word, and comes again.
fn left_alone(given: &Given) -> Result<()> {
    start(given, "s")?;
    let (name, go) = patient(given, "alone")?;
    let mut watching = command(given, &["attach", &name])?.start()?;
    watching.wait_for_stdout("up 1")?;
    let followed = lingering(given, "2")?;
    for mut one in [watching, followed] {
        one.signal(Signal::SIGKILL)?;
        drop(one.finish()?);
    }
    // The one that was followed has ended with whoever followed it.
    shows(given, "1 job runs, 0 waiting, 1 ended")?;
    std::fs::write(&go, "")?;
    is_whole(&command(given, &["attach", &name])?.finish()?)?;
    stop(given, "s")
}

fn detached_stopped(given: &Given) -> Result<()> {
    start(given, "s")?;
    let linger = given.program("linger")?;
    let name = detach(given, &["-n", "6", &linger, "600"])?;
    let waiting = detach(given, &["-n", "2", "true"])?;
    shows(given, "1 job runs, 1 waiting")?;
    let killed = command(given, &["kill", &waiting])?.finish()?;
    killed.success("gerbil kill")?;
    let mut watching = command(given, &["attach", &name])?.start()?;
    watching.wait_for_stdout("ready")?;
    told(given, &["stop", "s", "--now"], 0)?;
    let watched = watching.finish()?;
    ensure!(watched.code() == 143, "{}", watched.stderr_text());
    given.is_clean()?;
    let gone = command(given, &["attach", &name])?.finish()?;
    expect::sentence(&gone, 64, &["no session of yours has a job"])
}
