//! `-get`: files and whole folders of Hadoop's file systems, to this machine.
//!
//! A file is written beside the name that it gets, under one that ends as Hadoop's shell ends it, and gets its own when
//! it is whole: what ends the copy before leaves nothing that passes for the file.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf, absolute};

use follow::timing::now_us;
use mapreduce_client::open::read;
use mapreduce_client::places::Location;
use storage::{Reader, StorageError};

use super::entries::{FoundPath, MOST, is_folders};
use super::files::Shell;
use super::puts::COPYING;
use crate::failure::Failure;

impl Shell<'_> {
    /// Whether so many may go to this name of this machine: several into a folder, one beside what is there; else it is
    /// said why not.
    pub(super) fn takes_here(&mut self, count: usize, to: &str) -> bool {
        let path = Path::new(to);
        let above = match path.parent() {
            Some(above) if above != Path::new("") => above,
            Some(_) | None => Path::new("."),
        };
        if path.is_dir() {
            return true;
        }
        match (count > 1, path.exists()) {
            (true, true) => self.failed("get", to, "Is not a directory"),
            (true, false) => self.failed("get", to, "No such file or directory"),
            (false, false) if is_folders(to) || !above.exists() => {
                let whole = absolute(path).unwrap_or_else(|_odd| path.to_owned());
                let whole = whole.to_string_lossy();
                let whole = format!("file:{}", whole.trim_end_matches('/'));
                self.no_place("get", to, &whole);
            }
            (false, _) => return true,
        }
        false
    }

    /// Copies a file, or a folder with all that is in it. A folder that is there gets it inside, under its own name.
    pub(super) async fn get(
        &mut self,
        found: &FoundPath,
        mut to: PathBuf,
        replaces: bool,
    ) -> Result<(), Failure> {
        if to.is_dir() {
            to.push(found.status.name());
        }
        let mut rest = vec![(found.status.clone(), to)];
        while let Some((status, local)) = rest.pop() {
            let shown = local.to_string_lossy().into_owned();
            if !status.is_folder {
                match local.symlink_metadata() {
                    Ok(there) if !replaces || !(there.is_file() || there.is_symlink()) => {
                        self.failed("get", &shown, "File exists");
                    }
                    Ok(_) | Err(_) => {
                        let place = Location {
                            path: status.path.clone(),
                            ..found.place.clone()
                        };
                        let taken = match read(self.places, &place, 0, status.size).await {
                            Ok(reader) => take(reader, &local).await,
                            Err(error) => Err(error.into()),
                        };
                        self.go_on("get", taken)?;
                    }
                }
                continue;
            }
            match fs::create_dir(&local) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists && local.is_dir() => {}
                Err(error) => {
                    self.failed("get", &shown, &error.to_string());
                    continue;
                }
                Ok(()) => {}
            }
            let mut entries = match found.storage.list(&status.path, MOST).await {
                Ok(entries) => entries,
                Err(error) => {
                    self.go_on("get", Err(error.into()))?;
                    continue;
                }
            };
            sort::by(&mut entries, |one, other| other.path.cmp(&one.path));
            rest.extend(entries.into_iter().map(|entry| {
                let local = local.join(entry.name());
                (entry, local)
            }));
        }
        Ok(())
    }
}

/// Bytes of a name that a half is called by.
const NAMED: usize = 200;

/// A file that is not whole yet; nothing is left of it where it is given up, by a signal or an error.
struct Partial(PathBuf);

impl Partial {
    /// Of a file that is to be called `local`: two copies that are made at once have two.
    fn beside(local: &Path) -> Self {
        let (process, since) = (std::process::id(), now_us());
        let name = local.file_name().unwrap_or_default().as_bytes();
        // The longest name that a file may have leaves no room for more.
        let name = name.get(..NAMED).unwrap_or(name);
        let mut half = OsStr::from_bytes(name).to_owned();
        half.push(format!(".{process}-{since}{COPYING}"));
        Self(local.with_file_name(half))
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // It has the name of the whole file, or was never made.
        let _gone = fs::remove_file(&self.0);
    }
}

/// Copies what is left of a file into a new one of this machine.
async fn take(reader: Reader, local: &Path) -> Result<(), Failure> {
    let partial = Partial::beside(local);
    reader.copy_to(&partial.0).await?;
    let named = tokio::fs::rename(&partial.0, local).await;
    named.map_err(|source| {
        let path = local.to_owned();
        let doing = "naming";
        StorageError::Local {
            doing,
            path,
            source,
        }
        .into()
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::fs::{self, File};
    use std::path::Path;
    use std::pin::pin;

    use storage::{Address, Reader, Storage};
    use tokio::task::yield_now;

    use super::take;

    /// Of a file of zeros in a folder of its own.
    async fn reader(folder: &Path, length: u64) -> Reader {
        let path = folder.join("from");
        File::create(&path).unwrap().set_len(length).unwrap();
        let storage = Storage::open(&Address::Shared).unwrap();
        storage.read_from(path.to_str().unwrap(), 0).await.unwrap()
    }

    fn names(folder: &Path) -> Vec<OsString> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect()
    }

    #[tokio::test]
    async fn a_file_has_its_name_when_it_is_whole() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let reader = reader(from.path(), 3 << 20).await;
        take(reader, &to.path().join("to")).await.unwrap();
        assert_eq!(names(to.path()), ["to"]);
        assert_eq!(fs::metadata(to.path().join("to")).unwrap().len(), 3 << 20);
    }

    #[tokio::test]
    async fn a_file_may_have_the_longest_name() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let longest = "é".repeat(127) + "x";
        let reader = reader(from.path(), 1).await;
        take(reader, &to.path().join(&longest)).await.unwrap();
        assert_eq!(names(to.path()), [longest.as_str()]);
    }

    #[tokio::test]
    async fn a_copy_that_is_given_up_leaves_nothing() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let reader = reader(from.path(), 1 << 30).await;
        let local = to.path().join("to");
        {
            let mut taking = pin!(take(reader, &local));
            while names(to.path()).is_empty() {
                tokio::select! {
                    biased;
                    done = &mut taking => panic!("{done:?} before it was seen"),
                    () = yield_now() => {}
                }
            }
            let [half] = names(to.path()).try_into().unwrap();
            let half = half.into_string().unwrap();
            assert!(
                half.starts_with("to.") && half.ends_with("._COPYING_"),
                "{half}"
            );
        }
        assert_eq!(names(to.path()), [""; 0]);
    }

    #[tokio::test]
    async fn a_copy_that_fails_leaves_nothing() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let reader = reader(from.path(), 1).await;
        let local = to.path().join("to");
        fs::create_dir(&local).unwrap();
        assert!(take(reader, &local).await.is_err());
        assert_eq!(names(to.path()), ["to"]);
    }
}
