//! The command line as the user typed it.
//!
//! [`lexer`] brings mpiexec's single-dash words into one form, clap reads that; each group of flags
//! has a file of its own. What the flags mean together is not decided here.

mod binding;
mod data;
mod deployment;
mod ends;
mod form;
mod launchers;
mod lexer;
mod parse_error;
mod placement;
mod program;
mod ranks;
mod reporting;
mod resources;
mod streams;
mod values;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use clap::parser::ValueSource;
use clap::{ArgAction, CommandFactory as _, FromArgMatches as _, Parser};

use crate::hostfile::PROCESSES_MAX;
use crate::split_words;

use binding::MapBy;
pub(crate) use binding::{BindArguments, ShipArguments};
pub(crate) use data::{DataArguments, Outgoing};
pub(crate) use deployment::{DeployMode, Deployment};
pub(crate) use ends::{Ends, ExitRule};
pub(crate) use form::Form;
pub(crate) use launchers::page;
pub(crate) use parse_error::{Help, ParseError};
pub(crate) use placement::{Placement, Relax};
use program::Further;
pub(crate) use program::{Environment, Program, Start};
pub(crate) use ranks::{RankBy, RankMap};
pub(crate) use reporting::Reporting;
pub(crate) use resources::of_a_process;
pub(crate) use streams::{CopyTo, StreamArguments};

mod local;

pub(crate) use local::LocalArguments;

/// Headings of --help that more than one file has options under.
const WHERE: &str = "Where the job runs";
const PROGRAM: &str = "The program";
const HELP: &str = "Other jobs, and help";

/// Runs MPI programs on a Hadoop YARN cluster, as mpiexec does on its own hosts.
#[derive(Debug, Parser)]
#[command(
    name = "gerbil-run",
    version,
    disable_help_flag = true,
    disable_version_flag = true,
    override_usage = "gerbil-run [OPTIONS] PROGRAM [ARGS]...\n       gerbil-run [OPTIONS] -a PROGRAM [-i \"ARGS\"]\n       gerbil-run --list FILE\n       gerbil-run --ps\n       gerbil-run -k APPLICATION_ID",
    after_help = "Every option may be written with one dash or two, and its value behind a blank or behind \
                  =; --explain and --local, which need none, take one behind = alone. The options end at the program: what stands behind it is the program's own.\n\
                  The cluster is the one that HADOOP_CONF_DIR, YARN_CONF_DIR or HADOOP_HOME names; where none \
                  of them is set, that of /etc/hadoop/conf.\n\
                  A program may have any name, so gerbil-run's own tasks are options: gerbil-run ps runs the \
                  program ps on the nodes, gerbil-run --ps lists your jobs. Under the name gerbil (ln -s \
                  gerbil-run gerbil) the same file takes a command first: gerbil run, ps, kill, completions. \
                  Alone on the line, the words help and version are not programs.\n\
                  Completions: source <(gerbil-run --generate bash); the manual page: gerbil-run --generate man \
                  | man -l -\n\
                  The exit code is that of the first rank that failed, 128 + N for signal N; \
                  gerbil-run's own codes are 64 (usage), 65 (the cluster can never give this), \
                  69 (cluster unreachable), 70 (job lost), 74 (staging), 75 (not started in time), 78 \
                  (settings), 124 (-timeout), 126 and 127 (program not executable, not found), 130 (Ctrl-C), 143 \
                  (killed through YARN)."
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub local: LocalArguments,

    #[command(flatten)]
    pub deployment: Deployment,

    /// Queue to submit to
    #[arg(long, value_name = "QUEUE", default_value = "default", help_heading = WHERE)]
    pub queue: String,

    /// Priority of the application in its queue; higher is sooner
    #[arg(short = 'p', long, value_name = "P", allow_negative_numbers = true, value_parser = values::priority,
        help_heading = WHERE)]
    pub priority: Option<i32>,

    /// Name of the application, as YARN's pages show it [default: the program's name]
    #[arg(long, value_name = "NAME", help_heading = WHERE)]
    pub name: Option<String>,

    /// Tags of the application, by which YARN's pages and other tools find it; of letters, digits and
    /// punctuation of ASCII
    #[arg(long, value_name = "TAG,...", value_delimiter = ',', value_parser = values::tag, help_heading = WHERE)]
    pub tags: Vec<String>,

    /// Ports the ApplicationMaster may listen on, for firewalls
    #[arg(long, value_name = "FIRST-LAST", value_parser = values::ports, help_heading = WHERE)]
    pub am_ports: Option<(u16, u16)>,

    /// Network interface of the nodes over which the job talks
    #[arg(long, value_name = "INTERFACE", help_heading = WHERE)]
    pub iface: Option<String>,

    #[command(flatten)]
    pub placement: Placement,

    /// Memory of one process: MiB, or with a unit as in 512m or 4g [default: the cluster's smallest
    /// container]
    #[arg(long, value_name = "SIZE", value_parser = values::memory, help_heading = placement::PLACEMENT)]
    pub mem_per_proc: Option<u64>,

    /// Cores of one process
    #[arg(long, value_name = "CORES", default_value = "1", help_heading = placement::PLACEMENT,
        value_parser = values::Whole::new("number of cores", 1, u32::MAX))]
    pub vcores_per_proc: u32,

    /// What else one process wants of what the cluster counts: N of the resource type NAME, as in
    /// acc/kmeans-map=2, in the unit that YARN counts it in. May be given once for each type; GPUs are
    /// -gpus-per-proc
    #[arg(long, value_name = "NAME=N", value_parser = resources::resource,
        help_heading = placement::PLACEMENT)]
    pub resource: Vec<(String, u64)>,

    /// The program, in GERBIL's own form
    #[arg(
        short = 'a',
        long = "mpi",
        value_name = "PROGRAM",
        conflicts_with = "command",
        help_heading = PROGRAM
    )]
    pub mpi: Option<OsString>,

    /// Its arguments, in GERBIL's own form: one string, split as a shell does it
    #[arg(short = 'i', long, value_name = "ARGS", help_heading = PROGRAM)]
    pub arguments: Option<String>,

    /// How many processes the program is told that the job may become when it spawns some: a number,
    /// SYSTEM for the cores of its containers, INFINITE for unknown [default: INFINITE]
    #[arg(long, value_name = "N", value_parser = values::universe, help_heading = PROGRAM)]
    pub usize: Option<job::Universe>,

    /// Do not ship the shared libraries that the program needs: the nodes have them
    #[arg(long, help_heading = "What is brought along")]
    pub no_ship_libs: bool,

    /// Folder to stage files in: hdfs://… or file:/… on every node [default: .gerbil in the user's
    /// home folder on the cluster's file system]
    #[arg(long, value_name = "URL", help_heading = "What is brought along")]
    pub staging: Option<String>,

    #[command(flatten)]
    pub reporting: Reporting,

    #[command(flatten)]
    pub streams: StreamArguments,

    #[command(flatten)]
    pub ends: Ends,

    #[command(flatten)]
    pub bind: BindArguments,

    #[command(flatten)]
    pub ship: ShipArguments,

    #[command(flatten)]
    pub data: DataArguments,

    /// What was understood of the command line without having an effect, a sentence each.
    #[arg(skip)]
    pub notes: Vec<String>,

    #[command(flatten)]
    pub start: Start,

    #[command(flatten)]
    pub environment: Environment,

    /// The programs behind the first.
    #[arg(skip)]
    pub further: Vec<Further>,

    /// Processes of the first of several programs.
    #[arg(skip)]
    pub first_processes: Option<u32>,

    /// End the application with this id, and wait until it is gone; goes with no other option
    #[arg(short = 'k', long, value_name = "APPLICATION_ID", exclusive = true, help_heading = HELP)]
    pub kill: Option<String>,

    /// List your jobs on the cluster: those that wait or run, with what they wait for
    #[arg(long, exclusive = true, help_heading = HELP)]
    pub ps: bool,

    /// Print the manual page, the completions of a shell, or the page on other launchers' options
    #[arg(long, value_enum, value_name = "FORM", exclusive = true, help_heading = HELP)]
    pub generate: Option<Form>,

    /// The usual command lines on one screen
    #[arg(short = 'h', long, action = ArgAction::SetTrue, help_heading = HELP)]
    pub usage: bool,

    /// This text
    #[arg(long, action = ArgAction::HelpLong, help_heading = HELP)]
    help: Option<bool>,

    /// The version of gerbil
    #[arg(short = 'V', long, action = ArgAction::Version, help_heading = HELP)]
    version: Option<bool>,

    /// The program and its arguments
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM [ARGS]"
    )]
    pub command: Vec<OsString>,
}

impl Arguments {
    /// Reads a command line, the command's own name first.
    ///
    /// # Errors
    /// What clap would print, also for `--help`.
    pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Self, ParseError> {
        let mut words = words.into_iter();
        let own_name = words.next().unwrap_or_else(|| "gerbil-run".into());
        let words: Vec<OsString> = words.collect();
        match &words[..] {
            [] => {
                return Err(usage(false));
            }
            // A program of such a name is ./help.
            [word] if word == "help" => return Err(usage(true)),
            [word] if word == "version" => return Self::parse([own_name, "--version".into()]),
            _ => {}
        }
        let files = lexer::Files {
            is_list: &is_list,
            is_program: &is_program,
            configuration: &configuration,
        };
        let lexed = lexer::lex(words, &known(), &files).map_err(ParseError::Refused)?;
        let mut command = Self::command();
        let matches =
            command.try_get_matches_from_mut(std::iter::once(own_name).chain(lexed.words))?;
        let mut given = Self::from_arg_matches(&matches)?;
        let typed = command.get_arguments().filter(|argument| {
            matches.value_source(argument.get_id().as_str()) == Some(ValueSource::CommandLine)
        });
        if given.usage {
            return Err(usage(true));
        }
        let checked = given.reporting.check(typed);
        checked.map_err(ParseError::Refused)?;
        given.mapped()?;
        given.notes = lexed.notes;
        given.further(lexed.further)?;
        let list = given.placement.list();
        given
            .notes
            .extend(list.into_iter().flat_map(|list| list.notes.iter().cloned()));
        Ok(given)
    }

    /// What `-map-by` says of nodes is said of their placement.
    fn mapped(&mut self) -> Result<(), ParseError> {
        let refused = |sentence: &str| ParseError::Refused(sentence.to_owned());
        let placement = &mut self.placement;
        let order = match self.bind.map_by {
            Some(MapBy::Unit(_)) if self.bind.bind_to.is_none() => {
                return Err(refused(
                    "-map-by with a unit of processors says in which order -bind-to takes them; write \
                     -bind-to too",
                ));
            }
            Some(MapBy::Unit(unit)) => {
                let other = |order: &RankBy| matches!(order, RankBy::Unit(own) if *own != unit);
                if placement.rank_by.as_ref().is_some_and(other) {
                    return Err(refused(
                        "-rank-by and -map-by name different units: the ranks of a node take the \
                         processors in the order of -map-by",
                    ));
                }
                return Ok(());
            }
            Some(MapBy::PerNode(number)) => {
                if placement.processes_per_node.is_some_and(|n| n != number) {
                    return Err(refused("-ppn and -map-by ppr say different numbers"));
                }
                placement.processes_per_node = Some(number);
                return Ok(());
            }
            Some(MapBy::Slot) => RankBy::Slot,
            Some(MapBy::Node) => RankBy::Node,
            None => return Ok(()),
        };
        if placement.rankmap.is_some() {
            return Err(refused("-rankmap says already which ranks a node has"));
        }
        placement.rank_by.get_or_insert(order);
        Ok(())
    }

    /// Reads the programs behind the first; all of them then have a number of processes.
    fn further(&mut self, lines: Vec<Vec<OsString>>) -> Result<(), ParseError> {
        if lines.is_empty() {
            return Ok(());
        }
        let refused = ParseError::Refused;
        let own = Further::command();
        for line in lines {
            let options = line
                .iter()
                .map_while(|word| word.to_str()?.strip_prefix("--"));
            for option in options.take_while(|option| !option.is_empty()) {
                let long = option.split('=').next().unwrap_or(option);
                if !own
                    .get_arguments()
                    .any(|known| known.get_long() == Some(long))
                {
                    return Err(refused(format!(
                        "--{long} counts for all programs; write it before the first of them"
                    )));
                }
            }
            self.further.push(Further::try_parse_from(line)?);
        }
        let first = self.mpi.as_ref().or(self.command.first());
        let first = (first, self.placement.processes);
        let rest = self.further.iter();
        let rest = rest.map(|own| (own.mpi.as_ref().or(own.command.first()), own.processes));
        let mut sum = 0u64;
        for ((program, processes), number) in std::iter::once(first).chain(rest).zip(1..) {
            let Some(program) = program else {
                return Err(refused(format!("program {number} of the line is missing")));
            };
            let Some(processes) = processes else {
                return Err(refused(format!(
                    "program {number} ({}) has no -n; of several programs each wants its own",
                    program.display()
                )));
            };
            sum += u64::from(processes);
        }
        self.first_processes = self.placement.processes;
        self.placement.processes = Some(
            u32::try_from(sum)
                .ok()
                .filter(|sum| *sum <= PROCESSES_MAX)
                .ok_or_else(|| {
                    refused(format!(
                        "the programs want {sum} processes together; a job has at most {PROCESSES_MAX}"
                    ))
                })?,
        );
        Ok(())
    }

    /// Whether a program is named, or something else is asked for that needs none.
    ///
    /// # Errors
    /// One sentence for the user.
    pub(crate) fn named(&self) -> Result<(), String> {
        let other = self.kill.is_some() || self.ps || self.data.checkpoint.is_some();
        match other || self.mpi.is_some() || !self.command.is_empty() {
            true => Ok(()),
            false => Err(
                "no program is named; as in gerbil-run -n 4 ./cpi (gerbil-run -h has more)".into(),
            ),
        }
    }

    /// All programs, in the order of their ranks.
    ///
    /// # Errors
    /// One sentence for the user.
    pub(crate) fn programs(&mut self) -> Result<Vec<Program>, String> {
        let (mpi, command) = (self.mpi.take(), std::mem::take(&mut self.command));
        let (file, args) = program::named(mpi, self.arguments.as_deref(), command)?;
        let mut programs = vec![Program {
            processes: self.first_processes,
            file,
            args,
            start: self.start.clone(),
        }];
        for own in std::mem::take(&mut self.further) {
            let (file, args) = program::named(own.mpi, own.arguments.as_deref(), own.command)?;
            programs.push(Program {
                processes: own.processes,
                file,
                args,
                start: own.start,
            });
        }
        Ok(programs)
    }
}

/// What `-h` prints: what most want to know, on one screen.
const USAGE: &str = include_str!("usage.txt");

fn usage(asked: bool) -> ParseError {
    let text = Help::Usage(USAGE);
    ParseError::Help { text, asked }
}

/// All options, as the lexer needs them.
fn known() -> Vec<lexer::Known> {
    let mut command = Arguments::command();
    command.build();
    let known = command.get_arguments().filter_map(|argument| {
        Some(lexer::Known {
            long: argument.get_long()?.to_owned(),
            aliases: argument
                .get_all_aliases()
                .unwrap_or_default()
                .into_iter()
                .map(str::to_owned)
                .collect(),
            short: argument.get_short(),
            value: match argument.get_num_args() {
                Some(_) if PAIRS.contains(&argument.get_id().as_str()) => lexer::Value::Pair,
                Some(_) if argument.get_id() == SWITCH => lexer::Value::Switch,
                Some(range) if !range.takes_values() => lexer::Value::None,
                Some(range) if range.min_values() == 0 => lexer::Value::Optional,
                Some(_) | None => lexer::Value::Required,
            },
        })
    });
    known.collect()
}

/// GERBIL's option takes a word, Open MPI's of the same name none.
const SWITCH: &str = "oversubscribe";

/// Options with a name and a value.
const PAIRS: [&str; 2] = ["env", "genv"];

/// A configuration file: a program a line, each with its options; a backslash joins a line with the
/// next, # begins a comment. Quotes are honoured.
fn configuration(name: &OsStr) -> Result<Vec<OsString>, String> {
    let shown = name.display();
    let text = std::fs::read_to_string(name)
        .map_err(|error| format!("-configfile {shown}: cannot read it: {error}"))?;
    let text = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let mut found = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        if line.trim_start().starts_with('#') {
            continue;
        }
        let words = split_words::split(line)
            .map_err(|why| format!("-configfile {shown}, line {number}: {why}"))?;
        if words.is_empty() {
            continue;
        }
        if !found.is_empty() {
            found.push(OsString::from(":"));
        }
        found.extend(words.into_iter().map(OsString::from));
    }
    Ok(found)
}

/// Whether a word may name a program: by a path, a file here, or one on the search path.
fn is_program(word: &OsStr) -> bool {
    let there = |path: &Path| std::fs::metadata(path).is_ok_and(|there| there.is_file());
    let searched = std::env::var_os("PATH").unwrap_or_default();
    word.as_bytes().contains(&b'/')
        || there(Path::new(word))
        || std::env::split_paths(&searched).any(|folder| there(&folder.join(word)))
}

/// Whether the word behind `-l` is GERBIL's list of jobs, not the program: that begins as the kernel
/// wants it, or is found on the search path only. Permissions say nothing: where files come from
/// Windows or FAT all are executable. They decide where the file cannot be read.
fn is_list(word: &OsStr) -> bool {
    let Some(there) = std::fs::metadata(word)
        .ok()
        .filter(std::fs::Metadata::is_file)
    else {
        return false;
    };
    let mut begin = Vec::new();
    let read = File::open(word).and_then(|file| file.take(4).read_to_end(&mut begin));
    match read {
        Ok(_) => !begin.starts_with(b"#!") && !begin.starts_with(b"\x7fELF"),
        Err(_) => there.permissions().mode() & 0o111 == 0,
    }
}

#[cfg(test)]
mod tests {
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
            let programs = parse(line).unwrap().programs();
            programs.map(|programs| (programs[0].file.clone(), programs[0].args.clone()))
        };
        let theirs = program("-a ./cpi -n 2 -i 1");
        assert_eq!(theirs, program("-n 2 ./cpi 1"));
        assert_eq!(theirs, Ok(("./cpi".into(), vec!["1".to_owned()])));
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
}
