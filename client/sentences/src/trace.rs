//! What a Java daemon says, without the stack traces in it.

/// Longest excerpt, in characters.
const MOST: usize = 400;
const CAUSE: &str = "Caused by: ";

/// The daemon's own words in one line. Of an exception its message stays, and of the causes below it the last, which
/// names what broke (`No space left on device`); frames go, and nothing else.
#[must_use]
pub fn without_frames(text: &str) -> String {
    let mut messages: Vec<&str> = Vec::new();
    // The cause that stands last, if nothing but frames came since.
    let mut cause = None;
    for line in text.lines().map(str::trim) {
        if is_frame(line) {
            continue;
        }
        let is_cause = line.starts_with(CAUSE);
        if let Some(place) = cause.take().filter(|_| is_cause) {
            messages.truncate(place);
        }
        cause = is_cause.then_some(messages.len());
        messages.push(line);
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

    /// As YARN puts one attempt's end behind the other's.
    #[test]
    fn of_two_traces_each_keeps_its_words_and_its_last_cause() {
        let trace = |attempt: &str, cause: &str| {
            format!(
                "{attempt} failed: E1: not started\n\tat a.b.C.d(C.java:1)\nCaused by: E2: half way\n\t... 3 more\n\
                 Caused by: {cause}\n\t... 5 more\n{attempt} ended (exit code 70)\n"
            )
        };
        let both = trace("one", "E3: no disk") + &trace("two", "E4: no key");
        assert_eq!(
            without_frames(&both),
            "one failed: E1: not started Caused by: E3: no disk one ended (exit code 70) two failed: E1: not started \
             Caused by: E4: no key two ended (exit code 70)"
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
