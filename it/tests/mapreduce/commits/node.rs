//! The ApplicationMaster's node is lost while a job's files get their names: its NodeManager and all its processes
//! are killed -9, launchers with results of maps among them.

use anyhow::{Result, bail, ensure};
use it::Run;
use it::bed::{Case, Given};
use it::session::application;

use super::round::{Killed, Moment, Round, round};
use super::{AGAIN, FINISHED, REDUCES, begun};
use crate::{alone, files, is_gone, is_same};

pub const CASES: &[(&str, Case)] = &[(
    "the node of the ApplicationMaster is lost while its job commits",
    lost,
)];

/// Jobs that are tried until one was between two renames.
const ROUNDS: usize = 8;

fn lost(given: &Given) -> Result<()> {
    let (again, whole) = begun(given, AGAIN, "/node/in")?;
    let run = |out: &str| -> Result<Run> {
        let words = ["--memory", "768", "-D", REDUCES];
        alone(given, &[&words[..], &[&again, "/node/in", out]].concat())
    };
    let records = || given.cluster.hdfs().staged("commits");
    // What jobs of other cases had to leave.
    let before = records()?;
    for number in 0..ROUNDS {
        let out = format!("/node/out-{number}");
        let round = round(given, run(&out)?, &out, Moment::Files(1), Killed::Node)?;
        let is_hit = is_right(given, &round, &out)?;
        if round.code != 0 {
            // Nothing is in the way of the next.
            is_gone(given, &out)?;
            run(&out)?.finish()?.success("the same again")?;
        }
        is_same(&files(given, &out)?, &whole)?;
        given.is_clean()?;
        let mut left = records()?;
        left.retain(|record| !before.contains(record));
        ensure!(left.is_empty(), "{left:?} are left");
        if is_hit {
            return Ok(());
        }
    }
    bail!(
        "of {ROUNDS} jobs none was between two renames when its ApplicationMaster's node was lost"
    )
}

/// Whether the commit was in the middle, and then another node's ApplicationMaster has finished it, and said so.
fn is_right(given: &Given, round: &Round, out: &str) -> Result<bool> {
    if round.was_over || round.is_late {
        ensure!(round.code == 0 || !round.was_over, "{round:?}");
        return Ok(false);
    }
    let report = application(given, &round.id)?;
    let words = "the ApplicationMaster was lost; the commit of job 1 to hdfs://";
    ensure!(
        round.code == 0
            && report.diagnostics.contains(words)
            && report.diagnostics.contains(out)
            && round.said.contains(FINISHED),
        "{report:?} {round:?}"
    );
    Ok(true)
}
