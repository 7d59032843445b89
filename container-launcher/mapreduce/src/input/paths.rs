//! Which files are meant: several paths, lists with commas, globs, folders, as Hadoop's `FileInputFormat`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Context as _, Error, Result};

/// A file of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InputFile {
    pub(crate) path: PathBuf,
    pub(crate) size: u64,
}

/// The files that `inputs` name, in the order of the inputs and, within each, of their names.
pub(crate) fn files(inputs: &[String], recursive: bool) -> Result<Vec<InputFile>> {
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
                if is_glob(input) {
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

/// Parts at commas outside of braces.
fn commas(list: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0_usize, 0);
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                parts.push(list.get(from..at).unwrap_or_default());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(list.get(from..).unwrap_or_default());
    parts.retain(|part| !part.is_empty());
    parts
}

fn take(path: &Path, named: bool, recursive: bool, found: &mut Vec<InputFile>) -> Result<()> {
    let shown = || path.display().to_string();
    let about = fs::metadata(path).context(shown)?;
    if !about.is_dir() {
        fs::File::open(path).context(shown)?;
        found.push(InputFile {
            path: path.to_owned(),
            size: about.len(),
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
        if !name.to_string_lossy().starts_with(['_', '.']) {
            take(&path.join(name), false, recursive, found)?;
        }
    }
    Ok(())
}

fn is_glob(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

/// The paths that a pattern stands for, sorted.
fn expand(pattern: &str) -> Result<Vec<PathBuf>> {
    if !is_glob(pattern) || Path::new(pattern).exists() {
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
                if !is_glob(part) {
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
                    if !text.starts_with(['_', '.']) && matches(part.as_bytes(), text.as_bytes()) {
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

/// Most patterns that braces may make of one.
const PATTERNS_MAX: usize = 10_000;

/// `a{b,c}d` as `abd` and `acd`.
fn braces(pattern: &str) -> Result<Vec<String>> {
    let mut open = vec![pattern.to_owned()];
    let mut done = Vec::new();
    while let Some(pattern) = open.pop() {
        let Some(from) = pattern.find('{') else {
            done.push(pattern);
            continue;
        };
        let mut depth = 0_usize;
        let inside = pattern.get(from..).unwrap_or_default();
        let to = inside.bytes().position(|byte| {
            match byte {
                b'{' => depth += 1,
                b'}' => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        let Some(to) = to.map(|to| from + to) else {
            return Err(Error::new(format!("{pattern}: a brace is not closed")));
        };
        let (before, choices, after) =
            (&pattern[..from], &pattern[from + 1..to], &pattern[to + 1..]);
        let mut any = false;
        for choice in commas(choices) {
            any = true;
            open.push(format!("{before}{choice}{after}"));
        }
        if !any {
            open.push(format!("{before}{after}"));
        }
        if open.len() + done.len() > PATTERNS_MAX {
            return Err(Error::new(format!(
                "{pattern}: its braces stand for more than {PATTERNS_MAX} names"
            )));
        }
    }
    Ok(done)
}

/// Whether `name` is what `pattern` with `*`, `?`, `[a-c]` and `[^a]` describes.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    // Where to go on when a star must take one byte more.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
                continue;
            }
            Some(b'?') => {
                p += 1;
                n += 1;
                continue;
            }
            Some(b'[') => {
                if let Some((inside, next)) = class(pattern, p, name[n]) {
                    if inside {
                        p = next;
                        n += 1;
                        continue;
                    }
                } else if name[n] == b'[' {
                    p += 1;
                    n += 1;
                    continue;
                }
            }
            Some(b'\\') if pattern.get(p + 1) == Some(&name[n]) => {
                p += 2;
                n += 1;
                continue;
            }
            Some(byte) if *byte == name[n] => {
                p += 1;
                n += 1;
                continue;
            }
            _ => {}
        }
        match star {
            Some((at, taken)) => {
                star = Some((at, taken + 1));
                p = at + 1;
                n = taken + 1;
            }
            None => return false,
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// Whether `byte` is in the class that begins at `at`, and what follows it; none if it is not closed.
fn class(pattern: &[u8], at: usize, byte: u8) -> Option<(bool, usize)> {
    let mut next = at + 1;
    let negated = matches!(pattern.get(next), Some(b'^' | b'!'));
    next += usize::from(negated);
    let (first, mut inside) = (next, false);
    loop {
        let from = *pattern.get(next)?;
        if from == b']' && next > first {
            return Some((inside != negated, next + 1));
        }
        if pattern.get(next + 1) == Some(&b'-')
            && pattern.get(next + 2).is_some_and(|to| *to != b']')
        {
            inside |= (from..=pattern[next + 2]).contains(&byte);
            next += 3;
        } else {
            inside |= from == byte;
            next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{files, matches};

    #[test]
    fn patterns() {
        for (pattern, name, expected) in [
            ("*.txt", "a.txt", true),
            ("*.txt", "a.txt.gz", false),
            ("p?rt-[0-3]*", "part-2x", true),
            ("p?rt-[0-3]*", "part-4x", false),
            ("[^a]b", "ab", false),
            ("[^a]b", "cb", true),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b", "xxaxxbxx", false),
            ("\\*", "*", true),
            ("[", "[", true),
        ] {
            assert_eq!(
                matches(pattern.as_bytes(), name.as_bytes()),
                expected,
                "{pattern} {name}"
            );
        }
    }

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
                    .map(|file| file.path.strip_prefix(root).unwrap().display().to_string())
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
