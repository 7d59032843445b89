//! Ends: what the exit code is, what is said, and what is left.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use it::bed::{Case, DEADLINE, Given};
use it::expect;
use nix::sys::signal::Signal;

pub const CASES: &[(&str, Case)] = &[
    (
        "ends: who leaves MPI without a word has failed by its code alone",
        without_finalize,
    ),
    ("ends: MPI_Abort, and the table of all ends", table),
    ("ends: a rank that leaves early leaves the others be", early),
    ("ends: limits of time", limits),
    ("ends: Ctrl-C once, and twice", interrupted),
    ("ends: Ctrl-Z stops the ranks too, and they go on", stopped),
    ("ends: a full disk under standard output", full),
    (
        "ends: input that ends early, in the background of a terminal",
        input,
    ),
];

fn without_finalize(given: &Given) -> Result<()> {
    let program = given.program("leave_early")?;
    let line = ["-n", "3", "-ppn", "1", &program, "1", "3"];
    given.fails(&line, 3, &["rank 1 on", "exited with code 3"])?;
    // The workers of a pool leave so when all is done.
    let line = ["-n", "3", "-ppn", "1", &program, "1", "0", "finalize"];
    let finished = given.gerbil(&line)?.finish()?;
    let told = finished.stderr_text();
    let remarks = told.matches("rank 1 on").count();
    let is_said = told.contains("ended with code 0 but without MPI_Finalize");
    ensure!(
        finished.code() == 0 && is_said && remarks == 1,
        "{finished:?}"
    );
    Ok(())
}

fn table(given: &Given) -> Result<()> {
    let abort = given.program("abort")?;
    given.fails(
        &["-n", "4", "-ppn", "2", &abort, "2", "42"],
        42,
        &["rank 2", "MPI_Abort", "42"],
    )?;
    let ends = given.script(
        "ends",
        "case $PMI_RANK in 0) exit 0;; 1) sleep 1; exit 9;; 2) kill -SEGV $$;; 3) sleep 2; exit 6;; esac",
    )?;
    let finished = given
        .gerbil(&[
            "-disable-auto-cleanup",
            "-print-all-exitcodes",
            "-n",
            "4",
            "-ppn",
            "2",
            &ends,
        ])?
        .finish()?;
    // The one that failed first.
    ensure!(finished.code() == 139, "{finished:?}");
    let text = finished.stderr_text();
    for words in ["exit codes on", "0: 0", "code 9", "signal 11", "code 6"] {
        ensure!(text.contains(words), "no {words} in {text}");
    }
    let codes = given.script("codes", "exit $((1 << PMI_RANK))")?;
    let hydra = given
        .gerbil(&[
            "--exit-code",
            "hydra",
            "-disable-auto-cleanup",
            "-n",
            "4",
            &codes,
        ])?
        .finish()?;
    ensure!(hydra.code() == 15, "{hydra:?}");
    given.is_clean()
}

fn early(given: &Given) -> Result<()> {
    let script = given.script(
        "early",
        "[ $PMI_RANK = 0 ] && exit 5; sleep 2; echo rank $PMI_RANK is well",
    )?;
    for option in ["-disable-auto-cleanup", "--kill-on-bad-exit=0"] {
        let finished = given
            .gerbil(&[option, "-n", "2", "-ppn", "1", &script])?
            .finish()?;
        expect::failure(&given.cluster, &finished, 5, &["rank 0 on", "code 5"])?;
        ensure!(finished.stdout_text() == "rank 1 is well\n", "{finished:?}");
    }
    let finished = given.gerbil(&["-n", "2", "-ppn", "1", &script])?.finish()?;
    expect::failure(&given.cluster, &finished, 5, &["rank 0 on", "code 5"])?;
    ensure!(finished.stdout_bytes == 0, "{finished:?}");
    Ok(())
}

fn limits(given: &Given) -> Result<()> {
    given.fails(
        &["-timeout", "1", "-n", "2", "sleep", "60"],
        124,
        &["-timeout"],
    )?;
    given.fails(&["-t", "0:01", "-n", "1", "sleep", "60"], 124, &[])?;
    let run = given.gerbil(&["-n", "1", "sleep", "60"])?;
    let finished = run.env("MPIEXEC_TIMEOUT", "1").finish()?;
    expect::failure(&given.cluster, &finished, 124, &[])?;
    let script = given.script("first", "[ $PMI_RANK = 0 ] || sleep 60")?;
    given.fails(&["--wait", "1", "-n", "2", &script], 124, &["--wait"])?;
    Ok(())
}

fn interrupted(given: &Given) -> Result<()> {
    let polite = given.script(
        "polite",
        "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.1; done",
    )?;
    let mut running = given.gerbil(&["-n", "2", "-ppn", "1", &polite])?.start()?;
    running.wait_for_stdout("ready\nready")?;
    running.signal(Signal::SIGINT)?;
    let finished = running.finish()?;
    expect::failure(&given.cluster, &finished, 130, &["once more"])?;
    ensure!(
        finished.stdout_text().matches("bye").count() == 2,
        "{finished:?}"
    );

    let deaf = given.script(
        "deaf",
        "trap '' TERM; echo ready; while :; do sleep 0.1; done",
    )?;
    let mut running = given.gerbil(&["-n", "2", "-ppn", "1", &deaf])?.start()?;
    running.wait_for_stdout("ready\nready")?;
    running.signal(Signal::SIGINT)?;
    running.wait_for_stderr("once more")?;
    let begin = Instant::now();
    running.signal(Signal::SIGINT)?;
    let finished = running.finish()?;
    expect::failure(&given.cluster, &finished, 130, &["interrupted"])?;
    ensure!(begin.elapsed() < Duration::from_secs(8), "{finished:?}");
    Ok(())
}

fn stopped(given: &Given) -> Result<()> {
    let script = given.script(
        "ticks",
        "trap 'echo goes on; exit 0' CONT; echo ready; while :; do echo tick; sleep 0.1; done",
    )?;
    let mut running = given.gerbil(&["-n", "2", "-ppn", "1", &script])?.start()?;
    // One that has not come to its trap would go on ticking for ever.
    it::wait::until("two ranks that are ready", DEADLINE, || {
        Ok((running.stdout_so_far().matches("ready").count() == 2).then_some(()))
    })?;
    running.signal(Signal::SIGTSTP)?;
    // Both sides have stopped by then, and nothing more is written.
    std::thread::park_timeout(Duration::from_secs(2));
    let before = running.stdout_so_far();
    std::thread::park_timeout(Duration::from_secs(1));
    ensure!(running.stdout_so_far() == before, "it did not stop");
    running.signal(Signal::SIGCONT)?;
    let finished = running.finish()?;
    ensure!(finished.code() == 0, "{finished:?}");
    ensure!(
        finished.stdout_text().matches("goes on").count() == 2,
        "{finished:?}"
    );
    given.is_clean()
}

fn full(given: &Given) -> Result<()> {
    let finished = given
        .shell("exec \"$@\" > /dev/full", &["-n", "2", "-ppn", "1", "yes"])?
        .finish()?;
    expect::failure(
        &given.cluster,
        &finished,
        74,
        &["cannot write the program's output", "No space left"],
    )
}

fn input(given: &Given) -> Result<()> {
    // A shell with job control, on a terminal of its own, puts the job into the background.
    let script = "shift; exec script --quiet --return --command \
                  \"bash -mc '$LINE & wait \\$!; echo ended \\$?'\" /dev/null";
    let binary = it::gerbil::binary()?;
    let finished = given
        .shell(script, &[])?
        .env("LINE", &format!("{} -n 2 echo well", binary.display()))
        .finish()?;
    let text = finished.stdout_text();
    ensure!(
        text.matches("well").count() >= 2 && text.contains("ended 0"),
        "{text}"
    );
    // What rank 0 has read is all there was, and it knows.
    let finished = given
        .shell("head -c 5 /dev/zero | \"$@\"", &["-n", "1", "wc", "-c"])?
        .finish()?;
    ensure!(finished.stdout_text().trim() == "5", "{finished:?}");
    given.is_clean()
}
