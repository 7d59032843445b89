//! How many more containers of which size the pending work asks for.

use std::collections::BTreeMap;

use super::can_run::could_run;
use super::{Bundle, Session, SlotIx, Stage};

/// Sizes of tasks that are pending, and how many of each no free slot could take, however it is cut.
///
/// A slot stands for one task. In order of size.
#[must_use]
pub fn wanted(session: &Session) -> Vec<(Bundle, u32)> {
    let mut free: Vec<SlotIx> = session
        .free_nodes()
        .flat_map(|node| session.free_slots(node))
        .collect();
    let mut wanted: BTreeMap<Bundle, u32> = BTreeMap::new();
    for stage in [Stage::Gang, Stage::Map, Stage::Reduce] {
        for class in session.classes(stage) {
            let Some(need) = session.need(class) else {
                continue;
            };
            let jobs = session.runnable(stage, class);
            let states = jobs.filter_map(|job| session.stage(job, stage));
            let mut pending = states.fold(0_u32, |sum, state| sum.saturating_add(state.pending));
            free.retain(|slot| {
                let takes = pending > 0 && could_run(session, need, stage, *slot);
                if takes {
                    pending = pending.saturating_sub(1);
                }
                !takes
            });
            if pending > 0 {
                let count = wanted.entry(need.bundle.clone()).or_default();
                *count = count.saturating_add(pending);
            }
        }
    }
    wanted.into_iter().collect()
}
