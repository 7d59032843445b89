//! Which files are meant: several paths, lists with commas, globs, folders, as Hadoop's `FileInputFormat`.

use std::fs;
use std::path::{Path, PathBuf};

use gerbil_task::Listed;
use gerbil_task::inputs::{braces, commas, is_hidden, is_pattern, matches};

use crate::error::{Context as _, Error, Result};

/// The files that `inputs` name, in the order of the inputs and, within each, of their names.
pub(super) fn files(inputs: &[String], recursive: bool) -> Result<Vec<Listed>> {
    let mut found = Vec::new();
    for input in inputs.iter().flat_map(|input| commas(input)) {
        let input = input
            .strip_prefix("file://")
            .or_else(|| input.strip_prefix("file:"))
            .unwrap_or(input);
        if input.contains("://") {
            let words = format!("{input}: without a cluster only files of this machine are read");
            return Err(Error::new(words));
        }
        let matches = expand(input)?;
        if matches.is_empty() {
            return Err(Error::new(format!(
                "{input}: there is no such file{}",
                if is_pattern(input) {
                    " for this pattern"
                } else {
                    ""
                }
            )));
        }
        for path in matches {
            take(&path, true, recursive, &mut found)?;
        }
    }
    Ok(found)
}

fn take(path: &Path, named: bool, recursive: bool, found: &mut Vec<Listed>) -> Result<()> {
    let shown = || path.display().to_string();
    let about = fs::metadata(path).context(shown)?;
    if !about.is_dir() {
        fs::File::open(path).context(shown)?;
        found.push(Listed {
            path: shown(),
            length: about.len(),
        });
        return Ok(());
    }
    if !named && !recursive {
        return Err(Error::new(format!(
            "{} is a folder inside of an input folder: --recursive reads those, too",
            shown()
        )));
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(path).context(shown)? {
        names.push(entry.context(shown)?.file_name());
    }
    names.sort();
    for name in names {
        if !is_hidden(&name.to_string_lossy()) {
            take(&path.join(name), false, recursive, found)?;
        }
    }
    Ok(())
}

/// The paths that a pattern stands for, sorted.
fn expand(pattern: &str) -> Result<Vec<PathBuf>> {
    if !is_pattern(pattern) || Path::new(pattern).exists() {
        return Ok(if Path::new(pattern).exists() {
            vec![pattern.into()]
        } else {
            Vec::new()
        });
    }
    let mut all = Vec::new();
    for pattern in braces(pattern)? {
        let mut here: Vec<PathBuf> = vec![if pattern.starts_with('/') {
            "/".into()
        } else {
            PathBuf::new()
        }];
        for part in pattern.split('/').filter(|part| !part.is_empty()) {
            let mut next = Vec::new();
            for folder in here {
                if !is_pattern(part) {
                    next.extend(Some(folder.join(part)).filter(|path| path.exists()));
                    continue;
                }
                let listed = if folder.as_os_str().is_empty() {
                    Path::new(".")
                } else {
                    &folder
                };
                let Ok(entries) = fs::read_dir(listed) else {
                    continue;
                };
                for entry in entries {
                    let name = entry.context(|| listed.display().to_string())?.file_name();
                    let text = name.to_string_lossy();
                    if !is_hidden(&text) && matches(part.as_bytes(), text.as_bytes()) {
                        next.push(folder.join(&name));
                    }
                }
            }
            here = next;
        }
        all.extend(here);
    }
    all.sort();
    all.dedup();
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::files;

    #[test]
    fn inputs_are_what_hadoop_takes() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("in/deep")).unwrap();
        for name in [
            "in/b",
            "in/a",
            "in/_log",
            "in/.hidden",
            "in/deep/c",
            "x1",
            "x2",
            "y1",
        ] {
            fs::write(root.join(name), name).unwrap();
        }
        let at = |text: &str| format!("{}/{text}", root.display());
        let names = |inputs: &[String], recursive| {
            files(inputs, recursive).map(|found| {
                found
                    .iter()
                    .map(|file| {
                        let path = std::path::Path::new(&file.path);
                        path.strip_prefix(root).unwrap().display().to_string()
                    })
                    .collect::<Vec<_>>()
                    .join(" ")
            })
        };
        assert_eq!(names(&[at("in")], true).unwrap(), "in/a in/b in/deep/c");
        assert!(
            names(&[at("in")], false)
                .unwrap_err()
                .to_string()
                .contains("--recursive")
        );
        assert_eq!(
            names(&[format!("{},{}", at("x1"), at("y1"))], false).unwrap(),
            "x1 y1"
        );
        assert_eq!(
            names(&[at("{x,y}1"), at("x*")], false).unwrap(),
            "x1 y1 x1 x2"
        );
        assert_eq!(names(&[at("[x-y]1")], false).unwrap(), "x1 y1");
        assert_eq!(names(&[at("*/a")], false).unwrap(), "in/a");
        assert!(
            names(&[at("nothing*")], false)
                .unwrap_err()
                .to_string()
                .contains("pattern")
        );
        assert!(names(&["hdfs://n/x".into()], false).is_err());
    }
}
