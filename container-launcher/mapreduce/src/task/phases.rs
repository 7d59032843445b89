//! How long the task of this thread is in each phase.
//!
//! What takes long at a time is timed whenever it happens: reading a block, spilling, merging, handing a piece of output
//! over. All else is one time, of which the parts that records have in turns are estimated: of some records it is timed
//! how long they are looked for in what was read, and how long the emits take that they come to. The first ones all are, then
//! one of a sixteenth of as many as there were, and in the end one of some thousands.

use std::cell::Cell;
use std::time::{Duration, Instant};

use gerbil_task::{TaskPhase, count_phases};

use crate::context::Counters;

/// Records, or emits, between two that are timed, at most, where the clock is fast.
const GAP: u32 = 4096;
/// All of so many at first.
const FIRST: u32 = 16;
/// A clock that takes longer for two looks is slow, nanoseconds.
const FAST: u64 = 64;
/// Pairs of looks that tell how long two take.
const LOOKS: u32 = 16;

/// What is timed whenever it happens; the last one is all else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timed {
    Read,
    Collect,
    Spill,
    Merge,
    Sort,
    Write,
    /// The user's code, and what is estimated of it.
    Work,
}

/// As many as [`Timed`] has.
const KINDS: usize = Timed::Work as usize + 1;

struct Clock {
    since: Cell<Option<Instant>>,
    now: Cell<Timed>,
    took: [Cell<Duration>; KINDS],
    /// Nanoseconds of the work that belong to it.
    estimated: [Cell<u64>; KINDS],
    /// What two looks at the clock take, nanoseconds.
    own: Cell<u64>,
}

thread_local! {
    static CLOCK: Clock = const {
        Clock {
            since: Cell::new(None),
            now: Cell::new(Timed::Work),
            took: [const { Cell::new(Duration::ZERO) }; KINDS],
            estimated: [const { Cell::new(0) }; KINDS],
            own: Cell::new(0),
        }
    };
}

impl Clock {
    /// Gives the time until now to what is done.
    fn look(&self) {
        let now = Instant::now();
        if let Some(since) = self.since.get() {
            let took = &self.took[self.now.get() as usize];
            took.set(
                took.get()
                    .saturating_add(now.saturating_duration_since(since)),
            );
            self.since.set(Some(now));
        }
    }
}

/// A task begins.
pub(crate) fn begin() {
    CLOCK.with(|clock| {
        clock.since.set(Some(Instant::now()));
        clock.now.set(Timed::Work);
        clock.took.iter().for_each(|took| took.set(Duration::ZERO));
        clock.estimated.iter().for_each(|nanos| nanos.set(0));
        clock.own.set(0);
        let two = (0..LOOKS).map(|_| nanos(&worked(), &worked())).min();
        clock.own.set(two.unwrap_or(0));
    });
}

/// Does something whose time is not that of what is done around it.
pub(crate) fn within<T>(timed: Timed, work: impl FnOnce() -> T) -> T {
    let before = CLOCK.with(|clock| {
        clock.look();
        clock.now.replace(timed)
    });
    let done = work();
    CLOCK.with(|clock| {
        clock.look();
        clock.now.set(before);
    });
    done
}

/// How long the task has worked, without all that is timed by itself.
pub(crate) struct Worked(Duration);

/// As of now.
pub(crate) fn worked() -> Worked {
    CLOCK.with(|clock| {
        clock.look();
        Worked(clock.took[Timed::Work as usize].get())
    })
}

fn nanos(from: &Worked, until: &Worked) -> u64 {
    u64::try_from(until.0.saturating_sub(from.0).as_nanos()).unwrap_or(u64::MAX)
}

/// Which records are timed, or which emits of a record that is: the first ones, and then fewer and fewer.
#[derive(Debug)]
pub(crate) struct Sampled {
    left: u32,
    gap: u32,
    seen: u32,
    /// What one counts for beyond those around it.
    times: u32,
}

impl Sampled {
    /// All count for themselves.
    pub(crate) const fn some() -> Self {
        Self::once_in(1)
    }

    /// Each counts for so many.
    pub(crate) const fn once_in(times: u32) -> Self {
        Self {
            left: 1,
            gap: 1,
            seen: 0,
            times,
        }
    }

    /// Whether the next one is timed.
    #[inline]
    pub(crate) const fn is_due(&mut self) -> bool {
        self.left = self.left.wrapping_sub(1);
        self.left == 0
    }

    /// How many the one that is timed now counts for.
    pub(crate) const fn weight(&self) -> u32 {
        self.gap
    }

    /// One was timed.
    #[cold]
    pub(crate) fn took(&mut self, timed: Timed, from: &Worked) {
        CLOCK.with(|clock| {
            let took = nanos(from, &worked()).saturating_sub(clock.own.get());
            let all = &clock.estimated[timed as usize];
            let count = u64::from(self.gap).saturating_mul(u64::from(self.times));
            all.set(all.get().saturating_add(took.saturating_mul(count)));
        });
        self.passed();
    }

    /// One was due: how many are left out until the next.
    pub(crate) fn passed(&mut self) {
        let slow = CLOCK.with(|clock| clock.own.get() / FAST);
        self.seen = self.seen.saturating_add(self.gap);
        let most = GAP.saturating_mul(u32::try_from(slow).unwrap_or(u32::MAX).saturating_add(1));
        let gap = (self.seen / FIRST).clamp(1, most);
        // From half to one and a half, or a period of the input would be seen at one place only.
        let chance = self.seen.wrapping_mul(0x9E37_79B9) >> 8;
        self.gap = gap.div_ceil(2) + chance % gap;
        self.left = self.gap;
    }
}

/// The task ends: adds how long it was in each phase.
pub(crate) fn count(stage: char, counters: &mut Counters) {
    let took = CLOCK.with(|clock| {
        clock.look();
        clock.since.set(None);
        shares(
            &clock.took.each_ref().map(Cell::get),
            &clock.estimated.each_ref().map(Cell::get),
        )
    });
    let [read, collect, spill, merge, sort, write, work] = took;
    let of_map = [
        (TaskPhase::Read, read),
        (TaskPhase::Map, work),
        (TaskPhase::Collect, collect),
        (TaskPhase::Spill, spill),
        (TaskPhase::Merge, merge),
        (TaskPhase::Write, write),
    ];
    let of_reduce = [
        (TaskPhase::Sort, sort),
        (TaskPhase::Reduce, work),
        (TaskPhase::Write, write),
    ];
    match stage {
        'm' => count_phases(counters, &of_map),
        _ => count_phases(counters, &of_reduce),
    }
}

/// Takes out of the work what was estimated of it; estimates that are more than the work become less in proportion.
fn shares(took: &[Duration; KINDS], estimated: &[u64; KINDS]) -> [Duration; KINDS] {
    let work = took[Timed::Work as usize];
    let all: u128 = estimated.iter().map(|nanos| u128::from(*nanos)).sum();
    let of = all.max(work.as_nanos()).max(1);
    let mut left = work;
    let mut shares = *took;
    for (share, nanos) in shares.iter_mut().zip(estimated) {
        let part = u128::from(*nanos).saturating_mul(work.as_nanos()) / of;
        let part = Duration::from_nanos(u64::try_from(part).unwrap_or(u64::MAX)).min(left);
        left -= part;
        *share = share.saturating_add(part);
    }
    shares[Timed::Work as usize] = left;
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    fn spin(time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until {}
    }

    #[test]
    fn estimates_are_taken_out_of_the_work_and_never_more_than_it() {
        let millis = Duration::from_millis;
        let mut took = [Duration::ZERO; KINDS];
        took[Timed::Read as usize] = millis(5);
        took[Timed::Work as usize] = millis(100);
        let mut estimated = [0; KINDS];
        estimated[Timed::Read as usize] = 10_000_000;
        estimated[Timed::Collect as usize] = 30_000_000;
        let told = shares(&took, &estimated);
        assert_eq!(told[Timed::Read as usize], millis(15));
        assert_eq!(told[Timed::Collect as usize], millis(30));
        assert_eq!(told[Timed::Work as usize], millis(60));
        estimated[Timed::Collect as usize] = 190_000_000;
        let told = shares(&took, &estimated);
        assert_eq!(told[Timed::Collect as usize], millis(95));
        assert_eq!(told.iter().sum::<Duration>(), millis(105));
        assert_eq!(shares(&took, &[0; KINDS]), took);
    }

    #[test]
    fn the_first_are_timed_then_fewer_and_all_count() {
        begin();
        let mut sampled = Sampled::some();
        let mut timed = 0;
        for number in 0..100_000 {
            if sampled.is_due() {
                timed += 1;
                sampled.took(Timed::Collect, &worked());
            }
            assert!(number >= 16 || timed == number + 1, "{number}");
        }
        assert!((100..300).contains(&timed), "{timed}");
        assert!(
            (90_000..=100_000).contains(&sampled.seen),
            "{}",
            sampled.seen
        );
    }

    /// Work of three kinds in turns, one of which is timed each time, and one sometimes.
    #[test]
    fn what_is_timed_sometimes_is_told_as_if_it_were_always() {
        let before = Instant::now();
        begin();
        let began = Instant::now();
        let mut sampled = Sampled::some();
        for _ in 0..2000 {
            let from = sampled.is_due().then(worked);
            spin(Duration::from_micros(20));
            within(Timed::Spill, || spin(Duration::from_micros(10)));
            if let Some(from) = from {
                sampled.took(Timed::Collect, &from);
            }
            spin(Duration::from_micros(10));
        }
        let least = began.elapsed().as_millis() as f64;
        let mut counters = Counters::new();
        count('m', &mut counters);
        let most = before.elapsed().as_millis() as f64;
        let of = |phase: TaskPhase| {
            let found = gerbil_task::phases(&counters).find(|(of, _)| *of == phase);
            found.map_or(0.0, |(_, took)| took.as_millis() as f64)
        };
        let told = [TaskPhase::Map, TaskPhase::Collect, TaskPhase::Spill].map(of);
        let sum: f64 = told.iter().sum();
        assert!(
            sum <= most && sum > least * 0.9,
            "{told:?} of {least} to {most}"
        );
        // Of work that a busy machine has interrupted nobody knows whose it was; that of others counts for them at the least.
        assert!(told[1] > 30.0 && told[2] >= 19.0, "{told:?}");
    }

    struct Slow;

    impl Mapper for Slow {
        type Input = TextLines;
        type Key = Text;
        type Value = u64;

        fn map(&mut self, _: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
            spin(Duration::from_millis(3));
            out.emit(line, &1)
        }
    }

    impl Reducer<Text, u64> for Slow {
        type Key = Text;
        type Value = u64;

        fn reduce(
            &mut self,
            key: &[u8],
            _: &mut Values<'_, Text, u64>,
            out: &mut Output<'_, Text, u64>,
        ) -> Result<()> {
            spin(Duration::from_millis(4));
            out.emit(key, &1)
        }
    }

    #[test]
    fn a_job_counts_what_its_tasks_took() {
        let job = Job::new("slow").map(|| Slow).reduce(|| Slow);
        let done = job.test().input("a\nb\n").input("c\n").run().unwrap();
        let of = |phase: TaskPhase| done.counter("gerbil", phase.counter());
        assert!(of(TaskPhase::Map) >= 8, "{}", of(TaskPhase::Map));
        assert!(of(TaskPhase::Reduce) >= 11, "{}", of(TaskPhase::Reduce));
        assert_eq!(of(TaskPhase::Shuffle), 0);
    }
}
