//! What a launcher shows with each call after its hello: that it is the one which has joined, and
//! for which job it calls.
//!
//! All launchers of a job have the same certificate. The ticket, which only the container of that name
//! was given, tells them apart; it goes with the call's metadata, inside TLS.

use std::fmt;

use tonic::Request;
use tonic::metadata::{MetadataMap, MetadataValue};

const CONTAINER: &str = "gerbil-container-bin";
const TICKET: &str = "gerbil-ticket-bin";
const JOB: &str = "gerbil-job";

/// A container's id, the ticket that it was given, and the job that the call is about. The ticket is not
/// printable.
#[derive(Clone, PartialEq, Eq)]
pub struct Pass {
    /// YARN's id of the container.
    pub container: String,
    /// What the ApplicationMaster put into its credentials.
    pub ticket: Vec<u8>,
    /// The job's number in its application.
    pub job: u32,
}

impl fmt::Debug for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pass")
            .field("container", &self.container)
            .field("job", &self.job)
            .finish_non_exhaustive()
    }
}

/// Says with a client's call which job it is about.
pub fn show_job<T>(request: &mut Request<T>, job: u32) {
    request.metadata_mut().insert(JOB, job.into());
}

/// The job that a call is about; `None`: none is named, or by no number.
#[must_use]
pub fn job_shown(metadata: &MetadataMap) -> Option<u32> {
    metadata.get(JOB)?.to_str().ok()?.parse().ok()
}

impl Pass {
    /// Shows it with a call.
    pub fn show<T>(&self, request: &mut Request<T>) {
        show_job(request, self.job);
        let metadata = request.metadata_mut();
        let container = MetadataValue::from_bytes(self.container.as_bytes());
        metadata.insert_bin(CONTAINER, container);
        metadata.insert_bin(TICKET, MetadataValue::from_bytes(&self.ticket));
    }

    /// The one that was shown with a call; `None`: none, or one that cannot be read.
    #[must_use]
    pub fn shown(metadata: &MetadataMap) -> Option<Self> {
        let bytes = |name| metadata.get_bin(name)?.to_bytes().ok();
        Some(Self {
            container: String::from_utf8(bytes(CONTAINER)?.to_vec()).ok()?,
            ticket: bytes(TICKET)?.to_vec(),
            job: job_shown(metadata)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_what_is_seen() {
        let pass = Pass {
            container: "container_1_0001_01_000002".to_owned(),
            ticket: vec![0, 255, b','],
            job: 7,
        };
        let mut request = Request::new(());
        assert!(Pass::shown(request.metadata()).is_none());
        pass.show(&mut request);
        assert!(Pass::shown(request.metadata()) == Some(pass));
    }
}
