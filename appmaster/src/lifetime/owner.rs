//! The one client with which a session ends, where it was started for one: whether it is there, or is still awaited.

use policy::Millis;

use crate::loop_event::JobEvents;

/// For it to come: it asks YARN where this ApplicationMaster is, several times a second.
const COMES: Millis = Millis(30_000);

/// Why a client cannot own a session that was not started for it.
pub(crate) const NOT_OWNED: &str = "it was not started to end with a client";
const OWNED: &str = "it has a client already with which it ends";

/// Who that is.
#[derive(Debug)]
pub(crate) enum Owner {
    /// It ends with no client.
    NoClient,
    /// It is to come by then.
    Awaited(Millis),
    /// It is there, and its stream is open. The task that hears it tells when it leaves.
    Here { _events: JobEvents },
}

impl Owner {
    /// One that is to come to a session that begins now.
    pub(crate) const fn awaited(now: Millis) -> Self {
        Self::Awaited(now.plus(COMES))
    }

    /// It comes.
    ///
    /// # Errors
    /// None is awaited.
    pub(crate) fn comes(&mut self, events: JobEvents) -> Result<(), &'static str> {
        match self {
            Self::NoClient => Err(NOT_OWNED),
            Self::Here { .. } => Err(OWNED),
            Self::Awaited(_) => {
                *self = Self::Here { _events: events };
                Ok(())
            }
        }
    }

    /// When it is missed, if it does not come before.
    pub(crate) const fn wakes_at(&self) -> Option<Millis> {
        match self {
            Self::Awaited(until) => Some(*until),
            Self::NoClient | Self::Here { .. } => None,
        }
    }

    /// It should have come.
    pub(crate) fn is_missed(&self, now: Millis) -> bool {
        self.wakes_at().is_some_and(|until| now >= until)
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    #[test]
    fn one_client_comes_in_time_or_is_missed() {
        let client = || mpsc::channel(1).0;
        let mut owner = Owner::awaited(Millis(5));
        let due = owner.wakes_at().unwrap();
        assert!(!owner.is_missed(Millis(due.0 - 1)) && owner.is_missed(due));
        assert_eq!(owner.comes(client()), Ok(()));
        assert!(!owner.is_missed(due));
        assert_eq!(owner.comes(client()), Err(OWNED));
        assert_eq!(Owner::NoClient.comes(client()), Err(NOT_OWNED));
        assert_eq!(Owner::NoClient.wakes_at(), None);
    }
}
