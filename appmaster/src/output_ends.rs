//! Which streams of output have come to their ends, launcher by launcher.

use std::collections::BTreeMap;

use policy::ContainerId;

/// What each launcher's one call has brought to its end.
#[derive(Debug, Default)]
pub(crate) struct OutputEnds {
    calls: BTreeMap<ContainerId, Call>,
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
    /// A launcher's call begins.
    pub(crate) fn open(&mut self, container: &ContainerId) {
        self.calls.insert(container.clone(), Call::default());
    }

    /// A stream of that run has ended.
    pub(crate) fn hear(&mut self, container: &ContainerId, run: u32) {
        let Some(call) = self.calls.get_mut(container) else {
            return;
        };
        if run > call.run {
            (call.run, call.ended) = (run, 0);
        }
        if run == call.run {
            call.ended = call.ended.saturating_add(1);
        }
    }

    /// The launcher's call is over.
    pub(crate) fn close(&mut self, container: &ContainerId) {
        self.calls.entry(container.clone()).or_default().is_over = true;
    }

    /// Whether nothing more is to come of `run`: each of `launchers` has ended as many streams as it has
    /// begun, and the calls of those that are gone are over.
    pub(crate) fn are_all(&self, run: u32, launchers: &BTreeMap<ContainerId, u64>) -> bool {
        let ended = |container: &ContainerId, streams: u64| match self.calls.get(container) {
            Some(call) => call.is_over || (call.run == run && call.ended >= streams),
            None => false,
        };
        let there = launchers.iter();
        let mut gone = (self.calls.iter()).filter(|(id, _)| !launchers.contains_key(*id));
        gone.all(|(_, call)| call.is_over)
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
            ends.open(&id(number));
        }
        ends.hear(&id(1), 1);
        ends.hear(&id(2), 1);
        assert!(!ends.are_all(1, &launchers));
        ends.hear(&id(1), 1);
        assert!(ends.are_all(1, &launchers));
        // The program runs again: what comes late of the run before does not count.
        assert!(!ends.are_all(2, &launchers));
        ends.hear(&id(1), 2);
        ends.hear(&id(1), 1);
        ends.hear(&id(2), 2);
        assert!(!ends.are_all(2, &launchers));
        ends.hear(&id(1), 2);
        assert!(ends.are_all(2, &launchers));
        // One that is lost has said its last when its call is over.
        launchers.remove(&id(2));
        assert!(!ends.are_all(2, &launchers));
        ends.close(&id(2));
        assert!(ends.are_all(2, &launchers));
    }
}
