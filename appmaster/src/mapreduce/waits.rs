//! What the rest of a job waits for.

use policy::schedule::Stage;

use super::{MapReduce, count, sentences};

impl MapReduce {
    /// Where all that is left of a stage runs, the task that is farthest behind; empty: there is nothing that is
    /// worth a word.
    pub(super) fn waits(&self) -> String {
        let maps = count(self.description.splits.len());
        let (stage, done, left) = match maps.saturating_sub(self.maps_done) {
            0 => {
                let left = self.description.reduces.saturating_sub(self.reduces_done);
                (Stage::Reduce, self.reduces_done, left)
            }
            left => (Stage::Map, self.maps_done, left),
        };
        if done == 0 || left == 0 || count(self.attempts.tasks(stage)) < left {
            return String::new();
        }
        let Some(last) = self.attempts.farthest_behind(stage) else {
            return String::new();
        };
        let parked = self.attempts.waiting(Stage::Reduce);
        let parked = parked.first().and_then(|ix| self.attempts.get(*ix));
        let who = match (stage, parked) {
            (Stage::Map, Some(reduce)) => {
                let title = sentences::title(reduce.stage, reduce.task, &self.machine);
                format!("{title} waits")
            }
            (Stage::Map, None) if self.description.reduces > 0 => "reduces wait".to_owned(),
            _ => "the output waits".to_owned(),
        };
        let title = sentences::title(last.stage, last.task, &self.machine);
        let (number, host) = (last.number, &last.host);
        let mut text = format!("{who} for {title}, attempt {number}, node {host}");
        if let Some(percent) = last.far.percent() {
            text.push_str(&format!(", {percent} %"));
        }
        if left > 1 {
            text.push_str(&format!(", and {} more", left - 1));
        }
        text
    }
}
