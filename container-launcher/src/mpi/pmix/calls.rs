//! What comes of the ranks' calls: pure, as the launcher's loop does the rest.

use std::collections::BTreeMap;

use job::wire::{PmixAnswer, PmixCall, pmix_call};
use pmi::{Effect, PmiStage};

use super::FENCE_MAX;

/// What is known of the ranks that a server serves.
#[derive(Debug, Default)]
pub(super) struct Calls {
    stages: BTreeMap<u32, PmiStage>,
}

impl Calls {
    pub(super) fn stage(&self, rank: u32) -> PmiStage {
        self.stages.get(&rank).copied().unwrap_or_default()
    }

    /// What is to be done about a call, and the answer to it. Where all ranks are in one container a fence is complete
    /// as soon as it is told.
    pub(super) fn on(&mut self, call: PmixCall) -> (Vec<Effect>, PmixAnswer) {
        let mut answer = PmixAnswer {
            call: call.number,
            ..PmixAnswer::default()
        };
        let effects = match call.call {
            Some(pmix_call::Call::Connected(rank)) => self.reach(rank, PmiStage::Initialized),
            Some(pmix_call::Call::Finalized(rank)) => self.reach(rank, PmiStage::Finalized),
            Some(pmix_call::Call::Abort(abort)) => vec![Effect::Abort {
                rank: abort.rank,
                exit_code: abort.status,
                message: abort.message,
            }],
            Some(pmix_call::Call::Fence(fence)) if fence.data.len() > FENCE_MAX => {
                answer.failed = true;
                Vec::new()
            }
            Some(pmix_call::Call::Fence(fence)) => {
                answer.data = fence.data;
                Vec::new()
            }
            None => {
                answer.failed = true;
                Vec::new()
            }
        };
        (effects, answer)
    }

    /// A rank goes forward alone: what it has left it does not come back to.
    fn reach(&mut self, rank: u32, stage: PmiStage) -> Vec<Effect> {
        let now = self.stages.entry(rank).or_default();
        if *now >= stage {
            return Vec::new();
        }
        *now = stage;
        vec![Effect::Stage { rank, stage }]
    }
}

#[cfg(test)]
mod tests {
    use job::wire::{PmixAbort, PmixFence};

    use super::*;

    fn call(number: u64, call: pmix_call::Call) -> PmixCall {
        PmixCall {
            number,
            call: Some(call),
        }
    }

    #[test]
    fn a_rank_is_seen_to_begin_and_to_end_and_each_call_is_answered() {
        let mut calls = Calls::default();
        assert_eq!(calls.stage(3), PmiStage::Silent);
        for (number, asked, stage) in [
            (7, pmix_call::Call::Connected(3), PmiStage::Initialized),
            (8, pmix_call::Call::Finalized(3), PmiStage::Finalized),
        ] {
            let (effects, answer) = calls.on(call(number, asked));
            assert_eq!(effects, [Effect::Stage { rank: 3, stage }]);
            assert_eq!((answer.call, answer.failed), (number, false));
            assert_eq!(calls.stage(3), stage);
        }
        // A tool of the rank's, which connects late.
        let (effects, _) = calls.on(call(9, pmix_call::Call::Connected(3)));
        assert_eq!(effects, []);
        assert_eq!(calls.stage(3), PmiStage::Finalized);
    }

    #[test]
    fn an_abort_is_told_with_its_code() {
        let abort = PmixAbort {
            rank: 1,
            status: 77,
            message: "why".to_owned(),
        };
        let (effects, answer) = Calls::default().on(call(1, pmix_call::Call::Abort(abort)));
        let expected = Effect::Abort {
            rank: 1,
            exit_code: 77,
            message: "why".to_owned(),
        };
        assert_eq!(effects, [expected]);
        assert!(!answer.failed);
    }

    #[test]
    fn a_fence_of_one_container_has_what_its_ranks_told() {
        let fence = PmixFence {
            ranks: Vec::new(),
            data: vec![1, 2, 3].into(),
        };
        let (effects, answer) = Calls::default().on(call(1, pmix_call::Call::Fence(fence)));
        assert_eq!(effects, []);
        assert_eq!((answer.failed, &answer.data[..]), (false, &[1, 2, 3][..]));
        let (_, answer) = Calls::default().on(PmixCall {
            number: 2,
            call: None,
        });
        assert!(answer.failed);
    }
}
