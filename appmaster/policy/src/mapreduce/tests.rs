use super::*;
use crate::schedule::{AttemptIx, AttemptOutcome, ContainerIx, Stage, TaskIx};

/// A job, and the number of its last attempt.
struct Bed {
    job: MapReduceMachine,
    attempts: u32,
}

impl Bed {
    fn new(maps: u32, partitions: u32) -> Self {
        Self {
            job: MapReduceMachine::new(maps, partitions, MaxAttempts { map: 2, reduce: 3 }),
            attempts: 0,
        }
    }

    fn start(&mut self, stage: Stage, task: u32, at: u32) -> AttemptIx {
        let attempt = AttemptIx(self.attempts);
        self.attempts += 1;
        let started = Event::Started {
            attempt,
            stage,
            task: TaskIx(task),
            at: ContainerIx(at),
        };
        assert_eq!(self.job.step(started), []);
        attempt
    }

    /// A map runs at a launcher, and its records have this digest.
    fn map(&mut self, task: u32, at: u32, digest: u128) -> (AttemptIx, Vec<Action>) {
        let attempt = self.start(Stage::Map, task, at);
        let digest = Digest(digest);
        (attempt, self.job.step(Event::Mapped { attempt, digest }))
    }

    fn gather(&mut self, attempt: AttemptIx, partition: u32, home: u32) -> Vec<Action> {
        self.job.step(Event::Gathered {
            attempt,
            partition,
            home: ContainerIx(home),
        })
    }

    /// Both maps at launchers 0 and 1, gathered at 2 and 3 for both partitions, whose tasks are told.
    fn ready() -> (Self, [AttemptIx; 2]) {
        let mut bed = Self::new(2, 2);
        let (first, _) = bed.map(0, 0, 7);
        let (second, _) = bed.map(1, 1, 8);
        for partition in 0..2 {
            assert_eq!(bed.gather(first, partition, 2 + partition), []);
            assert_eq!(bed.gather(second, partition, 2 + partition), [REDUCE]);
        }
        (bed, [first, second])
    }

    fn reduce(&mut self, task: u32) -> AttemptIx {
        let attempt = self.start(Stage::Reduce, task, 4);
        let asked = self.job.step(Event::CommitAsked(attempt));
        assert_eq!(asked, [Action::Grant(attempt)]);
        attempt
    }
}

const REDUCE: Action = Action::Runnable {
    stage: Stage::Reduce,
    count: 1,
};

fn again(maps: &[u32]) -> Vec<Action> {
    vec![Action::Again(maps.iter().copied().map(TaskIx).collect())]
}

#[test]
fn every_map_may_start_as_soon_as_slots_come() {
    let mut bed = Bed::new(3, 2);
    let maps = Action::Runnable {
        stage: Stage::Map,
        count: 3,
    };
    assert_eq!(bed.job.step(Event::SlotsCome), [maps]);
}

#[test]
fn without_maps_the_reduces_start_at_once_and_end_the_job() {
    let mut bed = Bed::new(0, 2);
    let reduces = Action::Runnable {
        stage: Stage::Reduce,
        count: 2,
    };
    assert_eq!(bed.job.step(Event::SlotsCome), [reduces]);
    let first = bed.reduce(1);
    assert_eq!(bed.job.step(Event::Reduced(first)), []);
    let lost = bed.start(Stage::Reduce, 0, 5);
    assert_eq!(bed.job.step(Event::LauncherLost(ContainerIx(5))), []);
    assert!(!bed.job.counts(lost));
    let second = bed.reduce(0);
    assert_eq!(bed.job.step(Event::Reduced(second)), [Action::Done]);
}

#[test]
fn a_job_is_done_when_every_partition_has_committed() {
    let (mut bed, _) = Bed::ready();
    let first = bed.reduce(0);
    assert_eq!(bed.job.step(Event::Reduced(first)), []);
    let second = bed.reduce(1);
    assert_eq!(bed.job.step(Event::Reduced(second)), [Action::Done]);
    assert!(bed.job.is_over());
}

#[test]
fn reduces_are_numbered_in_the_order_in_which_their_input_is_complete() {
    let mut bed = Bed::new(1, 2);
    let (map, said) = bed.map(0, 0, 7);
    assert_eq!(said, [Action::Gather(map)]);
    assert_eq!(bed.gather(map, 1, 2), [REDUCE]);
    assert_eq!(bed.gather(map, 0, 2), [REDUCE]);
    let partitions = [0, 1].map(|task| bed.job.partition(TaskIx(task)));
    assert_eq!(partitions, [Some(1), Some(0)]);
    // Told once, whatever is gathered again.
    assert_eq!(bed.gather(map, 1, 2), []);
}

#[test]
fn one_attempt_may_commit_and_another_only_when_that_is_gone() {
    let (mut bed, _) = Bed::ready();
    let first = bed.reduce(0);
    let twin = bed.start(Stage::Reduce, 0, 5);
    let stop = [Action::Stop(twin)];
    assert_eq!(bed.job.step(Event::CommitAsked(twin)), stop);
    assert_eq!(bed.job.step(Event::LauncherLost(ContainerIx(4))), []);
    assert_eq!(
        bed.job.step(Event::CommitAsked(twin)),
        [Action::Grant(twin)]
    );
    assert_eq!(bed.job.step(Event::Reduced(first)), []);
    assert_eq!(bed.job.step(Event::Reduced(twin)), []);
}

#[test]
fn what_is_lost_runs_again_only_while_somebody_needs_it() {
    let mut bed = Bed::new(2, 1);
    let (first, _) = bed.map(0, 0, 7);
    let (_, _) = bed.map(1, 0, 8);
    assert_eq!(bed.gather(first, 0, 2), []);
    // The first is gathered, the second is not.
    assert_eq!(
        bed.job.step(Event::LauncherLost(ContainerIx(0))),
        again(&[1])
    );
    // With the gathered copies the first goes, too.
    assert_eq!(bed.job.step(Event::Dropped { partition: 0 }), again(&[0]));
}

#[test]
fn what_all_have_read_and_committed_is_needed_by_nobody() {
    let (mut bed, _) = Bed::ready();
    for task in 0..2 {
        let reduce = bed.reduce(task);
        let said = bed.job.step(Event::Reduced(reduce));
        if task == 0 {
            assert_eq!(said, []);
            assert_eq!(bed.job.step(Event::Dropped { partition: 0 }), []);
            assert_eq!(bed.job.step(Event::LauncherLost(ContainerIx(0))), []);
        }
    }
    assert!(bed.job.is_over());
}

#[test]
fn a_map_that_runs_again_has_to_give_the_same_records() {
    let lost = Event::LauncherLost(ContainerIx(0));
    // The same: a note.
    let mut bed = Bed::new(1, 1);
    let _first = bed.map(0, 0, 7);
    assert_eq!(bed.job.step(lost.clone()), again(&[0]));
    let (second, said) = bed.map(0, 1, 7);
    let repeated = Action::Repeated(TaskIx(0));
    assert_eq!(said, [repeated, Action::Gather(second)]);

    // Others, and nobody has read the first.
    let mut bed = Bed::new(1, 1);
    let _first = bed.map(0, 0, 7);
    assert_eq!(bed.job.step(lost.clone()), again(&[0]));
    let (second, said) = bed.map(0, 1, 9);
    assert_eq!(said, [Action::Gather(second)]);

    // Others, and one partition reads the first: its reduce begins anew, with the second.
    let mut bed = Bed::new(1, 2);
    let (first, _) = bed.map(0, 0, 7);
    assert_eq!(bed.gather(first, 0, 2), [REDUCE]);
    let reduce = bed.start(Stage::Reduce, 0, 4);
    assert_eq!(bed.job.step(lost.clone()), again(&[0]));
    let (second, said) = bed.map(0, 1, 9);
    assert_eq!(said, [Action::Stop(reduce), Action::Gather(second)]);
    let killed = Event::Ended {
        attempt: reduce,
        how: AttemptOutcome::Killed,
    };
    assert_eq!(bed.job.step(killed), []);
    let anew = bed.start(Stage::Reduce, 0, 4);
    assert_eq!(bed.job.step(Event::CommitAsked(anew)), [Action::Stop(anew)]);
    assert_eq!(bed.gather(second, 0, 2), []);
    assert_eq!(
        bed.job.step(Event::CommitAsked(anew)),
        [Action::Grant(anew)]
    );

    // Others, and a reduce of the first has committed.
    let mut bed = Bed::new(1, 2);
    let (first, _) = bed.map(0, 0, 7);
    assert_eq!(bed.gather(first, 0, 2), [REDUCE]);
    let reduce = bed.reduce(0);
    assert_eq!(bed.job.step(Event::Reduced(reduce)), []);
    assert_eq!(bed.job.step(lost), again(&[0]));
    let (_, said) = bed.map(0, 1, 9);
    let records = JobFailure::Records {
        map: TaskIx(0),
        partition: 0,
        first: Digest(7),
        second: Digest(9),
    };
    assert_eq!(said, [Action::Fail(records)]);
}

/// Whoever reads where outputs lie keeps no copy of what is lost.
#[test]
fn who_has_read_what_is_lost_is_known_when_nothing_gathered_is_there() {
    let (mut bed, _) = Bed::ready();
    let committed = bed.reduce(0);
    let reading = bed.start(Stage::Reduce, 1, 4);
    let lose = |bed: &mut Bed| {
        for partition in 0..2 {
            assert_eq!(bed.job.step(Event::Dropped { partition }), []);
        }
        assert_eq!(
            bed.job.step(Event::LauncherLost(ContainerIx(0))),
            again(&[0])
        );
    };
    lose(&mut bed);
    let (_, said) = bed.map(0, 0, 9);
    let stopped = [Action::Stop(committed), Action::Stop(reading)];
    assert_eq!(said[..2], stopped);
    // The same where one has committed.
    let (mut bed, _) = Bed::ready();
    let committed = bed.reduce(0);
    assert_eq!(bed.job.step(Event::Reduced(committed)), []);
    lose(&mut bed);
    let (_, said) = bed.map(0, 0, 9);
    let records = JobFailure::Records {
        map: TaskIx(0),
        partition: 0,
        first: Digest(7),
        second: Digest(9),
    };
    assert_eq!(said, [Action::Fail(records)]);
}

#[test]
fn of_two_maps_of_one_task_the_first_counts() {
    let mut bed = Bed::new(1, 1);
    let slow = bed.start(Stage::Map, 0, 1);
    let slowest = bed.start(Stage::Map, 0, 2);
    let (first, said) = bed.map(0, 0, 7);
    assert_eq!(said, [Action::Gather(first)]);
    let late = |attempt, digest| Event::Mapped {
        attempt,
        digest: Digest(digest),
    };
    let map = TaskIx(0);
    assert_eq!(bed.job.step(late(slow, 7)), [Action::Repeated(map)]);
    assert_eq!(bed.job.step(late(slowest, 9)), [Action::Differed(map)]);
    assert_eq!(bed.job.step(late(slowest, 9)), [], "once");
    assert_eq!(bed.gather(slow, 0, 2), []);
    assert_eq!(bed.gather(first, 0, 2), [REDUCE]);
}

/// Whatever was ordered meanwhile: of what ends well all is kept or nothing, and this says which.
#[test]
fn an_attempt_counts_while_its_task_has_no_result_and_its_input_is_what_it_was() {
    let mut bed = Bed::new(1, 2);
    let (slow, twin) = (bed.start(Stage::Map, 0, 0), bed.start(Stage::Map, 0, 1));
    assert!(bed.job.counts(slow) && bed.job.counts(twin));
    let digest = Digest(7);
    let mapped = |attempt| Event::Mapped { attempt, digest };
    assert_eq!(bed.job.step(mapped(twin)), [Action::Gather(twin)]);
    assert!(bed.job.has_result(Stage::Map, TaskIx(0)));
    assert!(!bed.job.counts(slow) && !bed.job.counts(twin));
    // That result is lost: the slow one is not slow any more.
    let lost = Event::LauncherLost(ContainerIx(1));
    assert_eq!(bed.job.step(lost), again(&[0]));
    assert!(bed.job.counts(slow));
    let said = bed.job.step(mapped(slow));
    assert_eq!(said, [Action::Repeated(TaskIx(0)), Action::Gather(slow)]);
    // A reduce reads that one; then there is another with other records.
    assert_eq!(bed.gather(slow, 0, 2), [REDUCE]);
    let reduce = bed.start(Stage::Reduce, 0, 4);
    assert!(bed.job.counts(reduce));
    let lost = Event::LauncherLost(ContainerIx(0));
    assert_eq!(bed.job.step(lost), again(&[0]));
    assert!(bed.job.counts(reduce));
    let (other, said) = bed.map(0, 3, 8);
    assert_eq!(said, [Action::Stop(reduce), Action::Gather(other)]);
    assert!(!bed.job.counts(reduce));
    assert_eq!(bed.job.step(Event::Reduced(reduce)), []);
    assert!(!bed.job.has_result(Stage::Reduce, TaskIx(0)));
    let unknown = AttemptIx(100);
    assert!(!bed.job.counts(unknown));
}

#[test]
fn only_an_attempts_own_faults_count_against_its_task() {
    let mut bed = Bed::new(1, 1);
    let ended = |attempt, how| Event::Ended { attempt, how };
    for how in [
        AttemptOutcome::Killed,
        AttemptOutcome::Lost,
        AttemptOutcome::Failed,
    ] {
        let attempt = bed.start(Stage::Map, 0, 0);
        assert_eq!(bed.job.step(ended(attempt, how)), []);
    }
    let failure = |stage, failed| JobFailure::Attempts {
        stage,
        task: TaskIx(0),
        failed,
    };
    let attempt = bed.start(Stage::Map, 0, 0);
    assert_eq!(
        bed.job.step(ended(attempt, AttemptOutcome::Failed)),
        [Action::Fail(failure(Stage::Map, 2))]
    );
    // A reduce has attempts of its own.
    let (mut bed, _) = Bed::ready();
    for times in 1..=3 {
        let attempt = bed.start(Stage::Reduce, 0, 4);
        let said = bed.job.step(ended(attempt, AttemptOutcome::Failed));
        match times {
            3 => assert_eq!(said, [Action::Fail(failure(Stage::Reduce, 3))]),
            _ => assert_eq!(said, []),
        }
    }
}

#[test]
fn a_record_that_fails_its_map_is_left_out_and_counts_for_nothing() {
    let mut bed = Bed::new(2, 1);
    bed.job = bed.job.skipping(2, 0);
    let failed = |attempt, record| Event::FailedOn { attempt, record };
    let skip = |record| {
        vec![Action::Skip {
            stage: Stage::Map,
            task: TaskIx(0),
            record,
        }]
    };
    let (first, twin) = (bed.start(Stage::Map, 0, 0), bed.start(Stage::Map, 0, 1));
    assert_eq!(bed.job.step(failed(first, 7)), skip(7));
    assert_eq!(bed.job.step(failed(first, 8)), [], "it is gone");
    assert_eq!(bed.job.step(failed(twin, 7)), [], "told by the other");
    let second = bed.start(Stage::Map, 0, 0);
    assert_eq!(bed.job.step(failed(second, 3)), skip(3));
    assert_eq!(bed.job.skips(Stage::Map, TaskIx(0)), [3, 7]);
    assert_eq!(
        bed.job.skips(Stage::Map, TaskIx(1)),
        [0; 0],
        "each map has its own"
    );
    assert!(
        bed.job.may_skip(Stage::Map, TaskIx(0), 7) && !bed.job.may_skip(Stage::Map, TaskIx(0), 9)
    );
    // A third is one too many: that is a failure as any.
    let third = bed.start(Stage::Map, 0, 0);
    assert_eq!(bed.job.step(failed(third, 9)), []);
    let fourth = bed.start(Stage::Map, 0, 0);
    let failure = JobFailure::Attempts {
        stage: Stage::Map,
        task: TaskIx(0),
        failed: 2,
    };
    let said = bed.job.step(failed(fourth, 9));
    assert_eq!(said, [Action::Fail(failure)]);
    assert_eq!(bed.job.skips(Stage::Map, TaskIx(0)), [3, 7]);
}

#[test]
fn a_group_that_fails_its_reduce_is_left_out_and_maps_have_lists_of_their_own() {
    let mut bed = Bed::new(1, 1);
    bed.job = bed.job.skipping(0, 1);
    let (map, _) = bed.map(0, 0, 7);
    bed.gather(map, 0, 0);
    let attempt = bed.start(Stage::Reduce, 0, 0);
    let record = 4;
    let skip = Action::Skip {
        stage: Stage::Reduce,
        task: TaskIx(0),
        record,
    };
    assert_eq!(bed.job.step(Event::FailedOn { attempt, record }), [skip]);
    assert_eq!(bed.job.skips(Stage::Reduce, TaskIx(0)), [4]);
    assert_eq!(bed.job.skips(Stage::Map, TaskIx(0)), [0; 0]);
    assert!(!bed.job.may_skip(Stage::Map, TaskIx(0), 4));
    assert!(!bed.job.may_skip(Stage::Reduce, TaskIx(0), 5));
    let attempt = bed.start(Stage::Reduce, 0, 0);
    let reduced = bed.job.step(Event::Reduced(attempt));
    assert_eq!(reduced, [Action::Done]);
}

#[test]
fn without_leave_to_skip_a_failure_over_a_record_is_one_as_any() {
    let mut bed = Bed::new(1, 1);
    for times in 1..=2 {
        let attempt = bed.start(Stage::Map, 0, 0);
        let said = bed.job.step(Event::FailedOn { attempt, record: 0 });
        assert_eq!(said.len(), times - 1);
    }
    assert!(bed.job.is_over());
}

#[test]
fn a_reduce_that_has_read_everything_clears_all_launchers_that_it_has_read_from() {
    let mut bed = Bed::new(2, 3);
    let maps = [0, 1].map(|map| bed.map(map, map, 7).0);
    let failed = |attempt| Event::FetchFailed {
        attempt,
        home: ContainerIx(11),
    };
    let home = ContainerIx(10);
    assert_eq!(bed.job.step(Event::Fetched { home }), []);
    let said = bed.job.step(failed(maps[0]));
    assert_eq!(said, [Action::Verify(maps[0])]);
    let said = bed.job.step(failed(maps[1]));
    assert_eq!(said, [Action::Faulty(ContainerIx(11))]);
}

#[test]
fn a_broken_fetch_accuses_a_pair_and_others_clear_one_of_them() {
    let mut bed = Bed::new(3, 3);
    let maps = [0, 1, 2].map(|map| bed.map(map, map, 7).0);
    let failed = |attempt, home| Event::FetchFailed {
        attempt,
        home: ContainerIx(home),
    };
    // Launchers 0 and 1 serve 10; 11 can fetch from neither.
    for map in [maps[0], maps[1]] {
        assert_eq!(bed.gather(map, 0, 10), []);
    }
    let verify = |map| vec![Action::Verify(map)];
    assert_eq!(bed.job.step(failed(maps[0], 11)), verify(maps[0]));
    let faulty = |launcher| vec![Action::Faulty(ContainerIx(launcher))];
    assert_eq!(bed.job.step(failed(maps[1], 11)), faulty(11));
    // 10 and 12 fetch from others, from 2 they cannot: its output is wanted elsewhere.
    assert_eq!(bed.gather(maps[0], 1, 12), []);
    assert_eq!(bed.job.step(failed(maps[2], 10)), verify(maps[2]));
    let said = bed.job.step(failed(maps[2], 12));
    assert_eq!(said, [faulty(2), again(&[2])].concat());
}

#[test]
fn of_two_that_do_well_with_others_neither_is_at_fault() {
    let mut bed = Bed::new(3, 3);
    let maps = [0, 1, 2].map(|map| bed.map(map, map, 7).0);
    let home = ContainerIx(11);
    let failed = |attempt| Event::FetchFailed { attempt, home };
    let had = |source| Event::FetchedFrom {
        source: ContainerIx(source),
        home,
    };
    assert_eq!(bed.gather(maps[0], 0, 10), []);
    assert_eq!(bed.job.step(failed(maps[0])), [Action::Verify(maps[0])]);
    assert_eq!(bed.job.step(had(1)), []);
    let cut = Action::Cut {
        source: ContainerIx(0),
        home,
    };
    assert_eq!(bed.job.step(failed(maps[0])), [cut]);
    // It is said once.
    assert_eq!(bed.job.step(failed(maps[0])), [Action::Verify(maps[0])]);
    // With a second one it is the home.
    assert_eq!(bed.gather(maps[1], 0, 10), []);
    assert_eq!(bed.job.step(failed(maps[1])), [Action::Faulty(home)]);
}

#[test]
fn an_output_that_its_own_launcher_cannot_read_is_lost() {
    let mut bed = Bed::new(1, 1);
    let (attempt, _) = bed.map(0, 0, 7);
    let verified = |sound| Event::Verified { attempt, sound };
    assert_eq!(bed.job.step(verified(true)), []);
    assert_eq!(bed.job.step(verified(false)), again(&[0]));
}

#[test]
fn without_partitions_a_map_s_result_stays_wherever_its_launcher_is() {
    let mut bed = Bed::new(2, 0);
    let (first, said) = bed.map(0, 0, 7);
    assert_eq!(said, []);
    let slow = bed.start(Stage::Map, 1, 0);
    assert_eq!(bed.job.step(Event::LauncherLost(ContainerIx(0))), []);
    // The lost attempt may have committed all the same, which changes nothing.
    let late = Event::Mapped {
        attempt: slow,
        digest: Digest(7),
    };
    assert_eq!(bed.job.step(late), []);
    assert!(!bed.job.is_over());
    assert_eq!(bed.map(1, 1, 7).1, [Action::Done]);
    assert!(bed.job.is_over());
    assert_ne!(first, slow);
}
