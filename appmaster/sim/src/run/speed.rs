//! How long work takes on cores of each speed.

use policy::schedule::{Nanos, Speed};

/// How much slower a slow core is, in hundredths of the fast one's speed.
const SLOW: u64 = 45;

pub(super) fn at_speed(span: Nanos, speed: Speed) -> Nanos {
    match speed {
        Speed::Plain | Speed::Fast => span,
        Speed::Slow => Nanos(
            span.0
                .saturating_mul(100)
                .checked_div(SLOW)
                .unwrap_or(span.0),
        ),
    }
}

/// The time on a fast core of what takes `span` on one of this speed.
pub(super) fn at_full_speed(span: Nanos, speed: Speed) -> Nanos {
    match speed {
        Speed::Plain | Speed::Fast => span,
        Speed::Slow => Nanos(span.0.saturating_mul(SLOW) / 100),
    }
}
