//! What the client is told beside the phases: in order, and none of it is lost while it has not
//! come yet or reads slowly, up to a bound.

use std::collections::VecDeque;

use job::wire;
use job::wire::job_event::Event;

/// Events that may wait, and bytes of their texts: minutes of a job that waits and tells everything.
const MOST: usize = 4096;
const MOST_BYTES: usize = 16 << 20;

/// The queue.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    waiting: VecDeque<Event>,
    bytes: usize,
    /// Events that found it full since the last one that did not.
    dropped: u64,
    /// The last ones, which always find a place; `None`: an empty one.
    last: VecDeque<Option<Event>>,
}

impl Outbox {
    /// One more event; told later that it was dropped, when there is no place for it.
    pub(crate) fn push(&mut self, event: Event) {
        let full = self.waiting.len() >= MOST || self.bytes + length(&event) > MOST_BYTES;
        if full {
            self.dropped += 1;
            return;
        }
        self.own_up();
        self.bytes += length(&event);
        self.waiting.push_back(event);
    }

    /// One of the last events of all: it is never dropped. `None`: one that says nothing but that there
    /// is nothing to say.
    pub(crate) fn push_last(&mut self, event: Option<Event>) {
        self.last.push_back(event);
    }

    /// A sentence that the user is to see at once.
    pub(crate) fn notice(&mut self, sentence: String) {
        self.push(Event::Notice(wire::Notice { sentence }));
    }

    /// Says how many events are missing at this point.
    fn own_up(&mut self) {
        let dropped = std::mem::take(&mut self.dropped);
        if dropped > 0 {
            let sentence =
                format!("events left out here, since nobody took them in time: {dropped}");
            self.waiting
                .push_back(Event::Notice(wire::Notice { sentence }));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.dropped == 0 && self.last.is_empty()
    }

    /// The next message to the client.
    pub(crate) fn next(&mut self) -> Option<wire::JobEvent> {
        let event = match self.pop() {
            Some(event) => Some(event),
            None => self.last.pop_front()?,
        };
        Some(wire::JobEvent { event })
    }

    /// The next one, the last ones aside.
    pub(crate) fn pop(&mut self) -> Option<Event> {
        if self.waiting.is_empty() {
            self.own_up();
        }
        let event = self.waiting.pop_front()?;
        self.bytes = self.bytes.saturating_sub(length(&event));
        Some(event)
    }

    /// Nobody will ever take them.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Bytes of an event's text that count against the bound. What says that others were dropped counts
/// on its way out only; it is short.
fn length(event: &Event) -> usize {
    match event {
        Event::Explained(line) => line.len(),
        Event::Notice(notice) => notice.sentence.len(),
        Event::Phase(_)
        | Event::Verdict(_)
        | Event::Unregistered(_)
        | Event::Again(_)
        | Event::Tasks(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(event: Option<Event>) -> String {
        match event {
            Some(Event::Explained(line)) => line,
            Some(Event::Notice(notice)) => notice.sentence,
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn events_come_in_order_and_the_gap_is_told_where_it_is() {
        let mut outbox = Outbox::default();
        for number in 0..MOST + 7 {
            outbox.push(Event::Explained(number.to_string()));
        }
        for number in 0..2 {
            assert_eq!(text(outbox.pop()), number.to_string());
        }
        outbox.notice("degraded".into());
        for number in 2..MOST {
            assert_eq!(text(outbox.pop()), number.to_string());
        }
        assert!(text(outbox.pop()).ends_with("in time: 7"));
        assert_eq!(text(outbox.pop()), "degraded");
        assert!(outbox.is_empty() && outbox.pop().is_none());
    }

    #[test]
    fn large_events_count_by_their_length() {
        let mut outbox = Outbox::default();
        for _ in 0..3 {
            outbox.push(Event::Explained("x".repeat(MOST_BYTES / 2)));
        }
        assert_eq!(text(outbox.pop()).len(), MOST_BYTES / 2);
        assert_eq!(text(outbox.pop()).len(), MOST_BYTES / 2);
        assert!(text(outbox.pop()).ends_with("in time: 1"));
        assert!(outbox.is_empty());
        assert_eq!(outbox.bytes, 0);
    }
}
