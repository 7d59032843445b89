//! Jobs of a session that end well: one after the other, at once, and when there is room for them.

use ::session::status::Status;
use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, DEADLINE, Given, text_of};
use it::command::Running;
use it::queue::SessionQueue;
use it::session::{shows, start, stop, told};
use it::{expect, wait};

use super::{fails, interrupt, job, lingering, succeeds};

pub(crate) const CASES: &[(&str, Case)] = &[
    ("jobs one after the other", one_after_the_other),
    ("jobs at once", at_once),
    ("input, files and an environment", input_and_files),
    ("exit codes", exit_codes),
    ("a job waits for slots", waits),
    ("a thousand jobs wait", thousand),
    ("two sessions side by side", two),
    ("containers come with jobs and go without", elastic),
];

fn one_after_the_other(given: &Given) -> Result<()> {
    start(given, "s")?;
    let hostname = succeeds(given, &["-n", "6", "hostname"])?;
    ensure!(
        hostname.stdout_text().lines().count() == 6,
        "{}",
        hostname.stdout_text()
    );
    let cpi = given.example("cpi")?;
    for _ in 0..3 {
        let finished = succeeds(given, &["-n", "6", &cpi])?;
        let printed = finished.stdout_text();
        ensure!(printed.contains("pi is about 3.14159265358"), "{printed}");
    }
    let ring = given.example("ring")?;
    succeeds(given, &["-n", "4", &ring])?;
    // Programs beside each other, and names that the second job of that name is to have again.
    let both = succeeds(
        given,
        &["-n", "1", "-l", "echo", "a", ":", "-n", "2", "echo", "b"],
    )?;
    let mut lines: Vec<String> = both.stdout_text().lines().map(str::to_owned).collect();
    lines.sort();
    ensure!(lines == ["[0] a", "[1] b", "[2] b"], "{lines:?}");
    shows(given, "no job runs, 0 waiting, 6 ended")?;
    stop(given, "s")
}

fn at_once(given: &Given) -> Result<()> {
    start(given, "s")?;
    let cpi = given.example("cpi")?;
    let jobs: Vec<Running> = (0..8)
        .map(|_| job(given, &["-n", "2", &cpi])?.start())
        .collect::<Result<_>>()?;
    for running in jobs {
        let finished = running.finish()?.success("one of eight")?;
        let printed = finished.stdout_text();
        ensure!(printed.contains("pi is about 3.14159265358"), "{printed}");
    }
    shows(given, "no job runs, 0 waiting, 8 ended")?;
    stop(given, "s")
}

fn input_and_files(given: &Given) -> Result<()> {
    start(given, "s")?;
    let cat = given.program("cat")?;
    let text: Vec<u8> = (0..200_000u32).flat_map(u32::to_le_bytes).collect();
    let finished = job(given, &["-n", "3", &cat])?
        .stdin(text.clone())
        .finish()?;
    let finished = finished.success("cat")?;
    ensure!(
        finished.stdout == text,
        "{} bytes came back",
        finished.stdout.len()
    );
    let data = given.folder.join("data.txt");
    std::fs::write(&data, "brought\n")?;
    let shipped = format!("{}#in.txt", text_of(&data)?);
    let read = succeeds(
        given,
        &[
            "--files",
            &shipped,
            "-env",
            "WHO",
            "me",
            "sh",
            "-c",
            "cat in.txt; echo $WHO; echo left > out",
        ],
    )?;
    ensure!(
        read.stdout_text() == "brought\nme\n",
        "{}",
        read.stdout_text()
    );
    // The next job has a folder of its own.
    let left = succeeds(
        given,
        &["-n", "6", "sh", "-c", "ls out in.txt 2>/dev/null; true"],
    )?;
    ensure!(left.stdout.is_empty(), "{}", left.stdout_text());
    let report = given.folder.join("report.json");
    succeeds(given, &["-n", "2", "--report", &text_of(&report)?, "true"])?;
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&report)?)?;
    ensure!(
        report["exit_code"] == 0 && report["processes"] == 2,
        "{report}"
    );
    stop(given, "s")
}

fn exit_codes(given: &Given) -> Result<()> {
    start(given, "s")?;
    let exit = given.program("exit_code")?;
    fails(
        given,
        &["-n", "4", &exit, "2", "7"],
        7,
        &["rank 2", "code 7"],
    )?;
    fails(
        given,
        &["-n", "2", "no-such-program"],
        127,
        &["no-such-program"],
    )?;
    fails(
        given,
        &["-n", "7", "true"],
        65,
        &["session s", "7 processes", "6 slots"],
    )?;
    fails(
        given,
        &["--timeout", "1s", "sleep", "60"],
        124,
        &["longer than 1 s"],
    )?;
    fails(
        given,
        &["--iface", "lo", "true"],
        64,
        &["--iface does not go with a session"],
    )?;
    succeeds(given, &["-n", "6", "true"])?;
    stop(given, "s")
}

fn waits(given: &Given) -> Result<()> {
    start(given, "s")?;
    let held = lingering(given, "5")?;
    let next = job(given, &["-n", "2", "echo", "next"])?.start()?;
    let shown = shows(given, "waits for 2 slots")?;
    ensure!(
        shown.contains("1 job runs, 1 waiting") && shown.contains("5 of them in use"),
        "{shown}"
    );
    let seen = succeeds(given, &["-n", "1", "--dry-run", "true"])?.stdout_text();
    let words = "wants 1 of the 6 slots of session s at once, 1 are free: 1 job waits already";
    ensure!(seen.contains(words), "{seen}");
    let late = job(given, &["-n", "2", "--wait-timeout", "1s", "true"])?.finish()?;
    expect::sentence(&late, 75, &["did not run within 1s"])?;
    interrupt(held)?;
    let finished = next.finish()?.success("the one that waited")?;
    ensure!(
        finished.stdout_text() == "next\nnext\n",
        "{}",
        finished.stdout_text()
    );
    stop(given, "s")
}

/// More jobs than a session runs in a day wait in it, each says why, and all of them run.
fn thousand(given: &Given) -> Result<()> {
    const JOBS: usize = 1_000;
    const AT_ONCE: usize = 8;
    let line = "start s --containers 3 --slots-per-container 2 --memory 256 --max-running 8";
    told(given, &line.split(' ').collect::<Vec<_>>(), 0)?;
    let conf = given.cluster.conf_dir();
    let state = conf.parent().context("no folder of settings")?;
    let state = state.join("state");
    let runtime = tokio::runtime::Runtime::new()?;
    let of_status = |status: &Status, words: &str| {
        let jobs = status.jobs.iter();
        jobs.filter(|job| job.waits.contains(words)).count()
    };
    let mut queue = runtime.block_on(async {
        let mut queue = SessionQueue::reach(&state, "s").await?;
        let holder = queue.submit("sleep", &["3600"], 6).await?;
        for number in 0..JOBS {
            let processes = u32::try_from(number % 6 + 1)?;
            queue.submit("true", &[], processes).await?;
        }
        let status = queue.status().await?;
        let (slots, turns) = ("job 1 holds 6", "waits for another job to end: 8 run");
        ensure!(status.count("waiting") == JOBS, "{:?}", status.lines());
        ensure!(
            of_status(&status, slots) == AT_ONCE - 1
                && of_status(&status, turns) == JOBS + 1 - AT_ONCE,
            "{:?}",
            status.jobs.get(..20)
        );
        queue.kill(holder).await?;
        anyhow::Ok(queue)
    })?;
    let status = wait::until("a thousand jobs to end", DEADLINE, || {
        let status = runtime.block_on(queue.status())?;
        Ok(status.jobs.is_empty().then_some(status))
    })?;
    ensure!(status.ended as usize == JOBS + 1, "{} ended", status.ended);
    let failed = status.kept.iter().filter(|ended| ended.exit_code != 0);
    ensure!(
        status.kept.len() == 100 && failed.count() == 0,
        "{:?}",
        status.kept
    );
    drop(queue);
    stop(given, "s")
}

fn two(given: &Given) -> Result<()> {
    start(given, "s")?;
    start(given, "t")?;
    told(given, &["start", "s"], 64)?;
    let listed = told(given, &["list"], 0)?.stdout_text();
    ensure!(listed.lines().count() == 3, "{listed}");
    succeeds(given, &["-n", "6", "true"])?;
    let other = given
        .gerbil(&["--session", "t", "-n", "6", "true"])?
        .finish()?;
    other.success("a job of the other session")?;
    told(given, &["stop", "t"], 0)?;
    succeeds(given, &["-n", "6", "true"])?;
    told(given, &["stop", "s"], 0)?;
    given.is_clean()
}

fn elastic(given: &Given) -> Result<()> {
    let line = [
        "start",
        "s",
        "--containers",
        "1",
        "--max-containers",
        "3",
        "--slots-per-container",
        "2",
        "--memory",
        "256",
        "--idle-timeout",
        "2s",
    ];
    told(given, &line, 0)?;
    shows(given, "1 container with 2 slots")?;
    succeeds(given, &["-n", "6", "hostname"])?;
    shows(given, "3 containers with 6 slots")?;
    shows(given, "1 container with 2 slots")?;
    let words = ["7 processes", "of its 6 slots 6 can be such"];
    fails(given, &["-n", "7", "hostname"], 65, &words)?;
    stop(given, "s")
}
