//! How long each part of a run may take.

use serde::{Deserialize, Serialize};

use crate::Millis;

/// The spans of a run.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct RunLimits {
    /// How long ranks may run; then the job is ended. `None`: for ever.
    pub run: Option<Millis>,
    /// How long the other ranks may run on once the first has ended; `None`: for ever.
    pub linger: Option<Millis>,
    /// A rank that fails does not end the others: the job goes on until all have ended, or one calls
    /// `MPI_Abort`.
    pub spare_others: bool,
    /// From the order to start to the last launcher's call; anew as long as a container whose launcher
    /// has not called is being localized.
    pub join: Millis,
    /// Between SIGTERM and SIGKILL.
    pub grace: Millis,
    /// From SIGKILL to the last report; what is silent then is taken for dead.
    pub reap: Millis,
    /// How long a broken link waits for YARN to name the reason.
    pub settle: Millis,
    /// How long the failure of a rank waits for the loss of a container that may be the reason of
    /// it: ranks whose neighbour is gone fail within milliseconds, and a launcher's link breaks as
    /// fast.
    pub blame: Millis,
    /// How often the program is started again when a container of it was lost.
    pub restarts: u32,
    /// How often containers that are lost before a rank was started are replaced without costing a run.
    pub replacements: u32,
    /// After a loss what is sound is given back with the rest: who lends the containers lends all of a gang at
    /// once, and nobody is to hold some while he waits for others.
    pub anew: bool,
    /// After so long a launcher that has lost us has ended its ranks: both ends of the link give up
    /// an answer that does not come, and the ranks are killed.
    pub lease: Millis,
}

/// Enough for a NodeManager that restarts, and for a second one; what goes on failing is a failure.
const REPLACEMENTS: u32 = 2;

/// For the answer whether containers that have not joined are still being localized.
pub(super) const PROBE: Millis = Millis(10_000);

/// How long the others may run on when a rank has left without `MPI_Finalize`, and the program has run since it was `begun`. They may
/// wait for it for ever, or put together what it and its like have computed: the longer, the more there is.
pub(super) fn patience(now: Millis, begun: Millis) -> Millis {
    let ran = now.0.saturating_sub(begun.0);
    Millis((ran / 10).clamp(60_000, 600_000))
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            run: None,
            linger: None,
            spare_others: false,
            join: Millis(300_000),
            grace: Millis(1_000),
            reap: Millis(5_000),
            settle: Millis(3_000),
            blame: Millis(400),
            restarts: 0,
            replacements: REPLACEMENTS,
            anew: false,
            lease: Millis(20_000),
        }
    }
}
