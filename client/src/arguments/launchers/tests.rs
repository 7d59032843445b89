use std::ffi::OsString;

use clap::error::ErrorKind;

use super::meaning::Meaning::{File, Is, LabelOrList, Means, ProgramOrManager, Refused};
use super::*;
use crate::arguments::parse::known;
use crate::arguments::{Arguments, Help, ParseError, lexer};

fn own(word: &str) -> bool {
    let letter = |short: Option<char>| short.is_some_and(|c| c.to_string() == word);
    known().iter().any(|known| {
        known.long == word || letter(known.short) || known.aliases.iter().any(|a| a == word)
    })
}

#[test]
fn every_row_says_what_is_so() {
    for row in rows() {
        let word = row.word;
        match row.meaning {
            Same | Ours(_) | ProgramOrManager => assert!(own(word), "{word} is no option"),
            Is(other) => assert!(own(other) && !own(word), "{word}, {other}"),
            Means(words) => {
                let other = words.trim_start_matches('-').split('=').next().unwrap();
                assert!(own(other) && !own(word), "{word}, {words}");
            }
            NoEffect { .. } | Refused(_) | LabelOrList | File => {
                assert!(!own(word), "{word} is an option itself");
            }
        }
    }
    for launcher in &LAUNCHERS {
        for row in launcher.rows {
            let same = launcher.rows.iter().filter(|other| other.word == row.word);
            assert_eq!(same.count(), 1, "{} is there twice", row.word);
        }
    }
}

/// Hydra's own table of options.
const OF_HYDRA: &str = "help h genv genvlist genvnone genvall f hostfile machinefile machine machines \
    machinelist host hosts hostlist rankmap ppn profile output-from prepend-rank l prepend-pattern \
    outfile-pattern errfile-pattern outfile errfile wdir configfile env envlist envnone envall n np \
    launcher launcher-exec bootstrap bootstrap-exec enable-x disable-x rmk topolib binding bind-to map-by \
    membind demux debug disable-auto-cleanup disable-hostname-propagation enable-auto-cleanup \
    enable-hostname-propagation g gpus-per-proc gpu-subdevs-per-proc hybrid-hosts iface info localhost \
    nameserver order-nodes pmi-port print-all-exitcodes skip-launch-node usize v verbose version pmi_args";

#[test]
fn no_option_of_hydra_is_left_out() {
    let words: Vec<&str> = OF_HYDRA.split_whitespace().collect();
    assert_eq!(words.len(), 69);
    for word in words {
        assert!(hydra::ROWS.iter().any(|row| row.word == word), "{word}");
    }
}

/// A value that the option takes.
fn sample(long: &str) -> &'static str {
    match long {
        "genv" | "env" | "pass" | "mca" | "gmca" | "pmixmca" | "gpmixmca" => "A=1",
        "hosts" => "a:2",
        "input" | "files" | "tune" => "/dev/null",
        "rankmap" => "0",
        "bind-to" => "core",
        "map-by" | "rank-by" => "node",
        "iface" => "lo",
        "timeout" | "wait" => "30s",
        "time" => "1:00:00",
        "oversubscribe" | "kill-on-bad-exit" => "false",
        "export" => "NONE",
        "output" => "/tmp/copy",
        "path" | "wdir" => "/tmp",
        "prepend-pattern" | "outfile-pattern" | "errfile-pattern" => "%r",
        "kill" => "application_1_0001",
        "relax" => "all",
        // Of no option the default.
        _ => "2",
    }
}

/// The words of one option, with a value if it has one; `hosts` is a file with a list of hosts.
fn written(word: &str, long: &str, hosts: &str) -> Vec<String> {
    let known = known();
    let known = known.iter().find(|known| {
        known.long == long
            || known.aliases.iter().any(|alias| alias == long)
            || known.short.is_some_and(|short| short.to_string() == long)
    });
    let known = known.unwrap();
    match known.value {
        lexer::Value::None | lexer::Value::Optional | lexer::Value::OptionalFile => {
            vec![word.into()]
        }
        lexer::Value::Required | lexer::Value::Pair | lexer::Value::Switch => {
            let value = match known.long.as_str() {
                "hostfile" => hosts,
                long => sample(long),
            };
            vec![word.into(), value.into()]
        }
    }
}

/// What becomes of a command line: its notes and what else was understood, or why it was refused.
fn parsed(words: &[String]) -> Result<(Vec<String>, String), String> {
    let line = std::iter::once("gerbil-run".to_owned())
        .chain(words.iter().cloned())
        .map(OsString::from);
    match Arguments::parse(line) {
        Ok(mut given) => {
            let notes = std::mem::take(&mut given.notes);
            Ok((notes, format!("{given:?}")))
        }
        Err(ParseError::Help {
            text: Help::Defined(text),
            ..
        }) if text.kind() == ErrorKind::DisplayVersion => Ok((Vec::new(), "version".into())),
        Err(ParseError::Help { .. }) => Ok((Vec::new(), "help".into())),
        Err(error) => Err(error.to_string()),
    }
}

/// Every option in every spelling, through the lexer and the parser behind it.
#[test]
fn every_row_behaves_as_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let configuration = folder.path().join("programs");
    std::fs::write(&configuration, "-n 3 ./cpi\n").unwrap();
    let configuration = configuration.to_str().unwrap().to_owned();
    let hosts = folder.path().join("hosts");
    std::fs::write(&hosts, "a:2\n").unwrap();
    let hosts = hosts.to_str().unwrap();
    let program = |mut words: Vec<String>| {
        // These go with no program.
        let alone = words
            .iter()
            .any(|word| word == "application_1_0001" || word.trim_start_matches('-') == "mpi");
        words.extend((!alone).then(|| "./cpi".to_owned()));
        words
    };
    // What is told goes with a run that takes place, or with one that does not.
    let nothing = parsed(&program(Vec::new())).unwrap();
    for launcher in &LAUNCHERS {
        for row in launcher.rows {
            for dashes in ["-", "--"] {
                let word = format!("{dashes}{}", row.word);
                let shown = format!("{}: {word}", launcher.name);
                match &row.meaning {
                    Same | Ours(_) => {
                        let (notes, understood) = parsed(&program(written(&word, row.word, hosts)))
                            .unwrap_or_else(|why| panic!("{shown}: {why}"));
                        assert!(notes.is_empty(), "{shown}: {notes:?}");
                        assert_ne!(understood, nothing.1, "{shown} changes nothing");
                    }
                    Is(other) => {
                        let here = parsed(&program(written(&word, other, hosts)));
                        assert!(here.is_ok(), "{shown}: {here:?}");
                        let there = parsed(&program(written(&format!("--{other}"), other, hosts)));
                        assert_eq!(here, there, "{shown}");
                        assert_ne!(here.unwrap().1, nothing.1, "{shown} changes nothing");
                    }
                    Means(words) => {
                        let here = parsed(&program(vec![word.clone()]));
                        assert!(here.is_ok(), "{shown}: {here:?}");
                        assert_eq!(here, parsed(&program(vec![(*words).into()])), "{shown}");
                        assert!(
                            parsed(&program(vec![format!("{word}=1")])).is_err(),
                            "{shown}"
                        );
                    }
                    NoEffect { values, because } => {
                        let mut words = vec![word.clone()];
                        words.extend((0..*values).map(|_| "value".to_owned()));
                        let (notes, understood) =
                            parsed(&program(words)).unwrap_or_else(|why| panic!("{shown}: {why}"));
                        assert_eq!(notes, [format!("{word} has no effect here: {because}")]);
                        assert_eq!(understood, nothing.1, "{shown} changes something");
                    }
                    Refused(instead) => {
                        let why = parsed(&program(vec![word.clone()])).unwrap_err();
                        let plain = instead.trim_start_matches('-');
                        assert!(why.contains(plain), "{shown}: {why}");
                    }
                    LabelOrList => {
                        let label = parsed(&program(vec!["--label".into()]));
                        assert_eq!(parsed(&program(vec![word.clone()])), label, "{shown}");
                    }
                    ProgramOrManager => {
                        for (value, manager) in
                            [("pmix", "pmix"), ("pmi2", "pmi"), ("none", "auto")]
                        {
                            let here = parsed(&[format!("{word}={value}"), "./cpi".into()]);
                            let there = parsed(&[format!("--pm={manager}"), "./cpi".into()]);
                            assert!(here.is_ok(), "{shown}={value}: {here:?}");
                            assert_eq!(here, there, "{shown}={value}");
                        }
                        let program = parsed(&["-a".into(), "./cpi".into()]);
                        assert_eq!(parsed(&[format!("{word}=./cpi")]), program, "{shown}");
                        assert_eq!(parsed(&[word, "./cpi".into()]), program, "{shown}");
                    }
                    File => {
                        let here = parsed(&[word.clone(), configuration.clone()]);
                        let there = ["-n", "3", "./cpi"].map(str::to_owned);
                        assert_eq!(here, parsed(&there), "{shown}");
                    }
                }
            }
        }
    }
}

/// A word has one meaning, whoever's it is.
#[test]
fn launchers_do_not_contradict_each_other() {
    for row in rows() {
        let others = rows().filter(|other| other.word == row.word);
        for other in others {
            let same = matches!(
                (&row.meaning, &other.meaning),
                (Same | Ours(_), Same | Ours(_))
                    | (LabelOrList, LabelOrList)
                    | (ProgramOrManager, ProgramOrManager)
                    | (File, File)
            ) || match (&row.meaning, &other.meaning) {
                (Is(one), Is(two)) | (Means(one), Means(two)) | (Refused(one), Refused(two)) => {
                    one == two
                }
                (
                    NoEffect { values, because },
                    NoEffect {
                        values: v,
                        because: b,
                    },
                ) => values == v && because == b,
                _ => false,
            };
            assert!(same, "{} means two things", row.word);
        }
    }
}

/// A word behind an option that has its value only at times is the option's value, or the program where it is one
/// without a doubt, or refused with the spelling that takes it. It is never a program that was not meant.
#[test]
fn no_value_runs_as_the_program() {
    let optional = |long: &str| {
        let known = known();
        let option = known.into_iter().find(|known| {
            known.long == long || known.short.is_some_and(|short| short.to_string() == long)
        });
        option.filter(|option| {
            let value = option.value;
            use lexer::Value::{Optional, OptionalFile, Switch};
            matches!(value, Optional | OptionalFile | Switch)
        })
    };
    let mut spellings: Vec<(String, lexer::KnownOption)> = Vec::new();
    for option in known() {
        let letter = option.short.map(String::from);
        for word in [option.long.clone()].into_iter().chain(letter) {
            if let Some(option) = optional(&word) {
                spellings.push((word, option));
            }
        }
    }
    for row in rows() {
        if let Is(long) = row.meaning
            && let Some(option) = optional(long)
        {
            spellings.push((row.word.to_owned(), option));
        }
    }
    for expected in [
        "explain",
        "local",
        "kill-on-bad-exit",
        "K",
        "oversubscribe",
        "o",
        "v",
    ] {
        assert!(
            spellings.iter().any(|(word, _)| word == expected),
            "{expected}"
        );
    }
    let values = [
        "true", "false", "TRUE", "yes", "no", "on", "off", "0", "1", "3", "64", "log.json",
        "no-such",
    ];
    for (word, option) in &spellings {
        for dashes in ["-", "--"] {
            for value in values {
                let shown = format!("{dashes}{word} {value}");
                let line = |option: &str| {
                    let words = ["gerbil-run", option, value, "sh", "-c", "exit 5"];
                    Arguments::parse(words.map(OsString::from))
                };
                match line(&format!("{dashes}{word}")) {
                    Ok(given) => {
                        let program = given.command.first().unwrap();
                        let is_value = option.value == lexer::Value::Switch && program == "sh";
                        // --local has no name for a value.
                        let is_program = option.value == lexer::Value::Optional
                            && ["log.json", "no-such"].contains(&value)
                            && program == value;
                        assert!(is_value || is_program, "{shown} runs {}", program.display());
                    }
                    Err(why) => {
                        let why = why.to_string();
                        let says = why.contains('=') || why.contains("neither true nor false");
                        assert!(says && why.contains(value), "{shown}: {why}");
                    }
                }
            }
            // A program that nothing else can be.
            let line = [
                "gerbil-run",
                &format!("{dashes}{word}"),
                "sh",
                "-c",
                "exit 5",
            ];
            let given = Arguments::parse(line.map(OsString::from)).unwrap();
            assert_eq!(given.command, ["sh", "-c", "exit 5"], "{dashes}{word}");
        }
    }
}
