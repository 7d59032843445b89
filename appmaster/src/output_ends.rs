//! Which streams of output have come to their ends, launcher by launcher.

use std::collections::BTreeMap;

use policy::ContainerId;

/// What each launcher's calls have brought to their ends.
#[derive(Debug, Default)]
pub(crate) struct OutputEnds {
    calls: BTreeMap<ContainerId, OutputCalls>,
}

/// A launcher calls once for a job; in a session, where a job begins again, once each time that it comes back.
#[derive(Debug, Default)]
struct OutputCalls {
    newest: Call,
    /// Counted from 1.
    number: u32,
    /// Calls before the newest that are not over.
    older: u32,
    /// Up to this number they are of shares of the job that it has no more.
    past: u32,
}

#[derive(Debug, Default)]
struct Call {
    /// The newest run of the program that it has brought an end of.
    run: u32,
    /// Streams of that run that have ended.
    ended: u64,
    /// It brings nothing more.
    is_over: bool,
}

impl OutputEnds {
    /// A launcher is to have a share of the job, and has none: it calls for that once more.
    pub(crate) fn expect(&mut self, container: &ContainerId) {
        if let Some(calls) = self.calls.get_mut(container) {
            calls.past = calls.number;
        }
    }

    /// A launcher's call begins: its number among those of this launcher.
    pub(crate) fn open(&mut self, container: &ContainerId) -> u32 {
        let calls = self.calls.entry(container.clone()).or_default();
        if calls.number > 0 && !calls.newest.is_over {
            calls.older = calls.older.saturating_add(1);
        }
        calls.newest = Call::default();
        calls.number = calls.number.saturating_add(1);
        calls.number
    }

    /// A stream of that run has ended, as the call of this number says.
    pub(crate) fn hear(&mut self, container: &ContainerId, number: u32, run: u32) {
        let calls = self.calls.get_mut(container);
        let Some(calls) = calls.filter(|calls| calls.number == number) else {
            return;
        };
        let call = &mut calls.newest;
        if run > call.run {
            (call.run, call.ended) = (run, 0);
        }
        if run == call.run {
            call.ended = call.ended.saturating_add(1);
        }
    }

    /// The launcher's call of this number is over.
    pub(crate) fn close(&mut self, container: &ContainerId, number: u32) {
        let Some(calls) = self.calls.get_mut(container) else {
            return;
        };
        match calls.number == number {
            true => calls.newest.is_over = true,
            // It may come to its end after another has begun.
            false => calls.older = calls.older.saturating_sub(1),
        }
    }

    /// Whether nothing more is to come of `run`: each of `launchers` has ended as many streams as it has
    /// begun, and the calls of those that are gone are over, as are those of runs before.
    pub(crate) fn are_all(&self, run: u32, launchers: &BTreeMap<ContainerId, u64>) -> bool {
        let ended = |container: &ContainerId, streams: u64| match self.calls.get(container) {
            Some(OutputCalls {
                newest,
                number,
                past,
                ..
            }) => {
                let all = newest.run == run && newest.ended >= streams;
                number > past && (newest.is_over || all)
            }
            None => false,
        };
        let there = launchers.iter();
        let mut gone = (self.calls.iter()).filter(|(id, _)| !launchers.contains_key(*id));
        gone.all(|(_, calls)| calls.newest.is_over)
            && self.calls.values().all(|calls| calls.older == 0)
            && there
                .into_iter()
                .all(|(id, &streams)| streams == 0 || ended(id, streams))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u32) -> ContainerId {
        ContainerId(format!("container_{number}"))
    }

    #[test]
    fn all_have_ended_when_each_launcher_has_ended_what_it_began() {
        let mut ends = OutputEnds::default();
        let mut launchers = BTreeMap::from([(id(1), 2), (id(2), 1), (id(3), 0)]);
        assert!(!ends.are_all(1, &launchers));
        for number in [1, 2] {
            assert_eq!(ends.open(&id(number)), 1);
        }
        ends.hear(&id(1), 1, 1);
        ends.hear(&id(2), 1, 1);
        assert!(!ends.are_all(1, &launchers));
        ends.hear(&id(1), 1, 1);
        assert!(ends.are_all(1, &launchers));
        // The program runs again: what comes late of the run before does not count.
        assert!(!ends.are_all(2, &launchers));
        ends.hear(&id(1), 1, 2);
        ends.hear(&id(1), 1, 1);
        ends.hear(&id(2), 1, 2);
        assert!(!ends.are_all(2, &launchers));
        ends.hear(&id(1), 1, 2);
        assert!(ends.are_all(2, &launchers));
        // One that is lost has said its last when its call is over.
        launchers.remove(&id(2));
        assert!(!ends.are_all(2, &launchers));
        ends.close(&id(2), 1);
        assert!(ends.are_all(2, &launchers));
    }

    #[test]
    fn a_call_that_is_over_is_not_taken_for_the_one_that_has_not_come() {
        let mut ends = OutputEnds::default();
        let launchers = BTreeMap::from([(id(1), 1)]);
        ends.expect(&id(1));
        let first = ends.open(&id(1));
        ends.hear(&id(1), first, 1);
        assert!(ends.are_all(1, &launchers));
        // The job begins again, and its ranks end before this launcher has called.
        ends.expect(&id(1));
        ends.close(&id(1), first);
        assert!(!ends.are_all(2, &launchers));
        let second = ends.open(&id(1));
        assert!(!ends.are_all(2, &launchers));
        ends.hear(&id(1), second, 2);
        assert!(ends.are_all(2, &launchers));
    }

    #[test]
    fn a_call_that_ends_late_is_not_taken_for_the_one_that_has_begun_since() {
        let mut ends = OutputEnds::default();
        let launchers = BTreeMap::from([(id(1), 1)]);
        let first = ends.open(&id(1));
        // The job begins again, and this launcher has another share of it.
        let second = ends.open(&id(1));
        ends.close(&id(1), first);
        assert!(!ends.are_all(2, &launchers));
        ends.hear(&id(1), second, 2);
        assert!(ends.are_all(2, &launchers));
        // What an older one may still bring is waited for.
        let third = ends.open(&id(1));
        ends.hear(&id(1), second, 3);
        assert!(!ends.are_all(3, &launchers));
        ends.hear(&id(1), third, 3);
        assert!(!ends.are_all(3, &launchers));
        ends.close(&id(1), second);
        assert!(ends.are_all(3, &launchers));
    }
}
