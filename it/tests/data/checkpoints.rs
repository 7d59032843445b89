//! A job that is saved, loses something and goes on.

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, Given, text_of};
use it::command::Running;
use it::victims::{kill_master, kill_node};
use it::{Daemon, wait};

use crate::{names, with_hdfs};

pub const CASES: &[(&str, Case)] = &[
    ("checkpoints: a killed job goes on from its newest", goes_on),
    ("checkpoints: a killed node is replaced", node),
    (
        "checkpoints: the next ApplicationMaster goes on from a complete one",
        master,
    ),
    (
        "checkpoints: one is taken when somebody asks",
        somebody_asks,
    ),
    ("checkpoints: a program that does not answer", deaf),
    ("checkpoints: what is wrong is said", wrong),
];

/// Steps of the whole run, each of which lasts so many microseconds when there is to be time to kill it.
const STEPS: &str = "1500";
const SLOWLY: &str = "8000";

/// The last line of a run.
fn result(output: &str) -> Result<String> {
    let line = output.lines().find(|line| line.starts_with("after "));
    Ok(line
        .with_context(|| format!("no result in {output}"))?
        .to_owned())
}

/// The result of a run that nothing happens to.
fn whole(given: &Given, heat: &str) -> Result<String> {
    result(&given.succeeds(&["-n", "2", heat, STEPS])?.stdout_text())
}

/// The step at which a run went on.
fn resumed(output: &str) -> Result<u32> {
    let mut lines = output.lines();
    let step = lines.find_map(|line| line.strip_prefix("goes on at step "));
    let step = step.with_context(|| format!("it did not go on: {output}"))?;
    Ok(step.parse()?)
}

/// A job of a rank on each of two nodes, in the midst of its steps, with two complete checkpoints.
fn saved_twice(given: &Given, heat: &str, options: [&str; 2]) -> Result<Running> {
    let mut line = vec!["-n", "2", "-ppn", "1", "--checkpoint-interval", "1s"];
    line.extend(options);
    line.extend([heat, STEPS, SLOWLY]);
    let mut running = given.gerbil(&line)?.start()?;
    running.wait_for_stdout("begins")?;
    running.wait_for_stderr("checkpoint 2 is complete")?;
    Ok(running)
}

fn goes_on(given: &Given) -> Result<()> {
    let heat = given.example("heat")?;
    let whole = whole(given, &heat)?;
    let running = saved_twice(given, &heat, ["--restarts", "0"])?;
    let id = given.newest()?.id;
    let node = kill_node(given)?;
    let finished = running.finish()?;
    ensure!(finished.code() == 70, "{finished:?}");
    let said = finished.stderr_text();
    ensure!(
        said.contains(&format!("stays: a job with --restore {id} goes on")),
        "{said}"
    );
    given.cluster.start(Daemon::NodeManager(node))?;
    given.cluster.wait_for_nodes(3)?;
    given.is_clean()?;

    // On one node now, and saved on.
    let again = given.succeeds(&["-n", "2", "--nodes", "1", "--restore", &id, &heat, STEPS])?;
    let text = again.stdout_text();
    ensure!(resumed(&text)? > 50, "{text}");
    ensure!(result(&text)? == whole, "{whole} and {text}");
    let folder = given.cluster.hdfs().staged("checkpoints")?;
    ensure!(folder.len() == 1, "only the killed job's stays: {folder:?}");
    given.cluster.hdfs().remove(&folder[0])
}

fn node(given: &Given) -> Result<()> {
    let heat = given.example("heat")?;
    let whole = whole(given, &heat)?;
    let running = saved_twice(given, &heat, ["-r", "loc"])?;
    let node = kill_node(given)?;
    let finished = running.finish()?;
    let (text, said) = (finished.stdout_text(), finished.stderr_text());
    ensure!(finished.code() == 0, "{finished:?}");
    ensure!(said.contains("run 2 of 2: "), "{said}");
    ensure!(text.matches("begins").count() == 1, "{text}");
    ensure!(resumed(&text)? > 50, "{text}");
    ensure!(result(&text)? == whole, "{whole} and {text}");
    given.cluster.start(Daemon::NodeManager(node))?;
    given.cluster.wait_for_nodes(3)?;
    given.is_clean()?;
    let left = given.cluster.hdfs().staged("checkpoints")?;
    ensure!(left.is_empty(), "{left:?}");
    Ok(())
}

/// Counts until it is let go, and saves the count; the second time it has very much to save.
const COUNTS: &str = r#"
count=0; saves=0; asked=; trap 'asked=1' USR1
if [ -n "$GERBIL_RESTORED" ]; then
    count=$(cat "$GERBIL_CHECKPOINT_DIR/count"); echo "restored $GERBIL_RESTORED at $count"
fi
echo ready
while [ ! -e "$1" ]; do
    count=$((count + 1)); sleep 0.05
    if [ -n "$asked" ]; then
        asked=; saves=$((saves + 1)); echo $count >"$GERBIL_CHECKPOINT_DIR/count"
        echo "saved $saves at $count"
        if [ $saves = 2 ]; then
            for file in $(seq 900); do echo $count >"$GERBIL_CHECKPOINT_DIR/$file"; done
        fi
        : >"$GERBIL_CHECKPOINT_DIR/done"
    fi
done"#;

/// The second checkpoint is half copied when the ApplicationMaster is killed.
fn master(given: &Given) -> Result<()> {
    let script = given.script("counts", COUNTS)?;
    let gate = text_of(&given.folder.join("counted"))?;
    let mut running = given
        .gerbil(&["-n", "1", "--checkpoint-interval", "1s", &script, &gate])?
        .start()?;
    running.wait_for_stderr("checkpoint 1 is complete")?;
    let folder = given.cluster.hdfs().staged("checkpoints")?;
    let [folder] = &folder[..] else {
        anyhow::bail!("{folder:?}");
    };
    let half = format!("{folder}/2.1.tmp/0");
    wait::until("some files of the second", it::bed::DEADLINE, || {
        let found = given.cluster.hdfs().list(&half)?;
        Ok((found.len() > 10).then_some(()))
    })?;
    kill_master(given)?;
    running.wait_for_stdout("restored 1 at ")?;
    let (text, said) = (running.stdout_so_far(), running.stderr_so_far());
    ensure!(!said.contains("checkpoint 2 is complete"), "{said}");
    let counts = |before: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(before));
        line.map(str::to_owned)
            .with_context(|| format!("{before}: {text}"))
    };
    ensure!(
        counts("saved 1 at ")? == counts("restored 1 at ")?,
        "{text}"
    );
    // Whoever still copied for the first ApplicationMaster leaves nothing for long.
    running.wait_for_stderr("checkpoint 2 is complete")?;
    let left = names(given, folder)?;
    ensure!(left == ["1", "2"], "{left:?}");
    std::fs::write(&gate, "")?;
    let finished = running.finish()?;
    ensure!(
        finished.code() == 0 && finished.stderr_text().contains("attempt 2 of 2"),
        "{finished:?}"
    );
    given.is_clean()?;
    let left = given.cluster.hdfs().staged("checkpoints")?;
    ensure!(left.is_empty(), "{left:?}");
    Ok(())
}

fn somebody_asks(given: &Given) -> Result<()> {
    let heat = given.example("heat")?;
    let mut running = given
        .gerbil(&["-n", "2", "--checkpoint-dir", "saved", &heat, STEPS, SLOWLY])?
        .start()?;
    running.wait_for_stdout("begins")?;
    let id = given.newest()?.id;
    let asked = given.gerbil(&["--checkpoint", &id])?.finish()?;
    let said = asked.stderr_text();
    ensure!(
        asked.code() == 0 && said.contains(&format!("{id} is saved in hdfs://")),
        "{said}"
    );
    ensure!(said.trim_end().ends_with("/1"), "{said}");
    let finished = running.finish()?;
    ensure!(finished.code() == 0, "{finished:?}");
    ensure!(
        finished.stderr_text().contains("checkpoint 1 is complete"),
        "{finished:?}"
    );
    given.is_clean()?;
    let left = given.cluster.hdfs().staged("checkpoints")?;
    ensure!(left.is_empty(), "{left:?}");
    let late = given.gerbil(&["--checkpoint", &id])?.finish()?;
    ensure!(
        late.code() == 65 && late.stderr_text().contains("does not run"),
        "{late:?}"
    );
    Ok(())
}

/// The signal would kill it, and is not sent: the job is what it would be without it.
fn deaf(given: &Given) -> Result<()> {
    let deaf = given.script("deaf", "sleep 3; echo over")?;
    let finished = given.succeeds(&["--checkpoint-interval", "1s", &deaf])?;
    ensure!(finished.stdout_text().contains("over"), "{finished:?}");
    Ok(())
}

fn wrong(given: &Given) -> Result<()> {
    let none = "application_1700000000000_0042";
    let words = ["--restore", none, "no complete checkpoint"];
    given.fails(&["--restore", none, "true"], 74, &words)?;
    // A folder in which nothing more may be made.
    given.cluster.hdfs().make_folder("/full", "777")?;
    given.cluster.hdfs().allow_names("/full/checkpoints", 1)?;
    let script = given.script("short", "sleep 1")?;
    let full = "hdfs:///full";
    let arguments = ["--staging", full, "--checkpoint-interval", "1s", &script];
    let words = [
        "no checkpoints: making",
        "NSQuotaExceeded",
        "/full/checkpoints",
    ];
    given.fails(&arguments, 74, &words)?;
    // And one that was not finished is none, whatever it is called.
    let half = "/half/3.1.tmp/MANIFEST";
    with_hdfs(given, async |hdfs| {
        Ok(hdfs.write(half, b"{}".to_vec()).await?)
    })?;
    let words = ["--restore", "/half has no complete checkpoint"];
    given.fails(&["--restore", "hdfs:///half", "true"], 74, &words)?;
    Ok(())
}
