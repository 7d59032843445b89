//! How long work takes on cores of each speed.

use policy::schedule::{Nanos, Speed, Stage};

use crate::workload::CoreSpeeds;

/// Thousandths of the speed that a workload's seconds are told for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CoreSpeed(u64);

impl CoreSpeed {
    pub(crate) fn of(speeds: &CoreSpeeds, speed: Speed, stage: Stage) -> Self {
        let class = match speed {
            Speed::Plain => return Self(1000),
            Speed::Fast => speeds.fast,
            Speed::Slow => speeds.slow,
            Speed::Parked => return Self(0),
        };
        Self(match stage {
            Stage::Map | Stage::Gang => class.map,
            Stage::Reduce => class.reduce,
        })
    }

    /// Whether nothing is done here.
    pub(crate) const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// The time that work takes here.
    pub(crate) fn takes(self, span: Nanos) -> Nanos {
        scaled(span, 1000, self.0)
    }

    /// The work that is done here in this time.
    pub(crate) fn does(self, span: Nanos) -> Nanos {
        scaled(span, self.0, 1000)
    }
}

fn scaled(span: Nanos, by: u64, of: u64) -> Nanos {
    let scaled = u128::from(span.0).saturating_mul(by.into());
    let scaled = scaled.checked_div(of.into()).unwrap_or(u128::MAX);
    Nanos(u64::try_from(scaled).unwrap_or(u64::MAX))
}
