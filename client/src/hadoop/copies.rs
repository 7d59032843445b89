//! `-put` and `-get`: files and whole folders between this machine and Hadoop's file systems.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use follow::timing::now_us;
use mapreduce_client::open::read;
use mapreduce_client::places::Location;
use storage::{Address, Storage, StorageError};

use super::entries::{FoundPath, MOST};
use super::files::{Above, Shell, folder_above};
use crate::failure::Failure;

/// What the name of a file ends with while it is written, as Hadoop's shell has it.
const COPYING: &str = "._COPYING_";
/// How often a file is replaced that others replace, too.
const TRIES: u32 = 5;

impl Shell<'_> {
    /// Copies a file, or a folder with all that is in it. A folder that is there gets it inside, under its own name.
    pub(super) async fn put(
        &mut self,
        from: &str,
        to: &str,
        replaces: bool,
    ) -> Result<(), Failure> {
        let (place, storage) = self.place(to)?;
        let local = Path::new(from);
        if !local.is_file() && !local.is_dir() {
            self.failed("put", from, "No such file or directory");
            return Ok(());
        }
        let mut path = place.path;
        if let Above::File(above) = folder_above(&storage, &path).await? {
            self.no_folder("put", &above);
            return Ok(());
        }
        match is_folder(&storage, &path).await? {
            Some(true) => path = below(&path, &name_of(local)),
            Some(false) if !replaces => {
                self.failed("put", &path, "File exists");
                return Ok(());
            }
            Some(false) | None => {}
        }
        if place.address == Address::Shared && is_inside(local, Path::new(&path)) {
            self.refuse_copy_into_itself(from, &path);
            return Ok(());
        }
        let mut rest = vec![(local.to_owned(), path)];
        while let Some((local, path)) = rest.pop() {
            match local.is_dir() {
                true => {
                    if self.enter(&storage, &local, &path).await? {
                        rest.extend(self.inside(&local, &path));
                    }
                }
                false => self.put_file(&storage, &local, &path, replaces).await?,
            }
        }
        Ok(())
    }

    /// A folder of this name is there, or made; `false`: it is said why none can be.
    async fn enter(
        &mut self,
        storage: &Storage,
        local: &Path,
        path: &str,
    ) -> Result<bool, Failure> {
        match is_folder(storage, path).await? {
            Some(true) => {}
            Some(false) => {
                self.failed("put", path, "Is not a directory");
                return Ok(false);
            }
            None => storage.make_folder(path).await?,
        }
        match fs::read_dir(local) {
            Ok(_readable) => Ok(true),
            Err(error) => {
                self.failed("put", &local.to_string_lossy(), &error.to_string());
                Ok(false)
            }
        }
    }

    /// What is in a folder of this machine, and where it goes, the first last.
    fn inside(&mut self, local: &Path, path: &str) -> Vec<(PathBuf, String)> {
        let mut all = Vec::new();
        for entry in fs::read_dir(local).into_iter().flatten().flatten() {
            let local = entry.path();
            match entry.file_name().to_str() {
                // A link that leads nowhere is nothing that can be read.
                Some(_) if !local.exists() => {
                    let shown = local.to_string_lossy();
                    self.failed("put", &shown, "No such file or directory");
                }
                Some(name) => all.push((local.clone(), below(path, name))),
                None => {
                    let shown = local.to_string_lossy();
                    self.failed("put", &shown, "its name is no UTF-8");
                }
            }
        }
        sort::by(&mut all, |(_, one), (_, other)| other.cmp(one));
        all
    }

    async fn put_file(
        &mut self,
        storage: &Storage,
        local: &Path,
        path: &str,
        replaces: bool,
    ) -> Result<(), Failure> {
        match is_folder(storage, path).await? {
            Some(is_folder) if is_folder || !replaces => {
                self.failed("put", path, "File exists");
                return Ok(());
            }
            Some(_) | None => {}
        }
        // Nobody takes half of it for the file, no other -put writes into it, and the old one stays until the new one
        // is whole.
        let (process, since) = (std::process::id(), now_us());
        let partial = format!("{path}.{process}-{since}{COPYING}");
        let put = async {
            storage.put(local, &partial).await?;
            for _ in 0..TRIES {
                if replaces {
                    storage.remove(path).await?;
                }
                match storage.rename(&partial, path).await {
                    // Another one with -f was between.
                    Err(StorageError::Exists { .. }) if replaces => {}
                    done => return done,
                }
            }
            storage.rename(&partial, path).await
        };
        match put.await {
            Ok(()) => Ok(()),
            Err(error) => {
                // It is the first error that counts.
                let _removed = storage.remove(&partial).await.is_ok();
                match error {
                    StorageError::Exists { .. } => self.failed("put", path, "File exists"),
                    error => return Err(error.into()),
                }
                Ok(())
            }
        }
    }

    /// The other way.
    pub(super) async fn get(&mut self, found: &FoundPath, mut to: PathBuf) -> Result<(), Failure> {
        if to.is_dir() {
            to.push(found.status.name());
        }
        let mut rest = vec![(found.status.clone(), to)];
        while let Some((status, local)) = rest.pop() {
            let shown = local.to_string_lossy().into_owned();
            if !status.is_folder {
                match local.symlink_metadata() {
                    Ok(_there) => self.failed("get", &shown, "File exists"),
                    Err(_) => {
                        let place = Location {
                            path: status.path.clone(),
                            ..found.place.clone()
                        };
                        let reader = read(self.places, &place, 0, status.size).await?;
                        reader.copy_to(&local).await?;
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
            let mut entries = found.storage.list(&status.path, MOST).await?;
            sort::by(&mut entries, |one, other| other.path.cmp(&one.path));
            rest.extend(entries.into_iter().map(|entry| {
                let local = local.join(entry.name());
                (entry, local)
            }));
        }
        Ok(())
    }
}

/// Whether a folder of this machine would be copied into itself, without end.
fn is_inside(local: &Path, to: &Path) -> bool {
    let Ok(local) = fs::canonicalize(local) else {
        return false;
    };
    let there = to
        .ancestors()
        .find_map(|above| fs::canonicalize(above).ok());
    local.is_dir() && there.is_some_and(|there| there.starts_with(local))
}

/// Whether what has the name is a folder; `None`: nothing has it.
async fn is_folder(storage: &Storage, path: &str) -> Result<Option<bool>, Failure> {
    Ok(storage.stat(path).await?.map(|there| there.is_folder))
}

fn below(path: &str, name: &str) -> String {
    format!("{}/{name}", path.trim_end_matches('/'))
}

/// Of `.` and `..` the name of the folder that they are.
fn name_of(local: &Path) -> String {
    let whole = fs::canonicalize(local);
    let whole = match local.file_name() {
        Some(_) => local,
        None => whole.as_deref().unwrap_or(local),
    };
    whole
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::is_inside;

    #[test]
    fn a_folder_is_not_copied_into_itself() {
        let top = tempfile::tempdir().unwrap();
        let folder = top.path().join("a");
        fs::create_dir_all(folder.join("b")).unwrap();
        std::os::unix::fs::symlink(&folder, top.path().join("link")).unwrap();
        for to in ["a", "a/b", "a/new/c", "link/new"] {
            assert!(is_inside(&folder, &top.path().join(to)), "{to}");
        }
        for to in ["ab", "other/a", "."] {
            assert!(!is_inside(&folder, &top.path().join(to)), "{to}");
        }
        fs::write(folder.join("file"), "").unwrap();
        assert!(!is_inside(&folder.join("file"), &folder.join("file2")));
    }
}
