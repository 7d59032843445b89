//! Inputs with a mapper each, and joins by key, beside plain Rust.

use std::collections::{BTreeMap, BTreeSet};

use gerbil_mapreduce::prelude::*;
use gerbil_mapreduce::{Ready, Test, Value};
use proptest::prelude::*;

type Sides = Side<Text, u32>;
/// Of the left side, and of the right.
type Records = (Vec<(u8, String)>, Vec<(u8, u32)>);

/// `KEY<TAB>TEXT`.
#[cfg(test)]
struct Names;

#[cfg(test)]
impl Mapper for Names {
    type Input = KeyValueText;
    type Key = Text;
    type Value = Sides;

    fn map(&mut self, key: &[u8], name: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        out.emit(key, &Left(name))
    }
}

/// `NUMBER KEY`, in lines that another format reads.
#[cfg(test)]
struct Counts;

#[cfg(test)]
impl Mapper for Counts {
    type Input = TextLines;
    type Key = Text;
    type Value = Sides;

    fn map(&mut self, _offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        let line = std::str::from_utf8(line)?;
        let (number, key) = line.split_once(' ').unwrap_or_default();
        out.emit(key, &Right(number.parse::<u32>()?))
    }
}

#[cfg(test)]
fn job() -> gerbil_mapreduce::Mapped<Names> {
    Job::new("joined")
        .map(|| Names)
        .and("counts", None, "numbers of keys", || Counts)
}

/// Which values go out that have none on the other side.
#[derive(Clone, Copy, Debug)]
#[cfg(test)]
struct Keeps(bool, bool);

/// What a join is: right after right, each with all left ones.
#[cfg(test)]
fn expected(lefts: &[(u8, String)], rights: &[(u8, u32)], keeps: Keeps) -> Vec<String> {
    let mut groups: BTreeMap<u8, (Vec<&str>, Vec<u32>)> = BTreeMap::new();
    for (key, name) in lefts {
        groups.entry(*key).or_default().0.push(name);
    }
    for (key, number) in rights {
        groups.entry(*key).or_default().1.push(*number);
    }
    let mut lines = Vec::new();
    for (key, (names, numbers)) in groups {
        for number in &numbers {
            lines.extend(names.iter().map(|name| format!("{key}\t{name}\t{number}")));
            if names.is_empty() && keeps.1 {
                lines.push(format!("{key}\t\t{number}"));
            }
        }
        if numbers.is_empty() && keeps.0 {
            lines.extend(names.iter().map(|name| format!("{key}\t{name}\t")));
        }
    }
    lines
}

/// Its lines; where one reduce has sorted keys, in their order, else sorted.
#[cfg(test)]
fn lines<K: Value, V: Value>(
    job: Ready<K, V>,
    (lefts, rights): &Records,
    (split, reduces): (u64, u32),
) -> Vec<String> {
    let left: String = lefts
        .iter()
        .map(|(key, name)| format!("{key}\t{name}\n"))
        .collect();
    let right: String = rights
        .iter()
        .map(|(key, number)| format!("{number} {key}\n"))
        .collect();
    // In whatever order they are said, the first input is the first one.
    let test = job.test().input_of("counts", right).input(left);
    let test = test.split_every(split).reduces(reduces);
    let done = test.set("mapreduce.task.io.sort.mb", "1").run().unwrap();
    done.text().lines().map(str::to_owned).collect()
}

#[cfg(test)]
fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort_unstable();
    lines
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn joins_are_what_plain_rust_makes_of_the_same_records(
        lefts in prop::collection::vec((0_u8..6, "[a-c\u{e4}]{0,3}"), 0..12),
        rights in prop::collection::vec((0_u8..6, 0_u32..100), 0..12),
        split in 1_u64..40,
        reduces in 1_u32..4,
    ) {
        let records = (lefts, rights);
        let wanted = |left, right| expected(&records.0, &records.1, Keeps(left, right));
        let cut = (split, reduces);
        let check = |found: Vec<String>, wanted: Vec<String>| match reduces {
            1 => (found, wanted),
            _ => (sorted(found), sorted(wanted)),
        };
        let (found, inner) = check(lines(job().reduce(|| InnerJoin), &records, cut), wanted(false, false));
        prop_assert_eq!(found, inner);
        let (found, left) = check(lines(job().reduce(|| LeftJoin), &records, cut), wanted(true, false));
        prop_assert_eq!(found, left);
        let (found, right) = check(lines(job().reduce(|| RightJoin), &records, cut), wanted(false, true));
        prop_assert_eq!(found, right);
        let (found, full) = check(lines(job().reduce(|| FullJoin), &records, cut), wanted(true, true));
        prop_assert_eq!(found, full);
        let grouped = job().order(Order::Grouped).reduce(|| FullJoin);
        prop_assert_eq!(sorted(lines(grouped, &records, cut)), sorted(wanted(true, true)));
        let ranges = job().total_order().reduce(|| FullJoin);
        prop_assert_eq!(lines(ranges, &records, cut), wanted(true, true));
        // Keys of the left side alone: an anti-join.
        let alone = job().join_with::<Text, (), _>(|key, left, right, out| match (left, right) {
            (Some(_), None) => out.emit(key, &()),
            _ => Ok(()),
        });
        let keys: BTreeSet<u8> = records.1.iter().map(|(key, _)| *key).collect();
        let alone_wanted = records.0.iter().filter(|(key, _)| !keys.contains(key));
        let alone_wanted = alone_wanted.map(|(key, _)| format!("{key}\t")).collect();
        let found = lines(alone, &records, cut).into_iter().map(|line| format!("{}\t", line.trim_end()));
        prop_assert_eq!(sorted(found.collect()), sorted(alone_wanted));
    }
}

/// Left values of one key that the buffer does not hold, and some of another.
#[test]
fn a_hot_key_is_joined_from_the_disk() {
    let name = |number: u32| format!("{number:05}{}", "x".repeat(100));
    let lefts: Vec<(u8, String)> = (0..3000)
        .map(|number| (u8::from(number % 100 == 0), name(number)))
        .collect();
    let rights = [(0, 7), (1, 8), (0, 9), (2, 1)];
    let left: String = lefts
        .iter()
        .map(|(key, name)| format!("{key}\t{name}\n"))
        .collect();
    let right: String = rights
        .iter()
        .map(|(key, number)| format!("{number} {key}\n"))
        .collect();
    let run = |sort: &str| {
        let test: Test = job().reduce(|| FullJoin).test();
        let test = test.input(&left).input_of("counts", &right);
        test.set("mapreduce.task.io.sort.mb", sort).run().unwrap()
    };
    let (small, large) = (run("1"), run("64"));
    assert_eq!(small.counter("gerbil", "JOINS_FROM_DISK"), 1);
    assert_eq!(large.counter("gerbil", "JOINS_FROM_DISK"), 0);
    let wanted = expected(&lefts, &rights, Keeps(true, true));
    assert!(small.text().lines().eq(wanted.iter().map(String::as_str)));
    assert!(small.text() == large.text());
}

/// Emits both sides.
#[cfg(test)]
struct Mixed;

#[cfg(test)]
impl Mapper for Mixed {
    type Input = KeyValueText;
    type Key = Text;
    type Value = Sides;

    fn map(&mut self, key: &[u8], name: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        out.emit(key, &Right(1_u32))?;
        out.emit(key, &Left(name))
    }
}

/// Reads no files.
#[cfg(test)]
struct Numbered;

#[cfg(test)]
impl Mapper for Numbered {
    type Input = Numbers;
    type Key = Text;
    type Value = Sides;

    fn map(&mut self, _: u64, (): (), out: &mut Emit<'_, Self>) -> Result<()> {
        out.emit("1", &Right(1_u32))
    }
}

/// Needs what the others may not have.
#[cfg(test)]
struct Devoted<const GPU: bool>;

#[cfg(test)]
impl<const GPU: bool> Mapper for Devoted<GPU> {
    type Input = KeyValueText;
    type Key = Text;
    type Value = Sides;
    const NEED: Option<&'static str> = Some(if GPU { "gpu" } else { "fpga" });

    fn map(&mut self, key: &[u8], name: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        out.emit(key, &Left(name))
    }
}

#[cfg(test)]
fn refused<K: Value, V: Value>(job: Ready<K, V>) -> String {
    let test = job.test().input("1\tann\n").input_of("counts", "7 1\n");
    test.run().unwrap_err().to_string()
}

#[test]
fn what_is_no_join_says_why() {
    let needs = |name: &'static str| Job::new(name).map(|| Devoted::<true>);
    for (found, words) in [
        (
            refused(Job::new("j").map(|| Mixed).reduce(|| InnerJoin)),
            "has no input \"counts\"",
        ),
        (
            refused(
                Job::new("j")
                    .map(|| Mixed)
                    .and("counts", None, "", || Counts)
                    .reduce(|| InnerJoin),
            ),
            "a left value came behind a right one",
        ),
        (
            refused(job().order(Order::None).reduce(|| InnerJoin)),
            "a join wants all values of a key together",
        ),
        (
            refused(
                Job::new("j")
                    .map(|| Names)
                    .and("counts", None, "", || Numbered)
                    .reduce(|| InnerJoin),
            ),
            "of several inputs each is of files",
        ),
        (
            refused(
                needs("j")
                    .and("counts", None, "", || Devoted::<false>)
                    .reduce(|| InnerJoin),
            ),
            "its mappers need gpu and fpga",
        ),
    ] {
        assert!(found.contains(words), "{found}");
    }
    let said = Job::new("j").needs("map", "cpu").map(|| Devoted::<true>);
    let said = said
        .and("counts", None, "", || Devoted::<false>)
        .reduce(|| LeftJoin);
    let done = said
        .test()
        .input("1\tann\n")
        .input_of("counts", "1\tbob\n")
        .run();
    assert_eq!(done.unwrap().text(), "1\tann\t\n1\tbob\t\n");
}
