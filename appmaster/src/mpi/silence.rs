//! A job of which no rank has spoken to the process manager, though its program uses MPI: each took
//! itself for a job of its own, and what they wrote is what one would have written, several times.

use std::collections::BTreeSet;

use job::wire;
use policy::Rank;
use policy::lifecycle::Verdict;

use crate::mpi::Mpi;

/// Names that the client is told, at most.
const LEFT_MAX: usize = 100;

impl Mpi {
    /// Says so of a job that has succeeded.
    pub(crate) fn remark_on_silence(&mut self, verdict: &Verdict) {
        let processes = self.description.processes();
        let mut ranks = (0..processes).map(Rank);
        let silent = |rank: Rank| {
            let end = self.reports.get(&rank);
            end.is_some_and(|end| end.pmi() == wire::PmiStage::Silent)
        };
        if verdict.cause.is_some() || processes < 2 || !ranks.all(silent) {
            return;
        }
        let programs = self.description.programs.iter();
        let linked = programs.filter_map(|program| program.mpi_library.as_deref());
        let loaded = self.seen.values().map(|seen| seen.mpi_library.as_str());
        let Some(library) = loaded.chain(linked).find(|library| !library.is_empty()) else {
            return;
        };
        let sentence = format!(
            "none of the {processes} processes has called MPI_Init in a way that was heard here, though \
             the program uses {library}: if it did, each was rank 0 of 1; this library may want another \
             process manager"
        );
        self.story.outbox.notice(sentence);
    }

    /// What the ranks have left in the folders of all containers, some names.
    pub(crate) fn left_files(&self) -> Vec<String> {
        let all = self.seen.values().flat_map(|seen| &seen.left_files);
        let all: BTreeSet<&String> = sort::set(all);
        all.into_iter().take(LEFT_MAX).cloned().collect()
    }
}
