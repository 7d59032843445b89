//! Ends the process that has too much, before YARN ends the whole container for it.
//!
//! Every three seconds a NodeManager adds up what the processes of a container have resident, and ends the
//! container where that is more than the container was given; where it does not look, the kernel ends
//! some process when the node has no memory left. Only the process that went beyond its own share is to end, and
//! its job with it: in a session several jobs share a container.
//!
//! What is compared: the launcher and all that descends from it, pages that processes share counted for each of
//! them, as most NodeManagers do. In a job by itself, where no other job would end with it, a rank is ended only if the
//! container is above its limit with such pages counted once, too. Address space is not compared: only the NodeManager
//! knows whether it is checked. Nodes of `--local` enforce no limit, and the launcher ends no rank there.

use std::time::Duration;

use crate::process;

/// Of what the container was given: beyond it who has more than his share is ended. Where nobody has, all of it may
/// be used.
const LIMIT_PERCENT: u64 = 95;
/// Beyond it looks follow each other more closely.
const ALARM_PERCENT: u64 = 70;
/// Between two looks, each of which reads the node's table of processes.
const CALM: Duration = Duration::from_millis(250);
const ALARMED: Duration = Duration::from_millis(50);
/// Where a look takes long, as on a node with very many processes, the pause is so many times as long: a hundredth of a
/// processor, and a fifth of one while what is beyond [`ALARM_PERCENT`] becomes more.
const FACTOR: u32 = 100;
const GROWING_FACTOR: u32 = 4;
/// It becomes more where it has this more of what was given than at the last look.
const GROWN_PERCENT: u64 = 1;
/// The longest pause: on a busy node a look that waits for a processor takes long, too, and a program may have a gigabyte
/// more each second.
const LONGEST: Duration = Duration::from_secs(1);
/// How long the launcher does not look again once it has found that shared pages are what is too much: the kernel takes
/// a while for each gigabyte of that look.
pub(crate) const SHARED: Duration = Duration::from_secs(5);
/// What was killed may take so long to give its memory back: until then nobody else is blamed for it.
pub(crate) const DYING: Duration = Duration::from_secs(1);

/// What one process has resident, its children's included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResidentMemory {
    pub(crate) id: process::Id,
    pub(crate) resident_kib: u64,
    /// Its share of the container; 0: none was told.
    pub(crate) share_kib: u64,
}

/// Who is to end, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OverLimit {
    pub(crate) id: process::Id,
    pub(crate) resident_kib: u64,
    pub(crate) share_kib: u64,
    /// What the container has, and what it was given.
    pub(crate) container_kib: u64,
    pub(crate) given_kib: u64,
}

/// Until the next look at a container that was given so much, 0: there is no limit; the last look `took` so long, and at
/// the one before the container had `before_kib`.
pub(crate) fn pause(
    resident_kib: u64,
    before_kib: u64,
    given_kib: u64,
    took: Duration,
) -> Duration {
    if given_kib == 0 {
        return Duration::MAX;
    }
    let is_narrow = resident_kib > percent(given_kib, ALARM_PERCENT);
    let grown = resident_kib.saturating_sub(before_kib);
    match is_narrow && grown > percent(given_kib, GROWN_PERCENT) {
        true => ALARMED.max(took.saturating_mul(GROWING_FACTOR)),
        false => {
            let shortest = if is_narrow { ALARMED } else { CALM };
            took.saturating_mul(FACTOR).clamp(shortest, LONGEST)
        }
    }
}

/// The process that is most beyond its share, or nearest to it, if the container is about to be ended by YARN. Of two
/// that are equal the later one.
pub(crate) fn over(
    container_kib: u64,
    given_kib: u64,
    held: impl Iterator<Item = ResidentMemory>,
) -> Option<OverLimit> {
    if given_kib == 0 || container_kib <= percent(given_kib, LIMIT_PERCENT) {
        return None;
    }
    // Who keeps to his share is only ended where YARN would end all.
    let is_full = container_kib > given_kib;
    let held = held.filter(|held| is_full || held.resident_kib > held.share_kib);
    let beyond = |held: &ResidentMemory| i128::from(held.resident_kib) - i128::from(held.share_kib);
    let most = held.max_by_key(beyond)?;
    Some(OverLimit {
        id: most.id,
        resident_kib: most.resident_kib,
        share_kib: most.share_kib,
        container_kib,
        given_kib,
    })
}

/// Whether a container stays below its limit where shared pages are counted once; `None`: the kernel does not tell.
pub(crate) fn is_below(proportional_kib: Option<u64>, given_kib: u64) -> bool {
    proportional_kib.is_some_and(|kib| kib <= percent(given_kib, LIMIT_PERCENT))
}

impl OverLimit {
    /// What to say of it, as the rest of a sentence.
    pub(crate) fn sentence(&self) -> String {
        let mib = |kib: u64| kib / 1024;
        format!(
            "{} MiB in memory where {} are its share, and its container {} of {}: it was ended before YARN would \
             have ended the container with all that runs in it",
            mib(self.resident_kib),
            mib(self.share_kib),
            mib(self.container_kib),
            mib(self.given_kib)
        )
    }
}

const fn percent(of: u64, percent: u64) -> u64 {
    of.saturating_mul(percent) / 100
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Id;
    use job::JobId;

    fn held(job: u32, resident_kib: u64, share_kib: u64) -> ResidentMemory {
        let (job, number) = (JobId(job), 0);
        ResidentMemory {
            id: Id { job, number },
            resident_kib,
            share_kib,
        }
    }

    #[test]
    fn whoever_is_most_beyond_its_share_ends_and_nobody_before_the_limit() {
        let all = || [held(1, 500, 600), held(2, 400, 100), held(3, 90, 100)].into_iter();
        assert_eq!(over(950, 1000, all()), None);
        let found = over(951, 1000, all()).unwrap();
        assert_eq!((found.id.job, found.resident_kib), (JobId(2), 400));
        // Whoever keeps to his share may have it.
        let modest = || [held(1, 600, 600), held(2, 390, 400)].into_iter();
        assert_eq!(over(990, 1000, modest()), None);
        assert_eq!(over(1001, 1000, modest()).unwrap().id.job, JobId(1));
        // What the container was given is not known.
        assert_eq!(over(951, 0, all()), None);
        // It is the launcher's own, and nobody can help it.
        assert_eq!(over(951, 1000, [].into_iter()), None);
    }

    #[test]
    fn looks_are_closer_where_it_becomes_narrow() {
        let (ms, quick) = (Duration::from_millis, Duration::from_micros(200));
        assert_eq!(pause(700, 700, 1000, quick), CALM);
        assert_eq!(pause(701, 701, 1000, quick), ALARMED);
        assert_eq!(pause(701, 0, 0, quick), Duration::MAX);
        // A node with very many processes, or a busy one: what stands still costs little.
        for resident in [700, 701] {
            assert_eq!(pause(resident, resident, 1000, ms(5)), ms(500));
            assert_eq!(pause(resident, resident - 10, 1000, ms(40)), LONGEST);
        }
        // What becomes more is not lost sight of.
        assert_eq!(pause(700, 100, 1000, ms(40)), LONGEST);
        assert_eq!(pause(701, 690, 1000, ms(40)), ms(160));
        assert_eq!(pause(701, 690, 1000, ms(2)), ALARMED);
        // It was more before.
        assert_eq!(pause(701, 900, 1000, ms(5)), ms(500));
        assert!(is_below(Some(950), 1000) && !is_below(Some(951), 1000) && !is_below(None, 1000));
    }
}
