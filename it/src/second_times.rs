//! `it/second-times`, on lists and logs as `it/test` has them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

const LISTED: &str = "session: jobs: a session is stopped | 2026-11-20 | ";
const LOG: &str = "== again session: jobs: a session is stopped\n\
                   passed the second time: session: jobs: a session is stopped\n";

/// Its exit code and what it prints.
fn judged(list: &Path, log: &str) -> Result<(Option<i32>, String)> {
    let file = tempfile::NamedTempFile::new()?;
    fs::write(file.path(), log)?;
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("second-times");
    let judged = Command::new(program).arg(file.path()).arg(list).output()?;
    ensure!(
        judged.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&judged.stderr)
    );
    let printed = String::from_utf8(judged.stdout)?;
    Ok((judged.status.code(), printed))
}

fn git(folder: &Path, words: &[&str]) -> Result<()> {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=one", "-c", "user.email=one@localhost"]);
    let done = command.arg("-C").arg(folder).args(words).output()?;
    ensure!(done.status.success(), "git {words:?}: {done:?}");
    Ok(())
}

/// A repository whose list has `lines`, with so many commits behind it.
fn listed(folder: &Path, lines: &str, commits: usize) -> Result<PathBuf> {
    git(folder, &["init", "-q"])?;
    let list = folder.join("flaky");
    fs::write(&list, format!("# a comment\n\n{lines}\n"))?;
    git(folder, &["add", "flaky"])?;
    git(folder, &["commit", "-qm", "list"])?;
    for _ in 0..commits {
        git(folder, &["commit", "-q", "--allow-empty", "-m", "more"])?;
    }
    Ok(list)
}

#[test]
fn a_test_that_is_not_listed_is_named_with_the_line_to_add() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let list = listed(folder.path(), "", 0)?;
    let (code, printed) = judged(&list, LOG)?;
    assert_eq!(code, Some(0));
    let line = printed
        .strip_prefix("add to it/flaky: ")
        .context("a line")?;
    let line = line.trim_end().to_owned();
    assert!(line.starts_with("session: jobs: a session is stopped | 2"));

    // What it says to add is a line of the list.
    fs::write(&list, format!("{line}\n"))?;
    let (code, printed) = judged(&list, LOG)?;
    assert_eq!(code, Some(0), "{printed}");
    assert!(
        printed.starts_with("known to it/flaky since 2"),
        "{printed}"
    );
    Ok(())
}

#[test]
fn what_was_mended_does_not_fail_again() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mended = format!("{LISTED}mended: it waited for a fixed time");
    let list = listed(folder.path(), &mended, 0)?;
    let (code, printed) = judged(&list, LOG)?;
    assert_eq!(code, Some(1));
    assert!(
        printed.contains("failed again after it was mended"),
        "{printed}"
    );
    assert_eq!(judged(&list, "")?, (Some(0), String::new()));
    Ok(())
}

#[test]
fn a_cause_is_found_within_thirty_commits() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let list = listed(folder.path(), &format!("{LISTED}not known"), 30)?;
    assert_eq!(judged(&list, "")?, (Some(0), String::new()));
    git(
        folder.path(),
        &["commit", "-q", "--allow-empty", "-m", "more"],
    )?;
    let (code, printed) = judged(&list, "")?;
    assert_eq!(code, Some(1));
    assert!(printed.contains("31 commits in it/flaky"), "{printed}");
    Ok(())
}

#[test]
fn a_line_that_is_none_is_named() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let list = listed(folder.path(), "session: jobs | yesterday | slow", 0)?;
    let (code, printed) = judged(&list, "")?;
    assert_eq!(code, Some(1));
    assert!(printed.contains(":3: not of the form"), "{printed}");
    Ok(())
}
