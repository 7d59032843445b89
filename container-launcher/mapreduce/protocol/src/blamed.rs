//! Sentences about a task: where it was, and how it ended. Whoever runs tasks says the same.

use std::time::Duration;

use crate::settings::MEMORY;
use crate::{Blame, MapOrder, Phase, ReduceOrder, ToTask};

/// A task that sentences are about.
#[derive(Clone, Copy, Debug)]
pub enum Blamed<'a> {
    /// A map.
    Map(&'a MapOrder),
    /// A reduce.
    Reduce(&'a ReduceOrder),
}

impl<'a> Blamed<'a> {
    /// The task that a message orders; none: it orders none.
    #[must_use]
    pub const fn of(order: &'a ToTask) -> Option<Self> {
        match order {
            ToTask::Map(order) => Some(Self::Map(order)),
            ToTask::Reduce(order) => Some(Self::Reduce(order)),
            _ => None,
        }
    }

    /// As sentences call it: `map 3`.
    #[must_use]
    pub fn title(self) -> String {
        match self {
            Self::Map(order) => format!("map {}", order.task),
            Self::Reduce(order) => format!("reduce {}", order.task),
        }
    }

    /// Where it was; empty: that says nothing.
    #[must_use]
    pub fn place(self, blame: &Blame) -> String {
        match (self, blame.phase) {
            (Self::Map(order), Phase::Map) => {
                let piece = usize::try_from(blame.piece).ok();
                let piece = piece.and_then(|piece| order.pieces.get(piece));
                let name = piece.map_or("its split", |piece| piece.name.as_str());
                format!(
                    "on record {} of the split, at byte {} of {name}",
                    blame.record, blame.offset
                )
            }
            (Self::Reduce(_), Phase::Reduce) => format!("on group {}", blame.record),
            (_, Phase::Setup) => "in setup".to_owned(),
            (_, Phase::Cleanup) => "in cleanup".to_owned(),
            (_, Phase::Sort) => "while sorting".to_owned(),
            (_, Phase::Output) => "while closing its output".to_owned(),
            (_, Phase::Map | Phase::Reduce) => String::new(),
            (_, Phase::Fetch) => "while its input was brought".to_owned(),
            (_, Phase::Idle) => "before it began".to_owned(),
        }
    }

    /// The record that the user's code of a map had, or the group that that of a reduce had.
    #[must_use]
    pub fn record(self, blame: &Blame) -> Option<u64> {
        matches!(
            (self, blame.phase),
            (Self::Map(_), Phase::Map) | (Self::Reduce(_), Phase::Reduce)
        )
        .then_some(blame.record)
    }

    /// It says that it failed: `said`.
    #[must_use]
    pub fn failed(self, blame: &Blame, said: &str) -> String {
        let title = self.title();
        match said.strip_prefix("panicked") {
            Some(rest) => format!("{title} panicked {},{rest}", self.place(blame)),
            None => format!("{title}: {said}"),
        }
    }

    /// Its process ended in the middle, as [`how`] tells.
    #[must_use]
    pub fn died(self, blame: &Blame, how: &str) -> String {
        let sentence = format!("{} {how} {}", self.title(), self.place(blame));
        sentence.trim_end().to_owned()
    }

    /// It has more in memory than it may, bytes.
    #[must_use]
    pub fn overfed(self, blame: &Blame, used: u64, limit: u64) -> String {
        let (title, place) = (self.title(), self.place(blame));
        let [used, limit] = [used, limit].map(|bytes| bytes >> 20);
        format!("{title} has {used} MiB in memory where {limit} are the limit ({MEMORY}) {place}")
            .trim_end()
            .to_owned()
    }

    /// It showed no sign of life for so long.
    #[must_use]
    pub fn stalled(self, blame: &Blame, timeout: Duration) -> String {
        let (title, seconds) = (self.title(), timeout.as_secs_f64());
        let place = self.place(blame);
        format!("{title} made no progress for {seconds} s {place}")
            .trim_end()
            .to_owned()
    }
}

/// How a process ended: with an exit code, or by a signal.
#[must_use]
pub fn how(code: Option<i32>, signal: Option<i32>) -> String {
    match (code, signal) {
        (Some(code), _) => format!("ended its process with exit code {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "closed its socket".to_owned(),
    }
}

/// A file is not what it was when the splits were made.
#[must_use]
pub fn changed(name: &str, planned: u64, now: u64) -> String {
    format!("{name} had {planned} bytes and has {now} now: it was changed while it was read")
}

/// A file is gone that was there when the splits were made.
#[must_use]
pub fn vanished(name: &str) -> String {
    format!("there is no {name} any more: it was removed after the job was planned")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Page, Piece};

    #[test]
    fn a_sentence_names_file_and_record_where_the_user_s_code_had_one() {
        let (page, _descriptor) = Page::create().unwrap();
        let piece = Piece {
            name: "hdfs://n/in".to_owned(),
            offset: 0,
            length: 9,
            size: 9,
        };
        let map = MapOrder {
            task: 3,
            attempt: 1,
            partitions: 1,
            pieces: vec![piece],
            skip: Vec::new(),
        };
        let order = ToTask::Map(map);
        let map = Blamed::of(&order).unwrap();
        page.begin(3, 9);
        let how = how(None, Some(6));
        assert_eq!(
            map.died(&page.read(), &how),
            "map 3 was killed by signal 6 in setup"
        );
        assert_eq!(map.record(&page.read()), None);
        page.phase(Phase::Map);
        page.record(4, 2);
        let place = "on record 2 of the split, at byte 4 of hdfs://n/in";
        assert_eq!(
            map.failed(&page.read(), "panicked at m.rs:1: no"),
            format!("map 3 panicked {place}, at m.rs:1: no")
        );
        assert_eq!(map.failed(&page.read(), "no"), "map 3: no");
        assert_eq!(
            map.stalled(&page.read(), Duration::from_millis(400)),
            format!("map 3 made no progress for 0.4 s {place}")
        );
        assert_eq!(
            map.overfed(&page.read(), 200 << 20, 100 << 20),
            format!("map 3 has 200 MiB in memory where 100 are the limit ({MEMORY}) {place}")
        );
        assert_eq!(map.record(&page.read()), Some(2));
        let reduce = ReduceOrder {
            task: 5,
            attempt: 0,
            sources: Vec::new(),
            skip: Vec::new(),
        };
        assert_eq!(
            Blamed::Reduce(&reduce).died(&page.read(), &super::how(Some(1), None)),
            "reduce 5 ended its process with exit code 1"
        );
    }
}
