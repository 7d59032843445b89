//! The files of this machine, as a driver asks for them.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use gerbil_task::inputs::is_hidden;
use gerbil_task::{BroughtFile, Listed};

use super::paths;
use crate::error::{Context as _, Error, Result};

/// The path of `name`, which may be an address of this machine.
pub(super) fn path(name: &str) -> Result<PathBuf> {
    paths::of_this_machine(name).map(PathBuf::from)
}

/// The files of a folder, without those whose names begin with `_` or `.`; or the file of that name.
pub(super) fn list(name: &str) -> Result<Vec<Listed>> {
    let path = path(name)?;
    let said = || name.to_owned();
    let listed = |path: &Path, length| -> Result<Listed> {
        let path = paths::text(path)?.to_owned();
        Ok(Listed { path, length })
    };
    let status = fs::metadata(&path).context(said)?;
    if !status.is_dir() {
        return Ok(vec![listed(&path, status.len())?]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(&path).context(said)? {
        let entry = entry.context(said)?;
        let hidden = is_hidden(&entry.file_name().to_string_lossy());
        let status = fs::metadata(entry.path()).context(said)?;
        if status.is_file() && !hidden {
            files.push(listed(&entry.path(), status.len())?);
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

/// A file, open for reading.
pub(super) fn open(name: &str) -> Result<File> {
    let path = path(name)?;
    if !fs::metadata(&path).context(|| name.to_owned())?.is_file() {
        return Err(Error::new(format!("{name} is no file")));
    }
    File::open(&path).context(|| name.to_owned())
}

/// Where a file is that a job brings along, in full.
pub(super) fn brought(file: &BroughtFile) -> Result<String> {
    let BroughtFile {
        name, path: given, ..
    } = file;
    if file.unpack {
        return Err(Error::new(format!(
            "{given}: archives are unpacked on the nodes of a cluster; with --local unpack it, and give its files with \
             --files"
        )));
    }
    if name.contains('/') {
        return Err(Error::new(format!(
            "{given} cannot be called {name:?} where tasks run: a name has no slash"
        )));
    }
    drop(open(given)?);
    let whole = std::path::absolute(path(given)?).context(|| given.clone())?;
    Ok(paths::text(&whole)?.to_owned())
}

/// Removes one of these outputs.
pub(super) fn remove(output: &Path, outputs: &BTreeSet<PathBuf>) -> Result<()> {
    if !outputs.contains(output) {
        return Err(Error::new(format!(
            "{} is no output of a job of this driver, and stays",
            output.display()
        )));
    }
    fs::remove_dir_all(output).context(|| output.display().to_string())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::{list, open, remove};

    #[test]
    fn an_address_elsewhere_is_no_folder_here() {
        for (name, wanted) in [
            ("file:///a/b", "/a/b"),
            ("file:/a/b", "/a/b"),
            ("a/b", "a/b"),
        ] {
            assert_eq!(super::path(name).unwrap(), std::path::Path::new(wanted));
        }
        for name in ["hdfs://n/x", "s3a://bucket/x", "viewfs://c/x"] {
            let refused = super::path(name).unwrap_err().to_string();
            assert!(
                refused.starts_with(name) && refused.contains("this machine"),
                "{refused}"
            );
        }
    }

    #[test]
    fn hidden_files_are_left_out_and_only_outputs_removed() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().display().to_string();
        for file in ["b", "a", "_SUCCESS", ".crc"] {
            fs::write(folder.path().join(file), "xy").unwrap();
        }
        fs::create_dir(folder.path().join("inner")).unwrap();
        let files = list(&format!("file://{name}")).unwrap();
        let found: Vec<_> = files
            .iter()
            .map(|file| (file.path.clone(), file.length))
            .collect();
        assert_eq!(found, [(format!("{name}/a"), 2), (format!("{name}/b"), 2)]);
        assert_eq!(list(&found[0].0).unwrap(), [files[0].clone()]);
        assert!(open(&found[0].0).is_ok());
        assert!(open(&name).unwrap_err().to_string().ends_with("is no file"));
        let kept = remove(folder.path(), &BTreeSet::new()).unwrap_err();
        assert!(kept.to_string().contains("is no output of a job"), "{kept}");
        let outputs = BTreeSet::from([folder.path().to_owned()]);
        remove(folder.path(), &outputs).unwrap();
        assert!(!folder.path().exists());
    }
}
