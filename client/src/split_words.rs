//! Splits one string into words, as GERBIL's `-i "ARGS"` wants it, and lines of files of options.

/// There are no words.
#[derive(Debug, thiserror::Error)]
#[error("a quote is never closed in the arguments {text}")]
pub(crate) struct OpenQuote {
    /// All of the text.
    text: String,
}

/// The words that a POSIX shell makes of `text`, where nothing is expanded: quotes and backslashes
/// protect blanks, and a word that begins with # begins a comment.
///
/// # Errors
/// A quote that is never closed.
pub(crate) fn split(text: &str) -> Result<Vec<String>, OpenQuote> {
    shell_words::split(text).map_err(|_open| OpenQuote {
        text: text.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_a_shell() {
        assert_eq!(
            split(r#"a  'b c' "d \" e" f\ g '' "#).unwrap(),
            ["a", "b c", "d \" e", "f g", ""]
        );
        assert_eq!(split("").unwrap(), Vec::<String>::new());
        assert!(
            split("a 'b")
                .unwrap_err()
                .to_string()
                .contains("never closed")
        );
        // Between double quotes a backslash protects little.
        assert_eq!(
            split(r#""a\tb" 'a\tb' a\tb "a\\b" "\$x""#).unwrap(),
            [r"a\tb", r"a\tb", "atb", r"a\b", "$x"]
        );
    }

    /// The same by the shell itself.
    #[test]
    fn a_shell_agrees() {
        for text in [
            r#""a\tb""#,
            r#"a\ b 'c "d" e' "f 'g' h""#,
            r#"x"y z"'u v'\w"#,
            r#"'' "" a#b "c #d""#,
            r#"--opt="two words" -x='1 2'"#,
        ] {
            let line = format!("printf '%s\\n' {text}");
            let shell = std::process::Command::new("sh")
                .args(["-c", &line])
                .output();
            let shell = String::from_utf8(shell.unwrap().stdout).unwrap();
            let words: Vec<&str> = shell.lines().collect();
            assert_eq!(split(text).unwrap(), words, "{text}");
        }
    }
}
