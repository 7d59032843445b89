//! A job of a session that is detached: it goes on whoever watches, and from its beginning to its end there is
//! the same to be seen, as often as one likes.

use job::exit::Exit;

use super::Follower;
use super::attach::{Coming, Refused, attach};
use super::mirror::{Mirrored, Mirroring};
use crate::conclusion::{SIGPIPE, Written};
use crate::ended::{Ended, by_verdict, chain};

/// A job that is watched.
#[derive(Debug)]
pub struct Watching<'a> {
    /// The job; its input is a source only where `input` says so.
    pub follower: Follower<'a>,
    /// By which lists call it: `s42.7`.
    pub name: String,
    /// The job's number in its session.
    pub job: u32,
    /// We give its standard input.
    pub input: bool,
}

impl Watching<'_> {
    /// Until the job is over, or the user has seen enough. The session's ApplicationMaster listens at
    /// `address`.
    pub async fn watch(mut self, address: &str) -> Ended {
        let coming = Coming {
            job: self.job,
            watches: true,
            input: self.input,
        };
        let attached = tokio::select! {
            attached = attach(address, self.follower.keys, coming, None) => attached,
            signal = self.follower.signals.ending() => return self.left(signal),
        };
        let attached = match attached {
            Ok(attached) => attached,
            Err(error) => return self.refused(&error),
        };
        let how = Mirroring {
            ends_with_us: false,
            once_more: "",
            asked: None,
            patience: None,
        };
        match Box::pin(self.follower.mirror(attached, how)).await {
            Mirrored::Over(over) => by_verdict(over.verdict, None, over.given, over.written),
            Mirrored::Urged { signal, .. } => self.left(signal),
            Mirrored::Broken {
                written: Written::Unwritable,
                ..
            } => Ended {
                code: Exit::Staging.code(),
                sentence: self.goes_on(),
                verdict: None,
            },
            Mirrored::Broken { why, .. } => Ended {
                code: Exit::Lost.code(),
                sentence: format!(
                    "lost the ApplicationMaster that runs {}: {why}; where that lives the job goes on, and can be \
                     attached to again",
                    self.name
                ),
                verdict: None,
            },
        }
    }

    /// The user has seen enough.
    fn left(&mut self, signal: u8) -> Ended {
        self.follower.progress.clear();
        Ended {
            code: 128u8.saturating_add(signal),
            sentence: match signal {
                // As any program that writes into a closed pipe.
                SIGPIPE => String::new(),
                _ => self.goes_on(),
            },
            verdict: None,
        }
    }

    fn goes_on(&self) -> String {
        let name = &self.name;
        format!("{name} goes on; gerbil attach {name} shows it again, gerbil kill {name} ends it")
    }

    fn refused(&mut self, error: &anyhow::Error) -> Ended {
        self.follower.progress.clear();
        let code = error.downcast_ref().map(|Refused { code, .. }| *code);
        Ended {
            code: match code {
                Some(tonic::Code::FailedPrecondition) => Exit::Impossible.code(),
                Some(tonic::Code::ResourceExhausted) => Exit::Unavailable.code(),
                _ => Exit::Lost.code(),
            },
            sentence: format!("cannot attach to {}: {}", self.name, chain(error)),
            verdict: None,
        }
    }
}
