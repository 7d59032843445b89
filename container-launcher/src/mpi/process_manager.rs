//! Whom the ranks of a group ask for their place in the job: PMI, answered in this process, or PMIx, answered by a
//! server beside it, which all groups of a job share.
//!
//! What either wants done is an [`Effect`], so that a barrier, an abort or a stage means the same whichever it was.

use pmi::{Effect, NodeServer, Pair, PmiStage};

use super::pmix::PmixServer;

pub(super) enum ProcessManager {
    Pmi(Box<NodeServer>),
    Pmix,
}

impl ProcessManager {
    /// How far a rank of this node and group got; `server` is the job's.
    pub(super) fn stage(&self, server: Option<&PmixServer>, group: u32, rank: u32) -> PmiStage {
        match self {
            Self::Pmi(node) => node.stage(rank),
            Self::Pmix => server.map_or_else(PmiStage::default, |own| own.stage(group, rank)),
        }
    }

    /// A rank's process is gone.
    pub(super) fn ended(&mut self, rank: u32) {
        match self {
            Self::Pmi(node) => node.ended(rank),
            // Its library sees that the connection has ended.
            Self::Pmix => {}
        }
    }

    /// All that are left wait for one that is gone.
    pub(super) fn is_stuck(&self) -> bool {
        match self {
            Self::Pmi(node) => node.is_stuck(),
            // A fence is told when all local ranks are in it.
            Self::Pmix => false,
        }
    }

    /// The barrier that was announced is complete everywhere.
    pub(super) fn fence_done(&mut self, puts: Vec<Pair>) -> Vec<Effect> {
        match self {
            Self::Pmi(node) => node.fence_done(puts),
            Self::Pmix => Vec::new(),
        }
    }

    /// The half that answers lines of PMI.
    pub(super) fn pmi(&mut self) -> Option<&mut NodeServer> {
        match self {
            Self::Pmi(node) => Some(node),
            Self::Pmix => None,
        }
    }
}
