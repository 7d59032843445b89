//! What a Java daemon says, without the stack traces in it.

/// Longest excerpt, in characters.
const MOST: usize = 400;
const CAUSE: &str = "Caused by: ";

/// The daemon's own words in one line. Of an exception its message stays, and of the causes below it the last, which
/// names what broke (`No space left on device`); frames go.
#[must_use]
pub fn without_frames(text: &str) -> String {
    let mut messages: Vec<&str> = Vec::new();
    let mut cause = None;
    for line in text.lines().map(str::trim) {
        if line.starts_with(CAUSE) {
            let place = *cause.get_or_insert(messages.len());
            messages.truncate(place);
            messages.push(line);
        } else if !is_frame(line) {
            messages.push(line);
        }
    }
    let joined = messages.join(" ");
    joined.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// [`without_frames`], of a sentence's length.
pub fn excerpt(text: &str) -> String {
    let said = without_frames(text);
    match said.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &said[..end]),
        None => said,
    }
}

/// `at org.apache.hadoop.yarn.util.FSDownload.call(FSDownload.java:430)` and `... 8 more`.
fn is_frame(line: &str) -> bool {
    let is_call = |rest: &str| rest.ends_with(')') && rest.contains('(') && rest.contains('.');
    let left_out = line
        .strip_prefix("... ")
        .and_then(|rest| rest.strip_suffix(" more"));
    line.strip_prefix("at ").is_some_and(is_call)
        || left_out.is_some_and(|count| count.parse::<u32>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_cause_of_a_trace_is_said() {
        let said = "[2026-11-27 18:20:26.283]java.lang.reflect.UndeclaredThrowableException\n\
                    \tat org.apache.hadoop.security.UserGroupInformation.doAs(UserGroupInformation.java:1969)\n\
                    \tat java.base/java.lang.Thread.run(Thread.java:840)\n\
                    Caused by: org.apache.hadoop.yarn.exceptions.YarnException: Download and unpack failed\n\
                    \tat org.apache.hadoop.yarn.util.FSDownload.downloadAndUnpack(FSDownload.java:322)\n\
                    \t... 9 more\n\
                    Caused by: java.io.IOException: No space left on device\n\
                    \tat java.base/java.io.FileOutputStream.writeBytes(Native Method)\n\
                    \t... 14 more\n\n\
                    For more detailed output, check the application tracking page.";
        assert_eq!(
            without_frames(said),
            "[2026-11-27 18:20:26.283]java.lang.reflect.UndeclaredThrowableException Caused by: java.io.IOException: \
             No space left on device For more detailed output, check the application tracking page."
        );
    }

    #[test]
    fn words_without_a_trace_stay_as_they_are() {
        let said = "Container killed on request. Exit code is 137\n  at 12:00 (noon)\n... and more";
        assert_eq!(
            without_frames(said),
            "Container killed on request. Exit code is 137 at 12:00 (noon) ... and more"
        );
        assert_eq!(without_frames(""), "");
    }

    #[test]
    fn what_is_long_is_cut_between_characters() {
        let cut = excerpt(&"é".repeat(MOST + 1));
        assert_eq!(cut.chars().count(), MOST + 1);
        assert!(cut.ends_with('…'));
    }
}
