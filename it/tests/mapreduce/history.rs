//! What became of jobs, when they are over.

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, DEADLINE, Given};
use it::session::command;
use it::{Finished, mapreduce};
use job::history::{JobHistory, JobState, TaskStage};

use crate::{alone, program, put};

pub const CASES: &[(&str, Case)] = &[("what became of jobs is told when they are over", history)];

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
        &[("a", "x y\nx\n"), ("bad", "print\nabort\n")],
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
        counters.contains("\n\t\tMAP_INPUT_RECORDS=2\n")
            && counters.contains("\n\t\tBYTES_WRITTEN="),
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
    let link = format!("/cluster/app/{badly}\">{badly}</a>");
    for part in [
        "<pre><code>this goes to standard output</code>",
        " UTC</td>",
        &link,
    ] {
        ensure!(page.contains(part), "no {part:?} in {page}");
    }
    // By its application, which is over.
    let printed = command(given, &["logs", &badly, "m0"])?.finish()?;
    let printed = printed.success("gerbil logs of a job that is over")?;
    ensure!(printed.stdout_text() == "this goes to standard output\n");
    let none = gerbil(&["status", "s9999.1"])?;
    ensure!(
        none.code() != 0 && none.stderr_text().contains("no MapReduce job s9999.1"),
        "{}",
        none.stderr_text()
    );
    Ok(())
}
