//! What is done by keys: order, reduces, aggregates, combiners.

use super::{FOLDER, failure, streaming, text};
use crate::job;
use crate::plan::{Stage, StreamPlan};
use gerbil_mapreduce::Test;

#[test]
fn keys_are_in_the_order_of_their_comparator_and_come_as_they_were() {
    let input = "a.10\tx\nb.9\ty\na.9\tz\nb.100\tw\n";
    for (options, wanted) in [
        ("-k2,2nr", "b.100\tw\na.10\tx\na.9\tz\nb.9\ty\n"),
        ("-k1,1r -k2n", "b.9\ty\nb.100\tw\na.9\tz\na.10\tx\n"),
    ] {
        let set = |test: Test| {
            let test = test.input(input).set("stream.comparator.options", options);
            test.set("stream.key.field.separator", ".")
        };
        assert_eq!(text(set(streaming("cat", Some("cat")))), wanted);
    }
    // Without reduces nothing is ordered, and keys are what they are.
    let test = streaming("cat", None).input("b\t1\na\t2\n");
    let test = test.set("mapreduce.job.reduces", "0");
    assert_eq!(
        text(test.set("stream.comparator.options", "-n")),
        "b\t1\na\t2\n"
    );
}

#[test]
fn keys_of_one_part_come_to_one_reduce() {
    let line = |number| format!("k{}.{number}\t\n", number % 5);
    let input: String = (0..50).map(line).collect();
    let test = streaming("cat", Some("cat")).input(&input).reduces(3);
    let test = test.set("stream.partition.by.fields", "true");
    let test = test.set("stream.partition.options", "-k1,1");
    let done = test.set("stream.key.field.separator", ".").run().unwrap();
    let mut all = 0;
    for name in ["part-00000", "part-00001", "part-00002"] {
        let part = String::from_utf8(done.files()[name].clone()).unwrap();
        let keys: std::collections::BTreeSet<&str> = part.lines().map(|line| &line[..2]).collect();
        all += keys.len();
    }
    assert_eq!(all, 5);
}

#[test]
fn keys_say_how_their_values_are_joined() {
    let words = "awk '{for (i=1;i<=NF;i++) print \"LongValueSum:\" $i \"\\t1\"}'";
    let plan = StreamPlan {
        map: Stage::Command(words.to_owned()),
        reduce: Stage::Aggregate,
        folder: Some(FOLDER.with(|folder| folder.path().to_str().unwrap().to_owned())),
        ..StreamPlan::default()
    };
    let test = streaming(words, Some("cat")).input("to be or not to be\n");
    let test = test.params(&plan).unwrap();
    assert_eq!(text(test), "be\t2\nnot\t1\nor\t1\nto\t2\n");
}

/// A job with a combiner.
pub(super) fn combining(map: &str, combine: Stage, reduce: Stage) -> Test {
    let plan = StreamPlan {
        map: Stage::Command(map.to_owned()),
        combine: Some(combine),
        reduce,
        folder: Some(FOLDER.with(|folder| folder.path().to_str().unwrap().to_owned())),
        ..StreamPlan::default()
    };
    let test = job().test().params(&plan).unwrap().reduces(1);
    test.set("gerbil.combine", "true")
}

const ADD: &str = "awk -F'\\t' '{n[$1]+=$2} END {for (k in n) print k \"\\t\" n[k]}'";
const TASK_COUNTER: &str = "org.apache.hadoop.mapreduce.TaskCounter";

#[test]
fn a_combiner_s_command_reads_sorted_records_of_each_spill_and_prints_fewer_in_any_order() {
    let input: String = (0..300_000)
        .map(|number| format!("word{}\t1\n", number % 700))
        .collect();
    let cat = || Stage::Command("cat".to_owned());
    let test = combining("cat", Stage::Command(ADD.to_owned()), cat()).input(&input);
    let done = test.set("mapreduce.task.io.sort.mb", "2").run().unwrap();
    let spills = done.counter("gerbil", "SPILLS");
    assert!(spills > 3, "{spills}");
    assert_eq!(done.counter(TASK_COUNTER, "REDUCE_INPUT_RECORDS"), 700);
    let text = done.text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 700);
    assert!(lines.is_sorted_by_key(|line| line.split('\t').next().map(str::to_owned)));
    let sum = |line: &&str| line.split('\t').nth(1).unwrap().parse::<u64>().unwrap();
    assert_eq!(lines.iter().map(sum).sum::<u64>(), 300_000);
}

#[test]
fn a_combiner_keeps_the_order_that_comparators_ask_for() {
    let add = "awk -F'\\t' '{if ($1 != k) {if (NR > 1) print k \"\\t\" n; k = $1; n = 0} n += $2} \
               END {print k \"\\t\" n}'";
    let add = || Stage::Command(add.replace("\\\n               ", ""));
    let test = combining("cat", add(), add()).input("2\t1\n10\t1\n9\t1\n10\t1\n");
    let test = test.set("stream.comparator.options", "-nr");
    let done = test.run().unwrap();
    assert_eq!(done.text(), "10\t2\n9\t1\n2\t1\n");
    assert_eq!(done.counter(TASK_COUNTER, "COMBINE_INPUT_RECORDS"), 4);
    assert_eq!(done.counter(TASK_COUNTER, "COMBINE_OUTPUT_RECORDS"), 3);
}

#[test]
fn aggregates_are_joined_before_they_are_handed_on() {
    let words = "awk '{for (i=1;i<=NF;i++) {print \"LongValueSum:\" $i \"\\t2\"; print \"UniqValueCount:u\\t\" $i; \
                 print \"ValueHistogram:h\\t\" $i; print \"StringValueMax:m\\t\" $i; print \"DoubleValueSum:d\\t0.5\"}}'";
    let words = words.replace("\\\n                 ", "");
    let test = combining(&words, Stage::Aggregate, Stage::Aggregate).input("to be or not to be\n");
    let done = test.run().unwrap();
    assert_eq!(
        done.text(),
        "d\t3.0\nbe\t4\nnot\t2\nor\t2\nto\t4\nm\tto\nu\t4\nh\t4\t1\t2\t2\t1.5\t0.5\n"
    );
    assert_eq!(done.counter(TASK_COUNTER, "COMBINE_INPUT_RECORDS"), 30);
    assert_eq!(done.counter(TASK_COUNTER, "REDUCE_INPUT_RECORDS"), 14);
}

#[test]
fn a_combiner_that_fails_fails_its_map_with_what_it_said() {
    let fails = Stage::Command("sh -c \"echo no such thing >&2; exit 3\"".to_owned());
    let said = failure(combining("cat", fails, Stage::Identity).input("a\t1\n"));
    for part in ["combiner: ", "ended with exit code 3", "no such thing"] {
        assert!(said.contains(part), "{said}");
    }
    let counts = "sh -c \"cat; echo reporter:counter:g,c,2 >&2; echo $PWD >&2\"";
    let test = combining("cat", Stage::Command(counts.to_owned()), Stage::Identity);
    let done = test.input("a\t1\n").run().unwrap();
    assert_eq!(done.text(), "a\t1\n");
    assert_eq!(done.counter("g", "c"), 2);
}
