//! How long each part of a job's life may take.

use crate::Millis;

/// The spans of a job's life.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Between two looks at a cluster without room.
    pub look_again: Millis,
    /// Requests that have brought nothing for so long are placed again; also the shortest span
    /// between two askings, whatever the cluster does. At least [`SHORTEST_REISSUE`].
    pub reissue: Millis,
    /// A request for which node and queue have room, and that is not served for so long, has a node that
    /// does not answer.
    pub unanswered: Millis,
    /// From asking to the last grant; then everything is let go and asked again. At most
    /// [`LONGEST_GANG`], and never below `reissue`.
    pub gang: Millis,
    /// Longest first pause after letting go. It doubles each time, up to [`LONGEST_PAUSE`]; how much
    /// of it is waited, at least half, is chance.
    pub pause: Millis,
    /// From registration to the last grant; then the job is given up. `None`: it waits for ever.
    pub wait: Option<Millis>,
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
    /// After so long a launcher that has lost us has ended its ranks: both ends of the link give up
    /// an answer that does not come, and the ranks are killed.
    pub lease: Millis,
    /// How long a node that a container was lost with is left alone where the mode allows another: as
    /// long as YARN itself may take to miss a node, by Hadoop's default.
    pub avoid: Millis,
}

/// A NodeManager's heartbeat: requests cannot be served sooner.
pub const SHORTEST_REISSUE: Millis = Millis(1_000);
/// The ResourceManager takes containers back that are not started ten minutes after it gave them.
/// Chance lengthens the gang's span by up to a fifth, and a grant takes seconds to be heard of.
pub const LONGEST_GANG: Millis = Millis(480_000);
/// The nodes are read at least so often while the job waits.
pub const LONGEST_LOOK: Millis = Millis(15_000);
/// For the answer whether containers that have not joined are still being localized.
pub(super) const PROBE: Millis = Millis(10_000);
/// Longest pause after letting go.
pub const LONGEST_PAUSE: Millis = Millis(60_000);

impl Default for Limits {
    fn default() -> Self {
        Self {
            look_again: Millis(1_000),
            // Three heartbeats of a NodeManager, by Hadoop's default of one second.
            reissue: Millis(3_000),
            unanswered: Millis(3_000),
            gang: Millis(300_000),
            pause: Millis(3_000),
            wait: None,
            run: None,
            linger: None,
            spare_others: false,
            join: Millis(300_000),
            grace: Millis(1_000),
            reap: Millis(5_000),
            settle: Millis(3_000),
            blame: Millis(400),
            restarts: 0,
            lease: Millis(20_000),
            avoid: Millis(600_000),
        }
    }
}

impl Limits {
    /// These, within the bounds that their fields name.
    pub(super) fn bounded(self) -> Self {
        let reissue = self.reissue.max(SHORTEST_REISSUE).min(LONGEST_GANG);
        Self {
            reissue,
            gang: self.gang.clamp(reissue, LONGEST_GANG),
            ..self
        }
    }
}
