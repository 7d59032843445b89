//! Records as raw bytes and as typed bytes.

use gerbil_mapreduce::Test;

use super::keys::combining;
use super::{failure, streaming, text};
use crate::plan::Stage;

/// A job without reduces, told so as the command line tells it.
fn alone(map: &str) -> Test {
    streaming(map, None).set("mapreduce.job.reduces", "0")
}

/// The same job with these forms of what a map reads and prints, and of what a reduce does.
fn with(test: Test, forms: [&str; 4]) -> Test {
    let names = crate::form::ALL.into_iter().zip(forms);
    names.fold(test, |test, (name, form)| test.set(name, form))
}

fn all(test: Test, form: &str) -> Test {
    with(test, [form; 4])
}

#[test]
fn what_a_command_is_given_it_may_print_as_it_is() {
    let input = "b\t2\na\t1\n";
    let test = || alone("cat").input(input);
    // A mapper's keys are offsets, which separators and ignoreKey do not change.
    assert_eq!(text(all(test(), "typedbytes")), "0\tb\t2\n4\ta\t1\n");
    assert_eq!(
        text(all(test(), "rawbytes")),
        "00 00 00 00 00 00 00 00\t03 62 09 32\n00 00 00 00 00 00 00 04\t03 61 09 31\n"
    );
    let reduced = streaming("cat", Some("cat")).input(input);
    assert_eq!(text(all(reduced, "typedbytes")), "0\tb\t2\n4\ta\t1\n");
    // A reducer that is none shows what the maps have printed.
    let test = streaming("cat", None).input(input).reduces(1);
    assert_eq!(
        text(with(test, ["text", "text", "rawbytes", "typedbytes"])),
        "a\t1\nb\t2\n"
    );
    let test = streaming("cat", None).input("x\n").reduces(1);
    assert_eq!(
        text(all(test, "rawbytes")),
        "00 00 00 00 00 00 00 00\t01 78\n"
    );
}

#[test]
fn a_reducer_reads_what_maps_have_printed_in_whatever_form() {
    let input = "b\t2\na\t1\n";
    let test = |forms| text(with(streaming("cat", Some("cat")).input(input), forms));
    assert_eq!(
        test(["text", "text", "typedbytes", "typedbytes"]),
        "a\t1\nb\t2\n"
    );
    assert_eq!(
        test(["text", "text", "rawbytes", "rawbytes"]),
        "01 61\t01 31\n01 62\t01 32\n"
    );
    assert_eq!(
        test(["rawbytes", "rawbytes", "typedbytes", "typedbytes"]),
        "0000000000000000\t03620932\n0000000000000004\t03610931\n"
    );
    assert_eq!(
        test(["typedbytes", "typedbytes", "rawbytes", "rawbytes"]),
        "04 00 00 00 00 00 00 00 00\t07 00 00 00 03 62 09 32\n04 00 00 00 00 00 00 00 04\t07 00 00 00 03 61 09 31\n"
    );
}

#[test]
fn a_record_may_come_in_any_pieces() {
    let slowly = r#"sh -c "cat >/dev/null; for n in 1 2 3; do printf '\007\000\000'; sleep 0.05; printf '\000\002h'; sleep 0.05; printf 'i\003\000\000\000\005'; done""#;
    let test = with(
        alone(slowly).input("x\n"),
        ["text", "typedbytes", "text", "text"],
    );
    assert_eq!(text(test), "hi\t5\nhi\t5\nhi\t5\n");
}

#[test]
fn broken_bytes_are_named_with_where_in_the_output_they_are() {
    let printing = |form: &str, printed: &str| {
        let command = format!("sh -c \"cat >/dev/null; printf '{printed}'\"");
        let test = with(alone(&command).input("x\n"), ["text", form, "text", "text"]);
        failure(test)
    };
    let cases = [
        (
            "typedbytes",
            r"\001\001\001\002\013",
            "has printed typedbytes that are broken: at byte 4 of its output, type code 11: there is no such type",
        ),
        (
            "typedbytes",
            r"\001\001\007\262\320\136\000",
            "at byte 2 of its output, type code 7: it says 3000000000 where a record has ",
        ),
        (
            "typedbytes",
            r"\001\001\001\001\007\000",
            "its output ends at byte 6, within the record that begins at byte 4 (type code 7)",
        ),
        (
            "typedbytes",
            r"\001\001",
            "its output ends at byte 2, within the record that begins at byte 0 (type code 1)",
        ),
        (
            "rawbytes",
            r"\000\000\000\001k\262\320\136\000",
            "has printed rawbytes that are broken: at byte 5 of its output a length says 3000000000 where a record has ",
        ),
        (
            "rawbytes",
            r"\000\000\000\001k\000",
            "its output ends at byte 6, within the record that begins at byte 0",
        ),
    ];
    for (form, printed, said) in cases {
        let why = printing(form, printed);
        assert!(why.contains(said), "{why}");
    }
}

#[test]
fn a_combiner_reads_and_prints_as_a_reducer_does() {
    let cat = || Stage::Command("cat".to_owned());
    let test = all(combining("cat", cat(), cat()), "typedbytes");
    assert_eq!(text(test.input("b\na\n")), "0\tb\n2\ta\n");
}
