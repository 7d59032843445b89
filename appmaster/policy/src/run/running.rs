//! While ranks run.

use super::limits::patience;
use super::ranks::Ranks;
use super::{Cause, Run, RunAction, RunEvent, RunState, Verdict};
use crate::Millis;

impl Run {
    pub(super) fn run(&mut self, now: Millis, event: RunEvent) -> Vec<RunAction> {
        let RunState::Running {
            ranks,
            until,
            linger_until,
            begun,
            left_until,
            left_told,
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
        if is_due(left_until) {
            let since = left_told.unwrap_or(*begun);
            let ended = ranks
                .left_early()
                .map(|(rank, host)| RunAction::EndedForOne {
                    rank,
                    host,
                    after: Millis(now.0.saturating_sub(since.0)),
                    others: ranks.still_run(),
                });
            let mut actions: Vec<RunAction> = ended.into_iter().collect();
            actions.extend(self.fail(now, Cause::OthersLeft));
            return actions;
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
        if ranks.wait_for_one_that_left() {
            let mut actions = left(left_told, now, ranks, None);
            actions.extend(self.fail(now, Cause::OthersLeft));
            return actions;
        }
        // How long the user wants to wait for them counts more.
        let within = match self.limits.linger {
            Some(_) => None,
            None => Some(patience(now, *begun)),
        };
        let mut actions = left(left_told, now, ranks, within);
        if !actions.is_empty() {
            *left_until = within.map(|span| now.plus(span));
        }
        actions.extend(ranks.progress().map(RunAction::Show));
        actions
    }
}

/// What is said of the first rank that left, once.
fn left(
    told: &mut Option<Millis>,
    now: Millis,
    ranks: &Ranks,
    within: Option<Millis>,
) -> Vec<RunAction> {
    let news = ranks.left_early().filter(|_| told.is_none());
    if news.is_some() {
        *told = Some(now);
    }
    let news = news.map(|(rank, host)| RunAction::LeftEarly { rank, host, within });
    news.into_iter().collect()
}
