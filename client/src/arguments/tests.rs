use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;

use clap::CommandFactory as _;

use super::words_on_disk::is_list;
use super::*;

fn parse(line: &str) -> Result<Arguments, ParseError> {
    let words = std::iter::once("gerbil-run").chain(line.split_whitespace());
    Arguments::parse(words.map(OsString::from))
}

#[test]
fn everything_after_the_program_belongs_to_the_program() {
    let given = parse("-n 8 --queue q ./cpi -n 3 --queue x --help").unwrap();
    assert_eq!(given.placement.processes, Some(8));
    assert_eq!(given.queue, "q");
    assert_eq!(
        given.command,
        ["./cpi", "-n", "3", "--queue", "x", "--help"]
    );
}

#[test]
fn help_comes_in_two_lengths() {
    let help = |line: &str| {
        let error = parse(line).unwrap_err();
        let asked = matches!(error, ParseError::Help { asked: true, .. });
        (asked, error.to_string())
    };
    let (asked, brief) = help("-h");
    assert!(asked);
    assert!(brief.lines().count() <= 25, "{brief}");
    assert!(brief.lines().all(|line| line.len() <= 80), "{brief}");
    assert_eq!(brief.matches("$ gerbil-run").count(), 4);
    assert_eq!(help("help"), (true, brief.clone()));
    let (asked, whole) = help("--help");
    assert!(asked);
    assert_eq!(help("-help").1, whole);
    assert!(help("version").0 && help("version").1.starts_with("gerbil-run "));
    assert_eq!(help(""), (false, brief.clone()));
    // Each group of the long one is named by the short one, and no option is outside of them.
    let mut command = Arguments::command();
    command.build();
    let mut groups: Vec<&str> = Vec::new();
    for argument in command.get_arguments() {
        let Some(long) = argument.get_long() else {
            continue;
        };
        let group = argument.get_help_heading();
        let group = group.unwrap_or_else(|| panic!("--{long} is in no group"));
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    let one_line = brief.split_whitespace().collect::<Vec<_>>().join(" ");
    let places: Vec<_> = groups.iter().map(|group| one_line.find(group)).collect();
    assert!(places.iter().all(Option::is_some), "{groups:?} {brief}");
    assert!(places.is_sorted(), "{groups:?} {brief}");
    let at = |word: &str| whole.find(word).unwrap();
    assert!(at("--local") < at("--processes"));
    // A program of such a name, with anything beside it, is one.
    assert!(parse("-n 2 help").is_ok() && parse("./help").is_ok());
}

#[test]
fn a_number_that_is_none_is_named() {
    for (line, wanted) in [
        (
            "-n x ./cpi",
            "x is no number of processes; write one from 1 to 1000000",
        ),
        (
            "-n 0 ./cpi",
            "0 is no number of processes; write one from 1 to 1000000",
        ),
        ("-n 1.5 ./cpi", "1.5 is no number of processes"),
        ("-ppn x ./cpi", "x is no number of processes"),
        ("--vcores-per-proc 0 ./cpi", "0 is no number of cores"),
        (
            "--local=x ./cpi",
            "x is no number of nodes; write one from 1 to 64",
        ),
        ("--nodes x ./cpi", "x is no number of nodes"),
        ("--output-from x ./cpi", "x is no rank"),
        ("--restarts x ./cpi", "x is no number of restarts"),
        ("--attempts 0 ./cpi", "0 is no number of attempts"),
        ("-n 1 ./cpi : -n x ./cpi", "x is no number of processes"),
        ("-p x ./cpi", "x is no priority"),
    ] {
        let error = parse(line).unwrap_err().to_string();
        assert!(error.contains(wanted), "{line}: {error}");
        assert!(!error.contains("invalid digit"), "{line}: {error}");
    }
}

#[test]
fn gerbils_own_form_says_the_same() {
    let program = |line: &str| {
        let programs = parse(line).unwrap().programs().unwrap();
        (programs[0].file.clone(), programs[0].args.clone())
    };
    let theirs = program("-a ./cpi -n 2 -i 1");
    assert_eq!(theirs, program("-n 2 ./cpi 1"));
    assert_eq!(theirs, ("./cpi".into(), vec!["1".to_owned()]));
    assert!(parse("-a ./cpi ./other").is_err());
    assert!(parse("-i x ./cpi").unwrap().programs().is_err());
    assert!(parse("-n 2").unwrap().programs().is_err());
    assert!(parse("-n 0 ./cpi").is_err());
    assert!(parse("-n 1000000000 ./cpi").is_err());
    let unknown = parse("-n 2 --no-such 5 ./cpi").unwrap_err();
    assert!(unknown.to_string().contains("--no-such"));
}

#[test]
fn the_end_of_an_application_goes_with_nothing_else() {
    assert!(parse("-k application_1_0001").unwrap().kill.is_some());
    for line in [
        "--dry-run -k application_1_0001",
        "-k application_1_0001 --explain",
        "-k application_1_0001 --list jobs",
        "-k application_1_0001 -n 4",
        "-k application_1_0001 --queue default",
        "-k application_1_0001 -a ./cpi",
        "-k application_1_0001 --local",
        "-k application_1_0001 ./cpi",
    ] {
        let error = parse(line).unwrap_err().to_string();
        assert!(error.contains("--kill"), "{line}: {error}");
    }
}

#[test]
fn an_error_in_a_list_of_hosts_is_one_sentence() {
    let error = parse("-hosts a:0 ./cpi").unwrap_err().to_string();
    assert_eq!(
        error.trim_end(),
        "host 1: the number of processes is 0; a host takes 1 to 1000000"
    );
    let error = parse("-f /no/such -n 2 ./cpi").unwrap_err().to_string();
    assert!(error.starts_with("cannot read the list of hosts /no/such: "));
}

#[test]
fn a_list_is_known_by_what_is_in_it() {
    let folder = tempfile::tempdir().unwrap();
    for (text, mode, list) in [
        ("-n 2 ./cpi\n", 0o644, true),
        ("-n 2 ./cpi\n", 0o755, true),
        ("", 0o755, true),
        ("#!/bin/sh\n", 0o644, false),
        ("#!/bin/sh\n", 0o755, false),
        ("\x7fELF\x02", 0o644, false),
    ] {
        let path = folder.path().join("file");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(is_list(path.as_os_str()), list, "{text:?} {mode:o}");
    }
    assert!(!is_list(folder.path().as_os_str()));
    assert!(!is_list(OsStr::new("cpi")));
}

#[test]
fn the_definition_holds_together() {
    use clap::CommandFactory;
    Arguments::command().debug_assert();
}
