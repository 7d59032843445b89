//! Sentences that the client is told beside phases and verdict.

use policy::lifecycle::Seat;
use policy::{Counted, degraded};

use crate::mpi::Mpi;

impl Mpi {
    /// Says where the job runs degraded, now that it is known what was granted and which cores the
    /// launchers may use.
    pub(crate) fn say_degraded(&mut self, seats: &[Seat]) {
        let counted = self.limits.counted;
        let demand = self.story.demand();
        // Who forbids sharing where cores are not counted has asked for none.
        let wants_cores = demand.oversubscribe || counted == Counted::MemoryAndVcores;
        let short = seats.iter().filter_map(|seat| {
            let share = self.story.share(&seat.node)?;
            let link = self.links.get(&seat.container).filter(|_| wants_cores);
            let cores = link.map(|link| link.cores);
            degraded(demand.unit, counted, share, seat.resources, cores)
        });
        let sentences: Vec<String> = short.map(|short| sentences::degraded(&short)).collect();
        if let Some(notice) = degraded_notice(&sentences) {
            self.story.outbox.notice(notice);
        }
        self.story.degraded = sentences;
    }

    /// Says that containers are about to be taken: the job ends with them, or begins anew.
    pub(crate) fn wanted_back(&mut self, sentence: String) {
        tracing::warn!("{sentence}");
        self.story.outbox.notice(sentence);
    }
}

/// One sentence for all of them.
fn degraded_notice(sentences: &[String]) -> Option<String> {
    let (first, others) = sentences.split_first()?;
    Some(match others.len() {
        0 => format!("degraded: {first}"),
        1 => format!("degraded: {first}; and on 1 more node"),
        more => format!("degraded: {first}; and on {more} more nodes"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_notice_stands_for_all_nodes_and_none_is_said_without_need() {
        let said =
            |count: usize| degraded_notice(&vec!["8 ranks on n1 share 2 cores".into(); count]);
        assert_eq!(said(0), None);
        let one = said(1).unwrap();
        assert_eq!(one, "degraded: 8 ranks on n1 share 2 cores");
        assert_eq!(said(2).unwrap(), format!("{one}; and on 1 more node"));
        assert_eq!(said(4).unwrap(), format!("{one}; and on 3 more nodes"));
    }
}
