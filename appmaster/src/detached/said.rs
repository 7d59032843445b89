//! What the AM has told of a job beside its output, for whoever comes later.

use std::collections::VecDeque;

use job::wire;
use job::wire::job_event::Event;

/// Sentences that are kept; of more the oldest go.
const NOTICES_MAX: usize = 64;

/// The events of one job.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// Those that are worth to be told once more.
    notices: VecDeque<Event>,
    /// Notices before the first of these.
    forgotten: u64,
    /// The newest word on how far the job is.
    progress: Option<Event>,
    /// Words of that kind so far.
    progresses: u64,
    verdict: Option<wire::Verdict>,
}

/// How much of it somebody has heard.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReadPosition {
    notices: u64,
    progresses: u64,
}

impl Said {
    /// One event more. What a verdict says of each rank is not kept: it may be much, and a hundred are.
    pub(super) fn add(&mut self, event: Event) {
        match event {
            Event::Phase(_) | Event::Tasks(_) => {
                self.progress = Some(event);
                self.progresses = self.progresses.saturating_add(1);
            }
            Event::Verdict(verdict) => {
                self.verdict = Some(wire::Verdict {
                    ranks: Vec::new(),
                    report: String::new(),
                    ..verdict
                });
            }
            Event::Notice(_) | Event::Again(_) => {
                if self.notices.len() >= NOTICES_MAX {
                    self.notices.pop_front();
                    self.forgotten = self.forgotten.saturating_add(1);
                }
                self.notices.push_back(event);
            }
            Event::Explained(_) | Event::Unregistered(_) => {}
        }
    }

    /// What is new to whoever has `heard` that much; the verdict is the last.
    pub(super) fn after(&self, heard: &mut ReadPosition) -> Vec<Event> {
        let known = heard.notices.saturating_sub(self.forgotten);
        let known = usize::try_from(known).unwrap_or(usize::MAX);
        let mut new: Vec<Event> = self.notices.iter().skip(known).cloned().collect();
        let all = u64::try_from(self.notices.len()).unwrap_or(u64::MAX);
        heard.notices = self.forgotten.saturating_add(all);
        if heard.progresses != self.progresses {
            heard.progresses = self.progresses;
            new.extend(self.progress.clone());
        }
        new.extend(self.verdict.clone().map(Event::Verdict));
        new
    }

    /// Whether it is a MapReduce job: such a one says first of all how far its tasks are.
    pub(super) const fn has_tasks(&self) -> bool {
        matches!(self.progress, Some(Event::Tasks(_)))
    }

    pub(super) const fn verdict(&self) -> Option<&wire::Verdict> {
        self.verdict.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(text: &str) -> Event {
        let sentence = text.into();
        Event::Notice(wire::Notice { sentence })
    }

    fn phase(done: u32) -> Event {
        let phase = wire::Phase::default();
        Event::Phase(wire::Phase { done, ..phase })
    }

    #[test]
    fn who_comes_late_hears_the_newest_phase_and_all_notices_and_nothing_twice() {
        let mut said = Said::default();
        let mut early = ReadPosition::default();
        said.add(phase(1));
        said.add(notice("a"));
        assert_eq!(said.after(&mut early), [notice("a"), phase(1)]);
        said.add(phase(2));
        said.add(phase(3));
        assert_eq!(said.after(&mut early), [phase(3)]);
        assert!(said.after(&mut early).is_empty());
        said.add(notice("b"));
        let last = wire::Verdict {
            exit_code: 3,
            report: "long".into(),
            ..wire::Verdict::default()
        };
        said.add(Event::Verdict(last));
        let kept = Event::Verdict(wire::Verdict {
            exit_code: 3,
            ..wire::Verdict::default()
        });
        assert_eq!(said.after(&mut early), [notice("b"), kept.clone()]);
        let wanted = [notice("a"), notice("b"), phase(3), kept];
        assert_eq!(said.after(&mut ReadPosition::default()), wanted);
    }

    #[test]
    fn of_many_notices_the_last_are_kept() {
        let mut said = Said::default();
        let mut heard = ReadPosition::default();
        said.add(notice("first"));
        assert_eq!(said.after(&mut heard).len(), 1);
        for number in 0..1000 {
            said.add(notice(&number.to_string()));
        }
        let new = said.after(&mut heard);
        assert_eq!((new.len(), new.last()), (NOTICES_MAX, Some(&notice("999"))));
        assert!(said.after(&mut heard).is_empty());
    }
}
