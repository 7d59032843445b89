//! GERBIL's modes: what of the user's wishes may be relaxed.
//!
//! Source: L. Xu, M. Li, A. R. Butt, "GERBIL: MPI+YARN", CCGrid 2015, §III-C, Table II.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What of a list of hosts may be relaxed to start sooner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// Nothing: the listed nodes, each with its listed number of processes.
    None,
    /// Location: other nodes, each with a listed number of processes.
    Loc,
    /// Distribution: the listed nodes, processes spread over them by their room.
    Dist,
    /// Location and distribution: as many nodes as listed, any of them, processes spread.
    LocDist,
    /// Everything: any nodes, any number of them.
    All,
}

impl Mode {
    /// All of them, from the strictest to the freest.
    pub const EVERY: [Self; 5] = [Self::None, Self::Loc, Self::Dist, Self::LocDist, Self::All];

    /// As the user writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Loc => "loc",
            Self::Dist => "dist",
            Self::LocDist => "loc+dist",
            Self::All => "all",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Not a mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is no mode; there are none, loc, dist, loc+dist and all")]
pub struct UnknownMode(pub String);

impl FromStr for Mode {
    type Err = UnknownMode;

    /// The short name, or the paper's `alloc_relax_` form.
    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        let short = text.strip_prefix("alloc_relax_").unwrap_or(text);
        let mut every = Self::EVERY.into_iter();
        every
            .find(|mode| mode.name() == short)
            .ok_or_else(|| UnknownMode(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_name_a_mode() {
        for mode in Mode::EVERY {
            assert_eq!(mode.name().parse(), Ok(mode));
            assert_eq!(format!("alloc_relax_{mode}").parse(), Ok(mode));
        }
        assert!("some".parse::<Mode>().is_err());
    }
}
