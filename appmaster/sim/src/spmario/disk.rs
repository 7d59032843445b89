//! A disk that all who read at a time share evenly.

use policy::schedule::Nanos;

/// A nanosecond of the whole disk.
const WHOLE: u128 = 1 << 20;

/// The disk.
#[derive(Debug)]
pub(super) struct Disk<Read> {
    readers: Vec<DiskReader<Read>>,
    /// Until when the readers' work is counted.
    since: Nanos,
    /// Of the readers: what is in line for another number is out of date.
    pub(super) version: u64,
    /// By how many percent a reader more slows all down, beyond its share.
    contention: u64,
}

#[derive(Debug)]
struct DiskReader<Read> {
    what: Read,
    begin: Nanos,
    /// What is left, in 2^-20 ns of the whole disk.
    left: u128,
}

impl<Read> Disk<Read> {
    pub(super) const fn new(contention: u64) -> Self {
        Self {
            readers: Vec::new(),
            since: Nanos(0),
            version: 0,
            contention,
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.readers.is_empty()
    }

    /// One more reads what the disk alone takes so long for.
    pub(super) fn begin(&mut self, now: Nanos, what: Read, alone: Nanos) {
        self.pass(now);
        self.readers.push(DiskReader {
            what,
            begin: now,
            left: u128::from(alone.0).saturating_mul(WHOLE),
        });
        self.version = self.version.wrapping_add(1);
    }

    /// When the next is done, if nobody comes before.
    pub(super) fn due(&self) -> Option<Nanos> {
        let left = self.readers.iter().map(|reader| reader.left).min()?;
        let span = u64::try_from(left.div_ceil(self.speed())).unwrap_or(u64::MAX);
        Some(self.since.plus(Nanos(span)))
    }

    /// Who is done, and since when they read.
    pub(super) fn end(&mut self, now: Nanos) -> Vec<(Read, Nanos)> {
        self.pass(now);
        let done = self.readers.extract_if(.., |reader| reader.left == 0);
        let done = done.map(|reader| (reader.what, reader.begin)).collect();
        self.version = self.version.wrapping_add(1);
        done
    }

    fn pass(&mut self, now: Nanos) {
        let had = u128::from(now.since(self.since).0).saturating_mul(self.speed());
        for reader in &mut self.readers {
            reader.left = reader.left.saturating_sub(had);
        }
        self.since = now;
    }

    /// What each reader gets of a nanosecond; above 0.
    fn speed(&self) -> u128 {
        let readers = u64::try_from(self.readers.len()).unwrap_or(u64::MAX).max(1);
        let slowed = self
            .contention
            .saturating_mul(readers - 1)
            .saturating_add(100);
        let share = u128::from(readers).saturating_mul(u128::from(slowed));
        (WHOLE * 100).checked_div(share).unwrap_or(1).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_share_evenly() {
        let mut disk = Disk::new(0);
        disk.begin(Nanos(0), "a", Nanos(100));
        assert_eq!(disk.due(), Some(Nanos(100)));
        disk.begin(Nanos(40), "b", Nanos(20));
        // a has 60 left, b 20, each at half the speed.
        assert_eq!(disk.due(), Some(Nanos(80)));
        assert_eq!(disk.end(Nanos(80)), [("b", Nanos(40))]);
        assert_eq!(disk.due(), Some(Nanos(120)));
        assert_eq!(disk.end(Nanos(120)), [("a", Nanos(0))]);
        assert!(disk.is_idle());
    }

    #[test]
    fn contention_slows_all_down() {
        let mut disk = Disk::new(25);
        disk.begin(Nanos(0), "a", Nanos(100));
        disk.begin(Nanos(0), "b", Nanos(100));
        // 250, and what a share is rounded down by.
        assert_eq!(disk.due(), Some(Nanos(251)));
    }
}
