//! Why a command line is none, as one sentence; or the text that it asks for.

use std::error::Error;
use std::fmt;
use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use job::exit::Exit;
use terminal::{PrintError, Text, print_at_once, say, write_stderr};

use crate::hostfile::HostListError;
use crate::version;

/// What a command line came to that is none of a job.
#[derive(Debug)]
pub(crate) enum ParseError {
    /// A text is to be shown.
    Help {
        /// Help as clap makes it, or the short one.
        text: Help,
        /// It was asked for, and is not shown for want of a command.
        asked: bool,
    },
    /// One sentence.
    Refused(String),
}

/// A text on the command.
#[derive(Debug)]
pub(crate) enum Help {
    /// As clap makes it of the definition.
    Defined(clap::Error),
    /// The usual command lines on one screen.
    Usage(&'static str),
    /// What this file is.
    Version(String),
}

impl ParseError {
    /// Shows it, and tells what the command returns.
    pub(crate) fn show(&self) -> ExitCode {
        match self {
            Self::Help { text, asked } => {
                let shown = match (text, asked) {
                    // On the stream that fits, in colour on a terminal.
                    (Help::Defined(text), _) => text.print().and_then(|()| io::stdout().flush()),
                    (Help::Usage(text), true) => return printed(text),
                    (Help::Version(text), _) => return printed(text),
                    (Help::Usage(text), false) => {
                        write_stderr(*text);
                        Ok(())
                    }
                };
                match (shown, asked) {
                    // A reader that has left has seen enough.
                    (Err(error), true) if error.kind() != io::ErrorKind::BrokenPipe => {
                        refused(&PrintError::from(error))
                    }
                    (_, true) => ExitCode::SUCCESS,
                    (_, false) => ExitCode::from(Exit::Usage.code()),
                }
            }
            Self::Refused(sentence) => {
                say(sentence);
                ExitCode::from(Exit::Usage.code())
            }
        }
    }
}

fn printed(text: &str) -> ExitCode {
    match print_at_once(Text::Whole(text.as_bytes().to_vec())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => refused(&error),
    }
}

/// Standard output takes no more.
fn refused(error: &PrintError) -> ExitCode {
    say(error);
    ExitCode::from(error.exit().code())
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Help { text, .. } => match text {
                Help::Defined(text) => text.fmt(f),
                Help::Usage(text) => f.write_str(text),
                Help::Version(text) => f.write_str(text),
            },
            Self::Refused(sentence) => f.write_str(sentence),
        }
    }
}

impl Error for ParseError {}

impl From<clap::Error> for ParseError {
    fn from(error: clap::Error) -> Self {
        let asked = match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => true,
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => false,
            _ => return Self::Refused(sentence(&error)),
        };
        let text = match error.kind() {
            ErrorKind::DisplayVersion => Help::Version(version::text(&error.to_string())),
            _ => Help::Defined(error),
        };
        Self::Help { text, asked }
    }
}

/// What clap found, in one sentence.
fn sentence(error: &clap::Error) -> String {
    // What is wrong with a list of hosts says where it is; no other words are needed.
    let source = error.source();
    if let Some(list) = source.and_then(<dyn Error>::downcast_ref::<HostListError>) {
        return list.to_string();
    }
    let words = |kind: ContextKind| -> Vec<String> {
        match error.get(kind) {
            Some(ContextValue::String(word)) => vec![word.clone()],
            Some(ContextValue::Strings(words)) => words.clone(),
            Some(ContextValue::StyledStr(text)) => vec![text.to_string()],
            Some(ContextValue::StyledStrs(texts)) => {
                texts.iter().map(ToString::to_string).collect()
            }
            Some(number @ ContextValue::Number(_)) => vec![number.to_string()],
            _ => Vec::new(),
        }
    };
    let argument = words(ContextKind::InvalidArg).join(" ");
    let value = words(ContextKind::InvalidValue).join(" ");
    let mut sentence = match error.kind() {
        ErrorKind::InvalidValue if value.is_empty() => {
            format!("a value is required for '{argument}' but none was supplied")
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            format!("invalid value '{value}' for '{argument}'")
        }
        ErrorKind::UnknownArgument => format!("unexpected argument '{argument}' found"),
        ErrorKind::InvalidSubcommand => {
            let unknown = words(ContextKind::InvalidSubcommand).join(" ");
            format!("unrecognized subcommand '{unknown}'")
        }
        ErrorKind::NoEquals => {
            format!("equal sign is needed when assigning values to '{argument}'")
        }
        ErrorKind::TooManyValues => {
            format!("unexpected value '{value}' for '{argument}' found; no more were expected")
        }
        ErrorKind::ArgumentConflict => match &words(ContextKind::PriorArg)[..] {
            [prior] if *prior == argument => {
                format!("the argument '{argument}' cannot be used multiple times")
            }
            [prior] => format!("the argument '{argument}' cannot be used with '{prior}'"),
            [] => {
                format!(
                    "the argument '{argument}' cannot be used with one or more of the other specified arguments"
                )
            }
            prior => format!(
                "the argument '{argument}' cannot be used with: {}",
                prior.join(" ")
            ),
        },
        ErrorKind::MissingRequiredArgument => {
            format!("the following required arguments were not provided: {argument}")
        }
        kind => kind.to_string(),
    };
    let possible = words(ContextKind::ValidValue);
    if !possible.is_empty() {
        sentence.push_str(&format!(" [possible values: {}]", possible.join(", ")));
    }
    if let Some(source) = source {
        sentence.push_str(&format!(": {source}"));
    }
    for (kind, what) in [
        (ContextKind::SuggestedSubcommand, "subcommand"),
        (ContextKind::SuggestedArg, "argument"),
        (ContextKind::SuggestedValue, "value"),
    ] {
        let near: Vec<String> = words(kind).iter().map(|word| format!("'{word}'")).collect();
        match &near[..] {
            [] => {}
            [one] => sentence.push_str(&format!(" tip: a similar {what} exists: {one}")),
            some => {
                let some = some.join(", ");
                sentence.push_str(&format!(" tip: some similar {what}s exist: {some}"));
            }
        }
    }
    for tip in words(ContextKind::Suggested) {
        sentence.push_str(&format!(" tip: {tip}"));
    }
    sentence
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::arguments::Arguments;

    /// What clap itself shows, without its mark and without how a command line is to be used.
    fn of_clap(error: &clap::Error) -> String {
        let shown = error.to_string();
        let shown = shown.trim_start_matches("error: ");
        let found = shown.split("\n\nUsage:").next().unwrap();
        let found = found.split("\n\nFor more information").next().unwrap();
        found.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_words_are_those_of_clap_without_its_usage() {
        for line in [
            "--processes x ./cpi",
            "--processes",
            "--no-such ./cpi",
            "--queu q ./cpi",
            "--deploy-mode yarn ./cpi",
            "--deploy-mode clien ./cpi",
            "--time 5 --timeout 5 ./cpi",
            "--queue a --queue b ./cpi",
            "--kill application_1_0001 --queue q",
            "--generate bsh",
            "--local 3 ./cpi",
            "--output-from x ./cpi",
        ] {
            let words = std::iter::once("gerbil-run").chain(line.split_whitespace());
            match Arguments::command().try_get_matches_from(words) {
                Ok(_) => {}
                Err(error) => assert_eq!(sentence(&error), of_clap(&error), "{line}"),
            }
        }
    }
}
