//! What a command counts: its counters may shrink, so that they are told when it has ended.

use std::collections::BTreeMap;

use gerbil_mapreduce::Context;

/// More names than a task may have, which it is then told.
const NAMES_MAX: usize = 10_000;

/// Counters by group and name.
#[derive(Debug, Default)]
pub(crate) struct Counted(BTreeMap<(String, String), i64>);

impl Counted {
    /// Adds to a counter. Names beyond the bound are left out: so many fail the task in any case.
    pub(crate) fn add(&mut self, group: &str, name: &str, by: i64) {
        let is_full = self.0.len() >= NAMES_MAX;
        let of = (group.to_owned(), name.to_owned());
        if let Some(sum) = self.0.get_mut(&of) {
            *sum = sum.saturating_add(by);
        } else if !is_full {
            self.0.insert(of, by);
        }
    }

    /// Tells the task all of them.
    ///
    /// # Errors
    /// One is below 0: what is wrong with the command.
    pub(crate) fn tell(self, task: &mut Context) -> Result<(), String> {
        for ((group, name), sum) in self.0 {
            match u64::try_from(sum) {
                Ok(sum) => task.count(&group, &name, sum),
                Err(_negative) => {
                    return Err(format!(
                        "has counted {sum} under {group},{name}: what one task counts is to be 0 or more at its end"
                    ));
                }
            }
        }
        Ok(())
    }
}
