//! What tasks of a container may keep on the disks of its node: spills, outputs of maps, what reduces fetch.
//!
//! YARN gives a node up whose disk is nine tenths full, with all that anybody runs there. So tasks leave a disk
//! before that, whoever has filled it, and keep no more of their own than they were given.

/// What they may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScratchLimits {
    /// Bytes on all disks together; `None`: as much as there is.
    pub most: Option<u64>,
    /// How full a disk may be, whoever has filled it, in hundredths of it; `None`: to the last byte.
    pub fullness: Option<u8>,
}

/// A disk, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    /// All that it holds.
    pub size: u64,
    /// That may still be written.
    pub free: u64,
}

/// A limit that is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exceeded {
    /// The disk is fuller than this, in hundredths.
    Fullness(u8),
    /// Tasks have more than so many bytes.
    Most(u64),
}

impl Disk {
    /// How full it is, in hundredths, rounded up.
    #[must_use]
    pub fn percent(self) -> u64 {
        let hundredth = (self.size / 100).max(1);
        self.used().div_ceil(hundredth).min(100)
    }

    const fn used(self) -> u64 {
        self.size.saturating_sub(self.free)
    }
}

/// Hundredths of a disk that are left free by what nobody needs yet, below what tasks leave free.
const SPARED: u8 = 5;
/// How full a disk may be of that, in hundredths, where tasks may fill it to the last byte.
const ALMOST_FULL: u8 = 99;

impl ScratchLimits {
    /// The same for what nobody needs yet: of what tasks may have three quarters, and a twentieth of a disk less, or a
    /// hundredth where they may have all of it.
    #[must_use]
    pub fn ahead(self) -> Self {
        Self {
            most: self.most.map(|most| most.saturating_sub(most / 4)),
            fullness: Some(
                self.fullness
                    .map_or(ALMOST_FULL, |percent| percent.saturating_sub(SPARED)),
            ),
        }
    }

    /// Bytes that may still come to a disk, where tasks have `own` on all disks.
    #[must_use]
    pub fn room(self, disk: Disk, own: u64) -> u64 {
        let below = self.fullness.map_or(disk.free, |percent| {
            (disk.size / 100)
                .saturating_mul(percent.into())
                .saturating_sub(disk.used())
        });
        let left = self.most.map_or(u64::MAX, |most| most.saturating_sub(own));
        below.min(disk.free).min(left)
    }

    /// The disk that what comes next goes to: the one with the most room, of equals the first. `None`: none has
    /// any.
    #[must_use]
    pub fn choose(self, disks: &[Disk], own: u64) -> Option<usize> {
        let rooms = disks.iter().map(|disk| self.room(*disk, own)).enumerate();
        // The last of equals is kept: they come backwards.
        let best = rooms.rev().max_by_key(|(_, room)| *room);
        best.filter(|(_, room)| *room > 0).map(|(index, _)| index)
    }

    /// What is passed on a disk, where tasks have `own` on all disks.
    #[must_use]
    pub fn exceeded(self, disk: Disk, own: u64) -> Option<Exceeded> {
        if let Some(most) = self.most.filter(|most| own > *most) {
            return Some(Exceeded::Most(most));
        }
        let fullness = self.fullness?;
        let allowed = (disk.size / 100).saturating_mul(fullness.into());
        (disk.used() > allowed).then_some(Exceeded::Fullness(fullness))
    }
}

/// Whom to end where a limit is passed, of tasks and the bytes that each would free: the one with the most, of
/// equals the one with the highest number, which began last. `None`: nobody would free any.
#[must_use]
pub fn victim(tasks: impl IntoIterator<Item = (u32, u64)>) -> Option<u32> {
    let some = tasks.into_iter().filter(|(_, bytes)| *bytes > 0);
    some.max_by_key(|(number, bytes)| (*bytes, *number))
        .map(|(number, _)| number)
}

/// Whose processes have filled a disk, of jobs and the bytes that each has there, where its tasks do not say what they
/// keep: the job with the most. `None`: none has a hundredth of the disk, so that whoever has filled it is somebody else.
#[must_use]
pub fn filler(disk: Disk, jobs: impl IntoIterator<Item = (u32, u64)>) -> Option<u32> {
    let least = disk.size / 100;
    victim(jobs.into_iter().filter(|(_, bytes)| *bytes >= least))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn disk(size: u64, used: u64) -> Disk {
        Disk {
            size,
            free: size - used,
        }
    }

    #[test]
    fn a_disk_is_left_before_yarn_gives_its_node_up() {
        let limits = ScratchLimits {
            fullness: Some(85),
            ..ScratchLimits::default()
        };
        let at = |used| disk(1000, used);
        assert_eq!(limits.room(at(800), 0), 50);
        assert_eq!(limits.room(at(850), 0), 0);
        assert_eq!(limits.room(at(990), 0), 0);
        assert_eq!(limits.exceeded(at(850), 0), None);
        assert_eq!(limits.exceeded(at(851), 0), Some(Exceeded::Fullness(85)));
        assert_eq!((at(850).percent(), at(851).percent()), (85, 86));
        // Without a limit a disk may be filled, and no further.
        assert_eq!(ScratchLimits::default().room(at(990), 0), 10);
        assert_eq!(ScratchLimits::default().exceeded(at(1000), 0), None);
    }

    #[test]
    fn tasks_keep_no_more_than_they_were_given_however_much_is_free() {
        let limits = ScratchLimits {
            most: Some(GIB),
            fullness: Some(85),
        };
        let empty = disk(100 * GIB, 0);
        assert_eq!(limits.room(empty, 0), GIB);
        assert_eq!(limits.room(empty, GIB - 1), 1);
        assert_eq!(limits.room(empty, 2 * GIB), 0);
        assert_eq!(limits.exceeded(empty, GIB), None);
        assert_eq!(limits.exceeded(empty, GIB + 1), Some(Exceeded::Most(GIB)));
        assert_eq!(limits.choose(&[empty], GIB), None);
    }

    #[test]
    fn what_nobody_needs_yet_leaves_room_for_what_somebody_does() {
        let limits = ScratchLimits {
            most: Some(GIB),
            fullness: Some(85),
        };
        let spared = ScratchLimits {
            most: Some(GIB / 4 * 3),
            fullness: Some(80),
        };
        assert_eq!(limits.ahead(), spared);
        let full = disk(1000 * GIB, 810 * GIB);
        assert_eq!((spared.room(full, 0), limits.room(full, 0)), (0, GIB));
        let unlimited = ScratchLimits::default().ahead();
        assert_eq!((unlimited.most, unlimited.fullness), (None, Some(99)));
    }

    #[test]
    fn a_full_disk_is_moved_away_from() {
        let limits = ScratchLimits {
            fullness: Some(85),
            ..ScratchLimits::default()
        };
        let (full, half, twin) = (disk(1000, 900), disk(1000, 500), disk(1000, 500));
        assert_eq!(limits.choose(&[full, half, twin], 0), Some(1));
        assert_eq!(limits.choose(&[full, disk(100, 0)], 0), Some(1));
        assert_eq!(limits.choose(&[full, full], 0), None);
        assert_eq!(limits.choose(&[], 0), None);
    }

    #[test]
    fn whoever_frees_the_most_is_ended() {
        assert_eq!(victim([(1, 5), (2, 9), (3, 9), (4, 0)]), Some(3));
        assert_eq!(victim([(1, 0)]), None);
        assert_eq!(victim([]), None);
    }

    #[test]
    fn a_job_that_has_hardly_anything_has_not_filled_a_disk() {
        let full = disk(1000, 860);
        assert_eq!(filler(full, [(1, 9), (2, 8)]), None);
        assert_eq!(filler(full, [(1, 10), (2, 300), (3, 0)]), Some(2));
        assert_eq!(filler(Disk::default(), [(1, 0)]), None);
    }
}
