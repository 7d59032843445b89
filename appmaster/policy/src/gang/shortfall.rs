//! What was missing when the time was up.

use super::NoRoom;
use crate::Resources;

/// A container that has not come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The host it was asked of.
    pub host: String,
    /// What was asked for.
    pub ask: Resources,
    /// The largest container that would fit there, by the last look; `None`: the node was gone.
    pub room: Option<Resources>,
}

/// What kept the gang from coming together, the last time it was tried.
#[derive(Clone, Debug)]
pub(super) enum Shortfall {
    /// There never was a placement, for this reason.
    Room(NoRoom),
    /// So many containers came, these did not.
    Containers { missing: Vec<Missing>, held: usize },
}
