//! What a task counts, and what it may not count.

use gerbil_task::{COUNTER_NAME_MAX as NAME, TASK_COUNTERS_MAX as COUNTERS};

use crate::context::Counters;
use crate::error::{Error, Result};
use crate::sentence::quoted;

/// The counters of a task. There are so few of them, and their names are so short, that they go in one message.
#[derive(Debug, Default)]
pub(crate) struct Counting {
    counters: Counters,
    /// Counters of the user's.
    made: usize,
    /// Why one was not made.
    refused: Option<String>,
    /// Nothing is counted.
    is_unheard: bool,
}

impl Counting {
    /// Counts nothing, and refuses nothing: a sample runs a mapper over splits of many tasks, each of which counts by itself
    /// later.
    pub(crate) fn unheard() -> Self {
        Self {
            is_unheard: true,
            ..Self::default()
        }
    }

    /// Adds to a counter of the user's, or notes that it is one too many.
    pub(crate) fn count(&mut self, group: &str, counter: &str, by: i64) {
        if self.is_unheard {
            return;
        }
        // No string is made for a counter that is there.
        if let Some(value) = self
            .counters
            .get_mut(group)
            .and_then(|group| group.get_mut(counter))
        {
            *value = value.saturating_add(by);
            return;
        }
        if let Some(long) = [group, counter].into_iter().find(|name| name.len() > NAME) {
            self.refuse(format!(
                "a counter or its group is called {}: a name may have up to {NAME} bytes, count under a shorter one",
                quoted(long)
            ));
        } else if self.made == COUNTERS {
            self.refuse(format!(
                "the task counts under more than {COUNTERS} names, the last one {counter:?} in {group:?}: what each record \
                 names is to be emitted, not counted"
            ));
        } else {
            self.made += 1;
            self.sum(group, counter, by);
        }
    }

    /// Adds what another thread has counted.
    pub(crate) fn absorb(&mut self, other: Self) {
        for (group, counters) in &other.counters {
            for (counter, by) in counters {
                self.count(group, counter, *by);
            }
        }
        if let Some(words) = other.refused.filter(|_| !self.is_unheard) {
            self.refuse(words);
        }
    }

    /// The first thing that was refused is what is said.
    fn refuse(&mut self, words: String) {
        self.refused.get_or_insert(words);
    }

    /// Adds to a counter of the engine's own.
    pub(crate) fn add(&mut self, group: &str, counter: &str, by: u64) {
        self.sum(group, counter, i64::try_from(by).unwrap_or(i64::MAX));
    }

    fn sum(&mut self, group: &str, counter: &str, by: i64) {
        let counters = self.counters.entry(group.to_owned()).or_default();
        let value = counters.entry(counter.to_owned()).or_default();
        *value = value.saturating_add(by);
    }

    /// Whether all was counted that was to be.
    ///
    /// # Errors
    /// Something was not.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        match &self.refused {
            None => Ok(()),
            Some(words) => Err(Error::new(words.as_str())),
        }
    }

    /// What was counted.
    pub(crate) fn finish(self) -> Counters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use gerbil_task::{FRAME_MAX, FromTask};

    use super::{COUNTERS, Counting, NAME};

    #[test]
    fn as_many_as_there_may_be_are_counted_and_one_more_is_refused() {
        let mut counting = Counting::default();
        for _ in 0..2 {
            for number in 0..COUNTERS {
                counting.count("group", &format!("counter {number}"), 1);
            }
        }
        counting.add("group", "of the engine's own", 1);
        counting.check().unwrap();
        counting.count("group", "one more", 1);
        counting.count("group", "and another", 1);
        let words = counting.check().unwrap_err().to_string();
        assert_eq!(
            words,
            "the task counts under more than 5000 names, the last one \"one more\" in \"group\": what each record names \
             is to be emitted, not counted"
        );
        let counted = counting.finish();
        assert_eq!(counted["group"].len(), COUNTERS + 1);
        assert_eq!(counted["group"]["counter 7"], 2);
    }

    #[test]
    fn a_sample_counts_nothing_and_is_refused_nothing() {
        let mut counting = Counting::unheard();
        for number in 0..2 * COUNTERS {
            counting.count("group", &format!("counter {number}"), 1);
        }
        counting.count("group", &"c".repeat(NAME + 1), 1);
        counting.check().unwrap();
        assert!(counting.finish().is_empty());
    }

    #[test]
    fn names_have_a_length_and_sums_an_end() {
        let mut counting = Counting::default();
        counting.count("group", "counter", i64::MAX - 1);
        counting.count("group", "counter", 7);
        counting.count(&"g".repeat(NAME), &"c".repeat(NAME), 1);
        counting.check().unwrap();
        counting.count("group", &"\u{e9}".repeat(1 << 20), 1);
        let words = counting.check().unwrap_err().to_string();
        assert!(
            words.len() < 600
                && words
                    .contains("bytes: a name may have up to 255 bytes, count under a shorter one"),
            "{words}"
        );
        counting.count("group", "below", 3);
        counting.count("group", "below", -5);
        let counted = counting.finish();
        assert_eq!(counted["group"]["counter"], i64::MAX);
        assert_eq!(counted["group"]["below"], -2);
    }

    /// Names may be the worst that JSON knows, each in a group of its own: they go in one message.
    #[test]
    fn all_that_may_be_counted_goes_in_one_message() {
        let mut counting = Counting::default();
        for number in 0..COUNTERS {
            let name = format!("{number:04}{}", "\u{1}".repeat(NAME - 4));
            counting.count(&name, &name, i64::MIN);
        }
        counting.check().unwrap();
        let message = FromTask::ReduceDone {
            counters: counting.finish(),
        };
        let bytes = serde_json::to_vec(&message).unwrap().len();
        assert!(bytes < FRAME_MAX, "{bytes}");
    }
}
