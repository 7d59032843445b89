//! `gerbil mr` on a real cluster of three nodes: its output beside that of Hadoop and of a local run, and what is
//! left of jobs that do not end well.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, DEADLINE, Given, text_of};
use it::command::Running;
use it::mapreduce::Files;
use it::mapreduce_kills::{self, Blow, Work};
use it::session::{application, shows, start_with, stop, told};
use it::suite::{self, Group};
use it::victims::kill_launcher;
use it::{Cluster, Finished, Run, expect, mapreduce, wait};
use job::history::{JobHistory, JobState, TaskStage};
use nix::sys::signal::Signal;

const CASES: &[(&str, Case)] = &[
    ("maps and reduces write what Hadoop's write", beside_hadoop),
    (
        "a job of maps alone, and one that sorts what it left",
        maps_alone,
    ),
    ("a driver that loops, and reads what its jobs left", loops),
    ("jobs side by side in one session", side_by_side),
    ("what is refused", refused),
    ("a program that fails", fails),
    ("Ctrl-C ends a job, and the session goes on", interrupted),
    ("the client is killed -9", client_killed),
    ("a launcher is killed in the middle", launcher_killed),
    ("a task and a launcher are killed at seeded moments", killed),
    ("an output that is overwritten", overwritten),
    ("an application of its own", own_application),
    (
        "an application of its own that fails",
        own_application_fails,
    ),
    (
        "an application of its own whose client is killed -9",
        own_client_killed,
    ),
    ("what became of jobs is told when they are over", history),
    (
        "of two attempts at a straggler the faster one counts",
        straggler,
    ),
];

fn main() -> ExitCode {
    let builder = mapreduce::with_hadoop(Cluster::builder().nodes(3));
    suite::run(vec![Group::new(builder, &[CASES])])
}

fn program(name: &str) -> Result<String> {
    text_of(&mapreduce::example(name)?)
}

/// `gerbil mr --session s ARGUMENTS`.
fn mr(given: &Given, arguments: &[&str]) -> Result<Run> {
    let line = [&["--session", "s"], arguments].concat();
    Ok(mapreduce::mr(&given.cluster, &given.folder, &line)?.deadline(DEADLINE))
}

fn succeeds(given: &Given, arguments: &[&str]) -> Result<Finished> {
    mr(given, arguments)?.finish()?.success("gerbil mr")
}

/// `gerbil mr ARGUMENTS`, without a session.
fn alone(given: &Given, arguments: &[&str]) -> Result<Run> {
    let run = mapreduce::mr(&given.cluster, &given.folder, arguments)?;
    Ok(run.deadline(DEADLINE))
}

/// The newest application is over, with this name and verdict, and nothing is left of it.
fn is_over(given: &Given, name: &str, verdict: &str, diagnostics: &str) -> Result<()> {
    let report = given.newest()?;
    ensure!(
        (report.name.as_str(), report.application_type.as_str()) == (name, "GERBIL"),
        "{report:?}"
    );
    ensure!(
        (report.state.as_str(), report.final_status.as_str()) == ("FINISHED", verdict)
            && report.diagnostics.contains(diagnostics),
        "{report:?}"
    );
    given.is_clean()?;
    let listed = told(given, &["list"], 0)?;
    ensure!(
        listed.stderr_text().contains("there is no session"),
        "{}{}",
        listed.stdout_text(),
        listed.stderr_text()
    );
    Ok(())
}

/// Starts a session, with room for what sorts.
fn start(given: &Given) -> Result<()> {
    start_with(given, "s", "768")
}

/// Puts files into a folder of HDFS, and into one of this machine, whose path is the answer.
fn put(given: &Given, folder: &str, files: &[(&str, &str)]) -> Result<String> {
    let here = given.folder.join("put");
    drop(fs::remove_dir_all(&here));
    fs::create_dir(&here)?;
    for (name, text) in files {
        fs::write(here.join(name), text)?;
    }
    mapreduce::with_hdfs(&given.cluster, async |hdfs| {
        hdfs.make_folder(folder).await?;
        for (name, text) in files {
            let path = format!("{folder}/{name}");
            hdfs.write(&path, text.as_bytes().to_vec()).await?;
        }
        Ok(())
    })?;
    text_of(&here)
}

/// What lies in a folder of HDFS.
fn files(given: &Given, folder: &str) -> Result<Files> {
    mapreduce::files(&given.cluster, folder)
}

fn read(folder: &Path) -> Result<Files> {
    let mut files = Files::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        files.insert(name, fs::read(entry.path())?);
    }
    Ok(files)
}

/// The same by the program on this machine.
fn local(given: &Given, program: &str, arguments: &[&str], out: &str) -> Result<Files> {
    let out = given.folder.join(out);
    drop(fs::remove_dir_all(&out));
    let mut command = Command::new(program);
    command
        .args(["--local", "--quiet"])
        .args(arguments)
        .arg(&out);
    Run::new(command)
        .deadline(DEADLINE)
        .finish()?
        .success("a local run")?;
    read(&out)
}

fn is_same(ours: &Files, theirs: &Files) -> Result<()> {
    let names = |files: &Files| files.keys().cloned().collect::<Vec<_>>();
    ensure!(
        names(ours) == names(theirs),
        "{:?} {:?}",
        names(ours),
        names(theirs)
    );
    for (name, bytes) in ours {
        ensure!(theirs.get(name) == Some(bytes), "{name} differs");
    }
    ensure!(ours.contains_key("_SUCCESS"), "{:?}", names(ours));
    Ok(())
}

/// Nothing of an output is there.
fn is_gone(given: &Given, output: &str) -> Result<()> {
    let left = wait::until("nothing of the output", Duration::from_secs(30), || {
        let left = given.cluster.hdfs().list(output)?;
        Ok(left.is_empty().then_some(()))
    });
    let names = given.cluster.hdfs().list(output)?;
    left.with_context(|| format!("{output} has {names:?}"))
}

/// Words that repeat, lines without any, and one at the end of a file without an end.
fn text(seed: u32) -> String {
    let mut text = String::new();
    let mut state = seed;
    for line in 0..4000 {
        for _ in 0..line % 9 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            text.push_str(&format!("w{} ", (state >> 16) % 700));
        }
        text.push('\n');
    }
    text + "last"
}

fn beside_hadoop(given: &Given) -> Result<()> {
    let texts = [text(1), text(2), text(3)];
    let names = ["a", "b", "c"];
    let inputs: Vec<_> = names
        .into_iter()
        .zip(texts.iter().map(String::as_str))
        .collect();
    let input = put(given, "/words/in", &inputs)?;
    start(given)?;
    let wordcount = program("wordcount")?;
    // Maps of a few kB, whose ends fall into lines.
    let cut = "mapreduce.input.fileinputformat.split.maxsize=20000";
    let options = [
        "-D",
        cut,
        "-D",
        "gerbil.split.pack=1",
        "-D",
        "mapreduce.job.reduces=3",
    ];
    let line = [&options[..], &[&wordcount, "/words/in", "/words/out/ours"]].concat();
    let finished = succeeds(given, &line)?;
    let said = finished.stderr_text();
    for words in [
        "wordcount: ",
        " maps over ",
        ", 3 reduces",
        "completed: tasks ",
        "\nCounters: ",
    ] {
        ensure!(said.contains(words), "no {words:?} in {said}");
    }
    ensure!(!said.contains("wordcount: 3 maps"), "{said}");
    let ours = files(given, "/words/out/ours")?;
    ensure!(ours.len() == 4, "{:?}", ours.keys());
    let arguments = [
        "-Dmapreduce.job.reduces=3",
        "/words/in",
        "/words/out/theirs",
    ];
    mapreduce::hadoop(&given.cluster, "WordCount", &arguments, DEADLINE)?;
    is_same(&ours, &files(given, "/words/out/theirs")?)?;
    let here = local(given, &wordcount, &["--reduces", "3", &input], "local")?;
    is_same(&ours, &here)?;

    // Once more in the same session, by patterns, with as many reduces as the input is worth.
    succeeds(
        given,
        &[
            "-q",
            &wordcount,
            "/words/{in}/[a-b],/words/in/c",
            "/words/out/again",
        ],
    )?;
    let again = files(given, "/words/out/again")?;
    ensure!(again.len() == 2, "{:?}", again.keys());
    let lines = |files: &Files| {
        let all = files.iter().filter(|(name, _)| name.starts_with("part-"));
        let mut lines: Vec<Vec<u8>> = all
            .flat_map(|(_, bytes)| bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec))
            .filter(|line| !line.is_empty())
            .collect();
        lines.sort();
        lines
    };
    ensure!(lines(&again) == lines(&ours), "other counts");
    stop(given, "s")
}

fn maps_alone(given: &Given) -> Result<()> {
    start(given)?;
    let tera = program("tera")?;
    let generate = [
        "-D",
        "mapreduce.job.maps=5",
        &tera,
        "--job",
        "teragen",
        "20000",
        "/tera/rows",
    ];
    succeeds(given, &generate)?;
    let rows = files(given, "/tera/rows")?;
    ensure!(
        rows.len() == 6 && rows.contains_key("part-m-00004"),
        "{:?}",
        rows.keys()
    );
    let options = ["-D", "mapreduce.job.maps=5", "--job", "teragen", "20000"];
    is_same(&rows, &local(given, &tera, &options, "rows")?)?;
    succeeds(
        given,
        &[
            "-D",
            "mapreduce.job.reduces=3",
            &tera,
            "/tera/rows",
            "/tera/sorted",
        ],
    )?;
    let sorted = files(given, "/tera/sorted")?;
    let rows = text_of(&given.folder.join("rows"))?;
    let here = local(
        given,
        &tera,
        &["-D", "mapreduce.job.reduces=3", &rows],
        "sorted",
    )?;
    is_same(&sorted, &here)?;
    succeeds(
        given,
        &[
            &tera,
            "--job",
            "teravalidate",
            "/tera/sorted",
            "/tera/valid",
        ],
    )?;
    stop(given, "s")
}

fn loops(given: &Given) -> Result<()> {
    let points: String = (0..300)
        .map(|at| format!("{},{}\n", (at * 37 % 101) + at % 3 * 500, at * 53 % 97))
        .collect();
    let input = put(given, "/points/in", &[("p", &points)])?;
    start(given)?;
    let kmeans = program("kmeans")?;
    let options = ["--k", "3", "--rounds", "4"];
    let line = [
        &[kmeans.as_str()],
        &options[..],
        &["/points/in", "/points/out/k"],
    ]
    .concat();
    let finished = succeeds(given, &line)?;
    ensure!(
        finished.stderr_text().contains("completed: tasks"),
        "{}",
        finished.stderr_text()
    );
    let out = given.folder.join("k");
    let mut command = Command::new(&kmeans);
    command
        .args(["--local", "--quiet"])
        .args(options)
        .arg(&input)
        .arg(&out);
    Run::new(command)
        .deadline(DEADLINE)
        .finish()?
        .success("a local run")?;
    let last = fs::read_dir(&out)?.count() - 1;
    let round = format!("round-{last}");
    let ours = files(given, &format!("/points/out/k/{round}"))?;
    is_same(&ours, &read(&out.join(&round))?)?;
    stop(given, "s")
}

fn side_by_side(given: &Given) -> Result<()> {
    put(given, "/side/in", &[("a", &text(4)), ("b", &text(5))])?;
    start(given)?;
    let wordcount = program("wordcount")?;
    let names: Vec<String> = (0..4).map(|number| format!("/side/out/{number}")).collect();
    let running: Result<Vec<Running>> = names
        .iter()
        .map(|out| mr(given, &["-q", &wordcount, "/side/in", out])?.start())
        .collect();
    for running in running? {
        running.finish()?.success("one of several jobs")?;
    }
    let first = files(given, "/side/out/0")?;
    for name in &names {
        is_same(&first, &files(given, name)?)?;
    }
    shows(given, "no job runs, 0 waiting, 4 ended")?;
    stop(given, "s")
}

fn refused(given: &Given) -> Result<()> {
    put(given, "/refused/in", &[("a", "a b\n")])?;
    put(given, "/refused/out", &[("there", "it is\n")])?;
    start(given)?;
    let wordcount = program("wordcount")?;
    let refused = |arguments: &[&str], code: i32, words: &[&str]| -> Result<()> {
        expect::sentence(&mr(given, arguments)?.finish()?, code, words)
    };
    let nothing = ["no such file", "/refused/nothing"];
    refused(
        &[&wordcount, "/refused/nothing", "/refused/new"],
        1,
        &nothing,
    )?;
    let exists = ["/refused/out exists already; choose another"];
    refused(&[&wordcount, "/refused/in", "/refused/out"], 1, &exists)?;
    let unknown = ["mapreduce.job.reducers", "is mapreduce.job.reduces meant?"];
    refused(
        &[
            "-D",
            "mapreduce.job.reducers=1",
            &wordcount,
            "/refused/in",
            "x",
        ],
        64,
        &unknown,
    )?;
    refused(
        &["/bin/true", "/refused/in", "x"],
        126,
        &["before it said hello"],
    )?;
    let here = given.folder.join("only-here");
    fs::write(&here, "a\n")?;
    let here = text_of(&here)?;
    refused(
        &[&wordcount, &here, "/refused/new"],
        1,
        &["is a file of this machine"],
    )?;
    // As much memory as no container has.
    let large = [
        "-D",
        "mapreduce.map.memory.mb=900000",
        &wordcount,
        "/refused/in",
        "/refused/new",
    ];
    refused(&large, 1, &["session s"])?;
    is_gone(given, "/refused/new")?;
    let there = files(given, "/refused/out")?;
    ensure!(there.len() == 1, "{:?}", there.keys());
    stop(given, "s")
}

fn fails(given: &Given) -> Result<()> {
    put(
        given,
        "/fails/in",
        &[("a", "good\nerror\n"), ("b", "good\npanic\n")],
    )?;
    start(given)?;
    let faulty = program("faulty")?;
    let once = ["-D", "mapreduce.map.maxattempts=1"];
    for (name, words) in [
        ("a", "this line is refused"),
        ("b", "this line is not empty"),
    ] {
        let (input, out) = (format!("/fails/in/{name}"), format!("/fails/out/{name}"));
        let line = [&once[..], &[&faulty, &input, &out]].concat();
        let finished = mr(given, &line)?.finish()?;
        let said = finished.stderr_text();
        ensure!(
            finished.code() == 1 && said.contains(words),
            "{}: {said}",
            finished.code()
        );
        is_gone(given, &out)?;
    }
    // The fourth attempt is as good as the first.
    let finished = mr(given, &[&faulty, "/fails/in/a", "/fails/out/four"])?.finish()?;
    expect::sentence(&finished, 1, &["failed 4 times", "this line is refused"])?;
    put(given, "/fails/again", &[("a", "good\nattempt\n")])?;
    let finished = succeeds(given, &[&faulty, "/fails/again", "/fails/out/again"])?;
    ensure!(
        finished.stderr_text().contains("1 attempt failed"),
        "{}",
        finished.stderr_text()
    );
    ensure!(
        files(given, "/fails/out/again")?.contains_key("_SUCCESS"),
        "no _SUCCESS"
    );
    stop(given, "s")
}

/// A job whose map never ends, which runs.
fn endless(given: &Given, folder: &str) -> Result<Running> {
    put(given, &format!("{folder}/in"), &[("a", "good\nloop\n")])?;
    let (input, out) = (format!("{folder}/in"), format!("{folder}/out/x"));
    let running = mr(given, &[&program("faulty")?, &input, &out])?.start()?;
    shows(given, "1 job runs")?;
    Ok(running)
}

fn interrupted(given: &Given) -> Result<()> {
    start(given)?;
    let running = endless(given, "/interrupted")?;
    running.signal(Signal::SIGINT)?;
    expect::sentence(
        &running.finish()?,
        130,
        &["once more to leave it to the session"],
    )?;
    is_gone(given, "/interrupted/out/x")?;
    shows(given, "no job runs, 0 waiting, 1 ended")?;
    put(given, "/interrupted/more", &[("a", "a b a\n")])?;
    let wordcount = program("wordcount")?;
    succeeds(
        given,
        &[&wordcount, "/interrupted/more", "/interrupted/out/more"],
    )?;
    stop(given, "s")
}

fn client_killed(given: &Given) -> Result<()> {
    start(given)?;
    let running = endless(given, "/orphan")?;
    running.signal(Signal::SIGKILL)?;
    drop(running.finish()?);
    shows(given, "no job runs, 0 waiting, 1 ended")?;
    is_gone(given, "/orphan/out/x")?;
    stop(given, "s")
}

fn launcher_killed(given: &Given) -> Result<()> {
    let text = format!("{}good\n", "sleep\n".repeat(6));
    let names: Vec<String> = (0..12).map(|number| format!("f{number:02}")).collect();
    let inputs: Vec<_> = names
        .iter()
        .map(|name| (name.as_str(), text.as_str()))
        .collect();
    let input = put(given, "/killed/in", &inputs)?;
    start(given)?;
    let faulty = program("faulty")?;
    let options = ["-D", "gerbil.split.pack=1"];
    let line = [
        &options[..],
        &[&faulty, "--reduces", "2", "/killed/in", "/killed/out/x"],
    ]
    .concat();
    let running = mr(given, &line)?.start()?;
    shows(given, "1 job runs")?;
    // Some maps have ended by then, and what they left is lost with one of three launchers.
    wait::pause(Duration::from_secs(3));
    kill_launcher(given)?;
    let finished = running.finish()?.success("a job that lost a launcher")?;
    let ours = files(given, "/killed/out/x")?;
    let here = local(given, &faulty, &["--reduces", "2", &input], "killed")?;
    is_same(&ours, &here).with_context(|| finished.stderr_text())?;
    shows(given, "3 containers with 6 slots, 0 of them lent")?;
    stop(given, "s")
}

fn overwritten(given: &Given) -> Result<()> {
    put(given, "/over/one", &[("a", "a b a\n")])?;
    put(given, "/over/two", &[("a", "c\n")])?;
    put(given, "/over/bad", &[("a", "good\nerror\n")])?;
    start(given)?;
    let (wordcount, faulty) = (program("wordcount")?, program("faulty")?);
    succeeds(given, &[&wordcount, "/over/one", "/over/out"])?;
    let first = files(given, "/over/out")?;
    let once = ["--overwrite", "-D", "mapreduce.map.maxattempts=1"];
    let failing = [&once[..], &[&faulty, "/over/bad", "/over/out"]].concat();
    let finished = mr(given, &failing)?.finish()?;
    expect::sentence(&finished, 1, &["this line is refused"])?;
    ensure!(
        files(given, "/over/out")? == first,
        "the old output has changed"
    );
    is_gone(given, "/over/_out.new")?;

    let line = ["--overwrite", &wordcount, "/over/two", "/over/out"];
    let finished = succeeds(given, &line)?;
    let trash = format!("/user/{}/.Trash/Current/over/out", given.cluster.user());
    let said = finished.stderr_text();
    ensure!(said.contains(&format!("{trash} now")), "{said}");
    ensure!(
        files(given, &trash)? == first,
        "the trash has another output"
    );
    let second = files(given, "/over/out")?;
    ensure!(
        second.get("part-r-00000").map(Vec::as_slice) == Some(b"c\t1\n"),
        "{second:?}"
    );
    stop(given, "s")
}

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
    for words in [".1 wordcount: 3 maps", "completed: tasks "] {
        ensure!(said.contains(&format!("{id}.1 ")), "{said}");
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
    expect::sentence(&finished, 1, &["this cluster gives at most"])?;
    ensure!(given.newest()?.id == before, "{:?}", given.newest()?);
    let nowhere = [&["--queue", "nowhere"], &words[..]].concat();
    let finished = alone(given, &nowhere)?.finish()?;
    let said = finished.stderr_text();
    ensure!(
        finished.code() == 1 && said.contains("nowhere"),
        "{}: {said}",
        finished.code()
    );
    is_gone(given, "/alone/refused")?;

    put(given, "/alone/endless", &[("a", "good\nloop\n")])?;
    let words = [faulty.as_str(), "/alone/endless", "/alone/ended"];
    let running = alone(given, &[&ROOM[..], &words].concat())?.start()?;
    runs(given, "/alone/ended")?;
    running.signal(Signal::SIGINT)?;
    expect::sentence(&running.finish()?, 130, &["once more not to wait for it"])?;
    is_over(given, "faulty", "KILLED", "interrupted")?;
    is_gone(given, "/alone/ended")
}

/// The job that writes there runs; its application.
fn runs(given: &Given, output: &str) -> Result<String> {
    wait::until("a folder of attempts", DEADLINE, || {
        let begun = given.cluster.hdfs().list(output)?;
        Ok((!begun.is_empty()).then_some(()))
    })?;
    Ok(given.newest()?.id)
}

fn own_client_killed(given: &Given) -> Result<()> {
    put(given, "/alone/orphan", &[("a", "good\nloop\n")])?;
    let faulty = program("faulty")?;
    let words = [faulty.as_str(), "/alone/orphan", "/alone/orphaned"];
    let running = alone(given, &[&ROOM[..], &words].concat())?.start()?;
    let id = runs(given, "/alone/orphaned")?;
    running.signal(Signal::SIGKILL)?;
    drop(running.finish()?);
    wait::until("YARN calls it over", Duration::from_secs(15), || {
        let report = application(given, &id)?;
        Ok((report.state == "FINISHED").then_some(()))
    })?;
    is_over(given, "faulty", "KILLED", "its client has left it")?;
    is_gone(given, "/alone/orphaned")
}

/// Two jobs of applications of their own: one that ends well, one that does not.
fn history(given: &Given) -> Result<()> {
    let gerbil = |line: &[&str]| -> Result<Finished> {
        let run = mapreduce::mr(&given.cluster, &given.folder, line)?;
        run.deadline(DEADLINE).finish()
    };
    let told = |line: &[&str]| -> Result<String> {
        let finished = gerbil(line)?.success("gerbil mr")?;
        Ok(finished.stdout_text())
    };
    put(
        given,
        "/history/in",
        &[("a", "x y\nx\n"), ("bad", "abort\n")],
    )?;
    let words = [
        "-q",
        &program("wordcount")?,
        "/history/in/a",
        "/history/out",
    ];
    alone(given, &words)?.finish()?.success("gerbil mr")?;
    let well = given.newest()?.id;
    let faulty = ["-q", &program("faulty")?, "/history/in/bad", "/history/bad"];
    let failed = alone(given, &faulty)?.finish()?;
    ensure!(failed.code() == 1, "{}", failed.stderr_text());
    let badly = given.newest()?.id;
    let job = |application: &str| format!("{application}.1");
    let short = |application: &str| -> Result<String> {
        let (_, number) = application.rsplit_once('_').context("an id")?;
        Ok(format!("s{}.1", number.trim_start_matches('0')))
    };
    let list = told(&["list"])?;
    for (id, state) in [(&well, "SUCCEEDED"), (&badly, "FAILED")] {
        let row = list
            .lines()
            .find(|line| line.starts_with(&short(id).unwrap_or_default()));
        ensure!(row.is_some_and(|row| row.contains(state)), "{list}");
    }
    let kept: JobHistory = serde_json::from_str(&told(&["history", "--json", &job(&well)])?)?;
    let maps = kept.attempts.iter().filter(|of| of.stage == TaskStage::Map);
    ensure!(
        (kept.state, maps.count()) == (JobState::Succeeded, 1),
        "{kept:?}"
    );
    let counters = told(&["counters", &job(&well)])?;
    ensure!(
        counters.contains("\n\t\tMAP_INPUT_RECORDS=2\n"),
        "{counters}"
    );
    let words = told(&["history", &job(&badly)])?;
    for part in ["state FAILED", "map 0, attempt 3 failed", "by signal 6"] {
        ensure!(words.contains(part), "{words}");
    }
    let page = told(&["history", "--html", &job(&badly)])?;
    ensure!(
        page.matches("<rect class=\"failed\"").count() == 4,
        "{page}"
    );
    let none = gerbil(&["status", "s9999.1"])?;
    ensure!(
        none.code() != 0 && none.stderr_text().contains("no MapReduce job s9999.1"),
        "{}",
        none.stderr_text()
    );
    Ok(())
}

fn killed(given: &Given) -> Result<()> {
    mapreduce_kills::start(given)?;
    let work = Work::word_count(given, 4)?;
    for blow in [Blow::KillTask, Blow::KillLauncher] {
        let outcome = work.round(given, blow, 7)?;
        ensure!(
            outcome.is_right() && outcome.has_hit,
            "{}\n{}",
            outcome.row(),
            outcome.said
        );
    }
    stop(given, "s")
}

/// One map whose first attempt takes minutes.
fn straggler(given: &Given) -> Result<()> {
    let text = format!("{}good\n", "sleep\n".repeat(4));
    let slow = format!("good\nstraggle\n{text}");
    let mut inputs = vec![("f0", slow.as_str())];
    inputs.extend(["f1", "f2", "f3", "f4", "f5", "f6", "f7"].map(|name| (name, text.as_str())));
    put(given, "/straggler/in", &inputs)?;
    start(given)?;
    let faulty = program("faulty")?;
    let line = |options: &[&str], out: &str| -> Result<Run> {
        let fixed = ["-D", "gerbil.split.pack=1", &faulty, "--reduces", "1"];
        mr(given, &[options, &fixed, &["/straggler/in", out]].concat())
    };
    let finished = line(&[], "/straggler/out/x")?.finish()?;
    let finished = finished.success("a job with a straggler")?;
    let said = finished.stderr_text();
    let times = |words: &str| said.matches(words).count();
    ensure!(
        times("map 0 takes much longer than others on ") == 1
            && times(" takes much longer than others") == 1
            && times("MAP_INPUT_RECORDS=42") == 1
            && times("failed") == 0,
        "{said}"
    );
    let ours = files(given, "/straggler/out/x")?;
    let words = ours
        .get("part-r-00000")
        .map(|of| String::from_utf8_lossy(of));
    ensure!(
        words.as_deref() == Some("good\t9\nsleep\t32\nstraggle\t1\n"),
        "{words:?}"
    );
    // Its loser is gone with it.
    shows(given, "3 containers with 6 slots, 0 of them lent")?;
    let alone = ["-D", "mapreduce.map.speculative=false"];
    let running = line(&alone, "/straggler/out/alone")?.start()?;
    shows(given, "1 job runs")?;
    wait::pause(Duration::from_secs(12));
    shows(given, "1 job runs")?;
    running.signal(Signal::SIGINT)?;
    let said = running.finish()?.stderr_text();
    ensure!(!said.contains("much longer"), "{said}");
    stop(given, "s")
}
