//! `--stage-out`

use anyhow::{Result, ensure};
use it::bed::{Case, Given};
use it::victims::kill_master;
use it::wait;

use crate::{names, put, text, tree, with_hdfs};

pub const CASES: &[(&str, Case)] = &[
    ("stage_out_puts_the_folders_of_all_nodes_together", together),
    ("stage_out_with_a_name_for_each_node", each_node),
    ("stage_out_names_both_nodes_that_have_one_file", collision),
    ("stage_out_of_a_failed_job_leaves_nothing", failed),
    (
        "stage_out_refuses_what_is_there_or_may_not_be_made",
        refused,
    ),
    ("stage_out_finds_its_name_taken_at_the_end", taken),
    (
        "stage_out_is_made_once_though_an_attempt_left_half_of_it",
        once,
    ),
];

const WRITES: &str = "mkdir -p res/deep; echo $PMI_RANK > res/deep/r$PMI_RANK; echo x > same; ln -sf /etc/passwd res/link";

fn clear(given: &Given) -> Result<()> {
    with_hdfs(given, async |hdfs| Ok(hdfs.remove("/results").await?))
}

fn together(given: &Given) -> Result<()> {
    clear(given)?;
    let script = given.script("writes", WRITES)?;
    given.succeeds(&[
        "-n",
        "2",
        "-ppn",
        "1",
        "--stage-out",
        "res=hdfs:///results/all",
        &script,
    ])?;
    let found = tree(given, "/results")?;
    let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    ensure!(
        found == [pair("/all/deep/r0", "0\n"), pair("/all/deep/r1", "1\n")],
        "{found:?}"
    );
    Ok(())
}

fn each_node(given: &Given) -> Result<()> {
    clear(given)?;
    let script = given.script("writes", WRITES)?;
    let out = "same=/results/by-number/%p/%h.txt";
    given.succeeds(&["-n", "2", "-ppn", "1", "--stage-out", out, &script])?;
    let found = tree(given, "/results")?;
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    ensure!(names.len() == 2, "{names:?}");
    ensure!(names[0].starts_with("/by-number/0/127."), "{names:?}");
    ensure!(names[1].starts_with("/by-number/1/127."), "{names:?}");
    Ok(())
}

fn collision(given: &Given) -> Result<()> {
    clear(given)?;
    let script = given.script("writes", WRITES)?;
    let words = ["127.", " and 127.", " both have same", "%h or %p"];
    let arguments = [
        "-n",
        "2",
        "-ppn",
        "1",
        "--stage-out",
        "same=/results/same",
        &script,
    ];
    given.fails(&arguments, 74, &words)?;
    let words = ["no file of nothing", "working directory"];
    given.fails(
        &["-n", "1", "--stage-out", "nothing=/results/x", &script],
        74,
        &words,
    )?;
    ensure!(tree(given, "/results")?.is_empty(), "something was made");
    Ok(())
}

fn failed(given: &Given) -> Result<()> {
    clear(given)?;
    let script = given.script("fails", &format!("{WRITES}; exit 3"))?;
    let arguments = ["-n", "1", "--stage-out", "res=/results/all", &script];
    given.fails(&arguments, 3, &["rank 0"])?;
    ensure!(tree(given, "/results")?.is_empty(), "something was made");
    Ok(())
}

fn refused(given: &Given) -> Result<()> {
    clear(given)?;
    put(given, "/results/there", "old\n")?;
    let words = ["--stage-out", "/results/there exists already"];
    given.fails(&["--stage-out", "res=/results/there", "true"], 74, &words)?;
    ensure!(text(given, "/results/there")? == "old\n", "it was changed");
    let words = ["--stage-out", "/results/there is a file"];
    given.fails(&["--stage-out", "res=/results/there/x", "true"], 74, &words)?;
    Ok(())
}

/// The destination comes to be while the job runs: nothing is written over.
fn taken(given: &Given) -> Result<()> {
    clear(given)?;
    given.cluster.hdfs().make_folder("/results", "755")?;
    let script =
        "mkdir -p res; echo new > res/new; echo ready; while [ ! -e \"$1\" ]; do sleep 0.1; done";
    let script = given.script("writes-late", script)?;
    let gate = it::bed::text_of(&given.folder.join("halfway"))?;
    let mut running = given
        .gerbil(&["-n", "1", "--stage-out", "res=/results/all", &script, &gate])?
        .start()?;
    running.wait_for_stdout("ready")?;
    put(given, "/results/all/old", "old\n")?;
    std::fs::write(&gate, "")?;
    let finished = running.finish()?;
    let words = ["--stage-out", "/results/all exists already"];
    it::expect::failure(&given.cluster, &finished, 74, &words)?;
    let found = tree(given, "/results")?;
    ensure!(found.len() == 1 && found[0].1 == "old\n", "{found:?}");
    Ok(())
}

/// Files of one node: enough of them that there is time to kill who has them copied.
const MANY: usize = 120;

/// The ApplicationMaster is killed when some files are copied, and the next one makes the result.
fn once(given: &Given) -> Result<()> {
    clear(given)?;
    given.cluster.hdfs().make_folder("/results", "755")?;
    let script = format!(
        "mkdir -p res; for file in $(seq {MANY}); do echo $file >res/$file; done; echo written"
    );
    let script = given.script("writes-many", &script)?;
    let running = given
        .gerbil(&["-n", "1", "--stage-out", "res=/results/all", &script])?
        .start()?;
    wait::until("some files of the result", it::bed::DEADLINE, || {
        let own = names(given, "/results")?;
        let Some(own) = own.iter().find(|name| name.starts_with(".gerbil-")) else {
            return Ok(None);
        };
        ensure!(own.ends_with("_000001-0"), "{own}");
        let some = given.cluster.hdfs().list(&format!("/results/{own}/all"))?;
        Ok((some.len() > 10).then_some(()))
    })?;
    kill_master(given)?;
    let finished = running.finish()?;
    let (text, said) = (finished.stdout_text(), finished.stderr_text());
    ensure!(finished.code() == 0, "{finished:?}");
    ensure!(said.contains("attempt 2 of 2"), "{said}");
    ensure!(text.matches("written").count() == 2, "{text}");
    let left = names(given, "/results")?;
    ensure!(left == ["all"], "{left:?}");
    let found = names(given, "/results/all")?;
    ensure!(found.len() == MANY, "{}", found.len());
    given.is_clean()
}
