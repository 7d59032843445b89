//! `gerbil`: the same file under a second name, with a command first.
//!
//! `gerbil run` is `gerbil-run`, whose first word that is no option is a program, whatever it is called;
//! here it is a command. Nearly everything that is done is done by an option of `gerbil-run`; sessions, and the
//! accelerators of a node, have commands alone.

mod clean;
mod mapreduce;
mod past;
mod probe;
mod session;

use std::ffi::OsString;

use clap::{CommandFactory as _, Parser, Subcommand};

use ::session::JobName;

use crate::arguments::{Arguments, ParseError, optional};

pub(crate) use clean::CleanArguments;
pub(crate) use mapreduce::{MapReduceArguments, OwnApplication, command as mapreduce};
pub(crate) use past::{PastArguments, PastTask};
pub(crate) use probe::ProbeArguments;
pub(crate) use session::{AttachOptions, GanttFile, LogsOptions, SessionStart, SessionTask};

/// The second name of the file.
pub(crate) const NAME: &str = "gerbil";

/// MPI programs on a Hadoop YARN cluster.
#[derive(Debug, Parser)]
#[command(
    name = NAME,
    version,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "To read on: gerbil run --help, gerbil man run | man -l -. The file gerbil-run is gerbil run alone."
)]
struct Gerbil {
    #[command(subcommand)]
    task: GerbilCommand,
}

/// What can be done.
#[derive(Debug, Subcommand)]
enum GerbilCommand {
    /// Run a program: gerbil run -n 4 ./cpi; gerbil run -h has more
    #[command(disable_help_flag = true)]
    Run {
        /// As behind gerbil-run
        #[arg(
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "OPTIONS PROGRAM ARGS"
        )]
        words: Vec<OsString>,
    },
    /// Run a program of maps and reduces: gerbil mr ./wordcount IN OUT
    Mr(Box<MapReduceArguments>),
    /// List your jobs on the cluster, with what they wait for
    Ps {
        /// One JSON array instead of a table
        #[arg(long)]
        json: bool,
    },
    /// End a job, and wait until it is gone
    Kill {
        /// As ps lists it; or as the status of its session does
        application: String,
    },
    /// Show a job that was left to its session: gerbil attach s42.7
    Attach {
        /// As the status of its session lists it
        job: JobName,
        #[command(flatten)]
        given: AttachOptions,
    },
    /// Print what such a job, or a task, has printed: gerbil logs s42.7 m3
    Logs {
        /// As lists show it; or the application of a gerbil mr
        job: JobName,
        #[command(flatten)]
        given: LogsOptions,
    },
    /// Hold containers and run many jobs in them: gerbil session start
    Session {
        /// What to do with it
        #[command(subcommand)]
        task: SessionTask,
    },
    /// Print the GPUs and other elements of this node, and by what they are known
    Probe(ProbeArguments),
    /// Show what jobs have left, on HDFS and here, and remove it: gerbil clean --yes
    Clean(CleanArguments),
    /// Print the completions of a shell: source <(gerbil completions bash)
    Completions {
        /// The shell
        #[arg(value_parser = ["bash", "fish", "zsh"])]
        shell: String,
    },
    /// Print a manual page: gerbil man | man -l -; of one command: gerbil man run
    Man {
        /// Of this command, and of one below it: session start
        command: Vec<String>,
    },
    /// Stand in for Hadoop's own command, for mrjob and old scripts: gerbil hadoop fs -ls
    #[command(disable_help_flag = true, hide = true)]
    Hadoop {
        /// As behind hadoop
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// Look at this node's accelerators, or prove one: gerbil fpga ps
    #[command(disable_help_flag = true)]
    Fpga {
        /// As behind fpgad
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// Serve this node's accelerators
    #[command(disable_help_flag = true)]
    Fpgad {
        /// As behind fpgad
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// Print the version
    // As -V, which the help shows.
    #[command(hide = true)]
    Version,
}

/// Whose words they are.
#[derive(Debug)]
pub(crate) enum CommandWords {
    /// Of `gerbil-run`.
    Run(Vec<OsString>),
    /// Of a MapReduce program.
    MapReduce(Box<MapReduceArguments>),
    /// Of MapReduce jobs that run or are over.
    Past(PastArguments),
    /// Of one's jobs on the cluster.
    Ps {
        /// As JSON.
        json: bool,
    },
    /// Of this node's elements.
    Probe(ProbeArguments),
    /// Of what jobs have left.
    Clean(CleanArguments),
    /// The manual page of a command, by the words behind `gerbil`.
    Man(Vec<String>),
    /// Of the sessions.
    Session(SessionTask),
    /// Of Hadoop's own command.
    Hadoop(Vec<OsString>),
    /// Of the accelerators' driver.
    Accelerators(Vec<OsString>),
}

/// The same as words for `gerbil-run`, or for the accelerators' driver.
pub(crate) fn translated(words: Vec<OsString>) -> Result<CommandWords, ParseError> {
    match words.split_first() {
        // Untouched: what is behind it may be anything.
        Some((first, rest)) if first == "run" => return Ok(CommandWords::Run(rest.to_vec())),
        Some((first, rest)) if first == "hadoop" => return Ok(CommandWords::Hadoop(rest.to_vec())),
        Some((first, rest)) if first == "fpga" || first == "fpgad" => {
            return Ok(accelerators(first == "fpgad", rest.to_vec()));
        }
        Some((first, _)) if is_of_run(first) => {
            let line: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            return Err(ParseError::Refused(format!(
                "gerbil wants a command first: gerbil run {}",
                line.join(" ")
            )));
        }
        Some(_) | None => {}
    }
    let words = match words.split_first() {
        // As a command of its own it would take a line of the help, which fits a screen.
        Some((first, rest)) if first == "help" => {
            let rest = rest.iter().cloned();
            return translated(rest.chain(["--help".into()]).collect());
        }
        _ => words,
    };
    let words = match words.split_first() {
        Some((first, rest)) if first == "mr" && past::is_of_past(rest) => {
            let words = std::iter::once("gerbil mr".into()).chain(rest.iter().cloned());
            return Ok(CommandWords::Past(PastArguments::try_parse_from(words)?));
        }
        Some((first, rest)) if first == "mr" => {
            let rest = mapreduce::marked(rest.to_vec()).map_err(ParseError::Refused)?;
            past::behind_options(&rest).map_err(ParseError::Refused)?;
            std::iter::once(first.clone()).chain(rest).collect()
        }
        Some(_) | None => words,
    };
    named_after_no_value(&words).map_err(ParseError::Refused)?;
    let gerbil = Gerbil::try_parse_from(std::iter::once(NAME.into()).chain(words))?;
    let task = match gerbil.task {
        GerbilCommand::Mr(given) => return Ok(CommandWords::MapReduce(given)),
        GerbilCommand::Session { task } => return Ok(CommandWords::Session(task)),
        GerbilCommand::Ps { json } => return Ok(CommandWords::Ps { json }),
        GerbilCommand::Probe(given) => return Ok(CommandWords::Probe(given)),
        GerbilCommand::Clean(given) => return Ok(CommandWords::Clean(given)),
        GerbilCommand::Man { command } => return Ok(CommandWords::Man(command)),
        GerbilCommand::Attach { job, given } => {
            return Ok(CommandWords::Session(SessionTask::Attach { job, given }));
        }
        GerbilCommand::Logs { job, given } => {
            return Ok(CommandWords::Session(SessionTask::Logs { job, given }));
        }
        other => other,
    };
    if let GerbilCommand::Kill { application } = &task
        && let Ok(job) = application.parse::<JobName>()
        && (job.number.is_some() || application.starts_with('s'))
    {
        return Ok(CommandWords::Session(SessionTask::Kill { job }));
    }
    let words: Vec<&str> = match &task {
        GerbilCommand::Run { words } => return Ok(CommandWords::Run(words.clone())),
        GerbilCommand::Hadoop { words } => return Ok(CommandWords::Hadoop(words.clone())),
        GerbilCommand::Fpga { words } => return Ok(accelerators(false, words.clone())),
        GerbilCommand::Fpgad { words } => return Ok(accelerators(true, words.clone())),
        // Above.
        GerbilCommand::Session { .. }
        | GerbilCommand::Mr(_)
        | GerbilCommand::Ps { .. }
        | GerbilCommand::Probe(_)
        | GerbilCommand::Clean(_)
        | GerbilCommand::Man { .. }
        | GerbilCommand::Attach { .. }
        | GerbilCommand::Logs { .. } => Vec::new(),
        GerbilCommand::Kill { application } => vec!["--kill", application],
        GerbilCommand::Completions { shell } => vec!["--generate", shell],
        // Under its own name.
        GerbilCommand::Version => return Err(version()),
    };
    Ok(CommandWords::Run(
        words.into_iter().map(OsString::from).collect(),
    ))
}

/// `session start --local 3` starts no session with the name 3.
fn named_after_no_value(words: &[OsString]) -> Result<(), String> {
    let gerbil = Gerbil::command();
    let mut definition = &gerbil;
    let mut rest = words;
    while let Some((word, behind)) = rest.split_first() {
        rest = behind;
        let text = word.to_string_lossy();
        match definition.find_subcommand(&*text) {
            // Its own words have a mark before the program already.
            Some(command) if command.get_name() == "mr" => return Ok(()),
            Some(command) => definition = command,
            None if text == "--" => return Ok(()),
            None => optional::refuse_value(definition, &text, rest, "name")?,
        }
    }
    Ok(())
}

/// What `gerbil --version` says.
fn version() -> ParseError {
    match Gerbil::try_parse_from([NAME, "--version"]) {
        Err(shown) => shown.into(),
        Ok(_) => ParseError::Refused(format!("{NAME} {}", env!("CARGO_PKG_VERSION"))),
    }
}

/// Words for the driver, which serves where it is told nothing else.
fn accelerators(serves: bool, words: Vec<OsString>) -> CommandWords {
    let words = match (serves, words.is_empty()) {
        (false, true) => vec![OsString::from("--help")],
        (true, _) | (false, false) => words,
    };
    CommandWords::Accelerators(words)
}

/// An option of `gerbil-run`, or the path of a program.
fn is_of_run(word: &OsString) -> bool {
    let word = word.to_string_lossy();
    let own = ["-h", "--help", "-V", "--version"];
    (word.starts_with('-') && !own.contains(&&*word)) || word.contains('/')
}

/// Its definition, `run` having the options of `gerbil-run`, and `mr` the commands that show jobs, for completions.
pub(crate) fn command() -> clap::Command {
    let past = PastArguments::command();
    let past = past.get_subcommands().cloned().collect::<Vec<_>>();
    Gerbil::command()
        .mut_subcommand("run", |_plain| Arguments::command().name("run"))
        .mut_subcommand("mr", |mr| mr.subcommands(past))
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;
    use crate::arguments::GeneratedText;

    fn words(line: &str) -> Result<String, String> {
        let words = line.split_whitespace().map(OsString::from).collect();
        let found = translated(words).map_err(|error| error.to_string())?;
        let found = match found {
            CommandWords::Run(found) | CommandWords::Accelerators(found) => found,
            CommandWords::Session(_) => return Ok("session".into()),
            CommandWords::MapReduce(_) => return Ok("mr".into()),
            CommandWords::Past(_) => return Ok("past".into()),
            CommandWords::Probe(_) => return Ok("probe".into()),
            CommandWords::Clean(_) => return Ok("clean".into()),
            CommandWords::Man(words) => return Ok(format!("man of {words:?}")),
            CommandWords::Hadoop(words) => return Ok(format!("hadoop with {} words", words.len())),
            CommandWords::Ps { json } => return Ok(if json { "ps json" } else { "ps" }.into()),
        };
        let found: Vec<_> = found.iter().map(|word| word.to_str().unwrap()).collect();
        Ok(found.join(" "))
    }

    #[test]
    fn each_command_is_an_option_of_the_other_name() {
        for (line, wanted) in [
            ("run -n 4 ./cpi -h -- ps", "-n 4 ./cpi -h -- ps"),
            ("run -- -odd", "-- -odd"),
            ("run", ""),
            ("ps", "ps"),
            ("ps --json", "ps json"),
            ("kill application_1_0001", "--kill application_1_0001"),
            ("kill application_1_0001.7", "session"),
            ("kill application_1_0001_7", "session"),
            ("kill s1.7", "session"),
            ("kill s1", "session"),
            ("hadoop fs -ls -R /x", "hadoop with 4 words"),
            ("mr status application_1_0001", "past"),
            ("mr history application_1_0001_7", "past"),
            ("session list", "session"),
            ("probe --json", "probe"),
            ("attach s1.7 --input", "session"),
            ("logs s1.7 3 -l", "session"),
            ("logs s1.7 r0.1", "session"),
            ("logs application_1_0001 m3", "session"),
            ("session stop night --now", "session"),
            ("completions zsh", "--generate zsh"),
            ("man", "man of []"),
            ("man run", "man of [\"run\"]"),
            ("man session start", "man of [\"session\", \"start\"]"),
            ("clean --yes", "clean"),
            ("mr --session s -D a=b ./p -D c=d IN OUT", "mr"),
            ("fpga ps --fpgad ./s", "ps --fpgad ./s"),
            ("fpga", "--help"),
            ("fpgad --profile fpga.toml", "--profile fpga.toml"),
            ("fpgad", ""),
        ] {
            assert_eq!(words(line).as_deref(), Ok(wanted), "{line}");
        }
        for form in GeneratedText::value_variants() {
            let name = form.to_possible_value().unwrap().get_name().to_owned();
            let shells = ["bash", "fish", "zsh"].contains(&&*name);
            assert_eq!(words(&format!("completions {name}")).is_ok(), shells);
        }
    }

    /// Of every command, each option that takes a value behind an equals sign alone.
    #[test]
    fn a_value_behind_a_blank_is_no_name() {
        fn all(command: &clap::Command, path: &str, found: &mut Vec<String>) {
            for argument in command.get_arguments() {
                if let (true, Some(long)) = (argument.is_require_equals_set(), argument.get_long())
                {
                    found.push(format!("{path} --{long}"));
                }
            }
            for command in command.get_subcommands() {
                all(command, &format!("{path} {}", command.get_name()), found);
            }
        }
        let mut lines = Vec::new();
        all(&Gerbil::command(), "", &mut lines);
        assert!(lines.len() >= 2, "{lines:?}");
        for line in lines {
            let line = line.trim();
            for value in ["3", "0", "true", "off"] {
                let option = line.rsplit(' ').next().unwrap();
                let refused = words(&format!("{line} {value} IN OUT")).unwrap_err();
                assert!(
                    refused.contains(&format!("{option}={value}")),
                    "{line}: {refused}"
                );
            }
        }
        assert!(
            words("session start --local 3")
                .unwrap_err()
                .contains("--local=3")
        );
        assert_eq!(
            words("session start --local night").as_deref(),
            Ok("session")
        );
        assert_eq!(
            words("session start --local -- 3").as_deref(),
            Ok("session")
        );
    }

    #[test]
    fn who_takes_it_for_the_other_name_is_told() {
        for line in ["-n 4 ./cpi", "./cpi"] {
            let error = words(line).unwrap_err();
            assert_eq!(
                error,
                format!("gerbil wants a command first: gerbil run {line}")
            );
        }
        assert!(words("version").unwrap_err().starts_with("gerbil 0."));
        assert!(words("kill").unwrap_err().contains("APPLICATION"));
        assert!(words("nonsense").unwrap_err().contains("nonsense"));
    }

    #[test]
    fn its_help_fits_a_screen() {
        // As it is shown: options that have one line each take no more.
        let help = Gerbil::try_parse_from([NAME, "--help"]).unwrap_err();
        let help = help.to_string();
        assert!(help.lines().count() <= 24, "{help}");
        for word in ["completions", "gerbil run --help", "gerbil man run"] {
            assert!(help.contains(word), "{help}");
        }
        command().debug_assert();
    }
}
