//! Records that are left out because a command fails on them.

use super::{failure, streaming};

const RECORDS: &str = "mapreduce.map.skip.maxrecords";
const GROUPS: &str = "mapreduce.reduce.skip.maxgroups";

/// Lines of which one is bad, far from both ends.
fn lines(bad: usize) -> String {
    let line = |number| match number == bad {
        true => "bad\n".to_owned(),
        false => format!("k{number:05}\t{number}\n"),
    };
    (0..20_000).map(line).collect()
}

const DIES: &str =
    "awk '{ if ($1 == \"bad\") { print \"what is that\" > \"/dev/stderr\"; exit 3 } print }'";

#[test]
fn a_record_on_which_a_mapper_s_command_fails_is_found_however_far_that_reads_ahead() {
    for bad in [0, 1, 7777, 19_999] {
        let at: usize = lines(bad)
            .lines()
            .take(bad)
            .map(|line| line.len() + 1)
            .sum();
        let test = streaming(DIES, None).input(lines(bad)).set(RECORDS, "1");
        let said = failure(test);
        let begins = format!("input-0, record {bad} at byte {at}: it begins with \"bad\": `awk ");
        assert!(said.starts_with(&begins), "{said}");
        assert!(said.contains("ended with exit code 3"), "{said}");
        assert!(
            said.ends_with("the last that it said: what is that"),
            "{said}"
        );
    }
    // One that reads everything first.
    let late = "sh -c 'sort > all; ! grep -q bad all'";
    let said = failure(streaming(late, None).input(lines(7777)).set(RECORDS, "1"));
    assert!(said.starts_with("input-0, record 7777 at byte "), "{said}");
}

#[test]
fn a_record_is_found_that_means_nothing_without_those_before() {
    let named = "awk 'NR == 1 { if ($1 != \"names\") exit 4 } NR == 1 || $1 != \"bad\" { print; next } { exit 3 }'";
    let input = format!("names\n{}", lines(7777));
    let said = failure(streaming(named, None).input(input).set(RECORDS, "1"));
    assert!(said.starts_with("input-0, record 7778 at byte "), "{said}");
    assert!(said.contains("it begins with \"bad\""), "{said}");
}

#[test]
fn a_group_on_which_a_reducer_s_command_fails_is_found() {
    let input = "a\t1\nb\t2\nbad\t3\nc\t4\n";
    let test = streaming("cat", Some(DIES)).input(input).set(GROUPS, "1");
    let said = failure(test);
    assert!(
        said.starts_with("group 2: it begins with \"bad\\t3\": `awk "),
        "{said}"
    );
    // Maps have no such records.
    let test = streaming("cat", Some(DIES)).input(input).set(RECORDS, "1");
    let said = failure(test);
    assert!(said.starts_with("cleanup: `awk "), "{said}");
}

#[test]
fn a_command_that_fails_without_records_or_by_chance_is_no_record_s_fault() {
    let test = streaming("sh -c 'cat >/dev/null; exit 3'", None);
    let said = failure(test.input("a\n").set(RECORDS, "1"));
    assert!(
        said.contains("it fails without any record, too: `sh "),
        "{said}"
    );
    let folder = tempfile::tempdir().unwrap();
    let once = format!(
        "sh -c 'cat >/dev/null; mkdir {}/once && exit 3; true'",
        folder.path().display()
    );
    let said = failure(streaming(&once, None).input("a\n").set(RECORDS, "1"));
    assert!(
        said.contains("it fails on the same records at times alone: `sh "),
        "{said}"
    );
}
