//! The ApplicationMaster's half of a barrier: one set of values from every launcher, the union
//! back to all of them.

use thiserror::Error;

use crate::{EXCHANGE_MAX, KEY_MAX, Pair, VALUE_MAX};

/// What a launcher sent cannot be part of this barrier. The job cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// No launcher has this index.
    #[error("launcher {launcher} entered a barrier, but the job has {launchers} launchers")]
    Unknown {
        /// Index of the sender.
        launcher: usize,
        /// How many there are.
        launchers: usize,
    },
    /// It entered the same barrier before.
    #[error("launcher {launcher} entered barrier {barrier} twice")]
    Duplicate {
        /// Index of the sender.
        launcher: usize,
        /// Barriers before this one.
        barrier: u64,
    },
    /// It sent the barrier after it had left the job.
    #[error("launcher {launcher} entered barrier {barrier} after its end")]
    Straggler {
        /// Index of the sender.
        launcher: usize,
        /// Barriers before this one.
        barrier: u64,
    },
    /// A key or value over the limits that were announced to the ranks.
    #[error(
        "launcher {launcher} sent a key of {key} bytes with a value of {value} bytes \
         (limits: {KEY_MAX} and {VALUE_MAX})"
    )]
    PairTooLong {
        /// Index of the sender.
        launcher: usize,
        /// Length of the key, bytes.
        key: usize,
        /// Length of the value, bytes.
        value: usize,
    },
    /// All keys and values together are too much.
    #[error("the values of barrier {barrier} are more than {EXCHANGE_MAX} bytes")]
    TooLarge {
        /// Barriers before this one.
        barrier: u64,
    },
}

/// Joins the barriers of all launchers of a job.
#[derive(Debug)]
pub struct Exchange {
    /// By launcher; `None` until it has entered the barrier.
    entered: Vec<Option<Vec<Pair>>>,
    ended: Vec<bool>,
    missing: usize,
    bytes: usize,
    barrier: u64,
}

impl Exchange {
    /// For launchers `0..launchers`.
    #[must_use]
    pub fn new(launchers: usize) -> Self {
        Self {
            entered: vec![None; launchers],
            ended: vec![false; launchers],
            missing: launchers,
            bytes: 0,
            barrier: 0,
        }
    }

    /// Takes the values of one launcher. Once all have sent theirs, returns the union, ordered by
    /// launcher and then as sent: every launcher is to get it, and the next barrier begins.
    ///
    /// # Errors
    ///
    /// See [`ExchangeError`]; nothing of the message is kept then.
    pub fn on_fence(
        &mut self,
        launcher: usize,
        puts: Vec<Pair>,
    ) -> Result<Option<Vec<Pair>>, ExchangeError> {
        let barrier = self.barrier;
        let launchers = self.entered.len();
        let Some(place) = self.entered.get_mut(launcher) else {
            return Err(ExchangeError::Unknown {
                launcher,
                launchers,
            });
        };
        if self.ended.get(launcher).copied().unwrap_or(true) {
            return Err(ExchangeError::Straggler { launcher, barrier });
        }
        if place.is_some() {
            return Err(ExchangeError::Duplicate { launcher, barrier });
        }
        let mut bytes = self.bytes;
        for (key, value) in &puts {
            if key.len() > KEY_MAX || value.len() > VALUE_MAX {
                return Err(ExchangeError::PairTooLong {
                    launcher,
                    key: key.len(),
                    value: value.len(),
                });
            }
            bytes = bytes.saturating_add(key.len()).saturating_add(value.len());
        }
        if bytes > EXCHANGE_MAX {
            return Err(ExchangeError::TooLarge { barrier });
        }
        *place = Some(puts);
        self.bytes = bytes;
        self.missing = self.missing.saturating_sub(1);
        if self.missing > 0 {
            return Ok(None);
        }
        let union = self
            .entered
            .iter_mut()
            .flat_map(|place| place.take().unwrap_or_default())
            .collect();
        self.missing = launchers;
        self.bytes = 0;
        self.barrier = self.barrier.saturating_add(1);
        Ok(Some(union))
    }

    /// A launcher has left: whatever it still sends is an error, and no barrier completes again.
    pub fn on_end(&mut self, launcher: usize) {
        if let Some(ended) = self.ended.get_mut(launcher) {
            *ended = true;
        }
    }

    /// Barriers completed so far.
    #[must_use]
    pub const fn barriers(&self) -> u64 {
        self.barrier
    }

    /// Launchers that the current barrier still waits for, ascending.
    pub fn missing(&self) -> impl Iterator<Item = usize> {
        self.entered
            .iter()
            .enumerate()
            .filter_map(|(launcher, place)| place.is_none().then_some(launcher))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(key: &str) -> Pair {
        (key.to_owned(), format!("value of {key}"))
    }

    #[test]
    fn the_union_comes_when_the_last_launcher_has_entered() {
        let mut exchange = Exchange::new(3);
        assert_eq!(exchange.on_fence(2, vec![pair("c")]), Ok(None));
        assert_eq!(exchange.on_fence(0, vec![pair("a")]), Ok(None));
        assert_eq!(exchange.missing().collect::<Vec<_>>(), [1]);
        assert_eq!(
            exchange.on_fence(1, vec![]),
            Ok(Some(vec![pair("a"), pair("c")]))
        );
        assert_eq!(exchange.barriers(), 1);
        for launcher in 0..2 {
            assert_eq!(exchange.on_fence(launcher, vec![]), Ok(None));
        }
        assert_eq!(exchange.on_fence(2, vec![]), Ok(Some(vec![])));
    }

    #[test]
    fn one_launcher_is_a_job_too() {
        let mut exchange = Exchange::new(1);
        assert_eq!(
            exchange.on_fence(0, vec![pair("a")]),
            Ok(Some(vec![pair("a")]))
        );
    }

    #[test]
    fn wrong_messages_are_refused_and_change_nothing() {
        let mut exchange = Exchange::new(2);
        assert_eq!(exchange.on_fence(0, vec![pair("a")]), Ok(None));
        assert!(matches!(
            exchange.on_fence(0, vec![]),
            Err(ExchangeError::Duplicate {
                launcher: 0,
                barrier: 0
            })
        ));
        assert!(matches!(
            exchange.on_fence(7, vec![]),
            Err(ExchangeError::Unknown { .. })
        ));
        let long = ("k".repeat(KEY_MAX + 1), String::new());
        assert!(matches!(
            exchange.on_fence(1, vec![long]),
            Err(ExchangeError::PairTooLong { .. })
        ));
        let flood = vec![("k".to_owned(), "v".repeat(VALUE_MAX)); EXCHANGE_MAX / VALUE_MAX];
        assert!(matches!(
            exchange.on_fence(1, flood),
            Err(ExchangeError::TooLarge { .. })
        ));
        assert_eq!(exchange.on_fence(1, vec![]), Ok(Some(vec![pair("a")])));
        exchange.on_end(1);
        assert!(matches!(
            exchange.on_fence(1, vec![]),
            Err(ExchangeError::Straggler { .. })
        ));
    }
}
