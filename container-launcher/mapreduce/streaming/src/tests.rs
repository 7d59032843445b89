//! The contract with commands, by commands: `sh`, `cat`, `awk`.

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
fn a_counter_may_shrink_but_not_below_nothing() {
    let script =
        "sh -c \"cat >/dev/null; for by in 5 -2 +3; do echo reporter:counter:G,c,$by >&2; done\"";
    let done = streaming(script, None).input("x\n").run().unwrap();
    assert_eq!(done.counter("G", "c"), 6);
    let script = "sh -c \"cat >/dev/null; echo reporter:counter:G,c,-2 >&2\"";
    let failed = failure(streaming(script, None).input("x\n"));
    assert!(failed.contains("has counted -2 under G,c"), "{failed}");
}

#[test]
fn an_exit_code_is_a_failure_unless_the_job_says_otherwise() {
    let script = "sh -c \"cat; echo first >&2; echo why >&2; exit 3\"";
    let failed = failure(streaming(script, None).input("x\n"));
    let said = "ended with exit code 3; the last that it said: first | why";
    assert!(failed.ends_with(said), "{failed}");
    let setting = "stream.non.zero.exit.is.failure";
    let test = streaming(script, None).input("x\n").set(setting, "false");
    assert_eq!(text(test), "x\t\n");
    let killed = "sh -c \"kill -9 $$\"";
    let failed = failure(streaming(killed, None).input("").set(setting, "false"));
    assert!(failed.contains("was ended by signal 9"), "{failed}");
}

#[test]
fn a_command_may_leave_a_little_of_its_input_and_more_is_named_with_the_file() {
    // It has ended before it is given anything, or while it is, or afterwards.
    for _ in 0..20 {
        assert_eq!(text(streaming("echo x", None).input("a\nb\n")), "x\t\n");
        let all = "line\n".repeat((128 << 10) / 5);
        assert_eq!(text(streaming("true", None).input(&all)), "");
        let test = streaming("cat", Some("echo x")).input("a\t1\nb\t2\n");
        assert_eq!(text(test), "x\t\n");
        let more = "line\n".repeat((128 << 10) / 5 + 1);
        let failed = failure(streaming("true", None).input(&more));
        assert!(
            failed.contains("left more than 131072 bytes of its input unread"),
            "{failed}"
        );
    }
    let lines = "line\n".repeat(2_000_000);
    let failed = failure(streaming("head -1", None).input(&lines));
    assert!(failed.starts_with("input-0, "), "{failed}");
    assert!(
        failed.contains("`head -1` has ended, and left more than 131072 bytes"),
        "{failed}"
    );
    let script = "sh -c \"head -1 >/dev/null; echo bad line >&2; exit 2\"";
    let failed = failure(streaming(script, None).input(&lines));
    assert!(
        failed.contains("ended with exit code 2, when it had been given"),
        "{failed}"
    );
    assert!(
        failed.ends_with("the last that it said: bad line"),
        "{failed}"
    );
}

#[test]
fn a_command_leaves_as_much_of_its_input_as_the_job_allows() {
    let lines = "line\n".repeat(2_000_000);
    let allowed = |command: &str, lines_out: &str| {
        let test = streaming(command, None).input(&lines);
        test.set("stream.minRecWrittenToEnableSkip_", lines_out)
    };
    assert_eq!(text(allowed("head -1", "0")), "line\t\n");
    assert_eq!(text(allowed("head -2", "2")), "line\t\nline\t\n");
    let failed = failure(allowed("head -1", "2"));
    assert!(failed.contains("`head -1` has ended, and left"), "{failed}");
    let failed = failure(allowed("sh -c \"exit 3\"", "0"));
    assert!(failed.contains("ended with exit code 3"), "{failed}");
}

#[test]
fn what_a_command_starts_may_read_on_when_it_has_ended() {
    let lines = "line\n".repeat(400_000);
    let script = "sh -c \"exec 3<&0; wc -l <&3 &\"";
    assert_eq!(text(streaming(script, None).input(&lines)), "400000\t\n");
}

#[test]
fn a_command_that_never_reads_or_hangs_is_ended_with_a_sentence() {
    let lines = "line\n".repeat(2_000_000);
    for input in [lines.as_str(), "x\n"] {
        let test = streaming("sleep 1000", None).input(input);
        let failed = failure(test.set("mapreduce.task.timeout", "1500"));
        assert!(
            failed.contains("`sleep 1000` has read nothing, printed nothing and reported nothing"),
            "{failed}"
        );
    }
}

#[test]
fn a_command_that_leaves_something_behind_is_told_from_one_that_has_ended() {
    let script = "sh -c \"cat; sleep 1000 & exit 0\"";
    let test = streaming(script, None)
        .input("x\n")
        .set("mapreduce.task.timeout", "2000");
    let failed = failure(test);
    assert!(
        failed.contains("a process that it has started holds its output open"),
        "{failed}"
    );
    // Nor does one that goes on printing.
    let script = "sh -c \"cat; yes & exit 0\"";
    let test = streaming(script, None).input("x\n");
    let failed = failure(test.set("mapreduce.task.timeout", "2000"));
    assert!(
        failed.contains("a process that it has started holds its output open"),
        "{failed}"
    );
    let script = "sh -c \"cat; (while echo more; do sleep 0.1; done) >&2 & exec >/dev/null\"";
    assert_eq!(text(streaming(script, None).input("x\n")), "x\t\n");
    // What holds nothing is nobody's affair.
    let script = "sh -c \"cat; sleep 5 >/dev/null 2>&1 & exit 0\"";
    assert_eq!(text(streaming(script, None).input("x\n")), "x\t\n");
}

#[test]
fn a_line_without_end_is_refused_where_no_record_could_be_so_long() {
    let script = "sh -c \"head -c 3000000 /dev/zero | tr '\\0' x\"";
    let test = streaming(script, None)
        .input("")
        .set("mapreduce.task.io.sort.mb", "4");
    let failed = failure(test);
    assert!(
        failed.contains("has printed a line of more than 1048576 bytes"),
        "{failed}"
    );
}

#[test]
fn what_is_no_utf_8_goes_through() {
    let test = streaming("cat", Some("cat")).input(b"\xff\xfe\t\x80\n".as_slice());
    let done = test.run().unwrap();
    assert_eq!(done.files()["part-00000"], b"\xff\xfe\t\x80\n");
}

#[test]
fn a_command_that_is_not_there_is_named_with_where_it_was_looked_for() {
    let failed = failure(streaming("no-such-command -x", None).input(""));
    assert!(
        failed.contains("there is no no-such-command on "),
        "{failed}"
    );
    assert!(failed.contains("PATH of the task, "), "{failed}");
}

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

#[test]
fn what_cannot_tell_lines_apart_leaves_none_out() {
    for name in [
        "mapreduce.map.skip.maxrecords",
        "mapreduce.reduce.skip.maxgroups",
    ] {
        let none = streaming("cat", Some("cat")).input("a\n").set(name, "0");
        assert_eq!(text(none), "a\t\n");
        let test = streaming("cat", Some("cat")).input("a\n").set(name, "3");
        let said = failure(test);
        assert!(said.contains(name) && said.contains("--skip-bad"), "{said}");
    }
}

/// A job with a combiner.
fn combining(map: &str, combine: Stage, reduce: Stage) -> Test {
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
