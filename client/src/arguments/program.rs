//! What each of several programs has of its own: processes, environment, folders.

use std::ffi::OsString;

use clap::{Args, Parser};

use super::mca::{AllMcaArguments, McaArguments};
use super::values::Whole;
use crate::environment::{EnvironmentRules, Inherited, Variable};
use crate::hostfile::{self, HostList, PROCESSES_MAX};
use crate::split_words;
use crate::usage::UsageError;

/// The heading of --help for what all programs share.
pub(super) const OF_ALL: &str = "Environment of all programs";

/// The options that are one program's alone.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = super::headings::PROGRAM)]
pub(crate) struct ProgramOptions {
    /// Give the program's processes the variable NAME; may be repeated. NAME=VALUE, one word, is
    /// understood too
    #[arg(long, value_name = "NAME VALUE", value_parser = pair)]
    pub env: Vec<Variable>,

    /// Of the variables here, pass on these alone; whatever they are
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub envlist: Option<Vec<String>>,

    /// Pass on none of the variables here
    #[arg(long, conflicts_with_all = ["envlist", "envall"])]
    pub envnone: bool,

    /// Pass on all variables here that make sense on another machine (the default); with --local all of them. OPTIONS.md
    /// has the rule
    #[arg(long, conflicts_with = "envlist")]
    pub envall: bool,

    /// Pass on this variable too, with the value it has here or with another; may be repeated
    #[arg(short = 'x', long, value_name = "NAME[=VALUE]", value_parser = one)]
    pub pass: Vec<Variable>,

    /// Folder of the nodes to start in; a relative one begins in the container's own folder, where
    /// the program starts otherwise. With --local, and in a session with --local, that is the current folder, unless --files,
    /// --archives, --stage-in, --stage-out or --get bring files into a folder of the job's own
    #[arg(short = 'D', long, visible_aliases = ["wd", "chdir"], value_name = "FOLDER")]
    pub wdir: Option<String>,

    /// Folders here in which the program is searched before those of PATH
    #[arg(long, value_name = "FOLDER[:...]")]
    pub path: Option<OsString>,

    #[command(flatten)]
    pub mca: McaArguments,
}

/// The options on the environment of all programs.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = OF_ALL)]
pub(crate) struct Environment {
    /// As -env, for all programs
    #[arg(long, value_name = "NAME VALUE", value_parser = pair)]
    pub genv: Vec<Variable>,

    /// As -envlist, for all programs
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub genvlist: Option<Vec<String>>,

    /// As -envnone, for all programs
    #[arg(long, conflicts_with_all = ["genvlist", "genvall"])]
    pub genvnone: bool,

    /// As -envall, for all programs
    #[arg(long, conflicts_with = "genvlist")]
    pub genvall: bool,

    /// The same as srun says it: ALL, NONE, or names, with or without values
    #[arg(long, value_name = "ALL|NONE|NAME[=VALUE],...", value_parser = export,
        conflicts_with_all = ["genvlist", "genvnone", "genvall"])]
    pub export: Option<EnvironmentRules>,

    #[command(flatten)]
    pub mca: AllMcaArguments,
}

impl Environment {
    /// What is wished for the program that starts by `start`: its own word on what is inherited
    /// counts more, and so do its own variables.
    pub(crate) fn rules(&self, start: &ProgramOptions) -> EnvironmentRules {
        let export = self.export.clone().unwrap_or_default();
        let inherited = match (&start.envlist, &self.genvlist) {
            (Some(names), _) => Inherited::Named(names.clone()),
            (None, _) if start.envnone => Inherited::None,
            (None, _) if start.envall => Inherited::All,
            (None, Some(names)) => Inherited::Named(names.clone()),
            (None, None) if self.genvnone => Inherited::None,
            (None, None) => export.inherited,
        };
        let (of_all, own) = (self.mca.variables(), start.mca.variables());
        let variables = [
            &export.variables,
            &self.genv,
            &of_all,
            &start.pass,
            &start.env,
            &own,
        ];
        EnvironmentRules {
            inherited,
            variables: variables.into_iter().flatten().cloned().collect(),
        }
    }
}

/// A program behind the first, as the lexer leaves it.
#[derive(Clone, Debug, Parser)]
#[command(name = "gerbil-run", no_binary_name = true, disable_help_flag = true)]
pub(crate) struct Further {
    #[arg(short = 'n', long = "processes", value_parser = Whole::new("number of processes", 1, PROCESSES_MAX))]
    pub processes: Option<u32>,

    #[arg(short = 'H', long, visible_alias = "host", value_parser = hostfile::inline)]
    pub hosts: Option<HostList>,

    #[arg(short = 'a', long = "mpi", conflicts_with = "command")]
    pub mpi: Option<OsString>,

    #[arg(short = 'i', long)]
    pub arguments: Option<String>,

    #[command(flatten)]
    pub start: ProgramOptions,

    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<OsString>,
}

/// One program of the job, as it was typed.
#[derive(Clone, Debug)]
pub(crate) struct TypedProgram {
    /// `None`: all of the job.
    pub processes: Option<u32>,
    pub file: OsString,
    pub args: Vec<String>,
    pub start: ProgramOptions,
}

/// The program and its arguments, from whichever form was used.
///
/// # Errors
/// No program, or arguments that are none.
pub(super) fn named(
    mpi: Option<OsString>,
    arguments: Option<&str>,
    command: Vec<OsString>,
) -> Result<(OsString, Vec<String>), UsageError> {
    match (mpi, arguments) {
        (Some(program), None) => Ok((program, Vec::new())),
        (Some(program), Some(text)) => Ok((program, split_words::split(text)?)),
        (None, Some(text)) => Err(UsageError::ArgumentsAlone {
            text: text.to_owned(),
        }),
        (None, None) => {
            let mut command = command.into_iter();
            // A variable of a script that is not set is no program.
            let Some(program) = command.next().filter(|program| !program.is_empty()) else {
                return Err(UsageError::NoProgramGiven);
            };
            let text = |arg: OsString| {
                arg.into_string()
                    .map_err(|argument| UsageError::NotUtf8 { argument })
            };
            Ok((program, command.map(text).collect::<Result<_, _>>()?))
        }
    }
}

pub(super) fn pair(text: &str) -> Result<Variable, String> {
    match one(text)? {
        Variable { value: None, name } => Err(format!("{name} has no value")),
        variable => Ok(variable),
    }
}

pub(super) fn one(text: &str) -> Result<Variable, String> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (text, None),
    };
    if name.is_empty() || name.contains('\0') {
        return Err(format!("{text} names no variable"));
    }
    Ok(Variable {
        name: name.to_owned(),
        value,
    })
}

fn export(text: &str) -> Result<EnvironmentRules, String> {
    let mut rules = EnvironmentRules::default();
    let mut names = Vec::new();
    let mut all = false;
    for word in text.split(',').filter(|word| !word.is_empty()) {
        match one(word)? {
            Variable { name, value: None } if name == "ALL" => all = true,
            Variable { name, value: None } if name == "NONE" || name == "NIL" => {}
            Variable { name, value: None } => names.push(name),
            variable => rules.variables.push(variable),
        }
    }
    rules.inherited = match (all, names.is_empty()) {
        (true, _) => {
            let too = names.into_iter().map(|name| Variable { name, value: None });
            rules.variables.extend(too);
            Inherited::All
        }
        (false, true) => Inherited::None,
        (false, false) => Inherited::Named(names),
    };
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Arguments;

    fn given(line: &str) -> Result<Arguments, String> {
        let words = std::iter::once("gerbil-run").chain(line.split_whitespace());
        Arguments::parse(words.map(Into::into)).map_err(|error| error.to_string())
    }

    /// What the first program inherits, and its variables.
    fn rules(line: &str) -> (Inherited, String) {
        let given = given(&format!("{line} ./cpi")).unwrap();
        let rules = given.environment.rules(&given.start);
        let variables = rules.variables.iter().map(|v| match &v.value {
            Some(value) => format!("{}={value}", v.name),
            None => v.name.clone(),
        });
        (rules.inherited, variables.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn the_environment_in_the_words_of_three_launchers() {
        use Inherited::{All, Named, None};
        let list = |names: &str| Named(names.split(' ').map(Into::into).collect());
        for (line, expected, variables) in [
            ("", All, ""),
            ("-genv A 1 -env B 2", All, "A=1 B=2"),
            ("-env B=2 -env A a=b", All, "B=2 A=a=b"),
            ("-env A -1 -genv=B=2 -env E=", All, "B=2 A=-1 E="),
            ("-genvnone -env A 1", None, "A=1"),
            ("-genvlist A,B -envall", All, ""),
            ("-genvlist A,B", list("A B"), ""),
            ("-genvnone -envlist A", list("A"), ""),
            ("-x A -x B=2", All, "A B=2"),
            ("--export ALL", All, ""),
            ("--export=ALL,A=1,B", All, "A=1 B"),
            ("--export NONE", None, ""),
            ("--export=A,B=2", list("A"), "B=2"),
            ("--export=A=1 -genv A 2", None, "A=1 A=2"),
        ] {
            assert_eq!(rules(line), (expected, variables.into()), "{line}");
        }
        assert!(given("-env A").unwrap_err().contains("-env wants"));
        assert!(given("-x =1 ./cpi").unwrap_err().contains("names no"));
        assert!(given("--export ALL -genvnone ./cpi").is_err());
    }

    #[test]
    fn programs_stand_between_colons() {
        let mut line =
            given("-n 2 --queue q -wdir /a ./a 1 : -np 3 -env A 1 -path /x b : -n=1 -a c -i x")
                .unwrap();
        assert_eq!(line.placement.processes, Some(6));
        let programs = line.programs().unwrap();
        let shown: Vec<String> = programs
            .iter()
            .map(|p| format!("{:?} {:?} {:?}", p.processes, p.file, p.args))
            .collect();
        assert_eq!(
            shown,
            [
                "Some(2) \"./a\" [\"1\"]",
                "Some(3) \"b\" []",
                "Some(1) \"c\" [\"x\"]"
            ]
        );
        assert_eq!(programs[0].start.wdir.as_deref(), Some("/a"));
        assert_eq!(programs[1].start.wdir, None);
        assert_eq!(programs[1].start.path, Some("/x".into()));
        assert_eq!(programs[1].start.env[0].name, "A");
        // Behind -- even a colon is the program's own.
        let mut line = given("-n 2 -- ./a : b").unwrap();
        assert_eq!(line.programs().unwrap()[0].args, [":", "b"]);
    }

    #[test]
    fn what_is_missing_or_misplaced_among_several_is_said() {
        let failed = |line: &str| given(line).unwrap_err();
        assert!(failed("./a : -n 2 ./b").contains("program 1 (./a) has no -n"));
        assert!(failed("-n 1 ./a : ./b").contains("program 2 (./b) has no -n"));
        assert!(failed("-n 1 ./a : -n 1").contains("program 2"));
        assert!(failed("-n 1 ./a :").contains("program 2"));
        let misplaced = failed("-n 1 ./a : -n 1 --queue q ./b");
        assert!(
            misplaced.contains("--queue counts for all programs"),
            "{misplaced}"
        );
        assert!(failed("-n 1 ./a : -n x ./b").contains("invalid value"));
        assert!(failed("-n 900000 ./a : -n 900000 ./b").contains("1000000"));
    }

    #[test]
    fn a_configuration_file_has_a_program_a_line() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(
            file.path(),
            "# two programs\n\n-n 1 ./a 'x y' \\\n  z\n-n 2 -env A 1 ./b\n",
        )
        .unwrap();
        let path = file.path().display();
        let mut line = given(&format!("--queue q -configfile {path}")).unwrap();
        let programs = line.programs().unwrap();
        assert_eq!(programs[0].args, ["x y", "z"]);
        assert_eq!(programs[1].processes, Some(2));
        assert_eq!(line.queue, "q");
        assert!(
            given(&format!("-configfile {path} ./c"))
                .unwrap_err()
                .contains("nothing may follow")
        );
        assert!(
            given("-configfile /no/such")
                .unwrap_err()
                .contains("/no/such")
        );
    }
}
