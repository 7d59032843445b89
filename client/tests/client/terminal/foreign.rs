//! Names and last words of others on the user's terminal.

use super::{command, listed, past, run, staging};
use crate::session::night::{Night, output, told};

/// A line that would be believed, a cleared screen, a title, a bell, reversed letters, and a megabyte.
fn hostile() -> String {
    format!(
        "evil\n\u{1b}[2J\u{1b}]0;title\u{7}\r\nFAKE all is well\n\u{9b}31m\u{202e}txt\u{2066}\u{0}{}",
        "x".repeat(1_000_000)
    )
}

fn is_obeyed(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[tokio::test(flavor = "multi_thread")]
async fn no_word_of_others_is_obeyed_begins_a_line_or_fills_the_screen() {
    let night = Night::start().await;
    let hostile = hostile();
    past(&night, &hostile);
    // Jobs of the user, and their session's, as YARN and the ApplicationMaster name them.
    for tag in ["gerbil-session", "gerbil-mapreduce"] {
        listed(&night, &hostile, tag).await;
    }
    let (code, name, said) = told(output(night.job(&["--detach"], "exit")).await);
    assert_eq!(code, Some(0), "{said}");
    hostile.clone_into(&mut night.appmaster.words.lock().unwrap());
    let (staging, name, own) = (staging(&night), name.trim_end(), night.id.id);
    for line in [
        "gerbil ps".to_owned(),
        "gerbil-run --ps".to_owned(),
        "gerbil ps --json".to_owned(),
        "gerbil session status night".to_owned(),
        "gerbil session status night --json".to_owned(),
        "gerbil session list".to_owned(),
        "gerbil session nodes night".to_owned(),
        "gerbil session nodes night --json".to_owned(),
        format!("gerbil logs s{own}.5"),
        format!("gerbil logs s{own}.7 m3"),
        format!("gerbil attach {name}"),
        format!("gerbil mr list {staging}"),
        format!("gerbil mr list --json {staging}"),
        format!("gerbil mr status s42.7 {staging}"),
        format!("gerbil mr counters s42.7 {staging}"),
        format!("gerbil mr history s42.7 {staging}"),
        format!("gerbil mr history s42.7 --json {staging}"),
        format!("gerbil mr history s42.7 --html {staging}"),
    ] {
        let (code, printed, said) = run(command(&night, &line)).await;
        // A job that has failed returns its code.
        assert!(matches!(code, Some(0 | 3)), "{line}: {said}");
        for text in [&printed, &said] {
            let obeyed = text.chars().find(|c| is_obeyed(*c));
            assert_eq!(obeyed, None, "{line}: {text:.2000}");
            let fake = text
                .lines()
                .find(|line| line.trim_start().starts_with("FAKE"));
            assert_eq!(fake, None, "{line}: {text:.2000}");
        }
        match line.contains("json") {
            // A program reads what was said.
            true => drop(serde_json::from_str::<serde_json::Value>(&printed).unwrap()),
            false => assert!(printed.len() < 100_000, "{line}: {} bytes", printed.len()),
        }
        assert!(said.len() < 20_000, "{line}: {} bytes", said.len());
        let shown = format!("{printed}{said}");
        let is_named = shown.contains("evil\\n")
            || shown.contains("evil\\u000a")
            || line.contains("m3")
            || line.contains("session list");
        assert!(is_named, "{line}: {shown:.2000}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_program_says_of_its_failure_is_shown_in_one_line() {
    let night = Night::start().await;
    hostile().clone_into(&mut night.appmaster.words.lock().unwrap());
    let mut command = night.job(&["--explain"], "exit");
    command.env("TMPDIR", night.folder.path());
    let (code, printed, said) = run(command).await;
    // What ranks print stays as it is; of who says what else is known nothing is obeyed.
    assert_eq!((code, printed.as_str()), (Some(3), "up\n"), "{said}");
    assert!(!said.chars().any(is_obeyed), "{said}");
}
