//! What clap found wrong, as one sentence.

/// What clap found, without its mark and without how a command line is to be used.
pub(crate) fn essence(words: &str) -> String {
    let words = words.trim_start_matches("error: ");
    let found = words.split("\n\nUsage:").next().unwrap_or(words);
    let found = found
        .split("\n\nFor more information")
        .next()
        .unwrap_or(found);
    found.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clap_is_quoted_without_its_usage() {
        assert_eq!(
            essence("error: invalid value '0' for '-n'\n\n  tip: x\n\nUsage: y\n"),
            "invalid value '0' for '-n' tip: x"
        );
        assert_eq!(
            essence("error: a\n\nFor more information, try '--help'.\n"),
            "a"
        );
    }
}
