//! What the launcher does to ranks that run: barriers on one node, and output.

use anyhow::{Context as _, Result};
use it::flow::flow;
use it::{Run, mpi};

use crate::DEADLINE;
use crate::figure::{Better, Comparison};
use crate::peers::{Bench, YIELDS};
use crate::say;

/// Of the ranks in a barrier, all on one node.
pub(crate) const RANKS: usize = 8;
/// Of each run.
const BARRIERS: &str = "5000";

/// Microseconds of a barrier.
pub(crate) fn barriers(bench: &Bench, rounds: usize) -> Result<Comparison> {
    let program = bench.program("barriers")?;
    let all = bench.rounds(rounds, |peer| {
        let mut command = bench.command(peer, RANKS, RANKS, &[])?;
        command.args(YIELDS).arg(&program).arg(BARRIERS);
        let what = format!("{command:?}");
        let finished = Run::new(command).deadline(DEADLINE).finish()?;
        let text = finished.success(&what)?.stdout_text();
        // "8 ranks: 22.7 us a barrier"
        let told = text.split_whitespace().nth(2);
        let time: Option<f64> = told.and_then(|told| told.parse().ok());
        let time = time.with_context(|| format!("the program said {text:?}"))?;
        say(&format!("a barrier, {peer:?}: {time:.1} us"))?;
        Ok(time)
    })?;
    let what = format!("barrier of {RANKS} ranks on one node");
    Ok(Comparison::new(&what, "µs", Better::Less, all).wanted(1.05))
}

/// MiB/s of what one rank writes.
pub(crate) fn output(bench: &Bench, rounds: usize, mib: usize) -> Result<Comparison> {
    let program = mpi::plain_program("stream", bench.folder.path())?;
    let all = bench.rounds(rounds, |peer| {
        let mut command = bench.command(peer, 1, 1, &[])?;
        command.arg(&program).arg(mib.to_string());
        let flow = flow(
            &command,
            bench.cluster.folder(),
            mib,
            std::time::Duration::ZERO,
        )?;
        say(&format!(
            "output, {peer:?}: {:.0} MiB/s",
            flow.mib_per_second
        ))?;
        Ok(flow.mib_per_second)
    })?;
    let what = format!("{mib} MiB of output");
    Ok(Comparison::new(&what, "MiB/s", Better::More, all).wanted(1.0))
}
