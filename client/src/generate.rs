//! Texts made from the definition of the command line: the manual page, completions for shells, and the
//! page on other launchers' options.

use std::io;
use std::process::ExitCode;

use clap::CommandFactory as _;
use clap_complete::Shell;
use job::exit::Exit;
use terminal::{Text, print_at_once, say};

use crate::arguments::{Arguments, GeneratedText, page};
use crate::subcommands;

/// The whole text.
pub(crate) fn text(form: GeneratedText) -> io::Result<Vec<u8>> {
    let mut command = Arguments::command();
    let mut text = Vec::new();
    let shell = match form {
        GeneratedText::Man => return manual(&command),
        GeneratedText::ManGerbil => return manual(&subcommands::command()),
        GeneratedText::ManMr => return manual(&subcommands::mapreduce()),
        GeneratedText::Options => return Ok(page().into_bytes()),
        GeneratedText::Bash => Shell::Bash,
        GeneratedText::Fish => Shell::Fish,
        GeneratedText::Zsh => Shell::Zsh,
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

/// The manual page of a command. How it is called is said in the words of its help: the list of all options, without their
/// values, that the maker of pages has for it cannot be typed.
fn manual(command: &clap::Command) -> io::Result<Vec<u8>> {
    let page = clap_mangen::Man::new(command.clone());
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    text.extend_from_slice(synopsis(command).as_bytes());
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    if command.get_subcommands().any(|below| !below.is_hide_set()) {
        page.render_subcommands_section(&mut text)?;
    }
    if command.get_after_help().is_some() || command.get_after_long_help().is_some() {
        page.render_extra_section(&mut text)?;
    }
    if command.get_version().is_some() {
        page.render_version_section(&mut text)?;
    }
    Ok(text)
}

/// That section of a page.
fn synopsis(command: &clap::Command) -> String {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.strip_prefix("Usage:").unwrap_or(&usage);
    let mut section = ".SH SYNOPSIS\n".to_owned();
    for line in usage.lines().map(str::trim).filter(|line| !line.is_empty()) {
        section.push_str(&line.replace('\\', "\\e").replace('-', "\\-"));
        section.push_str("\n.br\n");
    }
    section
}

/// The manual page of the command that `words` name behind `gerbil`: as words, or with dashes between them, as pages name
/// one another.
fn page_of(words: &[String]) -> Result<clap::Command, String> {
    let mut command = subcommands::command();
    // As pages are called: gerbil-session-start.
    command.build();
    let words = words.iter().flat_map(|word| word.split('-'));
    let mut words = words.filter(|word| !word.is_empty()).peekable();
    words.next_if_eq(&subcommands::NAME);
    for word in words {
        let Some(below) = command.find_subcommand(word) else {
            let all = command.get_subcommands().filter(|one| !one.is_hide_set());
            let all: Vec<&str> = all.map(clap::Command::get_name).collect();
            let of = command.get_bin_name().unwrap_or(subcommands::NAME);
            return Err(match all.is_empty() {
                true => format!("{of} has no commands below it: gerbil man without {word}"),
                false => format!("{word} is no command of {of}; there are {}", all.join(", ")),
            });
        };
        command = below.clone();
    }
    Ok(command)
}

/// Prints it; what the command returns.
pub(crate) fn print_page(words: &[String]) -> ExitCode {
    match page_of(words) {
        Ok(command) => shown(manual(&command)),
        Err(sentence) => {
            say(&sentence);
            ExitCode::from(Exit::Usage.code())
        }
    }
}

/// Writes it to standard output; what the command returns.
pub(crate) fn print(form: GeneratedText) -> ExitCode {
    shown(text(form))
}

fn shown(text: io::Result<Vec<u8>>) -> ExitCode {
    let text = match text {
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

    /// Pages that a page names, as `gerbil-session-start`.
    fn named(page: &str) -> Vec<String> {
        let plain = page.replace('\\', "");
        let lines = plain.lines().filter_map(|line| line.strip_suffix("(1)"));
        let pages = lines.filter(|name| name.starts_with("gerbil-"));
        pages.map(str::to_owned).collect()
    }

    #[test]
    fn every_page_that_a_page_names_is_there_and_says_how_its_command_is_called() {
        let mut left = vec![String::new()];
        let mut seen = Vec::new();
        while let Some(name) = left.pop() {
            let command = page_of(std::slice::from_ref(&name)).unwrap();
            let page = String::from_utf8(manual(&command).unwrap()).unwrap();
            left.extend(named(&page));
            let plain = page.replace('\\', "");
            let synopsis = plain.split(".SH SYNOPSIS").nth(1).unwrap();
            let synopsis = synopsis.split(".SH").next().unwrap();
            // An option that wants a value stands with it, or not at all.
            assert!(!synopsis.contains("[--session]"), "{name}: {synopsis}");
            assert!(synopsis.trim().starts_with("gerbil"), "{name}: {synopsis}");
            seen.push(name);
        }
        for name in [
            "gerbil-session-start",
            "gerbil-mr",
            "gerbil-mr-list",
            "gerbil-clean",
        ] {
            assert!(seen.iter().any(|seen| seen == name), "{name}: {seen:?}");
        }
        let words =
            |line: &str| -> Vec<String> { line.split_whitespace().map(str::to_owned).collect() };
        assert!(page_of(&words("session start")).is_ok());
        let refused = page_of(&words("session no")).unwrap_err();
        assert!(
            refused.contains("no is no command of gerbil session"),
            "{refused}"
        );
        assert!(page_of(&words("ps no")).is_err());
    }

    #[test]
    fn every_form_names_the_options() {
        for form in GeneratedText::value_variants() {
            let text = String::from_utf8(text(*form).unwrap()).unwrap();
            // A manual page writes a dash as \\-.
            let plain = text.replace('\\', "");
            let word = match form {
                GeneratedText::ManGerbil => "gerbil-completions(1)",
                GeneratedText::ManMr => "GERBIL_SESSION",
                _ => "prepend-pattern",
            };
            assert!(plain.contains(word), "{form:?}: {plain}");
            // Of this shell's there is nothing but words: `gerbil mr counters` is one.
            assert!(
                *form != GeneratedText::Bash || plain.contains("counters"),
                "{plain}"
            );
        }
    }
}
