//! The NameNode is away while a job's files get their names, or takes nothing when a job begins.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use it::bed::{Case, DEADLINE, Given, text_of};
use it::daemon::Daemon;
use it::session::{start_with, stop};
use it::{expect, wait};
use policy::commit::absolute;

use super::round::chosen;
use super::{AGAIN, REDUCES, begun};
use crate::{files, is_gone, is_same, mr, program, put, succeeds};

pub const CASES: &[(&str, Case)] = &[
    (
        "the NameNode is killed while a job commits, and comes back",
        killed,
    ),
    ("HDFS in safe mode when jobs begin", safe_mode),
];

/// Jobs that are tried until one was between two renames.
const ROUNDS: usize = 10;
/// The NameNode is away for so long: whoever needs it for a rename has tried it more than once.
const AWAY: Duration = Duration::from_secs(3);

fn killed(given: &Given) -> Result<()> {
    let (again, whole) = begun(given, AGAIN, "/names/in")?;
    start_with(given, "s", "512")?;
    for number in 0..ROUNDS {
        let out = format!("/names/out-{number}");
        let mut running = mr(given, &["-D", REDUCES, &again, "/names/in", &out])?.start()?;
        wait::until("the first file that has moved", DEADLINE, || {
            let has_begun = chosen(given, &out)? > 0;
            Ok((has_begun || running.is_over()?).then_some(()))
        })?;
        given.cluster.kill(Daemon::NameNode)?;
        wait::pause(AWAY);
        // Without its NameNode none comes to an end.
        let is_hit = !running.is_over()?;
        given.cluster.start(Daemon::NameNode)?;
        given.cluster.wait_for_hdfs()?;
        running.finish()?.success("a job whose NameNode was away")?;
        is_same(&files(given, &out)?, &whole)?;
        is_gone(given, &absolute(&out, "work"))?;
        if is_hit {
            return stop(given, "s");
        }
    }
    bail!("of {ROUNDS} jobs none was committing when the NameNode was killed")
}

fn safe_mode(given: &Given) -> Result<()> {
    put(given, "/safe/in", &[("a", "x y x\n")])?;
    start_with(given, "s", "512")?;
    let wordcount = program("wordcount")?;
    succeeds(given, &[&wordcount, "/safe/in", "/safe/first"])?;
    // One that is not on HDFS yet.
    let other = given.folder.join("other");
    fs::copy(&wordcount, &other)?;
    let mut file = OpenOptions::new().append(true).open(&other)?;
    file.write_all(b"other")?;
    drop(file);
    let other = text_of(&other)?;
    given.cluster.safe_mode(true)?;
    let refused = mr(given, &[&other, "/safe/in", "/safe/other"])?.finish();
    let waiting = mr(given, &[&wordcount, "/safe/in", "/safe/out"])?.start();
    wait::pause(AWAY);
    given.cluster.safe_mode(false)?;
    expect::sentence(&refused?, 69, &["HDFS is in safe mode"])?;
    let waiting = waiting?.finish()?.success("a job that has waited")?;
    let said = waiting.stderr_text();
    ensure!(
        said.matches("HDFS is in safe mode").count() == 1
            && said.contains("/safe/out has to wait")
            && said.contains("is given up after 300 s"),
        "{said}"
    );
    is_same(&files(given, "/safe/out")?, &files(given, "/safe/first")?)?;
    is_gone(given, "/safe/other")?;
    stop(given, "s")
}
