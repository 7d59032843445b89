//! What serves the ranks of a node, and holds of its memory.

use std::time::Duration;

use anyhow::{Context as _, Result};
use it::memory::{Resident, largest};
use it::{Run, wait};

use crate::DEADLINE;
use crate::figure::{Better, Comparison};
use crate::nodes::NODES;
use crate::peers::{Bench, Peer, YIELDS};

/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);
/// Enough for some looks at ranks that are all there.
const BARRIERS: &str = "300";

/// MB that the daemon of `mpirun` on a node holds at most, and the PMIx server of a container, while ranks run.
pub(crate) fn memory(bench: &Bench, ranks: usize) -> Result<Comparison> {
    let program = bench.program("barriers")?;
    let daemon = bench.open.folder().join("bin/prted").canonicalize()?;
    let all = bench.rounds(1, |peer| {
        let mut command = bench.command(peer, ranks, ranks.div_ceil(NODES), &[])?;
        command.args(YIELDS).arg(&program).arg(BARRIERS);
        let what = format!("{command:?}");
        let mut running = Run::new(command).deadline(DEADLINE).start()?;
        let (mut resident, mut stock) = (Resident::default(), 0);
        while !running.is_over()? {
            match peer {
                Peer::Mpirun => stock = stock.max(largest(&daemon).unwrap_or_default()),
                Peer::Session | Peer::Application => {
                    resident.look(running.id(), bench.cluster.folder());
                }
            }
            wait::pause(LOOK);
        }
        running.finish()?.success(&what)?;
        let kib = match peer {
            Peer::Mpirun => stock,
            Peer::Session | Peer::Application => {
                let server = resident.0.get("PMIx server");
                *server.with_context(|| format!("no PMIx server was seen: {what}"))?
            }
        };
        Ok(it::load::megabytes(kib))
    })?;
    let what = format!("{ranks} ranks: resident memory of prted, or of the PMIx server");
    Ok(Comparison::new(&what, "MB", Better::Less, all))
}
