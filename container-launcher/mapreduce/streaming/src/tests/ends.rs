//! How commands end, and what is said of those that fail.

use super::{failure, streaming, text};

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
    let script = "sh -c \"cat; sleep 30 & exit 0\"";
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
