//! Sessions, as whoever has one sees them: an application that holds containers and runs the jobs that it
//! is given.
//!
//! A session has a [`name`] here; what is needed to use it is in a file of the user's ([`record`]). With that
//! YARN is asked once where its ApplicationMaster is ([`mod@reach`]), which is then given a job
//! ([`mod@submit`]), asked for its [`mod@status`] or what ran when ([`mod@timeline`]), or told to end a job
//! ([`mod@kill`]) or to [`mod@stop`]; and for what a detached job or a task has printed ([`mod@logs`]). A session that
//! has just been submitted is waited for until it is [`ready`].
//!
//! Invariants: a key that others could have read is not used; what is kept of a session that YARN calls over
//! is removed; what another host is given of it ([`SessionRecord::key`]) is a secret as the file is; every question
//! ends within a stated time.

mod error;
pub mod kill;
pub mod logs;
pub mod name;
pub mod nodes;
pub mod reach;
pub mod ready;
pub mod record;
pub mod status;
pub mod stop;
pub mod submit;
pub mod timeline;

pub use error::SessionError;
pub use kill::JobName;
pub use name::Name;
pub use reach::{Reached, SessionAddress};
pub use record::{Owned, SessionRecord, SessionsFolder};
