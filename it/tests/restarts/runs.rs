//! Launchers and nodes that are lost while the ApplicationMaster lives.

use anyhow::{Context as _, Result, ensure};
use it::Daemon;
use it::bed::{Case, Given};
use it::expect;
use it::victims::{kill_launcher, nodes_without_master};

use it::booked::{StartedJob, said};

/// As many ranks as fill three nodes beside the ApplicationMaster.
const WIDE: [&str; 2] = ["-o", "false"];

pub const CASES: &[(&str, Case)] = &[
    ("runs: a killed launcher is replaced", launcher),
    ("runs: an MPI program begins anew", mpi),
    ("runs: --restarts 0", none),
    ("runs: the second loss ends what is repeated once", twice),
    (
        "runs: the program's own failure is not repeated",
        own_failure,
    ),
    ("runs: input from a pipe cannot be given twice", spent),
    ("runs: a lost node is replaced by another", node),
];

fn launcher(given: &Given) -> Result<()> {
    let job = StartedJob::running(given, "launcher", 6, &WIDE)?;
    kill_launcher(given)?;
    job.wait_for_runs(2)?;
    let finished = job.let_go(2)?;
    said(&finished, &["run 2 of 2: ", "signal 9", "started again"])?;
    ensure!(!finished.stderr_text().contains("attempt"), "{finished:?}");
    given.is_clean()
}

fn mpi(given: &Given) -> Result<()> {
    let linger = given.program("linger")?;
    let mut running = given
        .gerbil(&["-n", "6", "-o", "false", &linger, "4"])?
        .start()?;
    running.wait_for_stdout("ready")?;
    kill_launcher(given)?;
    let finished = running.finish()?;
    ensure!(finished.code() == 0, "{finished:?}");
    ensure!(finished.stdout_text() == "ready\nready\n", "{finished:?}");
    said(&finished, &["run 2 of 2: "])?;
    given.is_clean()
}

fn none(given: &Given) -> Result<()> {
    let job = StartedJob::running(given, "none", 6, &["-o", "false", "--restarts", "0"])?;
    kill_launcher(given)?;
    let finished = job.ends(1)?;
    expect::failure(&given.cluster, &finished, 70, &["container", "signal 9"])
}

fn twice(given: &Given) -> Result<()> {
    let job = StartedJob::running(given, "twice", 6, &WIDE)?;
    kill_launcher(given)?;
    job.wait_for_runs(2)?;
    kill_launcher(given)?;
    let finished = job.ends(2)?;
    expect::failure(&given.cluster, &finished, 70, &["container", "signal 9"])
}

fn own_failure(given: &Given) -> Result<()> {
    let book = given.folder.join("failures").display().to_string();
    // Not before all have begun.
    let script = format!(
        "echo x >>{book}; [ \"$PMI_RANK\" = 1 ] || exec sleep 60
         until [ \"$(wc -l <{book})\" -ge 3 ]; do sleep 0.05; done; exit 7"
    );
    let script = given.script("fails", &script)?;
    given.fails(
        &["-n", "3", "--restarts", "5", &script],
        7,
        &["rank 1", "code 7"],
    )?;
    let book = std::fs::read_to_string(book)?;
    ensure!(book.lines().count() == 3, "{book}");
    Ok(())
}

fn spent(given: &Given) -> Result<()> {
    let script = given.script("takes", "read line; echo took $line; sleep 600")?;
    let run = given.gerbil(&["-n", "6", "-o", "false", &script])?;
    let mut running = run.stdin(b"one\n".to_vec()).start()?;
    running.wait_for_stdout("took one")?;
    kill_launcher(given)?;
    let finished = running.finish()?;
    expect::failure(
        &given.cluster,
        &finished,
        70,
        &["signal 9", "standard input", "--input"],
    )
}

fn node(given: &Given) -> Result<()> {
    let job = StartedJob::running(given, "node", 2, &["-r", "all"])?;
    let node = *nodes_without_master(given)?
        .first()
        .context("no such node")?;
    let host = given.cluster.nodes()[node].host.to_string();
    given.cluster.kill(Daemon::NodeManager(node))?;
    job.wait_for_runs(2)?;
    ensure!(!nodes_without_master(given)?.contains(&node));
    let finished = job.let_go(2)?;
    said(&finished, &["run 2 of 2: ", &host, "node is lost"])?;
    given.is_clean()?;
    given.cluster.start(Daemon::NodeManager(node))?;
    given.cluster.wait_for_nodes(3)
}
