//! The contract with commands, by commands: `sh`, `cat`, `awk`.

mod ends;
mod forms;
mod keys;
mod skipping;

use gerbil_mapreduce::{Error, Test, Tested};

use crate::job;
use crate::plan::{Stage, StreamPlan};

thread_local! {
    /// Of each test, whose thread ends with it.
    static FOLDER: tempfile::TempDir = tempfile::tempdir().unwrap();
}

/// A job of a mapper and perhaps a reducer.
fn streaming(map: &str, reduce: Option<&str>) -> Test {
    let folder = FOLDER.with(|folder| folder.path().to_owned());
    let plan = StreamPlan {
        map: Stage::Command(map.to_owned()),
        reduce: reduce.map_or(Stage::Identity, |command| {
            Stage::Command(command.to_owned())
        }),
        folder: Some(folder.to_str().unwrap().to_owned()),
        environment: vec![("OWN".to_owned(), "a b".to_owned())],
        ..StreamPlan::default()
    };
    let test = job().test().params(&plan).unwrap();
    test.reduces(u32::from(reduce.is_some()))
}

fn text(test: Test) -> String {
    test.run().unwrap().text()
}

fn failure(test: Test) -> String {
    let failed: Result<Tested, Error> = test.run();
    failed
        .map(|done| panic!("{}", done.text()))
        .unwrap_err()
        .to_string()
}

#[test]
fn lines_are_cut_at_the_first_tab_and_always_have_one() {
    let test = streaming("cat", None).input("k\tv\tw\nalone\n\n\tno key\n");
    assert_eq!(text(test), "k\tv\tw\nalone\t\n\t\n\tno key\n");
}

#[test]
fn ends_of_lines_are_what_commands_know() {
    let test = streaming("sh -c \"tr 'b' '\\r'\"", None).input("a\tx\r\nb\ty\rlast");
    assert_eq!(text(test), "a\tx\n\t\n\ty\nlast\t\n");
}

#[test]
fn fields_of_the_key_and_separators_are_settings() {
    let test = streaming("cat", None)
        .input("11.12.1.2\n1.2\n")
        .set("stream.map.output.field.separator", ".")
        .set("stream.num.map.output.key.fields", "2");
    assert_eq!(text(test), "11.12\t1.2\n1.2\t\n");
    let test = streaming("cat", Some("sed 's/^/>/'"))
        .input("a b c\n")
        .set("stream.map.output.field.separator", " ")
        .set("stream.reduce.input.field.separator", "=")
        .set("stream.reduce.output.field.separator", "=");
    assert_eq!(text(test), ">a\tb c\n");
}

#[test]
fn a_reducer_reads_the_records_of_all_keys_in_their_order() {
    let count = "awk '{n[$1]+=$2} END {for (k in n) print k \"\\t\" n[k]}'";
    let words = "awk '{for (i=1;i<=NF;i++) print $i \"\\t1\"}'";
    let test = streaming(words, Some(count))
        .input("to be or not\n")
        .input("to be\n");
    let mut lines: Vec<String> = text(test).lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, ["be\t2", "not\t1", "or\t1", "to\t2"]);
    let test = streaming("cat", Some("cat")).input("b\t2\na\t1\nb\t1\n");
    assert_eq!(text(test), "a\t1\nb\t2\nb\t1\n");
}

#[test]
fn keys_are_handed_to_mappers_unless_they_are_offsets_of_lines() {
    let format = "stream.map.input.format";
    let test = streaming("cat", None).input("a\nbc\n").set(format, "nline");
    assert_eq!(text(test), "0\ta\n2\tbc\n");
    let test = streaming("cat", None)
        .input("a\nbc\n")
        .set(format, "nline")
        .set("stream.map.input.ignoreKey", "true");
    assert_eq!(text(test), "a\t\nbc\t\n");
    let test = streaming("cat", None)
        .input("a,b\n")
        .set(format, "keyvalue")
        .set(
            "mapreduce.input.keyvaluelinerecordreader.key.value.separator",
            ",",
        );
    assert_eq!(text(test), "a\tb\n");
}

#[test]
fn records_between_marks_are_lines_that_end_with_a_tab() {
    let page = |number: usize| format!("<p>{number}{}</p>", "\n\tx".repeat(number % 50));
    let pages: String = (0..200)
        .map(|number| page(number) + "<!--between-->\n")
        .collect();
    let test = streaming("tr -d '\\t'", None)
        .input(&pages)
        .set("stream.map.input.format", "xml")
        .set("stream.recordreader.begin", "<p>")
        .set("stream.recordreader.end", "</p>")
        .split_every(1000);
    let wanted: String = (0..200).map(|number| page(number) + "\n").collect();
    let done = test.run().unwrap();
    assert_eq!(done.text().replace('\t', ""), wanted.replace('\t', ""));
    let group = "org.apache.hadoop.mapreduce.TaskCounter";
    assert_eq!(done.counter(group, "MAP_INPUT_RECORDS"), 200);
}

#[test]
fn a_task_that_writes_nothing_leaves_no_file_where_that_is_asked_for() {
    let names = |is_lazy: &str, map: &str, reduce: Option<&str>| {
        let test = streaming(map, reduce).input("a\n").input("b\n");
        let done = test.set("stream.output.lazy", is_lazy).run().unwrap();
        done.files().keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(names("true", "sed -n /b/p", None), ["part-00001"]);
    assert_eq!(
        names("false", "sed -n /b/p", None),
        ["part-00000", "part-00001"]
    );
    assert_eq!(names("true", "cat", Some("sed d")), [""; 0]);
    assert_eq!(names("true", "cat", Some("cat")), ["part-00000"]);
}

#[test]
fn records_of_the_input_are_lines() {
    let lines: String = (0..100_000)
        .map(|number| format!("line {number}\n"))
        .collect();
    let done = streaming("wc -l", None).input(&lines).run().unwrap();
    assert_eq!(done.text().trim(), "100000");
    let group = "org.apache.hadoop.mapreduce.TaskCounter";
    assert_eq!(done.counter(group, "MAP_INPUT_RECORDS"), 100_000);
    assert_eq!(done.counter(group, "MAP_OUTPUT_RECORDS"), 1);
    let text = text(streaming("cat", None).input(&lines).split_every(10_000));
    assert_eq!(text.replace('\t', ""), lines);
}

#[test]
fn a_command_that_prints_much_before_it_reads_and_one_that_reads_much_before_it_prints() {
    let lines = "0123456789012345678901234567890123456789\t\n".repeat(200_000);
    let test = streaming("sh -c \"yes no | head -2000000; cat\"", None).input(&lines);
    assert_eq!(text(test).len(), 2_000_000 * 4 + lines.len());
    let test = streaming("sort -r", None).input(&lines);
    assert_eq!(text(test), lines);
}

#[test]
fn a_reducer_without_input_writes_nothing() {
    let test = streaming("grep -c nothing", Some("sh -c \"cat; echo end\"")).input("");
    let failed = failure(test);
    assert!(failed.contains("ended with exit code 1"), "{failed}");
    let test = streaming("cat", Some("sh -c \"cat; echo end\"")).input("");
    assert_eq!(text(test), "");
    let test = streaming("sh -c \"cat; echo end\"", None).input("");
    assert_eq!(text(test), "end\t\n");
}

#[test]
fn settings_and_the_task_are_variables() {
    let script = "sh -c \"cat; echo $mapreduce_map_input_file $map_input_start $mapreduce_map_input_length \
                  $mapreduce_task_partition $mapreduce_task_ismap $my_own $OWN; env | grep -c GERBIL_ROLE; true\"";
    let test = streaming(script, None)
        .file("/in/a.txt", "abc")
        .set("my.own", "x");
    assert_eq!(
        text(test),
        "abc\t\nfile:/in/a.txt 0 3 0 true x a b\t\n0\t\n"
    );
}

#[test]
fn what_begins_as_a_report_is_one() {
    let script = "sh -c \"cat >/dev/null; echo reporter:counter:G,c,3 >&2; echo reporter:counter:G,c,4 >&2; \
                  echo reporter:status:half >&2; echo reporter:nonsense >&2; printf reporter:counter:G,last,1 >&2\"";
    let done = streaming(script, None).input("x\n").run().unwrap();
    assert_eq!((done.counter("G", "c"), done.counter("G", "last")), (7, 1));
    assert_eq!(done.status(), ["half"]);
}

#[test]
fn a_counter_may_shrink_below_nothing_too() {
    let script =
        "sh -c \"cat >/dev/null; for by in 5 -2 +3; do echo reporter:counter:G,c,$by >&2; done\"";
    let done = streaming(script, None).input("x\n").run().unwrap();
    assert_eq!(done.counter("G", "c"), 6);
    let script = "sh -c \"cat >/dev/null; echo reporter:counter:G,c,-2 >&2\"";
    let done = streaming(script, None).input("x\n").run().unwrap();
    assert_eq!(done.counter("G", "c"), -2);
}
