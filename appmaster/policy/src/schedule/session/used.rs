//! Who has how many attempts under way.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Owner;
use crate::schedule::Job;

/// Attempts under way of each queue and user that has some, by name.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::schedule) struct Used {
    queues: BTreeMap<String, u32>,
    tenants: BTreeMap<String, u32>,
}

impl Used {
    pub(in crate::schedule) fn of(&self, owner: &Owner) -> u32 {
        let count = match owner {
            Owner::Queue(name) => self.queues.get(name),
            Owner::Tenant(name) => self.tenants.get(name),
        };
        count.copied().unwrap_or(0)
    }

    /// Makes of the counts of those whom `job` belongs to others.
    pub(in crate::schedule) fn change(&mut self, job: &Job, to: impl Fn(u32) -> u32) {
        let both = [
            (&mut self.queues, &job.queue),
            (&mut self.tenants, &job.tenant),
        ];
        for (all, name) in both {
            let Some(count) = all.get_mut(name) else {
                let count = to(0);
                if count > 0 {
                    all.insert(name.clone(), count);
                }
                continue;
            };
            *count = to(*count);
            if *count == 0 {
                all.remove(name);
            }
        }
    }
}
