//! How far a MapReduce job is, in one number.

use crate::wire::TasksPhase;

/// All of it.
const WHOLE: u64 = 1000;

impl TasksPhase {
    /// Thousandths of the job: of its maps by the bytes that they have read, or by their number; where it has reduces, these
    /// are half of it.
    #[must_use]
    pub fn thousandths(&self) -> u16 {
        let part = |done: u64, all: u64| done.min(all).saturating_mul(WHOLE).checked_div(all);
        let maps = part(self.maps_done.into(), self.maps.into());
        let maps = match part(self.bytes_done, self.bytes) {
            // Bytes that are read are not yet a map that is done.
            Some(bytes) if self.maps_done < self.maps => bytes.min(WHOLE - 1),
            _ => maps.unwrap_or(WHOLE),
        };
        let all = match part(self.reduces_done.into(), self.reduces.into()) {
            Some(reduces) => maps.saturating_add(reduces) / 2,
            None => maps,
        };
        u16::try_from(all).unwrap_or(u16::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_are_told_by_bytes_and_reduces_are_the_other_half() {
        let phase = |maps: (u32, u32), reduces: (u32, u32), bytes: (u64, u64)| TasksPhase {
            maps_done: maps.0,
            maps: maps.1,
            reduces_done: reduces.0,
            reduces: reduces.1,
            bytes_done: bytes.0,
            bytes: bytes.1,
            ..TasksPhase::default()
        };
        for (of, wanted) in [
            (phase((0, 4), (0, 0), (0, 800)), 0),
            (phase((0, 4), (0, 0), (200, 800)), 250),
            (phase((3, 4), (0, 0), (800, 800)), 999),
            (phase((4, 4), (0, 0), (800, 800)), 1000),
            (phase((1, 4), (0, 0), (0, 0)), 250),
            (phase((2, 4), (0, 2), (400, 800)), 250),
            (phase((4, 4), (1, 2), (800, 800)), 750),
            (phase((4, 4), (2, 2), (800, 800)), 1000),
            (phase((0, 0), (0, 0), (0, 0)), 1000),
        ] {
            assert_eq!(of.thousandths(), wanted, "{of:?}");
        }
    }
}
