//! Jobs without a session: an application of their own.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, DEADLINE, Given};
use it::process::signal_by_id;
use it::session::{application, command, told};
use it::settings::File;
use it::victims::{kill_master, launchers, masters};
use it::{Daemon, Run, expect, wait};
use nix::sys::signal::Signal;
use policy::commit::absolute;
use serde_json::Value;

use crate::{alone, files, is_gone, is_over, is_same, local, program, put, text};

pub const CASES: &[(&str, Case)] = &[
    ("an application of its own", own_application),
    (
        "an application of its own that fails",
        own_application_fails,
    ),
    (
        "an application of its own whose client is killed -9",
        own_client_killed,
    ),
    (
        "a job that is lost with an application of its own begins again",
        own_begins_again,
    ),
    (
        "what tasks of an application of its own print is read elsewhere",
        own_printed,
    ),
];

/// They end daemons, and start them again.
pub const OF_SMALL: &[(&str, Case)] = &[(
    "an application of its own has several containers of a node",
    own_of_several,
)];

/// A quarter of a node: the memory of a container at the most, MiB.
const LARGEST: &str = "2048";
/// What sorts has room in a slot.
const ROOM: [&str; 2] = ["--memory", "768"];

fn own_application(given: &Given) -> Result<()> {
    let texts = [text(6), text(7), text(8)];
    let names = ["a", "b", "c"];
    let inputs: Vec<_> = names
        .into_iter()
        .zip(texts.iter().map(String::as_str))
        .collect();
    let input = put(given, "/alone/in", &inputs)?;
    let wordcount = program("wordcount")?;
    let cut = ["-D", "gerbil.split.pack=1", "-D", "mapreduce.job.reduces=2"];
    let words = [wordcount.as_str(), "/alone/in", "/alone/out/one"];
    let line = [&ROOM[..], &cut, &words].concat();
    let finished = alone(given, &line)?.finish()?.success("gerbil mr")?;
    is_over(given, "wordcount", "SUCCEEDED", "")?;
    let id = given.newest()?.id;
    let said = finished.stderr_text();
    let job = short(&id)?;
    for words in [
        format!("{job} wordcount ({id}): 3 maps"),
        format!("{job} wordcount completed: tasks "),
    ] {
        let words = words.as_str();
        ensure!(said.contains(words), "no {words:?} in {said}");
    }
    let here = local(given, &wordcount, &["--reduces", "2", &input], "local")?;
    is_same(&files(given, "/alone/out/one")?, &here)?;

    // Several jobs of a driver are one application.
    let points: String = (0..90)
        .map(|at| format!("{at},{}\n", at * 7 % 50))
        .collect();
    put(given, "/alone/points", &[("p", &points)])?;
    let kmeans = program("kmeans")?;
    let words = [
        kmeans.as_str(),
        "--k",
        "2",
        "--rounds",
        "2",
        "/alone/points",
        "/alone/out/k",
    ];
    let line = [&ROOM[..], &["-q"], &words].concat();
    alone(given, &line)?.finish()?.success("several jobs")?;
    is_over(given, "kmeans", "SUCCEEDED", "")?;
    let second = given.newest()?.id;
    ensure!(
        given.applications()?.len() >= 2 && second != id,
        "{second} {id}"
    );

    // The program finds gerbil itself.
    let mut command = Command::new(&wordcount);
    command
        .args(["--quiet", "/alone/in", "/alone/out/found"])
        .env("GERBIL", given.folder.join("gerbil"));
    let command = it::gerbil::with_settings(command, &given.cluster.conf_dir());
    let found = Run::new(command).deadline(DEADLINE).finish()?;
    found.success("the program alone")?;
    is_over(given, "wordcount", "SUCCEEDED", "")?;
    ensure!(
        files(given, "/alone/out/found")?.contains_key("_SUCCESS"),
        "no _SUCCESS"
    );

    // Who only asks has no application.
    let third = given.newest()?.id;
    let help = alone(given, &[&wordcount, "--help"])?
        .finish()?
        .success("--help")?;
    ensure!(
        help.stdout_text().starts_with("Usage: wordcount"),
        "{}",
        help.stdout_text()
    );
    let words = ["--dry-run", "--memory", "768", &wordcount];
    let dry = alone(
        given,
        &[&words[..], &["/alone/in", "/alone/out/dry"]].concat(),
    )?;
    let dry = dry.finish()?.success("--dry-run")?.stdout_text();
    for words in [
        "wordcount: 1 map over ",
        "of YARN: an application wordcount in queue default; an ApplicationMaster of 1024 MiB; containers of 768 MiB",
    ] {
        ensure!(dry.contains(words), "no {words:?} in {dry}");
    }
    ensure!(given.newest()?.id == third, "{:?}", given.newest()?);
    is_gone(given, "/alone/out/dry")
}

/// No container may be larger than [`LARGEST`].
fn own_of_several(given: &Given) -> Result<()> {
    let (daemons, name) = (
        [Daemon::ResourceManager],
        "yarn.scheduler.maximum-allocation-mb",
    );
    let cluster = &given.cluster;
    cluster.with_setting(&daemons, File::Yarn, (name, LARGEST), || of_several(given))
}

fn of_several(given: &Given) -> Result<()> {
    let hold = program("hold")?;
    // Ten maps, of which a container has room for two, that last until all containers are there.
    let words = [hold.as_str(), "--load", "10", "10", "/several"];
    let mut running = alone(given, &[&ROOM[..], &words].concat())?.start()?;
    let mut most = 0;
    wait::until("the job to end", DEADLINE, || {
        let all = launchers(&given.cluster)?.into_iter();
        let containers: BTreeSet<_> = all.filter_map(|found| found.container).collect();
        most = most.max(containers.len());
        Ok(running.is_over()?.then_some(()))
    })?;
    running.finish()?.success("gerbil mr")?;
    ensure!(most == 5, "{most} containers on three nodes");
    is_over(given, "hold", "SUCCEEDED", "")
}

fn own_application_fails(given: &Given) -> Result<()> {
    put(given, "/alone/fails", &[("a", "good\nerror\n")])?;
    let faulty = program("faulty")?;
    let once = ["-D", "mapreduce.map.maxattempts=1"];
    let words = [faulty.as_str(), "/alone/fails", "/alone/failed"];
    let line = [&ROOM[..], &once, &words].concat();
    let finished = alone(given, &line)?.finish()?;
    expect::sentence(&finished, 1, &["this line is refused"])?;
    is_gone(given, "/alone/failed")?;
    is_over(given, "faulty", "FAILED", "this line is refused")?;

    // What the cluster can never give, and what its ResourceManager refuses.
    let before = given.newest()?.id;
    let words = [faulty.as_str(), "/alone/fails", "/alone/refused"];
    let large = [&["--memory", "900g"], &words[..]].concat();
    let finished = alone(given, &large)?.finish()?;
    expect::sentence(&finished, 65, &["this cluster gives at most"])?;
    ensure!(given.newest()?.id == before, "{:?}", given.newest()?);
    for option in ["--queue=nowhere", "-Dmapreduce.job.queuename=nowhere"] {
        let finished = alone(given, &[&[option], &words[..]].concat())?.finish()?;
        expect::sentence(&finished, 65, &["the ResourceManager refused", "nowhere"])
            .with_context(|| option)?;
    }
    is_gone(given, "/alone/refused")?;
    let session = told(given, &["start", "other", "--queue", "nowhere"], 65)?;
    expect::sentence(&session, 65, &["before it was ready", "nowhere"])?;

    put(given, "/alone/endless", &[("a", "good\nloop\n")])?;
    let words = [faulty.as_str(), "/alone/endless", "/alone/ended"];
    let mut running = alone(given, &[&ROOM[..], &words].concat())?.start()?;
    runs(given, "/alone/ended")?;
    running.signal(Signal::SIGINT)?;
    expect::sentence(&running.finish()?, 130, &["once more not to wait for it"])?;
    is_over(given, "faulty", "KILLED", "interrupted")?;
    is_past(given, &given.newest()?.id)?;
    is_gone(given, "/alone/ended")
}

/// The job that writes there runs; its application.
fn runs(given: &Given, output: &str) -> Result<String> {
    let work = absolute(output, "work");
    wait::until("a folder of attempts", DEADLINE, || {
        let begun = given.cluster.hdfs().list(&work)?;
        Ok((!begun.is_empty()).then_some(()))
    })?;
    Ok(given.newest()?.id)
}

fn own_client_killed(given: &Given) -> Result<()> {
    put(given, "/alone/orphan", &[("a", "good\nloop\n")])?;
    let faulty = program("faulty")?;
    let words = [faulty.as_str(), "/alone/orphan", "/alone/orphaned"];
    let mut running = alone(given, &[&ROOM[..], &words].concat())?.start()?;
    let id = runs(given, "/alone/orphaned")?;
    is_listed(given, &id)?;
    running.signal(Signal::SIGKILL)?;
    drop(running.finish()?);
    wait::until("YARN calls it over", Duration::from_secs(15), || {
        let report = application(given, &id)?;
        Ok((report.state == "FINISHED").then_some(()))
    })?;
    is_over(given, "faulty", "KILLED", "its client has left it")?;
    is_past(given, &id)?;
    is_gone(given, "/alone/orphaned")
}

/// Its ApplicationMaster is killed -9, is ended by its node, and is lost more often than its job may begin.
fn own_begins_again(given: &Given) -> Result<()> {
    let hold = program("hold")?;
    let words = ["--load", "4", "4"];
    let begin = |options: &[&str], output: &str| {
        let line = [&ROOM[..], options, &[hold.as_str()], &words, &[output]].concat();
        let running = alone(given, &line)?.start()?;
        anyhow::Ok((running, runs(given, output)?))
    };
    let is_again = |finished: it::Finished, first: &str, output: &str| {
        let said = finished.success("a job that began again")?.stderr_text();
        let words = format!(
            "{} is given up, nothing of its output is left",
            short(first)?
        );
        for words in [&words, "it begins again (2 of 2)"] {
            ensure!(said.contains(words), "no {words:?} in {said}");
        }
        ensure!(given.newest()?.id != first, "{first}");
        is_over(given, "hold", "SUCCEEDED", "")?;
        let whole = files(given, output)?;
        ensure!(whole.contains_key("_SUCCESS"), "{:?}", whole.keys());
        anyhow::Ok(())
    };
    let (running, first) = begin(&[], "/alone/again")?;
    kill_master(given)?;
    is_again(running.finish()?, &first, "/alone/again")?;

    let (running, first) = begin(&[], "/alone/ended-by-node")?;
    for master in masters(&given.cluster)? {
        signal_by_id(master.pid, Signal::SIGTERM)?;
    }
    is_again(running.finish()?, &first, "/alone/ended-by-node")?;

    let once = ["-D", "mapreduce.am.max-attempts=1"];
    let (running, _) = begin(&once, "/alone/once")?;
    kill_master(given)?;
    let words = ["lost the ApplicationMaster", "job 1 was given up"];
    expect::sentence(&running.finish()?, 70, &words)?;
    is_gone(given, "/alone/once")?;

    // Nobody is there to begin it again. Who watches hears the same as who comes later.
    put(given, "/alone/sleeping", &[("a", "a line\n")])?;
    let output = "/alone/left";
    let mut line = [
        &ROOM[..],
        &["--detach", "streaming", "-mapper", "sleep 600"],
    ]
    .concat();
    line.extend([
        "-reducer",
        "NONE",
        "-input",
        "/alone/sleeping",
        "-output",
        output,
    ]);
    let left = alone(given, &line)?.finish()?.success("--detach")?;
    let name = left.stdout_text().trim().to_owned();
    runs(given, output)?;
    let attach = || command(given, &["attach", &name]);
    let watching = attach()?.start()?;
    wait::until("the job is watched", Duration::from_secs(30), || {
        Ok(watching.stderr_so_far().contains(&name).then_some(()))
    })?;
    kill_master(given)?;
    let lost = "because its ApplicationMaster was lost\n";
    for finished in [attach()?.finish()?, watching.finish()?, attach()?.finish()?] {
        ensure!(
            finished.code() == 70 && finished.stdout_text().contains(lost),
            "{finished:?}"
        );
    }
    is_gone(given, output)?;
    given.is_clean()
}

fn own_printed(given: &Given) -> Result<()> {
    put(given, "/alone/printed", &[("a", "print\nloop\n")])?;
    let faulty = program("faulty")?;
    let words = [faulty.as_str(), "/alone/printed", "/alone/prints"];
    let running = alone(given, &[&ROOM[..], &words].concat())?.start()?;
    let id = runs(given, "/alone/prints")?;
    let logs = |words: &[&str]| command(given, &[&["logs"], words].concat())?.finish();
    wait::until("what the map prints", Duration::from_secs(60), || {
        let read = logs(&[&id, "m0"])?;
        Ok((read.stdout_text() == "this goes to standard output\n").then_some(()))
    })?;
    let job = format!("{id}.1");
    let read = logs(&[&job, "m0"])?.success("gerbil logs by the job")?;
    ensure!(read.stdout_text() == "this goes to standard output\n");
    let all = logs(&[&id])?.success("gerbil logs of an application")?;
    let rows = all.stdout_text();
    ensure!(rows.contains("m0 ") && rows.contains("running"), "{rows}");
    let killed = command(given, &["kill", &id])?.finish()?;
    expect::sentence(&killed, 0, &[&format!("{id} is KILLED")])?;
    expect::sentence(
        &running.finish()?,
        143,
        &["it was ended with its application"],
    )?;
    is_over(given, "faulty", "KILLED", "killed with gerbil-run -k")?;
    is_past(given, &id)?;
    // It has not failed: it was ended with its job.
    let over = format!("{} is over, and nothing is kept of what", short(&id)?);
    expect::sentence(&logs(&[&id, "m0"])?, 64, &[&over, "map 0 has printed"])?;
    expect::sentence(&logs(&[&id])?, 64, &[&over, "any of its tasks has printed"])
}

/// What lists call the first job of an application.
fn short(id: &str) -> Result<String> {
    let number: u32 = id.rsplit('_').next().unwrap_or_default().parse()?;
    Ok(format!("s{number}.1"))
}

/// What became of the only job of an application is kept: it was killed.
fn is_past(given: &Given, id: &str) -> Result<()> {
    let list = listed(given, &["mr", "list"])?;
    let job = format!("{} ", short(id)?);
    let row = list.lines().find(|line| line.starts_with(&job));
    ensure!(
        row.is_some_and(|row| row.contains("KILLED") && row.ends_with("faulty")),
        "{list}"
    );
    Ok(())
}

/// What a command prints.
fn listed(given: &Given, words: &[&str]) -> Result<String> {
    let finished = command(given, words)?.finish()?;
    Ok(finished.success("a list")?.stdout_text())
}

/// It comes to be among the jobs that run, in words and as JSON.
fn is_listed(given: &Given, id: &str) -> Result<()> {
    let job = format!("{} ", short(id)?);
    wait::until("a job that runs in the list", DEADLINE, || {
        let list = listed(given, &["mr", "list"])?;
        let row = list.lines().find(|line| line.starts_with(&job));
        let row = row.with_context(|| list.clone())?;
        ensure!(row.contains("faulty"), "{list}");
        Ok(row.contains("RUNNING").then_some(()))
    })?;
    let all: Value = serde_json::from_str(&listed(given, &["ps", "--json"])?)?;
    let rows = all.as_array().map(Vec::as_slice).unwrap_or_default();
    let row = rows.iter().find(|row| row["application"] == id);
    ensure!(
        row.is_some_and(|row| row["state"] == "RUNNING" && row["name"] == "faulty"),
        "{all}"
    );
    Ok(())
}
