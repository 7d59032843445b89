//! `-put` and `-appendToFile`: files and whole folders of this machine, to Hadoop's file systems.

use std::fs;
use std::io::ErrorKind;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use job::exit::Exit;
use mapreduce_client::places::Location;
use storage::{Address, CreateOptions, Storage};

use super::entries::{is_at_home, is_folders};
use super::files::{Above, Shell, folder_above};
use super::puts::{PutEnd, PutSource};
use crate::failure::Failure;
use crate::system::system;

impl Shell<'_> {
    /// Copies a file, or a folder with all that is in it. A folder that is there gets it inside, under its own name.
    pub(super) async fn put(
        &mut self,
        from: &str,
        to: &str,
        replaces: bool,
    ) -> Result<(), Failure> {
        let (place, storage) = self.place(to)?;
        self.settle(Some(&place.path)).await?;
        let local = Path::new(from);
        if !local.is_file() && !local.is_dir() {
            let why = match local.exists() {
                true => "it is no regular file; - reads what is written to standard input",
                false => "No such file or directory",
            };
            return self.refuse(from, why).await;
        }
        let name = name_of(local);
        let at = (&place, storage.as_ref());
        let Some(path) = self.target(at, &name, replaces, Some(to)).await? else {
            return Ok(());
        };
        if place.address == Address::Shared && is_inside(local, Path::new(&path)) {
            self.settle(None).await?;
            self.refuse_copy_into_itself(from, &path);
            return Ok(());
        }
        let mut rest = vec![(local.to_owned(), path)];
        while let Some((local, path)) = rest.pop() {
            self.settle(Some(&path)).await?;
            match local.is_dir() {
                true => {
                    if self.enter(&storage, &local, &path).await? {
                        rest.extend(self.inside(&local, &path).await?);
                    }
                }
                false => {
                    let source = PutSource::Local(local);
                    self.puts.begin(&storage, source, &path, replaces);
                }
            }
        }
        Ok(())
    }

    /// Whether several may go there, which they may into a folder; else it is said why not.
    pub(super) async fn takes_several(&mut self, to: &str) -> Result<bool, Failure> {
        let (place, storage) = self.place(to)?;
        let why = match is_folder(&storage, &place.path).await? {
            Some(true) => return Ok(true),
            Some(false) => "Is not a directory",
            None => "No such file or directory",
        };
        self.failed("put", to, why);
        Ok(false)
    }

    /// Copies what is written to standard input until its end; into a folder as `-`, as Hadoop's shell calls it there.
    pub(super) async fn put_input(&mut self, to: &str, replaces: bool) -> Result<(), Failure> {
        let (place, storage) = self.place(to)?;
        let at = (&place, storage.as_ref());
        // Hadoop's shell makes the folders above of what is written to it.
        if let Some(path) = self.target(at, "-", replaces, None).await? {
            let source = PutSource::Pipe(standard_input()?);
            self.puts.begin(&storage, source, &path, replaces);
        }
        Ok(())
    }

    /// The path that something called `name` gets. `None`: it is said why there is none; that the folder above is
    /// missing is a reason only for what has been `typed`.
    async fn target(
        &mut self,
        (place, storage): (&Location, &Storage),
        name: &str,
        replaces: bool,
        typed: Option<&str>,
    ) -> Result<Option<String>, Failure> {
        let path = &place.path;
        let above = folder_above(storage, path).await?;
        if let Above::File(above) = above {
            self.settle(None).await?;
            self.no_folder("put", &above);
            return Ok(None);
        }
        let is_missing = |typed: &&str| {
            is_folders(typed) || matches!(above, Above::Nothing(_)) && !is_at_home(typed)
        };
        match is_folder(storage, path).await? {
            Some(true) => Ok(Some(below(path, name))),
            Some(false) if !replaces => {
                self.refuse(path, "File exists").await?;
                Ok(None)
            }
            Some(false) => Ok(Some(path.clone())),
            None => match typed.filter(is_missing) {
                None => Ok(Some(path.clone())),
                Some(typed) => {
                    self.settle(None).await?;
                    self.no_place("put", typed, &place.url());
                    Ok(None)
                }
            },
        }
    }

    /// Waits until one more file may be begun, whose path is this; without one until all are written.
    pub(super) async fn settle(&mut self, path: Option<&str>) -> Result<(), Failure> {
        let is_all = path.is_none_or(|path| self.puts.reach(path));
        let mut first = Ok(());
        while is_all || first.is_err() || self.puts.are_full() {
            match self.puts.next().await {
                None => break,
                Some(Ok((_, PutEnd::Written))) => {}
                Some(Ok((path, PutEnd::IsThere))) => self.failed("put", &path, "File exists"),
                // Those that are begun end, and no more are where it stands in the way of all.
                Some(Err(error)) => first = first.and(self.go_on("put", Err(error))),
            }
        }
        first
    }

    /// Says why one is not copied, after what there is to say of those before it.
    async fn refuse(&mut self, path: &str, why: &str) -> Result<(), Failure> {
        self.settle(None).await?;
        self.failed("put", path, why);
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
                self.refuse(path, "Is not a directory").await?;
                return Ok(false);
            }
            None => {
                if let Err(error) = storage.make_folder(path).await {
                    self.settle(None).await?;
                    self.go_on("put", Err(error.into()))?;
                    return Ok(false);
                }
            }
        }
        match fs::read_dir(local) {
            Ok(_readable) => Ok(true),
            Err(error) => {
                let shown = local.to_string_lossy();
                self.refuse(&shown, &error.to_string()).await?;
                Ok(false)
            }
        }
    }

    /// What is in a folder of this machine, and where it goes, the first last.
    async fn inside(
        &mut self,
        local: &Path,
        path: &str,
    ) -> Result<Vec<(PathBuf, String)>, Failure> {
        let mut all = Vec::new();
        for entry in fs::read_dir(local).into_iter().flatten().flatten() {
            let local = entry.path();
            match entry.file_name().to_str() {
                // A link that leads nowhere is nothing that can be read.
                Some(_) if !local.exists() => {
                    let shown = local.to_string_lossy();
                    self.refuse(&shown, "No such file or directory").await?;
                }
                Some(name) => all.push((local.clone(), below(path, name))),
                None => {
                    let shown = local.to_string_lossy();
                    self.refuse(&shown, "its name is no UTF-8").await?;
                }
            }
        }
        sort::by(&mut all, |(_, one), (_, other)| other.cmp(one));
        Ok(all)
    }

    /// Writes files of this machine, or standard input (`-`), behind what the file `to` has; it is made where it is not
    /// there.
    pub(super) async fn append(&mut self, from: &[String], to: &str) -> Result<(), Failure> {
        let (place, storage) = self.place(to)?;
        let path = &place.path;
        if let Above::File(above) = folder_above(&storage, path).await? {
            self.no_folder("appendToFile", &above);
            return Ok(());
        }
        let is_there = is_folder(&storage, path).await?;
        if is_there == Some(true) {
            self.failed("appendToFile", path, "Is a directory");
            return Ok(());
        }
        let mut sources = Vec::new();
        for name in from {
            let file = match name.as_str() {
                "-" => standard_input()?,
                name => match fs::File::open(name) {
                    Ok(file) if !Path::new(name).is_dir() => tokio::fs::File::from_std(file),
                    Ok(_folder) => {
                        self.failed("appendToFile", name, "Is a directory");
                        return Ok(());
                    }
                    Err(error) if error.kind() == ErrorKind::NotFound => {
                        self.failed("appendToFile", name, "No such file or directory");
                        return Ok(());
                    }
                    Err(error) => {
                        self.failed("appendToFile", name, &error.to_string());
                        return Ok(());
                    }
                },
            };
            sources.push(file);
        }
        let mut to = match is_there {
            Some(_) => storage.append(path).await?,
            None => storage.create(path, CreateOptions::default()).await?,
        };
        for source in sources {
            to.fill(source).await?;
        }
        to.close().await?;
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

/// What is written to this process. It is read in a thread that nobody waits for after a signal.
fn standard_input() -> Result<tokio::fs::File, Failure> {
    let input = std::io::stdin().as_fd().try_clone_to_owned();
    let input = input.map_err(system("read standard input", Exit::Lost))?;
    Ok(tokio::fs::File::from_std(fs::File::from(input)))
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
