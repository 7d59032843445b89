//! Files that a job brings to its tasks, as a command line names them.

use std::path::Path;

use crate::driver::BroughtFile;

/// A word of `--files` or `--archives`: `FILE`, which keeps its name, or `FILE#NAME`.
///
/// # Errors
/// It has no name.
pub fn named(word: &str, unpack: bool) -> Result<BroughtFile, String> {
    let (path, name) = match word.rsplit_once('#') {
        Some((path, name)) if !Path::new(word).is_file() || Path::new(path).exists() => {
            (path, name)
        }
        Some(_) | None => (word, word.rsplit('/').next().unwrap_or_default()),
    };
    if path.is_empty() || name.is_empty() {
        let option = if unpack { "archives" } else { "files" };
        return Err(format!(
            "--{option} {word:?}: FILE or FILE#NAME is wanted, with commas between several"
        ));
    }
    of_command_line(name, path, unpack)
}

/// The word that [`named`] understands as this file.
#[must_use]
pub fn word(file: &BroughtFile) -> String {
    let BroughtFile { path, name, .. } = file;
    match path.rsplit('/').next() == Some(name.as_str()) {
        // Its own name may have a #.
        true => path.clone(),
        false => format!("{path}#{name}"),
    }
}

/// A file as a command line names it: of this machine, unless it names a file system.
///
/// # Errors
/// The path is empty, or there is no working folder.
pub fn of_command_line(name: &str, path: &str, unpack: bool) -> Result<BroughtFile, String> {
    let scheme = path.split_once("://").map(|(scheme, _)| scheme);
    let local = match scheme {
        None => Some(path.strip_prefix("file:").unwrap_or(path)),
        Some("file") => path.strip_prefix("file://"),
        Some(_) => None,
    };
    let path = match local {
        None => path.to_owned(),
        Some(local) => {
            let whole = std::path::absolute(local).map_err(|error| format!("{path:?}: {error}"))?;
            let text = whole.to_str().map(str::to_owned);
            text.ok_or_else(|| format!("{}: this name is not UTF-8: rename it", whole.display()))?
        }
    };
    Ok(BroughtFile {
        name: name.to_owned(),
        path,
        here: local.is_some(),
        unpack,
    })
}

#[cfg(test)]
mod tests {
    use super::{named, of_command_line};

    #[test]
    fn a_word_is_a_file_and_its_name_there() {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("a#b");
        std::fs::write(&odd, "").unwrap();
        let odd = odd.to_str().unwrap();
        for (word, path, name, here) in [
            ("/a/stop.txt", "/a/stop.txt", "stop.txt", true),
            ("/a/stop.txt#stop", "/a/stop.txt", "stop", true),
            ("file:///a/stop.txt", "/a/stop.txt", "stop.txt", true),
            ("hdfs://n/a/stop.txt#s", "hdfs://n/a/stop.txt", "s", false),
            // A file whose own name has one.
            (odd, odd, "a#b", true),
        ] {
            let found = named(word, false).unwrap();
            let found = (&*found.path, &*found.name, found.here);
            assert_eq!(found, (path, name, here), "{word}");
            let file = named(word, false).unwrap();
            assert_eq!(named(&super::word(&file), false).unwrap(), file, "{word}");
        }
        for word in ["", "a#", "a/", "#n"] {
            let refused = named(word, true).unwrap_err();
            assert!(refused.starts_with("--archives"), "{refused}");
        }
        let here = of_command_line("s", "stop.txt", false).unwrap();
        assert!(here.path.starts_with('/') && here.path.ends_with("/stop.txt"));
    }
}
