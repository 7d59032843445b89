//! Orders in which reduces are handed their keys, with jobs of closures.

use gerbil_mapreduce::prelude::*;

/// Each key with its values in a row: `KEY\tVALUE,VALUE,…`.
#[cfg(test)]
fn listed(order: Order) -> Job2 {
    Job::new("listed")
        .set("mapreduce.task.io.sort.mb", "1")
        .map_lines::<Text, Text, _>(|line, out| {
            let at = line.iter().position(|byte| *byte == b' ').unwrap_or(0);
            out.emit(&line[..at], &line[at + 1..])
        })
        .order(order)
        .reduce_with::<Text, Text, _>(|key, values, out| {
            let mut all = Vec::new();
            while let Some(value) = values.next()? {
                all.extend_from_slice(value);
                all.push(b',');
            }
            out.emit(key, &all)
        })
}

#[cfg(test)]
type Job2 = gerbil_mapreduce::Ready<Text, Text>;

#[cfg(test)]
fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn grouped_has_the_same_groups_as_sorted() {
    // Long keys that begin alike, in more than one spill.
    let lines: String = (0..40_000_u32)
        .map(|n| format!("/a/path/that/begins/alike/{} {n}\n", n * 7919 % 1009))
        .collect();
    let run = |order| {
        listed(order)
            .test()
            .input(&lines)
            .input(&lines)
            .run()
            .unwrap()
    };
    let (one, other) = (run(Order::Sorted), run(Order::Grouped));
    assert!(one.text().lines().is_sorted());
    assert!(!other.text().lines().is_sorted());
    assert_eq!(sorted(&one.text()), sorted(&other.text()));
    assert_eq!(other.text(), run(Order::Grouped).text(), "twice the same");
    assert_eq!(
        other.counter(
            "org.apache.hadoop.mapreduce.TaskCounter",
            "REDUCE_INPUT_GROUPS"
        ),
        1009
    );
    assert!(
        other.counter("gerbil", "SPILLS") > 2,
        "both maps spill more than once"
    );
}

#[test]
fn none_is_the_order_of_emission() {
    let lines: String = (0..40_000_u32)
        .map(|n| format!("k{} {n}\n", n / 3 % 5))
        .collect();
    let done = listed(Order::None)
        .test()
        .input(&lines)
        .input("k9 a\nk1 b\n")
        .run()
        .unwrap();
    let text = done.text();
    let mut found = text.lines();
    assert_eq!(found.next(), Some("k0\t0,1,2,"));
    assert_eq!(found.next(), Some("k1\t3,4,5,"));
    let values: Vec<&str> = text
        .lines()
        .flat_map(|line| line.split_once('\t').unwrap().1.split(','))
        .filter(|value| !value.is_empty())
        .collect();
    let wanted: Vec<String> = (0..40_000).map(|n| n.to_string()).collect();
    assert_eq!(values[..40_000], wanted);
    assert_eq!(
        text.lines().rev().take(2).collect::<Vec<_>>(),
        ["k1\tb,", "k9\ta,"]
    );
}

#[test]
fn sums_go_out_under_the_user_s_keys_whatever_is_stored_before_them() {
    let job = Job::new("lengths").map_lines::<Text, u64, _>(|line, out| out.emit(line, &1));
    let test = job.order(Order::Grouped).reduce(|| Sum).test();
    let text = test.input("a\nbc\na\n").run().unwrap().text();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["a\t2", "bc\t1"]);
    // The first key of a group that a part of it makes.
    let job = Job::new("pairs").map_lines::<(Text, Text), u64, _>(|line, out| {
        out.emit(&(line.get(..1).unwrap_or_default(), line), &1)
    });
    let test = job.group_by_first().reduce(|| Sum).test();
    let text = test.input("ay\nb\nax\n").run().unwrap().text();
    assert_eq!(text, "a\tax\t2\nb\tb\t1\n");
}
