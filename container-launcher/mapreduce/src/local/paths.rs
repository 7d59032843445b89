//! Which files are meant: several paths, lists with commas, globs, folders, as Hadoop's `FileInputFormat`.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use gerbil_task::Listed;
use gerbil_task::inputs::{Folders, MAP_FILE_DATA, as_part, is_hidden, is_map_file, paths};
use gerbil_task::pattern::{braces, is_pattern, matches, unescaped};

use crate::error::{Context as _, Error, Result};

/// The files that `inputs` name, in the order of the inputs and, within each, of their names.
pub(super) fn files(inputs: &[String], folders: Folders) -> Result<Vec<Listed>> {
    let mut found = Vec::new();
    for given in paths(inputs)? {
        let input = of_this_machine(given)?;
        let matches = named(given, input)?;
        if matches.is_empty() {
            return Err(Error::new(format!(
                "{input}: there is no such file{}{}",
                if is_pattern(input) {
                    " for this pattern"
                } else {
                    ""
                },
                as_part(inputs, given)
            )));
        }
        for path in matches {
            take(&path, true, folders, &mut found)?;
        }
    }
    Ok(found)
}

/// The path that a name leads to, which may be a `file:` address.
pub(super) fn of_this_machine(name: &str) -> Result<&str> {
    let path = name
        .strip_prefix("file://")
        .or_else(|| name.strip_prefix("file:"))
        .unwrap_or(name);
    match path.contains("://") {
        false => Ok(path),
        true => Err(Error::new(format!(
            "{path}: without a cluster only files of this machine are read and written"
        ))),
    }
}

/// The name of a file as text, as tasks are told it.
pub(super) fn text(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| {
        Error::new(format!(
            "{}: this name is not UTF-8, and no task can be told of it: rename the file, or begin its name with _",
            path.display()
        ))
    })
}

fn take(path: &Path, named: bool, folders: Folders, found: &mut Vec<Listed>) -> Result<()> {
    let shown = || path.display().to_string();
    let about = fs::metadata(path).context(shown)?;
    if !about.is_dir() {
        if !about.is_file() {
            // It has no length that could be split, and opening a pipe may last for ever.
            return Err(Error::new(format!(
                "{}: a pipe or a device is no input: write what it gives into a file first",
                shown()
            )));
        }
        let text = text(path)?;
        fs::File::open(path).context(shown)?;
        found.push(Listed {
            path: text.to_owned(),
            length: about.len(),
        });
        return Ok(());
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(path).context(shown)? {
        let name = entry.context(shown)?.file_name();
        if !is_hidden(&name.to_string_lossy()) {
            names.push(name);
        }
    }
    if folders.map_files
        && is_map_file(names.iter().map(|name| name.to_str().unwrap_or_default()))
        && names.iter().all(|name| path.join(name).is_file())
    {
        return take(&path.join(MAP_FILE_DATA), false, folders, found);
    }
    if !named && !folders.recursive {
        return Err(Error::new(format!(
            "{} is a folder inside of an input folder: --recursive reads those, too",
            shown()
        )));
    }
    names.sort();
    for name in names {
        take(&path.join(name), false, folders, found)?;
    }
    Ok(())
}

/// What an input, of which this is the path, stands for: what it describes, else what has just this name.
fn named(given: &str, input: &str) -> Result<Vec<PathBuf>> {
    let described = match is_pattern(input) {
        true => match braces(input) {
            Ok(patterns) => described(&patterns)?,
            Err(error) if !Path::new(input).exists() => return Err(error.of(given).into()),
            Err(_) => Vec::new(),
        },
        false => there(unescaped(input).into()).into_iter().collect(),
    };
    match described.is_empty() {
        true => Ok(there(input.into()).into_iter().collect()),
        false => Ok(described),
    }
}

/// A slash behind the name of a file means nothing, as in Hadoop.
fn there(path: PathBuf) -> Option<PathBuf> {
    let plain: PathBuf = path.components().collect();
    Some(path)
        .filter(|path| path.exists())
        .or_else(|| Some(plain).filter(|plain| plain.exists()))
}

/// The paths that patterns without braces stand for, sorted.
fn described(patterns: &[String]) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for pattern in patterns {
        let mut here: Vec<PathBuf> = vec![if pattern.starts_with('/') {
            "/".into()
        } else {
            PathBuf::new()
        }];
        let parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty()).collect();
        for (number, part) in parts.iter().enumerate() {
            let is_last = number + 1 == parts.len();
            let mut next = Vec::new();
            for folder in here {
                if !is_pattern(part) {
                    next.extend(there(folder.join(unescaped(part))));
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
                    if describes(part, &name, is_last) {
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

/// Whether a part of a pattern stands for what a folder has: hidden files are left out, and hidden folders are gone
/// through.
fn describes(part: &str, name: &OsStr, is_last: bool) -> bool {
    let name = name.to_string_lossy();
    !(is_last && is_hidden(&name)) && matches(part, &name)
}

#[cfg(test)]
mod listings;

#[cfg(test)]
mod tests {
    use std::fs;

    use super::listings::{check, listings, make};
    use super::{Folders, files};

    #[test]
    fn inputs_are_what_hadoop_takes() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        make(root);
        let names = |inputs: &[String], folders| {
            let found = files(inputs, folders).map_err(|error| error.to_string())?;
            let name = |path: &str| {
                let name = std::path::Path::new(path).strip_prefix(root);
                name.unwrap().display().to_string()
            };
            let names = found.iter().map(|file| name(&file.path));
            Ok::<_, String>(names.collect::<Vec<_>>())
        };
        let recursive = Folders {
            recursive: true,
            ..Folders::default()
        };
        let root = root.display().to_string();
        for root in [
            root.clone(),
            format!("file:{root}"),
            format!("file://{root}"),
        ] {
            for listing in listings(&root) {
                check(&listing, names(&listing.inputs, listing.folders));
            }
            let all = [format!("{root}/in")];
            assert_eq!(
                names(&all, recursive).unwrap(),
                ["in/a", "in/b", "in/deep/c"]
            );
            let refused = names(&all, Folders::default()).unwrap_err();
            assert!(refused.contains("--recursive"), "{refused}");
        }
        assert!(names(&["hdfs://n/x".into()], Folders::default()).is_err());
    }

    #[test]
    fn what_has_no_length_is_no_input() {
        use std::os::unix::net::UnixListener;
        let folder = tempfile::tempdir().unwrap();
        let _listener = UnixListener::bind(folder.path().join("socket")).unwrap();
        let (pipe, _end) = std::io::pipe().unwrap();
        let pipe = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&pipe));
        for input in [
            folder.path().display().to_string(),
            "/dev/zero".into(),
            pipe,
        ] {
            let refused = files(std::slice::from_ref(&input), Folders::default()).unwrap_err();
            let refused = refused.to_string();
            assert!(
                refused.contains("a pipe or a device is no input"),
                "{input}: {refused}"
            );
        }
    }

    #[test]
    fn a_name_that_no_task_can_be_told_is_refused() {
        use std::os::unix::ffi::OsStrExt as _;
        let folder = tempfile::tempdir().unwrap();
        let name = std::ffi::OsStr::from_bytes(b"k\xf6ln");
        fs::write(folder.path().join(name), "x").unwrap();
        let all = folder.path().display().to_string();
        for input in [all.clone(), format!("{all}/k*")] {
            let refused = files(&[input], Folders::default()).unwrap_err().to_string();
            assert!(refused.contains("is not UTF-8"), "{refused}");
        }
        assert!(
            super::super::files::list(&all)
                .unwrap_err()
                .to_string()
                .contains("is not UTF-8")
        );
        // What is left out needs no name.
        fs::rename(
            folder.path().join(name),
            folder.path().join(std::ffi::OsStr::from_bytes(b"_k\xf6ln")),
        )
        .unwrap();
        assert!(files(&[all], Folders::default()).unwrap().is_empty());
    }
}
