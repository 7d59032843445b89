//! Files that a job brings to its tasks.

use crate::program::{Bed, program};

const INPUT: &str = "1\tpen\n2\tink\n3\tcup\n";
const JOINED: &str = "1\tann\tpen\n2\tbob\tink\n";

fn bed() -> Bed {
    let bed = Bed::new();
    bed.write("in", INPUT);
    bed.write("table.txt", "1\tann\n2\tbob\n");
    bed
}

#[test]
fn tasks_open_a_table_by_its_name_however_it_is_brought() {
    let bed = bed();
    let (table, named) = (
        bed.at("table.txt"),
        format!("{}#table", bed.at("table.txt")),
    );
    let address = format!("file://{table}");
    for (number, options) in [
        ["--table", &table],
        ["--table", &address],
        ["--files", &named],
    ]
    .into_iter()
    .enumerate()
    {
        let out = bed.at(&format!("out-{number}"));
        let options = [&["--local", "--quiet"][..], &options].concat();
        let (code, said) = program("mapjoin", &options, &[&bed.at("in"), &out], &[]);
        assert_eq!((code, said.as_str()), (0, ""), "{options:?}");
        assert_eq!(
            bed.read(&format!("out-{number}/part-m-00000")),
            JOINED,
            "{options:?}"
        );
    }
}

#[test]
fn what_cannot_be_brought_is_said_before_a_task() {
    let bed = bed();
    let (gone, folder) = (bed.at("gone"), bed.at("."));
    let archive = format!("{}#table", bed.at("table.txt"));
    let slash = format!("{}#a/b", bed.at("table.txt"));
    for (options, words) in [
        (["--table", &gone], "No such file or directory"),
        (["--table", &folder], "is no file"),
        (["--table", "hdfs://n/table"], "only files of this machine"),
        (["--archives", &archive], "with --local unpack it"),
        (["--files", &slash], "a name has no slash"),
        (["--files", "a,,b"], "FILE or FILE#NAME is wanted"),
    ] {
        let options = [&["--local", "--quiet"][..], &options].concat();
        let (code, said) = program("mapjoin", &options, &[&bed.at("in"), &bed.at("out")], &[]);
        assert!(
            matches!(code, 64 | 74) && said.contains(words),
            "{options:?}: {code} {said}"
        );
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(!bed.path("out").exists(), "{options:?}");
    }
    // One that nobody brings fails in the task.
    let (code, said) = program(
        "mapjoin",
        &["--local", "--quiet"],
        &[&bed.at("in"), &bed.at("out")],
        &[],
    );
    assert!(
        code == 1 && said.contains("table, which the job is to bring along"),
        "{said}"
    );
}
