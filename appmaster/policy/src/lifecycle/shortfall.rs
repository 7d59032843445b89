//! What was missing when the time was up, in numbers and words.

use std::fmt;

use crate::{Millis, Resources};

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

/// What kept the job from starting, the last time it was tried.
#[derive(Clone, Debug)]
pub(super) enum Shortfall {
    /// There never was a placement, for this reason.
    Room(String),
    /// So many containers came, these did not.
    Containers { missing: Vec<Missing>, held: usize },
}

/// Containers that a sentence names one by one.
const NAMED: usize = 5;

/// The sentence of a gang that did not come together within `waited`.
pub(super) fn describe(
    f: &mut fmt::Formatter<'_>,
    waited: Millis,
    missing: &[Missing],
    held: usize,
) -> fmt::Result {
    let wanted = held.saturating_add(missing.len());
    let seconds = waited.0 / 1000;
    write!(
        f,
        "only {held} of {wanted} containers came within {seconds} s; missing: "
    )?;
    for (index, one) in missing.iter().take(NAMED).enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{one}")?;
    }
    match missing.len().saturating_sub(NAMED) {
        0 => {}
        more => write!(f, " and {more} more")?,
    }
    f.write_str("; give it longer with --wait-timeout, ask for less, or relax more with -r")
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, ask, room } = self;
        match room {
            Some(room) => write!(f, "{host} ({ask} asked for, {room} left)"),
            None => write!(f, "{host} ({ask} asked for, the node is gone)"),
        }
    }
}
