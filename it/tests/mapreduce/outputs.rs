//! What jobs write is right, and what cannot be is refused.

use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};
use it::bed::{Case, DEADLINE, Given, text_of};
use it::command::Running;
use it::mapreduce::Files;
use it::session::{shows, stop};
use it::{Run, expect, mapreduce, wait};
use nix::sys::signal::Signal;
use policy::commit::absolute;

use crate::{files, is_gone, is_same, local, mr, program, put, read, start, succeeds, text};

pub const CASES: &[(&str, Case)] = &[
    ("maps and reduces write what Hadoop's write", beside_hadoop),
    (
        "a job of maps alone, and one that sorts what it left",
        maps_alone,
    ),
    ("a driver that loops, and reads what its jobs left", loops),
    ("jobs side by side in one session", side_by_side),
    ("what is refused", refused),
    ("an output that another job writes", taken),
    (
        "an output whose name somebody else takes while the job runs",
        occupied,
    ),
    ("an output that is overwritten", overwritten),
];

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

    // Once more in the same session, by patterns, with as many reduces as the input is worth: through a hidden folder,
    // and to a name with a comma.
    put(given, "/words/_hidden", &[("ü,c", &texts[2])])?;
    succeeds(
        given,
        &[
            "-q",
            &wordcount,
            r"/words/{in}/[a-b],/words/*n/?\,c",
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
        64,
        &nothing,
    )?;
    let exists = ["/refused/out exists already; choose another"];
    refused(&[&wordcount, "/refused/in", "/refused/out"], 64, &exists)?;
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
        64,
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
    refused(&large, 65, &["session s"])?;
    is_gone(given, "/refused/new")?;
    let there = files(given, "/refused/out")?;
    ensure!(there.len() == 1, "{:?}", there.keys());
    stop(given, "s")
}

/// A job is refused the folder of one that lives, and leaves nothing there.
fn taken(given: &Given) -> Result<()> {
    put(given, "/taken/in", &[("a", "loop\n"), ("b", "x\n")])?;
    start(given)?;
    let running = mr(given, &[&program("faulty")?, "/taken/in/a", "/taken/out"])?;
    let mut running = running.start()?;
    let below = || -> Result<Vec<String>> {
        let all = given.cluster.hdfs().list("/taken/_out.temporary")?;
        Ok(all.into_iter().map(|entry| entry.path_suffix).collect())
    };
    // Its owner's name, and the owner's folder.
    let before = wait::until("a job that writes", DEADLINE, || {
        let there = below()?;
        Ok((there.len() == 2).then_some(there))
    })?;
    let line = [&program("wordcount")?, "/taken/in/b", "/taken/out"];
    let finished = mr(given, &line)?.finish()?;
    expect::sentence(&finished, 74, &["is being written by"])?;
    let after = below()?;
    ensure!(before == after, "{before:?}, then {after:?}");
    running.signal(Signal::SIGINT)?;
    drop(running.finish()?);
    is_gone(given, "/taken/out")?;
    stop(given, "s")
}

/// Nothing is lost.
fn occupied(given: &Given) -> Result<()> {
    let slow = format!("{}last\n", "sleep\n".repeat(8));
    put(given, "/occupied/in", &[("a", &slow)])?;
    start(given)?;
    let (faulty, hdfs) = (program("faulty")?, given.cluster.hdfs());
    let line = [&faulty, "/occupied/in", "/occupied/out"];
    let notes = "/occupied/out/notes";
    let work = absolute("/occupied/out", "work");
    let running = mr(given, &line)?.start()?;
    wait::until("a job that writes", DEADLINE, || {
        Ok((hdfs.list(&work)?.len() == 2).then_some(()))
    })?;
    mapreduce::with_hdfs(&given.cluster, async |hdfs| {
        Ok(hdfs.write(notes, b"mine".to_vec()).await?)
    })?;
    let finished = running.finish()?;
    let said = "/occupied/out is there: somebody else has made it while the job ran; the output is whole, in hdfs://";
    expect::sentence(&finished, 74, &[said, "/written: give it another name"])?;
    let job = hdfs.list(&work)?.into_iter().map(|of| of.path_suffix);
    let job = job
        .into_iter()
        .find(|name| name.starts_with("application_"));
    let whole = format!("{work}/{}/written", job.unwrap_or_default());
    let kept = files(given, &whole)?;
    ensure!(kept.contains_key("_SUCCESS"), "{:?}", kept.keys());
    mapreduce::with_hdfs(&given.cluster, async |hdfs| {
        Ok(hdfs.remove("/occupied/out").await?)
    })?;
    // The next one begins anew.
    succeeds(given, &line)?;
    is_same(&files(given, "/occupied/out")?, &kept)?;
    is_gone(given, &work)?;
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

    // What goes is gone: HDFS keeps no trash where nobody has set fs.trash.interval.
    let written = [
        "-D",
        "dfs.replication=2",
        "-D",
        "dfs.blocksize=1m",
        "-D",
        "fs.permissions.umask-mode=077",
    ];
    let words = [wordcount.as_str(), "/over/two", "/over/out"];
    let line = [&["--overwrite"][..], &written[..], &words[..]].concat();
    let finished = succeeds(given, &line)?;
    let said = finished.stderr_text();
    ensure!(said.contains("is removed: HDFS keeps no trash"), "{said}");
    is_gone(given, &format!("/user/{}/.Trash", given.cluster.user()))?;
    let files_of_hadoop = ["-stat", "%r %o %a", "/over/out/part-r-00000"];
    let told = given.cluster.dfs(&files_of_hadoop)?.stdout_text();
    ensure!(told.trim() == "2 1048576 600", "{told}");
    let second = files(given, "/over/out")?;
    ensure!(
        second.get("part-r-00000").map(Vec::as_slice) == Some(b"c\t1\n"),
        "{second:?}"
    );

    // Of two at once the later is refused before it has a task, whether there is an output already or not.
    put(given, "/over/loop", &[("a", "loop\n")])?;
    let hdfs = given.cluster.hdfs();
    for out in ["/over/out", "/over/new"] {
        let line = ["--overwrite", &faulty, "/over/loop", out];
        let mut running = mr(given, &line)?.start()?;
        let beside = format!("{}.new", out.replace("/over/", "/over/_"));
        let work = absolute(&beside, "work");
        wait::until("a job that writes", DEADLINE, || {
            Ok((hdfs.list(&work)?.len() == 2).then_some(()))
        })?;
        let line = ["--overwrite", &wordcount, "/over/one", out];
        let finished = mr(given, &line)?.finish()?;
        expect::sentence(&finished, 74, &["is being written by"])?;
        running.signal(Signal::SIGINT)?;
        drop(running.finish()?);
        is_gone(given, &work)?;
    }
    is_gone(given, "/over/new")?;

    // A client that is killed between its two renames leaves this.
    mapreduce::with_hdfs(&given.cluster, async |hdfs| {
        Ok(hdfs.rename("/over/out", "/over/_out.new").await?)
    })?;
    let finished = mr(given, &failing)?.finish()?;
    expect::sentence(&finished, 1, &["this line is refused"])?;
    let said = finished.stderr_text();
    ensure!(
        said.contains("was cut off when its output was complete"),
        "{said}"
    );
    ensure!(
        files(given, "/over/out")? == second,
        "the output of the run that was cut off is lost"
    );
    is_gone(given, "/over/_out.new")?;
    stop(given, "s")
}
