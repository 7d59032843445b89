//! The name of a job within its application.

/// A job of the session; launchers know it by the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct JobId(pub(crate) u32);

/// The MPI job that a session has been started for.
pub(crate) const MPI: JobId = JobId(0);
