//! How long a call waits for a nameservice that has no active NameNode.
//!
//! Where the active NameNode dies or is stopped, another takes over within seconds: a few where its own guard sees it, up to
//! half a minute where its machine is gone and is fenced first. Hadoop's own client asks on for two minutes
//! (`dfs.client.failover.max.attempts`). What was refused because nobody is active was not done, and may be asked again.

use std::io::ErrorKind;
use std::time::Duration;

use hdfs_native::HdfsError;
use tokio::time::Instant;

/// Between two rounds over all NameNodes, each of which lasts some seconds by itself.
const PAUSE: Duration = Duration::from_secs(1);
/// Since the call was made.
const LONGEST: Duration = Duration::from_secs(30);

/// A call of a NameNode.
#[derive(Debug)]
pub(super) struct Failover {
    until: Option<Instant>,
}

impl Failover {
    /// Of a call made now; of one NameNode alone nobody takes over.
    pub(super) fn new(are_several: bool) -> Self {
        Self {
            until: are_several.then(|| Instant::now() + LONGEST),
        }
    }

    /// The pause before the call is made again. `None`: its error is the answer.
    pub(super) fn pause(&self, error: &HdfsError) -> Option<Duration> {
        let until = self.until.filter(|_| is_not_done(error))?;
        (Instant::now() + PAUSE <= until).then_some(PAUSE)
    }
}

/// Whether no NameNode has begun with the call. A connection that breaks may have brought it to one.
fn is_not_done(error: &HdfsError) -> bool {
    match error {
        HdfsError::RPCError(class, _) | HdfsError::FatalRPCError(class, _) => {
            class.ends_with(".StandbyException")
        }
        HdfsError::IOError(error) => error.kind() == ErrorKind::ConnectionRefused,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_call_that_no_active_namenode_takes_is_made_again_for_half_a_minute() {
        let standby =
            HdfsError::RPCError("org.apache.hadoop.ipc.StandbyException".into(), "".into());
        let failover = Failover::new(true);
        let begun = Instant::now();
        while let Some(pause) = failover.pause(&standby) {
            sleep(pause).await;
        }
        assert_eq!(begun.elapsed(), LONGEST);
        assert_eq!(Failover::new(false).pause(&standby), None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_may_have_been_done_is_not_asked_again() {
        let failover = Failover::new(true);
        let broken = |kind: ErrorKind| failover.pause(&HdfsError::IOError(kind.into()));
        assert_eq!(broken(ErrorKind::ConnectionRefused), Some(PAUSE));
        assert_eq!(broken(ErrorKind::ConnectionReset), None);
        assert_eq!(broken(ErrorKind::UnexpectedEof), None);
        let denied = "org.apache.hadoop.security.AccessControlException";
        let denied = HdfsError::RPCError(denied.into(), "".into());
        assert_eq!(failover.pause(&denied), None);
    }
}
