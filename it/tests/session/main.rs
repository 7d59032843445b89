//! Sessions on a real cluster of three nodes: what runs in them, what waits, and what is left of them.

mod beside;
mod elements;
mod explained;
mod kernels;
mod leaving;
mod remains;
mod restarted;
mod turns;

use std::io::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ::session::status::Status;
use anyhow::{Context as _, Result, ensure};
use elements::Machines;
use it::bed::{Case, DEADLINE, Given, text_of};
use it::command::Running;
use it::queue::Queue;
use it::session::{command, session, shows, start, stop, told};
use it::settings::File;
use it::suite::{self, Group};
use it::victims::nodes_without_master;
use it::victims::{kill_launcher, kill_master};
use it::{Cluster, Daemon, Finished, Run, expect, wait};
use nix::sys::signal::Signal;

const CASES: &[(&str, Case)] = &[
    ("jobs one after the other", one_after_the_other),
    ("jobs at once", at_once),
    ("input, files and an environment", input_and_files),
    ("exit codes", exit_codes),
    ("a job waits for slots", waits),
    ("Ctrl-C ends one job alone", interrupted),
    ("a job is killed by its name", killed_by_name),
    ("a program's crash is its own end alone", crashed),
    ("a program that eats memory ends alone", overfed),
    ("gerbil-run killed -9", client_killed),
    ("stop --now ends what runs", stopped_now),
    ("stop runs jobs to their ends", drained),
    ("detached jobs are watched, at once and later", detached),
    ("detached jobs need nothing of this machine", left_alone),
    ("detached jobs end with stop --now", detached_stopped),
    ("a thousand jobs wait", thousand),
    ("two sessions side by side", two),
    ("containers come with jobs and go without", elastic),
    ("killed through YARN", killed_through_yarn),
    ("the ApplicationMaster is killed", master_killed),
    (
        "a launcher is killed, and the others go on",
        launcher_killed,
    ),
];

const FAULTS: &[(&str, Case)] = &[
    ("the active ResourceManager is killed", failed_over),
    ("a node is lost", node_lost),
];

fn main() -> ExitCode {
    let builder = Cluster::builder().nodes(3);
    let expiry = "yarn.nm.liveness-monitor.expiry-interval-ms";
    let faults = Cluster::builder().nodes(3).two_resource_managers();
    // Its folders are there until the last case has ended.
    let machines = Machines::new();
    let different = machines.as_ref().map(Machines::cluster);
    let different = match different {
        Ok(Ok(different)) => different,
        Ok(Err(error)) => return unable(&error),
        Err(error) => return unable(error),
    };
    suite::run(vec![
        Group::new(
            builder,
            &[
                CASES,
                remains::CASES,
                turns::CASES,
                beside::CASES,
                explained::CASES,
            ],
        ),
        Group::new(different, &[elements::CASES, kernels::CASES]),
        Group::new(leaving::cluster(), &[leaving::CASES]),
        Group::new(restarted::cluster(), &[restarted::CASES]),
        Group::new(
            faults.set(File::Yarn, expiry, "6000"),
            &[FAULTS, beside::FAULTS],
        ),
    ])
}

fn unable(error: &anyhow::Error) -> ExitCode {
    drop(writeln!(
        std::io::stderr(),
        "no machines that differ: {error:#}"
    ));
    ExitCode::FAILURE
}

fn job(given: &Given, arguments: &[&str]) -> Result<Run> {
    given.gerbil(&[&["--session", "s"], arguments].concat())
}

fn succeeds(given: &Given, arguments: &[&str]) -> Result<Finished> {
    let before = given.applications()?.len();
    let finished = job(given, arguments)?
        .finish()?
        .success("a job of the session")?;
    ensure!(
        given.applications()?.len() == before,
        "an application was submitted"
    );
    Ok(finished)
}

fn fails(given: &Given, arguments: &[&str], code: i32, words: &[&str]) -> Result<()> {
    expect::sentence(&job(given, arguments)?.finish()?, code, words)
}

/// A job of `ranks` that is up and lasts.
fn lingering(given: &Given, ranks: &str) -> Result<Running> {
    lingering_with(given, &["-n", ranks])
}

fn lingering_with(given: &Given, options: &[&str]) -> Result<Running> {
    let linger = given.program("linger")?;
    let mut running = job(given, &[options, &[&linger, "600"]].concat())?.start()?;
    running.wait_for_stdout("ready")?;
    Ok(running)
}

fn interrupt(running: Running) -> Result<()> {
    running.signal(Signal::SIGINT)?;
    expect::sentence(
        &running.finish()?,
        130,
        &["once more to leave it to the session"],
    )
}

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
        shown.contains("1 job runs, 1 waiting") && shown.contains("5 of them lent"),
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

fn interrupted(given: &Given) -> Result<()> {
    start(given, "s")?;
    let (one, other) = (lingering(given, "3")?, lingering(given, "3")?);
    interrupt(one)?;
    let shown = shows(given, "1 job runs, 0 waiting, 1 ended")?;
    ensure!(shown.contains("3 of them lent"), "{shown}");
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
    shows(given, "3 containers with 6 slots, 5 of them lent")?;
    succeeds(given, &["-n", "1", "true"])?;
    interrupt(other)?;
    stop(given, "s")
}

fn client_killed(given: &Given) -> Result<()> {
    start(given, "s")?;
    let running = lingering(given, "4")?;
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
        let mut queue = Queue::reach(&state, "s").await?;
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

/// A machine that is switched off: whoever was there is gone without a word, and comes again.
fn left_alone(given: &Given) -> Result<()> {
    start(given, "s")?;
    let (name, go) = patient(given, "alone")?;
    let mut watching = command(given, &["attach", &name])?.start()?;
    watching.wait_for_stdout("up 1")?;
    let followed = lingering(given, "2")?;
    for one in [watching, followed] {
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

/// Kills the active ResourceManager, and waits for the other.
fn failed_over(given: &Given) -> Result<()> {
    start(given, "s")?;
    let running = lingering(given, "2")?;
    let active = given.cluster.active_resource_manager();
    let active = active.context("no ResourceManager is active")?;
    given.cluster.kill(active)?;
    // The jobs need none of them; whoever comes anew asks where the session is.
    wait::until("the other ResourceManager", DEADLINE, || {
        let now = given.cluster.active_resource_manager();
        Ok(now.filter(|now| *now != active))
    })?;
    given.cluster.start(active)?;
    given.cluster.wait_for_nodes(3)?;
    succeeds(given, &["-n", "4", "true"])?;
    shows(given, "3 containers with 6 slots, 2 of them lent")?;
    interrupt(running)?;
    stop(given, "s")
}

/// Its jobs end, the others go on; what was there is asked for elsewhere, and comes when there is a node.
fn node_lost(given: &Given) -> Result<()> {
    let line = [
        "start",
        "s",
        "--containers",
        "2",
        "--slots-per-container",
        "2",
    ];
    told(given, &[&line[..], &["--memory", "256"]].concat(), 0)?;
    let two = ["--no-restart", "-n", "2"];
    let (one, other) = (lingering_with(given, &two)?, lingering_with(given, &two)?);
    let shown = told(given, &["status", "s", "--json"], 0)?.stdout_text();
    let status: serde_json::Value = serde_json::from_str(&shown)?;
    let hosts = status["containers"].as_array().context("no containers")?;
    let hosts: Vec<&str> = hosts.iter().filter_map(|of| of["host"].as_str()).collect();
    let is_held = |node: &&usize| {
        let host = given.cluster.nodes()[**node].host.to_string();
        hosts.contains(&host.as_str())
    };
    let lost = *nodes_without_master(given)?
        .iter()
        .find(is_held)
        .context("every container is beside the ApplicationMaster")?;
    given.cluster.kill(Daemon::NodeManager(lost))?;
    let (mut jobs, mut ended) = (vec![one, other], None);
    wait::until("a job that was there to end", DEADLINE, || {
        for place in 0..jobs.len() {
            if jobs[place].is_over()? {
                ended = Some(jobs.remove(place));
                return Ok(Some(()));
            }
        }
        Ok(None)
    })?;
    let ended = ended.context("none ended")?.finish()?;
    expect::sentence(&ended, 70, &[&given.cluster.nodes()[lost].host.to_string()])?;
    shows(given, "2 containers with 4 slots, 2 of them lent")?;
    succeeds(given, &["-n", "2", "true"])?;
    interrupt(jobs.remove(0))?;
    stop(given, "s")?;
    given.cluster.start(Daemon::NodeManager(lost))?;
    given.cluster.wait_for_nodes(3)
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

fn killed_through_yarn(given: &Given) -> Result<()> {
    /// What sees its peer gone ends at once; this is for a busy machine.
    const LINK_LOST: Duration = Duration::from_secs(30);
    start(given, "s")?;
    let running = lingering(given, "2")?;
    let id = given.newest()?.id;
    given
        .gerbil(&["-k", &id])?
        .finish()?
        .success("gerbil-run -k")?;
    let since = Instant::now();
    let finished = running.finish()?;
    ensure!(since.elapsed() < LINK_LOST, "{:?}", since.elapsed());
    // By the ApplicationMaster's last word, or by YARN's where that was not heard.
    ensure!([70, 143].contains(&finished.code()), "{}", finished.code());
    expect::sentence(&finished, finished.code(), &["job 1", "session s"])?;
    given.is_clean()?;
    fails(given, &["true"], 69, &["session s is over", "killed"])?;
    fails(given, &["true"], 64, &["there is no session s"])
}

fn master_killed(given: &Given) -> Result<()> {
    start(given, "s")?;
    let running = lingering(given, "6")?;
    let id = given.newest()?.id;
    kill_master(given)?;
    let words = [
        "lost the ApplicationMaster of session s",
        id.as_str(),
        "job 1",
    ];
    expect::sentence(&running.finish()?, 70, &words)?;
    given.is_clean()?;
    fails(given, &["true"], 69, &["session s is over"])?;
    // The name is free again.
    start(given, "s")?;
    succeeds(given, &["-n", "6", "true"])?;
    stop(given, "s")
}

fn launcher_killed(given: &Given) -> Result<()> {
    start(given, "s")?;
    let once = lingering_with(given, &["--no-restart", "-n", "6"])?;
    kill_launcher(given)?;
    let finished = once.finish()?;
    ensure!(finished.code() == 70, "{}", finished.stderr_text());
    shows(given, "3 containers with 6 slots, 0 of them lent")?;
    // In its first run each rank waits for what never comes.
    let (folder, before) = (tempfile::tempdir()?, r#"mkdir "$0/$PMI_RANK" 2>/dev/null"#);
    let script = format!("if {before}; then echo up; sleep 600; fi; echo again $PMI_RANK");
    let path = folder.path().to_str().context("a path that is no text")?;
    let mut twice = job(given, &["-n", "6", "sh", "-c", &script, path])?.start()?;
    twice.wait_for_stdout("up\nup\nup\nup\nup\nup\n")?;
    kill_launcher(given)?;
    let finished = twice.finish()?.success("a job that begins again")?;
    let printed = finished.stdout_text();
    let again = (0..6).all(|rank| printed.contains(&format!("again {rank}\n")));
    ensure!(again, "{printed}");
    let words = "the program is started again";
    ensure!(
        finished.stderr_text().contains(words),
        "{}",
        finished.stderr_text()
    );
    shows(given, "no job runs, 0 waiting, 2 ended")?;
    succeeds(given, &["-n", "4", "true"])?;
    // Another comes in the place of the container that was lost.
    shows(given, "3 containers with 6 slots, 0 of them lent")?;
    succeeds(given, &["-n", "6", "true"])?;
    stop(given, "s")
}
