//! Which of a job's output is kept: a head and a tail, in parts that are a file each. The oldest part of the
//! tail goes when the tail is too long. Pure: what is written and removed is for the [`spool`](super::spool)
//! to do.
//!
//! ```text
//! |0|1|2|3|4|5|6|7|  left out  |42|43|44|45|46|47|48|49 …
//! '----- head ----'            '--------- tail ---------'
//! ```

use std::collections::VecDeque;

/// How much is kept, bytes of files.
#[derive(Clone, Copy, Debug)]
pub(super) struct OutputBounds {
    pub(super) head: u64,
    pub(super) tail: u64,
    /// Of one part; a record that is longer is a part of its own.
    pub(super) part: u64,
}

impl OutputBounds {
    /// A mebibyte of each.
    pub(super) const USUAL: Self = Self {
        head: 1 << 20,
        tail: 1 << 20,
        part: 128 << 10,
    };
}

/// One file of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordFile {
    pub(super) number: u32,
    /// Bytes that the ranks had printed before, kept or not.
    pub(super) begins: u64,
    /// Bytes that they have printed in it.
    pub(super) printed: u64,
    /// Bytes of its file.
    pub(super) length: u64,
}

/// A place in the output, between two records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    pub(super) part: u32,
    /// Bytes of its file before.
    pub(super) offset: u64,
    /// Bytes that the ranks had printed before.
    pub(super) printed: u64,
}

/// What comes behind a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Following {
    pub(super) part: RecordFile,
    /// Where in its file.
    pub(super) offset: u64,
    /// Printed bytes between the place and that.
    pub(super) left_out: u64,
}

/// The parts of one job's output, in order.
#[derive(Debug)]
pub(super) struct Parts {
    bounds: OutputBounds,
    head: Vec<RecordFile>,
    tail: VecDeque<RecordFile>,
    /// Bytes that the ranks have printed.
    printed: u64,
    next: u32,
    /// The last part may be longer.
    is_open: bool,
}

impl Parts {
    pub(super) const fn new(bounds: OutputBounds) -> Self {
        Self {
            bounds,
            head: Vec::new(),
            tail: VecDeque::new(),
            printed: 0,
            next: 0,
            is_open: false,
        }
    }

    /// The part that a record of so many bytes is to be added to, perhaps a new one.
    pub(super) fn open(&mut self, length: u64) -> RecordFile {
        let head: u64 = self.head.iter().map(|part| part.length).sum();
        let fits_head = self.tail.is_empty() && head.saturating_add(length) <= self.bounds.head;
        let last = match self.tail.back() {
            None if !fits_head => None,
            None => self.head.last(),
            last => last,
        };
        let fits = |part: &&RecordFile| part.length.saturating_add(length) <= self.bounds.part;
        if let Some(part) = last.filter(|_| self.is_open).filter(fits) {
            return *part;
        }
        let part = RecordFile {
            number: self.next,
            begins: self.printed,
            printed: 0,
            length: 0,
        };
        self.next = self.next.saturating_add(1);
        self.is_open = true;
        match fits_head {
            true => self.head.push(part),
            false => self.tail.push_back(part),
        }
        part
    }

    /// The record is there: so many bytes of the file, and so many of what the ranks print.
    pub(super) fn wrote(&mut self, length: u64, printed: u64) {
        let last = self.tail.back_mut().or_else(|| self.head.last_mut());
        if let Some(part) = last {
            part.length = part.length.saturating_add(length);
            part.printed = part.printed.saturating_add(printed);
        }
        self.printed = self.printed.saturating_add(printed);
    }

    /// So many printed bytes are not kept.
    pub(super) const fn lost(&mut self, printed: u64) {
        self.printed = self.printed.saturating_add(printed);
        self.is_open = false;
    }

    /// The part that is to go since the tail is too long.
    pub(super) fn surplus(&mut self) -> Option<RecordFile> {
        let tail: u64 = self.tail.iter().map(|part| part.length).sum();
        match tail > self.bounds.tail {
            true => self.shed(),
            false => None,
        }
    }

    /// The part that is to go where there is no room; never the last of all.
    pub(super) fn shed(&mut self) -> Option<RecordFile> {
        match self.tail.len() > 1 {
            true => self.tail.pop_front(),
            false => None,
        }
    }

    /// Everything goes.
    pub(super) fn clear(&mut self) -> Vec<RecordFile> {
        self.is_open = false;
        let head = std::mem::take(&mut self.head);
        head.into_iter()
            .chain(std::mem::take(&mut self.tail))
            .collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.head.is_empty() && self.tail.is_empty()
    }

    /// What comes behind `place`; `None`: nothing so far.
    pub(super) fn following(&self, place: Position) -> Option<Following> {
        let mut all = self.head.iter().chain(&self.tail);
        all.find_map(|part| {
            let offset = match part.number == place.part {
                true => place.offset,
                false => 0,
            };
            let is_read = part.number < place.part || offset >= part.length;
            (!is_read).then(|| Following {
                part: *part,
                offset,
                left_out: match offset {
                    0 => part.begins.saturating_sub(place.printed),
                    _ => 0,
                },
            })
        })
    }

    /// Printed bytes behind `place`, where nothing follows it.
    pub(super) const fn missing_behind(&self, place: Position) -> u64 {
        self.printed.saturating_sub(place.printed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: OutputBounds = OutputBounds {
        head: 20,
        tail: 20,
        part: 10,
    };

    /// Adds a record that is as long as what it says, as a spool does.
    fn add(parts: &mut Parts, length: u64) -> Vec<u32> {
        parts.open(length);
        parts.wrote(length, length);
        let mut gone = Vec::new();
        while let Some(part) = parts.surplus() {
            gone.push(part.number);
        }
        gone
    }

    /// All that is read from the beginning: kept and left out, in turn.
    fn read(parts: &Parts) -> Vec<(u64, u64)> {
        let (mut place, mut seen) = (Position::default(), Vec::new());
        while let Some(next) = parts.following(place) {
            seen.push((next.left_out, next.part.length));
            place = Position {
                part: next.part.number,
                offset: next.part.length,
                printed: next.part.begins + next.part.printed,
            };
        }
        if parts.missing_behind(place) > 0 {
            seen.push((parts.missing_behind(place), 0));
        }
        seen
    }

    #[test]
    fn what_fits_is_kept_whole() {
        let mut parts = Parts::new(SMALL);
        assert!(read(&parts).is_empty() && parts.is_empty());
        for _ in 0..8 {
            assert!(add(&mut parts, 5).is_empty());
        }
        assert_eq!(read(&parts), [(0, 10); 4]);
    }

    #[test]
    fn between_head_and_tail_is_what_goes_and_it_is_known_how_much() {
        let mut parts = Parts::new(SMALL);
        for _ in 0..8 {
            add(&mut parts, 5);
        }
        // The oldest of the tail goes, never the head.
        assert_eq!(add(&mut parts, 5), [2]);
        assert_eq!(read(&parts), [(0, 10), (0, 10), (10, 10), (0, 5)]);
        for _ in 0..1000 {
            add(&mut parts, 5);
        }
        let seen = read(&parts);
        let kept: u64 = seen.iter().map(|(_, kept)| kept).sum();
        let out: u64 = seen.iter().map(|(out, _)| out).sum();
        assert_eq!(kept + out, 1009 * 5);
        assert!((35..=40).contains(&kept), "{kept}");
        assert_eq!(seen.iter().filter(|(out, _)| *out > 0).count(), 1);
    }

    #[test]
    fn a_long_record_is_a_part_of_its_own() {
        let mut parts = Parts::new(SMALL);
        add(&mut parts, 5);
        add(&mut parts, 15);
        // It fits neither head nor tail, and yet is there while it is the newest.
        add(&mut parts, 100);
        assert_eq!(read(&parts), [(0, 5), (0, 15), (0, 100)]);
        assert_eq!(add(&mut parts, 1), [2]);
        assert_eq!(read(&parts), [(0, 5), (0, 15), (100, 1)]);
    }

    #[test]
    fn what_could_not_be_written_is_missed_in_its_place() {
        let mut parts = Parts::new(SMALL);
        parts.lost(7);
        add(&mut parts, 3);
        parts.lost(2);
        add(&mut parts, 3);
        parts.lost(4);
        assert_eq!(read(&parts), [(7, 3), (2, 3), (4, 0)]);
    }

    #[test]
    fn a_reader_that_is_overtaken_goes_on_behind_the_gap() {
        let mut parts = Parts::new(SMALL);
        for _ in 0..9 {
            add(&mut parts, 5);
        }
        // In the middle of a part of the tail, which then goes.
        let mut place = Position {
            part: 3,
            offset: 5,
            printed: 35,
        };
        let next = parts.following(place).unwrap();
        assert_eq!((next.part.number, next.offset, next.left_out), (3, 5, 0));
        for _ in 0..4 {
            add(&mut parts, 5);
        }
        let next = parts.following(place).unwrap();
        assert_eq!((next.offset, next.left_out), (0, next.part.begins - 35));
        place = Position {
            part: next.part.number,
            offset: 5,
            printed: next.part.begins + 5,
        };
        assert_eq!(parts.following(place).unwrap().left_out, 0);
        let printed = place.printed;
        assert_eq!(
            parts.clear().iter().map(|part| part.length).sum::<u64>(),
            35
        );
        assert_eq!(parts.following(place), None);
        assert_eq!(parts.missing_behind(place), 65 - printed);
    }
}
