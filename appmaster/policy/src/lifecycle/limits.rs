//! How long each part of a job's life may take.

use crate::Millis;

/// The spans of a job's life.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Between two looks at a cluster without room.
    pub look_again: Millis,
    /// From asking to the last grant; then everything is let go and asked again. Must stay under
    /// the ResourceManager's own ten minutes, after which it takes idle containers back.
    pub gang: Millis,
    /// Pause after letting go, times the number of askings so far.
    pub pause: Millis,
    /// From the order to start to the last launcher's call. Includes YARN's copying of files.
    pub join: Millis,
    /// Between SIGTERM and SIGKILL.
    pub grace: Millis,
    /// From SIGKILL to the last report; what is silent then is taken for dead.
    pub reap: Millis,
    /// How long a broken link waits for YARN to name the reason.
    pub settle: Millis,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            look_again: Millis(1_000),
            gang: Millis(300_000),
            pause: Millis(3_000),
            join: Millis(300_000),
            grace: Millis(1_000),
            reap: Millis(5_000),
            settle: Millis(3_000),
        }
    }
}
