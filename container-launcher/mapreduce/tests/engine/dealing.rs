//! How keys are dealt to reduces: what a job is told counts, and not in which order it is told.

use std::collections::BTreeMap;

use gerbil_mapreduce::prelude::*;
use gerbil_mapreduce::{Mapped, Tested};

/// What a job may be told between its mapper and its reducer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg(test)]
enum Call {
    GroupByFirst,
    TotalOrder,
    Partition,
    Grouped,
    Combine,
}

#[cfg(test)]
impl Call {
    const ALL: [Self; 5] = [
        Self::GroupByFirst,
        Self::TotalOrder,
        Self::Partition,
        Self::Grouped,
        Self::Combine,
    ];

    fn of<M: Mapper<Key = (u32, u32), Value = u64>>(self, job: Mapped<M>) -> Mapped<M> {
        match self {
            Self::GroupByFirst => job.group_by_first(),
            Self::TotalOrder => job.total_order(),
            Self::Partition => job.partition(|| Tens),
            Self::Grouped => job.order(Order::Grouped),
            Self::Combine => job.combine(|| Sum),
        }
    }
}

/// Deals by the tens of the first part.
#[cfg(test)]
struct Tens;

#[cfg(test)]
impl Partitioner<(u32, u32)> for Tens {
    fn partition(&mut self, (first, _): (u32, u32), partitions: u32) -> Result<u32> {
        Ok(first / 10 % partitions)
    }
}

#[cfg(test)]
const REDUCES: u32 = 3;
/// First parts, each of which has as many keys as another number.
#[cfg(test)]
const FIRSTS: u32 = 40;
#[cfg(test)]
const SECONDS: u32 = 25;

/// Runs a job that is told this, in this order: a line for each group has its first part, the second part of its first
/// key, and how many records it has.
#[cfg(test)]
fn run(calls: &[Call]) -> Result<Tested> {
    let job = Job::new("dealt").map_lines::<(u32, u32), u64, _>(|line, out| {
        let number: u32 = std::str::from_utf8(line)?.parse()?;
        out.emit(&(number % FIRSTS, number / FIRSTS), &1)
    });
    let job = calls.iter().fold(job, |job, call| call.of(job));
    let job = job.reduce_with::<(u32, u32), u64, _>(|key, values, out| {
        let count = values.fold(0, |sum, more| Ok(sum + more))?;
        out.emit(&key, &count)
    });
    let lines = |from: u32| -> String {
        let numbers = (from..FIRSTS * SECONDS).step_by(2);
        numbers.map(|number| format!("{number}\n")).collect()
    };
    job.test()
        .input(lines(0))
        .input(lines(1))
        .reduces(REDUCES)
        .run()
}

/// The groups of each reduce: first part, second part, records.
#[cfg(test)]
fn groups(done: &Tested) -> Vec<Vec<(u32, u32, u32)>> {
    let parts = done.files().values();
    parts
        .map(|part| {
            let text = String::from_utf8(part.clone()).unwrap();
            let lines = text.lines().map(|line| {
                let mut numbers = line.split('\t').map(|number| number.parse().unwrap());
                let mut number = || numbers.next().unwrap();
                (number(), number(), number())
            });
            lines.collect()
        })
        .collect()
}

#[cfg(test)]
fn orders(of: &[Call]) -> Vec<Vec<Call>> {
    if of.is_empty() {
        return vec![Vec::new()];
    }
    of.iter()
        .flat_map(|first| {
            let rest: Vec<Call> = of.iter().copied().filter(|call| call != first).collect();
            orders(&rest).into_iter().map(|mut order| {
                order.insert(0, *first);
                order
            })
        })
        .collect()
}

#[test]
fn a_job_is_what_it_is_told_in_whichever_order() {
    for subset in 0_u32..1 << Call::ALL.len() {
        let calls: Vec<Call> = (0..)
            .zip(Call::ALL)
            .filter(|(bit, _)| subset >> bit & 1 == 1)
            .map(|(_, call)| call)
            .collect();
        let has = |call| calls.contains(&call);
        let mut seen: Option<BTreeMap<String, Vec<u8>>> = None;
        for order in orders(&calls) {
            let done = run(&order);
            if has(Call::TotalOrder) && has(Call::Partition) {
                let words = done.unwrap_err().to_string();
                assert!(
                    words.starts_with(
                        "job dealt: total_order deals keys by ranges, and partition deals them by "
                    ) && words.contains("Tens: a job has one way"),
                    "{order:?}: {words}"
                );
                continue;
            }
            let done = done.unwrap();
            let reduces = groups(&done);
            let all: Vec<_> = reduces.iter().flatten().copied().collect();
            if has(Call::GroupByFirst) {
                let mut firsts: Vec<u32> = all.iter().map(|group| group.0).collect();
                firsts.sort_unstable();
                assert_eq!(
                    firsts,
                    (0..FIRSTS).collect::<Vec<_>>(),
                    "{order:?}: each group once"
                );
                assert!(
                    all.iter().all(|group| (group.1, group.2) == (0, SECONDS)),
                    "{order:?}: {all:?}"
                );
            } else {
                assert_eq!(all.len(), 1000, "{order:?}");
            }
            if has(Call::TotalOrder) {
                assert!(all.is_sorted(), "{order:?}: {all:?}");
                let least = all.len() / REDUCES as usize / 2;
                assert!(
                    reduces.iter().all(|reduce| reduce.len() > least),
                    "{order:?}: {reduces:?}"
                );
            }
            if has(Call::Partition) {
                for (number, reduce) in (0..).zip(&reduces) {
                    let is_here = |group: &(u32, u32, u32)| group.0 / 10 % REDUCES == number;
                    assert!(reduce.iter().all(is_here), "{order:?}: {reduces:?}");
                }
            }
            let files = done.files().clone();
            assert_eq!(
                *seen.get_or_insert_with(|| files.clone()),
                files,
                "{order:?}"
            );
        }
    }
}

/// Sorted input, as it comes out of another job: the sample has seen all of it, and not its beginning alone.
#[test]
fn ranges_of_sorted_input_have_about_as_many_keys_each() {
    let lines: String = (0..200_000)
        .map(|number| format!("{number:06} {}\n", "x".repeat(20)))
        .collect();
    let job = Job::new("sorted")
        .map_lines::<Text, (), _>(|line, out| out.emit(line, &()))
        .total_order()
        .reduce_with::<Text, (), _>(|key, _, out| out.emit(key, &()));
    let done = job.test().input(&lines).reduces(4).run().unwrap();
    let counts: Vec<usize> = done
        .files()
        .values()
        .map(|part| part.iter().filter(|byte| **byte == b'\n').count())
        .collect();
    assert!(
        counts.len() == 4 && counts.iter().all(|count| (30_000..70_000).contains(count)),
        "{counts:?}"
    );
    assert_eq!(done.text().replace('\t', ""), lines);
}

#[test]
fn a_key_that_fills_more_than_a_range_is_named_with_its_share() {
    let line = |number: u32| match number % 5 {
        0 | 1 => "often\n".to_owned(),
        _ => format!("{number}\n"),
    };
    let lines: String = (0..10_000).map(line).collect();
    let job = || {
        Job::new("hot")
            .map_lines::<Text, u64, _>(|line, out| out.emit(line, &1))
            .total_order()
            .reduce(|| Sum)
            .test()
            .input(&lines)
            .split_every(10_000)
    };
    let counter = "HOT_KEY_PER_MILLE \"often\"";
    let done = job().reduces(4).run().unwrap();
    assert!((390..=410).contains(&done.counter("gerbil", counter)));
    // Half of all would be a part of two.
    assert_eq!(
        job().reduces(2).run().unwrap().counter("gerbil", counter),
        0
    );
}

/// Lines of `NLines`, each of which has 99 bytes.
#[cfg(test)]
struct WholeLines;

#[cfg(test)]
impl Mapper for WholeLines {
    type Input = NLines;
    type Key = Text;
    type Value = ();

    fn map(&mut self, _: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        if line.len() != 99 {
            return Err(Error::new(format!("a line of {} bytes", line.len())));
        }
        out.emit(line, &())
    }
}

/// A format that does not leave out the rest of a line is sampled by whole pieces.
#[test]
fn a_sample_of_n_lines_cuts_no_line() {
    let lines: String = (0..10_000)
        .map(|number| format!("{number:099}\n"))
        .collect();
    let job = || {
        Job::new("lines")
            .map(|| WholeLines)
            .total_order()
            .reduce_with::<Text, (), _>(|key, _, out| out.emit(key, &()))
            .test()
            .set("mapreduce.input.lineinputformat.linespermap", "1000")
            .input(&lines)
            .reduces(2)
    };
    for job in [job(), job().split_every(1)] {
        let done = job.run().unwrap();
        assert_eq!(done.files().len(), 2);
        assert_eq!(done.text().replace('\t', ""), lines);
    }
}

/// What a task may count under is one bound, and a driver's sample has records of many tasks.
#[test]
fn a_sample_of_all_splits_is_not_counted_as_one_task() {
    let lines = |file: u32| -> String {
        let numbers = 0..3000;
        numbers
            .map(|number| format!("{number:04}.{file}\n"))
            .collect()
    };
    let job = Job::new("counting")
        .map_lines::<Text, (), _>(|line, out| {
            out.count("lines", std::str::from_utf8(line)?, 1);
            out.emit(line, &())
        })
        .total_order()
        .reduce_with::<Text, (), _>(|key, _, out| out.emit(key, &()));
    let done = job.test().input(lines(0)).input(lines(1)).reduces(2).run();
    let done = done.unwrap();
    assert_eq!(done.text().lines().count(), 6000);
    assert_eq!(done.counter("lines", "2999.1"), 1);
}

/// Keys come to a reduce as a combiner leaves them, and that is the same whether map output is compressed, which a launcher
/// says by the memory that is free.
#[test]
fn an_order_that_means_nothing_is_the_same_compressed_or_not() {
    let lines: String = (0..2000).map(|number| format!("{number}\n")).collect();
    let written = |given: &[(&str, &str)]| {
        let job = Job::new("joined")
            .map_lines::<Text, u64, _>(|line, out| out.emit(line, &1))
            .combine(|| Sum)
            .order(Order::None)
            .reduce_with::<Text, (), _>(|key, _, out| out.emit(key, &()));
        let job = job.test().input(&lines).reduces(1);
        let job = given
            .iter()
            .fold(job, |job, (name, value)| job.set(name, value));
        job.run().unwrap().text()
    };
    let unsaid = written(&[]);
    assert_eq!(unsaid.lines().count(), 2000);
    for value in ["true", "false"] {
        let compress = ("mapreduce.map.output.compress", value);
        assert!(written(&[compress]) == unsaid, "{compress:?}");
    }
}

/// Words, each a few times with each of some numbers: `KEY`, 60 times a line.
#[cfg(test)]
struct Numbered;

#[cfg(test)]
const NUMBERS: u64 = 60;

#[cfg(test)]
impl Mapper for Numbered {
    type Input = TextLines;
    type Key = Text;
    type Value = u64;

    fn map(&mut self, _: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        (1..=NUMBERS).try_for_each(|number| out.emit(line, &number))
    }
}

/// Deals by the number: sums of those that belong together would belong elsewhere.
#[cfg(test)]
struct ByNumber;

#[cfg(test)]
impl RecordPartitioner<Text, u64> for ByNumber {
    fn partition(&mut self, key: &[u8], number: u64, partitions: u32) -> Result<u32> {
        if number > NUMBERS {
            let key = String::from_utf8_lossy(key);
            return Err(Error::new(format!("{number} of {key} was never emitted")));
        }
        Ok(u32::try_from(number)? % partitions)
    }
}

/// The sum of each key's numbers, once for each reduce to which they belong.
#[test]
fn records_of_one_key_that_belong_to_several_reduces_are_never_combined_into_one() {
    let lines: String = (0..1500)
        .map(|line| format!("key{:02}\n", line % 50))
        .collect();
    let job = || {
        Job::new("numbered")
            .map(|| Numbered)
            .partition_records(|| ByNumber)
    };
    let expected = |reduces: u64| -> Vec<String> {
        let part = |reduce: u64| -> String {
            let numbers = (1..=NUMBERS).filter(|number| number % reduces == reduce);
            let sum = 30 * numbers.sum::<u64>();
            (0..50).map(|key| format!("key{key:02}\t{sum}\n")).collect()
        };
        (0..reduces).map(part).collect()
    };
    for reduces in [1, 3] {
        for (combiner, job) in [
            ("none", job()),
            ("fold", job().combine(|| Sum)),
            ("groups", job().combine_groups(|| Sum)),
            ("grouped", job().combine(|| Sum).order(Order::Grouped)),
        ] {
            let job = job.reduce(|| Sum).test().input(&lines).split_every(6000);
            // Small enough for several spills, which are merged.
            let job = job.set("mapreduce.task.io.sort.mb", "1").reduces(reduces);
            let done = job.run().unwrap();
            let parts = done.files().values().map(|part| {
                let mut lines: Vec<&str> = std::str::from_utf8(part).unwrap().lines().collect();
                lines.sort_unstable();
                lines.iter().map(|line| format!("{line}\n")).collect()
            });
            let parts: Vec<String> = parts.collect();
            assert_eq!(
                parts,
                expected(u64::from(reduces)),
                "{combiner}, {reduces} reduces"
            );
            let task = |counter| {
                let group = "org.apache.hadoop.mapreduce.TaskCounter";
                done.counter(group, counter).cast_unsigned()
            };
            assert_eq!(task("MAP_OUTPUT_RECORDS"), 1500 * NUMBERS);
            if combiner != "none" {
                assert!(
                    task("REDUCE_INPUT_RECORDS") < 1500 * NUMBERS / 4,
                    "{combiner}"
                );
            }
            if reduces > 1 {
                assert!(done.counter("gerbil", "SPILLS") > 2, "{combiner}");
            }
        }
    }
}

#[test]
fn a_partitioner_of_records_is_the_jobs_one_way_to_deal_them() {
    let test = |job: Mapped<Numbered>| job.reduce(|| Sum).test().input("key\n").reduces(2).run();
    let job = || Job::new("numbered").map(|| Numbered);
    let said = test(job().partition_records(|| ByNumber).total_order())
        .unwrap_err()
        .to_string();
    assert!(
        said.contains("partition deals them by") && said.contains("ByNumber"),
        "{said}"
    );
    // The last one stands.
    struct First;
    impl Partitioner<Text> for First {
        fn partition(&mut self, _: &[u8], _: u32) -> Result<u32> {
            Ok(0)
        }
    }
    let done = test(job().partition_records(|| ByNumber).partition(|| First)).unwrap();
    assert_eq!(done.files()["part-r-00001"], b"");
    let done = test(job().partition(|| First).partition_records(|| ByNumber)).unwrap();
    assert_eq!(done.files()["part-r-00001"], b"key\t900\n");
}
