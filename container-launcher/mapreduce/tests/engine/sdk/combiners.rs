//! Combiners that are reducers.

use std::collections::HashMap;

use gerbil_mapreduce::prelude::*;
use gerbil_mapreduce::{Test, Tested};

const TASK: &str = "org.apache.hadoop.mapreduce.TaskCounter";

/// Adds up, and counts the groups.
#[cfg(test)]
struct Adding;

#[cfg(test)]
impl Reducer<Text, u64> for Adding {
    type Key = Text;
    type Value = u64;

    fn reduce(
        &mut self,
        key: &[u8],
        values: &mut Values<'_, Text, u64>,
        out: &mut Output<'_, Text, u64>,
    ) -> Result<()> {
        out.count("adding", "groups", 1);
        let sum = values.fold(0, |sum, value| Ok(sum + value))?;
        out.emit(key, &sum)
    }
}

/// Adds up in a hash table, whose order is any, and emits at its end.
#[cfg(test)]
#[derive(Default)]
struct Late(HashMap<Vec<u8>, u64>);

#[cfg(test)]
impl Reducer<Text, u64> for Late {
    type Key = Text;
    type Value = u64;

    fn reduce(
        &mut self,
        key: &[u8],
        values: &mut Values<'_, Text, u64>,
        _: &mut Output<'_, Text, u64>,
    ) -> Result<()> {
        let sum = values.fold(0, |sum, value| Ok(sum + value))?;
        *self.0.entry(key.to_vec()).or_default() += sum;
        Ok(())
    }

    fn cleanup(&mut self, out: &mut Output<'_, Text, u64>) -> Result<()> {
        out.status("all of them")?;
        let mut all = self.0.iter();
        all.try_for_each(|(key, sum)| out.emit(key.as_slice(), sum))
    }
}

/// Takes the first value alone, and fails at a key that says so.
#[cfg(test)]
struct First;

#[cfg(test)]
impl Reducer<Text, u64> for First {
    type Key = Text;
    type Value = u64;

    fn reduce(
        &mut self,
        key: &[u8],
        values: &mut Values<'_, Text, u64>,
        out: &mut Output<'_, Text, u64>,
    ) -> Result<()> {
        match (key, values.next()?) {
            (b"bad", _) => Err(Error::new("that key is bad")),
            (_, Some(value)) => out.emit(key, &value),
            (_, None) => Ok(()),
        }
    }
}

/// 400,000 records of 1,000 keys, which an arena of a MiB does not hold.
#[cfg(test)]
fn lines() -> String {
    (0..400_000_u32)
        .map(|number| format!("a key of some length {}\n", number * 7919 % 1000))
        .collect()
}

/// What stands on each line, once, and how the records are combined.
macro_rules! counting {
    ($combiner:expr, $order:expr) => {
        Job::new("counting")
            .map_lines::<Text, u64, _>(|line, out| out.emit(line, &1))
            .order($order)
            .combine_groups($combiner)
            .reduce(|| Sum)
            .test()
            .input(lines())
            .set("mapreduce.task.io.sort.mb", "1")
    };
}

#[cfg(test)]
fn of_each_key(test: Test) -> Tested {
    let done = test.reduces(3).run().unwrap();
    let text = done.text();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    let wanted = (0..1000).map(|key| format!("a key of some length {key}\t400"));
    let mut wanted: Vec<String> = wanted.collect();
    wanted.sort_unstable();
    assert!(lines == wanted, "{:?}", lines.first());
    done
}

#[test]
fn groups_are_combined_at_each_spill_and_once_more_when_spills_are_merged() {
    for order in [Order::Sorted, Order::Grouped] {
        let test = match order {
            Order::Grouped => counting!(|| Adding, Order::Grouped),
            Order::Sorted | Order::None => counting!(|| Adding, Order::Sorted),
        };
        let done = of_each_key(test);
        let spills = done.counter("gerbil", "SPILLS");
        assert!(spills > 10, "{spills}");
        // Of each spill each key, and of all of them each key again.
        assert_eq!(done.counter("adding", "groups"), (spills + 1) * 1000);
        let (taken, emitted) = (400_000 + spills * 1000, (spills + 1) * 1000);
        assert_eq!(done.counter(TASK, "COMBINE_INPUT_RECORDS"), taken);
        assert_eq!(done.counter(TASK, "COMBINE_OUTPUT_RECORDS"), emitted);
        assert_eq!(done.counter(TASK, "MAP_OUTPUT_RECORDS"), 400_000);
        assert_eq!(done.counter(TASK, "REDUCE_INPUT_RECORDS"), 1000);
    }
}

#[test]
fn neighbours_are_combined_where_nothing_is_sorted() {
    let job = Job::new("counting").map_lines::<Text, u64, _>(|line, out| out.emit(line, &1));
    let job = job
        .order(Order::None)
        .combine_groups(|| Adding)
        .reduce(|| Sum);
    let done = job.test().input("b\nb\na\na\nb\n").run().unwrap();
    assert_eq!(done.text(), "b\t2\na\t2\nb\t1\n");
    assert_eq!(done.counter(TASK, "REDUCE_INPUT_RECORDS"), 3);
}

#[test]
fn what_a_combiner_emits_in_any_order_reaches_reduces_in_theirs() {
    let done = of_each_key(counting!(Late::default, Order::Sorted));
    assert_eq!(done.counter(TASK, "REDUCE_INPUT_RECORDS"), 1000);
    assert_eq!(done.counter(TASK, "REDUCE_INPUT_GROUPS"), 1000);
    let parts: Vec<&Vec<u8>> = done.files().values().collect();
    assert_eq!(parts.len(), 3);
    for part in parts {
        let part = String::from_utf8_lossy(part);
        let keys: Vec<&str> = part.lines().collect();
        assert!(keys.is_sorted());
    }
    assert_eq!(
        done.status().last().map(String::as_str),
        Some("all of them")
    );
}

#[test]
fn a_combiner_that_fails_is_named_with_its_key_and_no_record() {
    let job = Job::new("counting").map_lines::<Text, u64, _>(|line, out| out.emit(line, &1));
    let job = job.combine_groups(|| First).reduce(|| Sum);
    let test = job.test().input("good\nbad\nworse\n");
    let said = test.run().map(|_| ()).unwrap_err().to_string();
    assert!(
        said.contains("combiner: key \"bad\": that key is bad"),
        "{said}"
    );
    assert!(!said.contains("record"), "{said}");
}

#[test]
fn values_that_a_combiner_leaves_are_gone_and_gerbil_combine_leaves_it_out() {
    for (combines, sum) in [("true", 1), ("false", 3)] {
        let job = Job::new("counting").map_lines::<Text, u64, _>(|line, out| out.emit(line, &1));
        let test = job.combine_groups(|| First).reduce(|| Sum).test();
        let test = test.input("a\na\na\nb\n").set("gerbil.combine", combines);
        let done = test.run().unwrap();
        assert_eq!(done.text(), format!("a\t{sum}\nb\t1\n"));
        let taken = done.counter(TASK, "COMBINE_INPUT_RECORDS");
        assert_eq!(taken, if sum == 1 { 2 } else { 0 });
    }
    let job = Job::new("counting").map_lines::<Text, u64, _>(|line, out| out.emit(line, &1));
    let test = job.combine(|| Sum).reduce(|| Sum).test().input("a\na\n");
    let done = test.set("gerbil.combine", "false").run().unwrap();
    assert_eq!(done.counter(TASK, "REDUCE_INPUT_RECORDS"), 2);
}
