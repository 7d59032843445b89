//! A job that is left to its session: nobody is here to do what some options want.

use follow::streams::StandardInput;

use super::{Arguments, ParseError};

/// What is written here, or shown.
const HERE: &str = "nobody is here to write the output; gerbil attach and gerbil logs show it, with --label if \
                    that is wanted";
/// What is told when it ends.
const ENDED: &str = "its end is not waited for; gerbil session status shows its exit code, and gerbil attach \
                     returns it";

/// Options that a detached job cannot have, by their long names, and why or what to do.
const REFUSED: &[(&str, &str)] = &[
    ("label", HERE),
    ("prepend-pattern", HERE),
    ("outfile-pattern", HERE),
    ("errfile-pattern", HERE),
    ("output", HERE),
    ("output-from", HERE),
    ("pty", "a detached job has no terminal"),
    (
        "explain",
        "nobody is here to be told; gerbil session status shows what it waits for",
    ),
    ("report", ENDED),
    ("timing", ENDED),
    ("print-all-exitcodes", ENDED),
    ("exit-code", ENDED),
    (
        "wait-timeout",
        "nobody is here to give it up; gerbil kill does",
    ),
];

impl Arguments {
    /// Refuses what a detached job cannot have; `typed` are the long names of the options on the command line.
    ///
    /// # Errors
    /// One sentence for the user.
    pub(super) fn detached<'a>(
        &mut self,
        mut typed: impl Iterator<Item = &'a str>,
    ) -> Result<(), ParseError> {
        if !self.session.detach {
            return Ok(());
        }
        let refused = |long: &str, why: &str| {
            ParseError::Refused(format!("--{long} does not go with --detach: {why}"))
        };
        let found = typed.find_map(|long| REFUSED.iter().find(|(other, _)| *other == long));
        if let Some((long, why)) = found {
            return Err(refused(long, why));
        }
        match &self.streams.input {
            None => self.streams.input = Some(StandardInput::None),
            Some(StandardInput::File(_)) => {
                return Err(refused(
                    "input",
                    "nobody is here to read the file; bring it with --files, and have the program read it",
                ));
            }
            Some(StandardInput::None | StandardInput::Own) => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, String> {
        let words = std::iter::once("gerbil-run").chain(line.split_whitespace());
        Arguments::parse(words.map(Into::into)).map_err(|error| error.to_string())
    }

    #[test]
    fn standard_input_is_empty_or_of_who_attaches() {
        let given = parse("--session s --detach ./cpi").unwrap();
        assert_eq!(given.streams.input, Some(StandardInput::None));
        let given = parse("--session s --detach --input 0 ./cpi").unwrap();
        assert_eq!(given.streams.input, Some(StandardInput::Own));
        let given = parse("--session s ./cpi").unwrap();
        assert_eq!(given.streams.input, None);
        let refused = parse("--session s --detach --input ./f ./cpi").unwrap_err();
        assert!(refused.contains("bring it with --files"), "{refused}");
    }

    #[test]
    fn what_needs_somebody_here_is_refused_with_what_to_do() {
        for (line, wanted) in [
            ("--detach ./cpi", "--session or GERBIL_SESSION"),
            ("--session s --detach -l ./cpi", "--label does not go with"),
            ("--session s --detach --pty ./cpi", "no terminal"),
            ("--session s --detach --outfile o ./cpi", "gerbil logs"),
            ("--session s --detach --timing ./cpi", "session status"),
            (
                "--session s --detach --wait-timeout 1s ./cpi",
                "gerbil kill",
            ),
            (
                "--session s --detach --explain ./cpi",
                "gerbil session status shows what it waits for",
            ),
            ("--list f --detach", "--detach belongs into"),
        ] {
            let refused = parse(line).unwrap_err();
            assert!(refused.contains(wanted), "{line}: {refused}");
        }
    }
}
