//! While ranks run.

use super::{Cause, Run, RunAction, RunEvent, RunState, Verdict};
use crate::Millis;

impl Run {
    pub(super) fn run(&mut self, now: Millis, event: RunEvent) -> Vec<RunAction> {
        let RunState::Running {
            ranks,
            until,
            linger_until,
            first,
        } = &mut self.state
        else {
            return Vec::new();
        };
        let is_due = |at: &Option<Millis>| at.is_some_and(|at| now >= at);
        if is_due(until) {
            let after = self.limits.run.unwrap_or_default();
            return self.fail(now, Cause::TimedOut { after });
        }
        if is_due(linger_until) {
            let after = self.limits.linger.unwrap_or_default();
            let left = ranks.left();
            return self.fail(now, Cause::Outlived { after, left });
        }
        let one_ended = matches!(event, RunEvent::RankEnded { .. });
        let over = match &event {
            // Otherwise its launcher tells of its ranks.
            RunEvent::ContainerEnded { container, .. } if !self.launchers.is_there(container) => {
                Some(container.clone())
            }
            _ => None,
        };
        let heard = ranks.hear(event);
        if let Some(container) = over {
            ranks.lose(&container);
        }
        match heard {
            Some(cause) if self.limits.spare_others && cause.is_of_one_rank() => {
                first.get_or_insert(cause);
            }
            Some(cause) => return self.fail(now, cause),
            None => {}
        }
        if ranks.all_ended() {
            let cause = first.take();
            self.state = RunState::Over;
            return vec![RunAction::Finish(Verdict { cause })];
        }
        if one_ended && linger_until.is_none() {
            *linger_until = self.limits.linger.map(|span| now.plus(span));
        }
        ranks.progress().map(RunAction::Show).into_iter().collect()
    }
}
