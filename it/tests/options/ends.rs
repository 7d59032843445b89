//! Ends that the user asks for, and ends of many ranks.

use anyhow::{Context as _, Result, ensure};
use it::expect;
use nix::sys::signal::Signal;

use it::bed::{Case, DEADLINE, Given, said};

pub const CASES: &[(&str, Case)] = &[
    ("kill by id: -k", kill_by_id),
    ("kill what has ended", kill_again),
    ("kill what is no application", kill_nonsense),
    ("SIGTERM ends the job", terminated),
    ("SIGHUP ends the job", hung_up),
    ("a job under nohup outlives SIGHUP", nohup),
    ("SIGUSR1 reaches every rank", user_signal),
    ("several ranks fail", several_fail),
    ("64 ranks on 4 nodes", sixty_four),
];

fn kill_by_id(given: &Given) -> Result<()> {
    let (held, report) = given.held("to-kill", &["-n", "2"])?;
    let killer = given.gerbil(&["-k", &report.id])?.finish()?;
    expect::sentence(&killer, 0, &[&report.id, "KILLED"])?;
    let finished = held.running.finish()?;
    expect::failure(&given.cluster, &finished, 143, &[])?;
    // It heard of it from the ApplicationMaster that was ended, or, where that had no time left to end its streams, from
    // YARN.
    let lines = said(&finished);
    let (last, before) = lines.split_last().context("it says why it ended")?;
    ensure!(
        last.contains("was killed through YARN")
            && before
                .iter()
                .all(|line| line.contains("the connection broke while output was on its way")),
        "{lines:?}"
    );
    let report = given.newest()?;
    ensure!(report.state == "KILLED", "{report:?}");
    Ok(())
}

fn kill_again(given: &Given) -> Result<()> {
    given.succeeds(&["-n", "1", "true"])?;
    let report = given.newest()?;
    let killer = given.gerbil(&["-k", &report.id])?.finish()?;
    expect::sentence(&killer, 0, &[&report.id, "FINISHED"])
}

fn kill_nonsense(given: &Given) -> Result<()> {
    for nonsense in [
        "nonsense",
        "",
        "application_1",
        "application_1_x",
        "container_1_1_1_1",
    ] {
        given.fails(&["-k", nonsense], 64, &[nonsense, "application id"])?;
    }
    given.fails(&["-k", "application_1_0001"], 65, &["application_1_0001"])?;
    let finished = given
        .gerbil(&["-k", "application_1_0001", "true"])?
        .finish()?;
    ensure!(finished.code() == 64, "{finished:?}");
    Ok(())
}

fn signalled(given: &Given, signal: Signal, code: i32) -> Result<()> {
    let (mut held, report) = given.held("signalled", &["-n", "2"])?;
    held.running.signal(signal)?;
    let finished = held.running.finish()?;
    expect::failure(
        &given.cluster,
        &finished,
        code,
        &["ending application_", "once more"],
    )?;
    let last = given.newest()?;
    ensure!(
        last.id == report.id && last.is_over() && last.final_status == "KILLED",
        "{last:?}"
    );
    Ok(())
}

fn terminated(given: &Given) -> Result<()> {
    signalled(given, Signal::SIGTERM, 143)
}

fn hung_up(given: &Given) -> Result<()> {
    signalled(given, Signal::SIGHUP, 129)
}

fn nohup(given: &Given) -> Result<()> {
    let script = given.script("short", "echo ready; sleep 3; echo done")?;
    let run = given.shell("trap '' HUP; exec \"$@\"", &["-n", "2", &script])?;
    let mut running = run.start()?;
    running.wait_for_stdout("ready")?;
    running.signal(Signal::SIGHUP)?;
    let finished = running.finish()?.success("the job under nohup")?;
    ensure!(
        finished.stdout_text().matches("done").count() == 2,
        "{finished:?}"
    );
    given.is_clean()
}

fn user_signal(given: &Given) -> Result<()> {
    let script = given.script(
        "heed",
        "trap 'echo heard by $PMI_RANK; exit 0' USR1; echo ready; while :; do sleep 0.1; done",
    )?;
    let mut running = given.gerbil(&["-n", "4", &script])?.start()?;
    it::wait::until("four ranks that are ready", DEADLINE, || {
        Ok((running.stdout_so_far().matches("ready").count() == 4).then_some(()))
    })?;
    running.signal(Signal::SIGUSR1)?;
    let finished = running.finish()?.success("the job that was signalled")?;
    for rank in 0..4 {
        let line = format!("heard by {rank}\n");
        ensure!(finished.stdout_text().contains(&line), "{finished:?}");
    }
    given.is_clean()
}

/// The first one's code counts, and the others do not wait for those that would go on.
fn several_fail(given: &Given) -> Result<()> {
    let script = given.script(
        "fail",
        "case $PMI_RANK in 0) sleep 600;; 1) sleep 20; exit 6;; 2) exit 5;; 3) sleep 10; kill -9 $$;; esac",
    )?;
    given.fails(&["-n", "4", &script], 5, &["rank 2", "code 5"])?;
    // All at once: one of them is the first.
    let script = given.script("all-fail", "exit $((10 + PMI_RANK))")?;
    let finished = given.gerbil(&["-n", "4", &script])?.finish()?;
    let code = finished.code();
    ensure!((10..14).contains(&code), "{finished:?}");
    let rank = format!("rank {}", code - 10);
    expect::failure(
        &given.cluster,
        &finished,
        code,
        &[&rank, &format!("code {code}")],
    )
}

fn sixty_four(given: &Given) -> Result<()> {
    given.ranks(64)
}
