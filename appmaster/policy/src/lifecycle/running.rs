//! While ranks run.

use super::{Action, Event, Job, State, Verdict, unused};
use crate::Millis;

impl Job {
    pub(super) fn run(&mut self, now: Millis, event: Event) -> Vec<Action> {
        let State::Running { ranks } = &mut self.state else {
            return Vec::new();
        };
        if let Event::Granted(grant) = event {
            return vec![unused(grant)];
        }
        if let Some(cause) = ranks.hear(event) {
            return self.fail(now, cause);
        }
        if ranks.all_ended() {
            self.state = State::Over;
            return vec![Action::Finish(Verdict { cause: None })];
        }
        ranks.progress().map(Action::Show).into_iter().collect()
    }
}
