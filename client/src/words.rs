//! Splits one string into words, as GERBIL's `-i "ARGS"` wants it.

/// Words are separated by blanks; single and double quotes and backslashes protect blanks as in a
/// shell, and nothing is expanded.
///
/// # Errors
/// The quote that is never closed, or a backslash at the end.
pub(crate) fn split(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            (_, Some(open)) if letter == open => quote = None,
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            ('\\', None | Some('"')) => match letters.next() {
                Some(next) => word.get_or_insert_default().push(next),
                None => return Err(format!("a backslash ends the arguments {text}")),
            },
            (blank, None) if blank.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    if let Some(open) = quote {
        return Err(format!(
            "the quote {open} is never closed in the arguments {text}"
        ));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_protect_blanks() {
        assert_eq!(
            split(r#"a  'b c' "d \" e" f\ g '' "#).unwrap(),
            ["a", "b c", "d \" e", "f g", ""]
        );
        assert_eq!(split("").unwrap(), Vec::<String>::new());
        assert!(split("a 'b").is_err());
        assert!(split("a \\").is_err());
    }
}
