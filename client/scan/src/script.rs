//! Scripts: which language their first line names, and which files they name.

use crate::tables::Element;

/// Commands that are there where a device is.
const COMMANDS: &[(&str, Element)] = &[
    ("nvidia-smi", Element::Gpu),
    ("rocm-smi", Element::Gpu),
    ("xbutil", Element::Fpga),
];

/// What a script is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Python, of any version.
    Python,
    /// A shell.
    Shell,
    /// Another interpreter's language, which is not looked into.
    Other,
}

/// By the first line of a file that begins with `#!`.
#[must_use]
pub fn language(text: &str) -> Option<Language> {
    let line = text.strip_prefix("#!")?.lines().next()?;
    let mut words = line.split_whitespace();
    let name = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    let mut interpreter = name(words.next()?);
    if interpreter == "env" {
        // Its options, and variables for the program.
        interpreter = name(words.find(|word| !word.starts_with('-') && !word.contains('='))?);
    }
    Some(
        match interpreter.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') {
            "python" | "pypy" => Language::Python,
            "sh" | "bash" | "dash" | "ksh" | "zsh" => Language::Shell,
            _ => Language::Other,
        },
    )
}

/// What a shell script tells, a few words each; and its words, for whoever ships files that it names.
#[must_use]
pub fn shell(text: &str) -> (Vec<(Element, String)>, Vec<String>) {
    let lines = text.lines().zip(1_usize..);
    let code = lines.map(|(line, number)| (line.split(" #").next().unwrap_or(line), number));
    let code = code.filter(|(line, _)| !line.trim_start().starts_with('#'));
    let (mut found, mut named) = (Vec::new(), Vec::new());
    for (line, number) in code {
        let is_part = |c: char| !(c.is_ascii_alphanumeric() || "/._-".contains(c));
        for word in line.split(is_part).filter(|word| !word.is_empty()) {
            let name = word.rsplit('/').next().unwrap_or(word);
            let known = COMMANDS.iter().find(|(known, _)| *known == name);
            if let Some((command, element)) = known {
                found.push((*element, format!("line {number} runs {command}")));
            }
            named.push(word.to_owned());
        }
    }
    (found, named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_tells_the_language() {
        for (text, wanted) in [
            ("#!/usr/bin/python3\n", Some(Language::Python)),
            (
                "#!/usr/bin/env -S A=b python3.11 -u\n",
                Some(Language::Python),
            ),
            ("#! /bin/sh -e\n", Some(Language::Shell)),
            ("#!/usr/bin/perl\n", Some(Language::Other)),
            ("#!\n", None),
            ("#!/usr/bin/env\n", None),
            ("import os\n", None),
        ] {
            assert_eq!(language(text), wanted, "{text}");
        }
    }

    #[test]
    fn a_shell_script_names_commands_and_files() {
        let (found, named) =
            shell("#!/bin/sh\n# nvidia-smi\nexec python3 \"$HERE/map.py\" --fast # xbutil\n");
        assert_eq!(found, []);
        assert!(named.contains(&"HERE/map.py".to_owned()), "{named:?}");
        let (found, _) = shell("#!/bin/sh\nif nvidia-smi -L; then ./map; fi\n");
        assert_eq!(found, [(Element::Gpu, "line 2 runs nvidia-smi".to_owned())]);
    }
}
