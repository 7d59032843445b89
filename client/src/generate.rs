//! Texts made from the definition of the command line: the manual page, completions for shells, and the
//! page on other launchers' options.

use std::io;
use std::process::ExitCode;

use clap::CommandFactory as _;
use clap_complete::Shell;
use job::exit::Exit;
use terminal::{Text, print_at_once, say};

use crate::arguments::{Arguments, Form, page};
use crate::subcommands;

/// The whole text.
pub(crate) fn text(form: Form) -> io::Result<Vec<u8>> {
    let mut command = Arguments::command();
    let mut text = Vec::new();
    let shell = match form {
        Form::Man | Form::ManGerbil | Form::ManMr => {
            let command = match form {
                Form::ManGerbil => subcommands::command(),
                Form::ManMr => subcommands::mapreduce(),
                _ => command,
            };
            clap_mangen::Man::new(command).render(&mut text)?;
            return Ok(text);
        }
        Form::Options => return Ok(page().into_bytes()),
        Form::Bash => Shell::Bash,
        Form::Fish => Shell::Fish,
        Form::Zsh => Shell::Zsh,
    };
    clap_complete::generate(shell, &mut command, "gerbil-run", &mut text);
    clap_complete::generate(
        shell,
        &mut subcommands::command(),
        subcommands::NAME,
        &mut text,
    );
    Ok(text)
}

/// Writes it to standard output; what the command returns.
pub(crate) fn print(form: Form) -> ExitCode {
    let text = match text(form) {
        Ok(text) => text,
        Err(error) => {
            say(format_args!("cannot write: {error}"));
            return ExitCode::from(Exit::Staging.code());
        }
    };
    match print_at_once(Text::Whole(text)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&error);
            ExitCode::from(error.exit().code())
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn every_form_names_the_options() {
        for form in Form::value_variants() {
            let text = String::from_utf8(text(*form).unwrap()).unwrap();
            // A manual page writes a dash as \\-.
            let plain = text.replace('\\', "");
            let word = match form {
                Form::ManGerbil => "gerbil-completions(1)",
                Form::ManMr => "GERBIL_SESSION",
                _ => "prepend-pattern",
            };
            assert!(plain.contains(word), "{form:?}: {plain}");
            // Of this shell's there is nothing but words: `gerbil mr counters` is one.
            assert!(*form != Form::Bash || plain.contains("counters"), "{plain}");
        }
    }
}
