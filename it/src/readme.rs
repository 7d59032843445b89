//! What README, and the pages of the guide, tell users to type.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::cargo;

/// The pages of the guide, in `client/guide`.
pub const GUIDE: &[&str] = &[
    "admins.md",
    "coming-from.md",
    "data.md",
    "devices.md",
    "mapreduce.md",
    "mpi.md",
    "placement.md",
    "security.md",
    "sessions.md",
];

/// Where README lies.
#[must_use]
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A shell as a user has it.
#[must_use]
pub fn shell() -> Command {
    let mut shell = Command::new("bash");
    cargo::forget(&mut shell);
    shell
}

/// The lines of README's `sh` blocks, one entry a block.
///
/// # Errors
///
/// As [`blocks_of`].
pub fn blocks() -> Result<Vec<String>> {
    blocks_of("README.md")
}

/// The lines of the `sh` blocks of a page, one entry a block; `page`: its path in the repository.
///
/// # Errors
///
/// It cannot be read, or a block has no end.
pub fn blocks_of(page: &str) -> Result<Vec<String>> {
    let text = fs::read_to_string(repository().join(page)).with_context(|| page.to_owned())?;
    let after_fences = text.split("```sh\n").skip(1);
    after_fences
        .map(|rest| {
            let (block, _) = rest.split_once("```").context("a block without an end")?;
            Ok(block.to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Of the form `[words](target)`, outside of blocks of code.
    fn links(text: &str) -> Vec<String> {
        let prose = text.split("```").step_by(2);
        prose
            .flat_map(|part| part.split("](").skip(1))
            .filter_map(|rest| Some(rest.split_once(')')?.0.to_owned()))
            .collect()
    }

    /// As GitHub makes them of headings.
    fn anchors(text: &str) -> BTreeSet<String> {
        let headings = text.lines().filter(|line| line.starts_with('#'));
        headings
            .map(|line| {
                let words = line.trim_start_matches('#').trim().to_lowercase();
                let kept = words
                    .chars()
                    .filter(|&c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
                kept.map(|c| if c == ' ' { '-' } else { c }).collect()
            })
            .collect()
    }

    fn pages() -> Vec<PathBuf> {
        let fixed = [
            "README.md",
            "ARCHITECTURE.md",
            "client/FAILURES.md",
            "client/OPTIONS.md",
        ];
        let fixed = fixed.iter().map(PathBuf::from);
        let guide = GUIDE
            .iter()
            .map(|page| Path::new("client/guide").join(page));
        fixed.chain(guide).collect()
    }

    #[test]
    fn the_guide_has_the_pages_that_are_run() {
        let folder = fs::read_dir(repository().join("client/guide")).unwrap();
        let names: BTreeSet<String> = folder
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let run: BTreeSet<String> = GUIDE.iter().map(|&page| page.to_owned()).collect();
        assert_eq!(names, run);
    }

    #[test]
    fn links_of_all_pages_lead_somewhere() {
        let mut broken = Vec::new();
        for page in pages() {
            let text = fs::read_to_string(repository().join(&page)).unwrap();
            for link in links(&text) {
                if link.contains("://") {
                    continue;
                }
                let (path, anchor) = match link.split_once('#') {
                    Some((path, anchor)) => (path, Some(anchor)),
                    None => (link.as_str(), None),
                };
                let target = match path.is_empty() {
                    true => page.clone(),
                    false => page.parent().unwrap().join(path),
                };
                let target = repository().join(target);
                let is_there = target.exists()
                    && anchor.is_none_or(|anchor| {
                        anchors(&fs::read_to_string(&target).unwrap()).contains(anchor)
                    });
                if !is_there {
                    broken.push(format!("{}: {link}", page.display()));
                }
            }
        }
        assert!(broken.is_empty(), "{broken:#?}");
    }

    #[test]
    fn readme_is_read_in_two_minutes() {
        let text = fs::read_to_string(repository().join("README.md")).unwrap();
        let lines = text.lines().count();
        assert!(lines <= 150, "README.md has {lines} lines: 150 are enough");
    }
}
