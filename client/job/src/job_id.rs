//! The number of a job within its application, by which ApplicationMaster and launchers know it.

/// A job of the application: those of a session are numbered from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JobId(pub u32);

impl JobId {
    /// The job that the application was started for, if it was started for one.
    pub const OF_APPLICATION: Self = Self(0);

    /// It was submitted to a session; the application was started for no such job.
    #[must_use]
    pub const fn is_of_session(self) -> bool {
        self.0 > 0
    }
}
