//! Options of a job beside the framework's: one help, one sentence for what is wrong.

use crate::program::program;

#[test]
fn the_help_has_the_job_s_options_the_framework_s_and_the_settings() {
    let (code, help) = program("kmeans", &["--help"], &[], &[]);
    assert_eq!(code, 0);
    let until = help.find("\nSettings, for -D:\n").unwrap();
    assert_eq!(
        &help[..until],
        "Usage: kmeans [OPTIONS] IN... OUT

Reads files, folders, lists and patterns, and writes the new folder OUT.

Options of the job:
  --k N                number of centres [2]
  --rounds N           most rounds [50]

Options:
  --local              run on this machine, without a cluster
  --inline             the same on one thread of one process, one task after the other, for a debugger
  --slots N            tasks at a time, with --local; without it one a core
  --reduces N          number of reduces; without it one a GiB of input, 0: none
  --recursive          read folders inside of input folders, too
  --files F[#NAME],... files of this machine, or of a file system that they name, that tasks open by NAME
  --archives F[#NAME],... archives that are unpacked into a folder NAME on each node of a cluster
  --report FILE        write what became of the job to FILE, as JSON, with --local
  --skip-bad N         records of each map, and groups of each reduce, that may be left out because the job's code failed on them
  --quiet              say nothing but what fails
  -D NAME=VALUE        a setting, see below
  --help               this text
"
    );
    assert!(
        help[until..].contains(
            "  mapreduce.task.io.sort.mb\n        MiB in which a map collects and sorts [192]\n"
        ),
        "{help}"
    );
    let (_, help) = program("grep", &["--help"], &[], &[]);
    assert!(
        help.contains(
            "  --pattern TEXT       what is looked for, a regular expression (needed) (search)\n"
        ),
        "{help}"
    );
}

#[test]
fn what_is_wrong_is_said_in_one_sentence() {
    for (words, sentence) in [
        (
            vec!["--round", "3"],
            "--round is no option (is --rounds meant?); --help lists those that there are",
        ),
        (
            vec!["--slot", "3"],
            "--slot is no option (is --slots meant?); --help lists those that there are",
        ),
        (
            vec!["--cluster"],
            "--cluster is no option; --help lists those that there are",
        ),
        (
            vec!["-x"],
            "-x is no option; --help lists those that there are",
        ),
        (
            vec!["--k", "few"],
            "--k few: it takes a whole number from 0",
        ),
        (vec!["--k=-1"], "--k -1: it takes a whole number from 0"),
        (vec!["--slots", "0"], "--slots 0: from 1 to 64"),
        (
            vec!["--local=yes"],
            "unexpected argument for option '--local': \"yes\"",
        ),
        (vec!["--rounds"], "missing argument for option '--rounds'"),
        (
            vec!["-D", "mapreduce.job.reduce=2"],
            "the setting mapreduce.job.reduce means nothing here (is mapreduce.job.reduces meant?); --help lists \
             those that do",
        ),
        (vec!["-D", "x"], "-D x: a setting is NAME=VALUE"),
        (vec!["-D", " =x"], "-D  =x: a setting is NAME=VALUE"),
        (
            vec!["-D", "mapreduce.task.timeout=soon"],
            "mapreduce.task.timeout=soon: that is to be a whole number, from 0",
        ),
        (
            vec!["-D", "mapreduce.output.fileoutputformat.compress=maybe"],
            "mapreduce.output.fileoutputformat.compress=maybe: that is to be true or false",
        ),
    ] {
        let (code, said) = program(
            "kmeans",
            &["--local"],
            &[["in", "out"].to_vec(), words].concat(),
            &[],
        );
        assert_eq!((code, said), (64, format!("kmeans: {sentence}\n")));
    }
    for (words, said) in [
        (["", "out"], "an input is empty (\"\") and names no file"),
        (["in,", "out"], "the list \"in,\", which has an empty part"),
        (
            ["in,,x", "out"],
            "the list \"in,,x\", which has an empty part",
        ),
        (["in", ""], "the output is empty (\"\") and names no folder"),
    ] {
        let (code, told) = program("wordcount", &["--local"], &words, &[]);
        assert_eq!(code, 64, "{told}");
        assert!(told.contains(said), "{told}");
    }
    // An option may be given an empty text.
    let empty = ["--local", "--pattern", "", "/no/such/file"];
    let (code, said) = program("grep", &empty, &["out"], &[]);
    assert!(
        code == 64 && said.contains("there is no such file"),
        "{said}"
    );
    let (code, said) = program("grep", &["--local"], &["in", "out"], &[]);
    assert_eq!(
        (code, said.as_str()),
        (
            64,
            "grep: --pattern is needed: what is looked for, a regular expression\n"
        )
    );
}
