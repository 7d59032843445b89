//! ApplicationMasters that are killed -9 while a job's files get their names.

pub mod name_node;
pub mod node;
mod round;

use anyhow::{Context as _, Result, bail, ensure};
use it::bed::{Case, Given};
use it::mapreduce::Files;
use it::session::{self, application, start_with};
use it::{expect, mapreduce};

use policy::commit::absolute;
use round::{Killed, Moment, chosen, round};

use crate::{alone, files, is_gone, is_same, local, mr, program, put};

pub const CASES: &[(&str, Case)] = &[
    (
        "an ApplicationMaster is killed while its job commits",
        own_application,
    ),
    (
        "a session's ApplicationMaster is killed while jobs commit",
        session,
    ),
    (
        "both ApplicationMasters are killed while a job commits, and the next run works",
        both,
    ),
];

/// Files of the output: so many renames, 64 at a time, that a moment between two of them can be met.
const REDUCES: &str = "mapreduce.job.reduces=300";
/// As often a task is tried by a run without a cluster, which by itself tries it once.
const TWICE: &str = "mapreduce.reduce.maxattempts=2";
/// Lines of the input: each reduce has one.
const LINES: u32 = 5000;
/// A program without a driver, and one with, whose first attempts fail on each of these lines.
const AGAIN: &str = "again";
const WITH_DRIVER: &str = "faulty";
/// What is said of a job whose commit had not begun.
const BEGAN_AGAIN: &str = "it begins again (2 of 2)";
/// What is said of a job that was between two renames.
const FINISHED: &str = "the commit was finished: its output is whole";

fn own_application(given: &Given) -> Result<()> {
    let (again, whole) = begun(given, AGAIN, "/commits/in")?;
    let run = |out: &str| {
        let words = ["--memory", "768", "-D", REDUCES];
        alone(given, &[&words[..], &[&again, "/commits/in", out]].concat())
    };
    let moments = [Moment::Attempts, Moment::Files(1), Moment::Files(100)];
    let mut hits = 0;
    for (number, moment) in moments.into_iter().chain([Moment::Files(1); 9]).enumerate() {
        let out = format!("/commits/own-{number}");
        let round = round(given, run(&out)?, &out, moment, Killed::First)?;
        if round.was_over {
            continue;
        }
        let report = application(given, &round.id)?;
        match round.code {
            0 if round.said.contains(BEGAN_AGAIN) => {
                ensure!(moment == Moment::Attempts, "{report:?} {round:?}");
                is_same(&files(given, &out)?, &whole)?;
            }
            0 => {
                is_same(&files(given, &out)?, &whole)?;
                let words = "the ApplicationMaster was lost; the commit of job 1 to hdfs://";
                ensure!(
                    round.is_late
                        || (report.diagnostics.contains(words)
                            && report.diagnostics.contains(&out)
                            && round.said.contains(FINISHED)),
                    "{report:?} {round:?}"
                );
                hits += u32::from(!round.is_late);
            }
            _ => bail!("{report:?} {round:?}"),
        }
        given.is_clean()?;
        ensure!(
            given.cluster.hdfs().staged("commits")?.is_empty(),
            "records are left"
        );
        if hits > 1 {
            return Ok(());
        }
    }
    bail!("{hits} of twelve jobs were killed between two renames")
}

/// A program of the examples, its input at `path` of HDFS, and what it makes of that.
fn begun(given: &Given, name: &str, path: &str) -> Result<(String, Files)> {
    let lines: String = (0..LINES).map(|line| format!("again {line}\n")).collect();
    let input = put(given, path, &[("a", &lines)])?;
    let program = program(name)?;
    let words = ["-D", TWICE, "-D", REDUCES, &input];
    let whole = local(given, &program, &words, "whole")?;
    Ok((program, whole))
}

/// Nobody finishes the commit: what there is of it goes when the next run comes, and what somebody else has put there does
/// not.
fn both(given: &Given) -> Result<()> {
    let (again, whole) = begun(given, AGAIN, "/commits/both")?;
    let run = |out: &str| {
        let words = ["--memory", "768", "-D", REDUCES];
        alone(
            given,
            &[&words[..], &[&again, "/commits/both", out]].concat(),
        )
    };
    let names = |out: &str| -> Result<Vec<String>> {
        let all = given.cluster.hdfs().list(out)?;
        Ok(all.into_iter().map(|of| of.path_suffix).collect())
    };
    for number in 0..10 {
        let out = format!("/commits/both-{number}");
        let round = round(given, run(&out)?, &out, Moment::Files(1), Killed::All)?;
        let half = chosen(given, &out)?;
        // It was over, or the second was quick enough.
        if half == 0 || !names(&out)?.is_empty() {
            continue;
        }
        ensure!(round.code != 0, "{round:?}");
        // With a file of somebody else's it is refused, and all stays as it is.
        let foreign = format!("{out}/notes");
        mapreduce::with_hdfs(&given.cluster, async |hdfs| {
            Ok(hdfs.write(&foreign, b"mine".to_vec()).await?)
        })?;
        let refused = run(&out)?.finish()?;
        expect::sentence(&refused, 64, &["exists already; choose another"])?;
        ensure!(
            names(&out)? == ["notes"] && chosen(given, &out)? == half,
            "{half} files, then {}",
            chosen(given, &out)?
        );
        mapreduce::with_hdfs(&given.cluster, async |hdfs| Ok(hdfs.remove(&out).await?))?;
        run(&out)?.finish()?.success("the same again")?;
        is_same(&files(given, &out)?, &whole)?;
        return is_gone(given, &absolute(&out, "work"));
    }
    bail!("ten jobs were not killed between two renames")
}

/// The program has a driver, which might decide by counters that nobody knows any more.
fn session(given: &Given) -> Result<()> {
    let (faulty, whole) = begun(given, WITH_DRIVER, "/commits/session")?;
    for number in 0..10 {
        start_with(given, "s", "512")?;
        let out = format!("/commits/session-{number}");
        let line = ["-D", REDUCES, &faulty, "/commits/session", &out];
        let round = round(
            given,
            mr(given, &line)?,
            &out,
            Moment::Files(1),
            Killed::First,
        )?;
        if round.was_over {
            session::stop(given, "s")?;
            continue;
        }
        is_over(given)?;
        is_same(&files(given, &out)?, &whole).with_context(|| format!("{round:?}"))?;
        given.is_clean()?;
        if round.is_late {
            continue;
        }
        ensure!(
            round.code == 1
                && round.said.contains("session s")
                && round.said.contains(FINISHED)
                && round.said.contains("its counters were lost"),
            "{round:?}"
        );
        // What became of the job can be read when session and application are gone.
        let line = ["mr", "history", &format!("{}.1", round.id)];
        let told = session::command(given, &line)?.finish()?;
        let told = told.success("gerbil mr history")?.stdout_text();
        ensure!(told.contains("SUCCEEDED"), "{told}");
        return Ok(());
    }
    bail!("ten jobs were over before their ApplicationMaster was killed")
}

/// The session has ended with its ApplicationMaster.
fn is_over(given: &Given) -> Result<()> {
    let finished = mr(given, &[&program("wordcount")?, "/commits/x", "/commits/y"])?.finish()?;
    ensure!(
        finished.code() == 69 && finished.stderr_text().contains("session s is over"),
        "{}: {}",
        finished.code(),
        finished.stderr_text()
    );
    Ok(())
}
