//! A command as the words of which it is made, as Hadoop Streaming cuts it: no shell reads it.
//!
//! Blanks part words, quotes of either kind keep them together, and a quote ends the word before it: `a'b c'` is two words.
//! A backslash means nothing.

/// The words of `command`.
pub(crate) fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for letter in command.chars() {
        let ends = match quote {
            Some(open) => open == letter,
            None => matches!(letter, ' ' | '\'' | '"'),
        };
        if !ends {
            word.push(letter);
            continue;
        }
        quote = (quote.is_none() && letter != ' ').then_some(letter);
        if !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Programs whose first word that is no option names a script.
const INTERPRETERS: [&str; 12] = [
    "python", "perl", "ruby", "sh", "bash", "dash", "ksh", "zsh", "node", "php", "Rscript", "lua",
];

/// The words of a command that name files it runs: the program itself, and the script of an interpreter.
pub(crate) fn files(command: &str) -> Vec<String> {
    let all = words(command);
    let Some((program, rest)) = all.split_first() else {
        return Vec::new();
    };
    let mut files = vec![program.clone()];
    let name = program.rsplit('/').next().unwrap_or(program);
    let (program, rest) = match name {
        // `env` and `nice` run what follows them.
        "env" => match rest.split_first() {
            Some((program, rest)) => (program.rsplit('/').next().unwrap_or(program), rest),
            None => return files,
        },
        name => (name, rest),
    };
    let is_interpreter = INTERPRETERS.iter().any(|known| {
        let version = program.strip_prefix(known);
        version.is_some_and(|version| {
            version
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.')
        })
    });
    if is_interpreter {
        let is_inline = |word: &String| {
            matches!(
                word.as_str(),
                "-c" | "-e" | "-m" | "-E" | "-n" | "-ne" | "-pe" | "-ane"
            )
        };
        if !rest
            .iter()
            .take_while(|word| word.starts_with('-'))
            .any(is_inline)
        {
            files.extend(rest.iter().find(|word| !word.starts_with('-')).cloned());
        }
    }
    if matches!(program, "awk" | "gawk" | "mawk" | "sed") {
        let script = rest.iter().skip_while(|word| *word != "-f").nth(1);
        files.extend(script.cloned());
    }
    files
}

#[cfg(test)]
mod tests {
    use super::{files, words};

    #[test]
    fn words_are_cut_as_hadoop_streaming_cuts_them() {
        for (command, wanted) in [
            ("cat", vec!["cat"]),
            (
                "  python3   mapper.py -x  ",
                vec!["python3", "mapper.py", "-x"],
            ),
            (
                "awk '{print $1 \"\\t\" 1}'",
                vec!["awk", "{print $1 \"\\t\" 1}"],
            ),
            (
                "sh -c \"cut -f 1 | sort\"",
                vec!["sh", "-c", "cut -f 1 | sort"],
            ),
            ("a'b c'd", vec!["a", "b c", "d"]),
            ("grep ''", vec!["grep"]),
            ("echo \"it's\"", vec!["echo", "it's"]),
            ("", vec![]),
        ] {
            assert_eq!(words(command), wanted, "{command}");
        }
    }

    #[test]
    fn the_files_of_a_command_are_its_program_and_its_script() {
        for (command, wanted) in [
            ("mapper.py a b", vec!["mapper.py"]),
            ("python3 -u mapper.py data", vec!["python3", "mapper.py"]),
            (
                "/usr/bin/python2.7 mapper.py",
                vec!["/usr/bin/python2.7", "mapper.py"],
            ),
            (
                "/usr/bin/env python3 mapper.py",
                vec!["/usr/bin/env", "mapper.py"],
            ),
            ("sh -c 'cat data'", vec!["sh"]),
            ("perl -ne 'print'", vec!["perl"]),
            ("awk -F , -f count.awk", vec!["awk", "count.awk"]),
            ("grep data", vec!["grep"]),
        ] {
            assert_eq!(files(command), wanted, "{command}");
        }
    }
}
