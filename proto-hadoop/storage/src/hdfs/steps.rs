//! Which parts of a file are asked for, one after the other.

/// First step beyond what is expected to be read, bytes: more than almost any record has.
const STEP: u64 = 256 << 10;
/// Each further step is twice as long, up to this: a step costs a question to a DataNode.
const STEP_MAX: u64 = 32 << 20;

/// The parts of a file that are asked for, one after the other.
#[derive(Debug)]
pub(super) struct Steps {
    pub(super) at: u64,
    pub(super) size: u64,
    /// Up to here it is one part.
    pub(super) expected: u64,
    /// How long the first one behind that is.
    step: u64,
}

impl Steps {
    pub(super) const fn new(at: u64, size: u64) -> Self {
        Self {
            at,
            size,
            expected: size,
            step: STEP,
        }
    }

    /// Where the next part begins, and its length; none at the file's end.
    pub(super) fn next(&mut self) -> Option<(u64, u64)> {
        let begin = self.at;
        let rest = self.size.checked_sub(begin).filter(|rest| *rest > 0)?;
        let wanted = match self.expected.checked_sub(begin) {
            Some(wanted @ 1..) => wanted,
            _ => {
                let wanted = self.step;
                self.step = wanted.saturating_mul(2).min(STEP_MAX);
                wanted
            }
        };
        let length = wanted.min(rest);
        self.at = begin.saturating_add(length);
        Some((begin, length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(mut steps: Steps) -> Vec<(u64, u64)> {
        std::iter::from_fn(|| steps.next()).collect()
    }

    #[test]
    fn what_is_expected_is_one_part_and_what_follows_comes_in_growing_ones() {
        const MIB: u64 = 1 << 20;
        assert_eq!(all(Steps::new(5, 100)), [(5, 95)]);
        assert_eq!(all(Steps::new(100, 100)), []);
        assert_eq!(all(Steps::new(101, 100)), []);
        let mut steps = Steps::new(MIB, 300 * MIB);
        steps.expected = 2 * MIB;
        let all = all(steps);
        assert_eq!(
            all[..3],
            [(MIB, MIB), (2 * MIB, STEP), (2 * MIB + STEP, 2 * STEP)]
        );
        assert!(all.iter().all(|(_, length)| *length <= STEP_MAX));
        let end = all.iter().try_fold(MIB, |at, (begin, length)| {
            (at == *begin).then_some(at + length)
        });
        assert_eq!(end, Some(300 * MIB));
        // An end before the beginning, or behind that of the file.
        let mut steps = Steps::new(10, 20);
        steps.expected = 3;
        assert_eq!(steps.next(), Some((10, 10)));
        let mut steps = Steps::new(10, 20);
        steps.expected = 30;
        assert_eq!(steps.next(), Some((10, 10)));
    }
}
