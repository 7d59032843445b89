//! `gerbil hadoop fs`: what it does to files, and what it prints, as Hadoop's shell does.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use mapreduce_client::open::read;
use mapreduce_client::places::{FileSystems, Location};
use storage::Storage;
use terminal::signals::Signals;
use terminal::{Text, interruptible, print};

use super::entries::{FoundPath, MOST, is_at_home, line, matching, origin};
use super::puts::Puts;
use super::said::FAILED;
use super::words::FilesTask;
use crate::failure::Failure;

/// What lies above a path that is not there.
pub(super) enum Above {
    Folder,
    /// This is no folder.
    File(String),
    /// This is not there.
    Nothing(String),
}

/// Looks at the folders above, the nearest first.
pub(super) async fn folder_above(storage: &Storage, path: &str) -> Result<Above, Failure> {
    let nearest = storage::parent(path);
    let parts = nearest.match_indices('/').filter(|(at, _)| *at > 0);
    let mut all = vec!["/"];
    all.extend(parts.filter_map(|(at, _)| nearest.get(..at)));
    all.push(nearest);
    for at in all.into_iter().rev() {
        match storage.stat(at).await {
            Ok(Some(there)) if !there.is_folder => return Ok(Above::File(at.to_owned())),
            Ok(Some(_)) if at == nearest => return Ok(Above::Folder),
            Ok(Some(_)) => break,
            Err(error) if at == "/" => return Err(error.into()),
            // HDFS and operating systems refuse to look below a file.
            Ok(None) | Err(_) => {}
        }
    }
    Ok(Above::Nothing(nearest.to_owned()))
}

/// Does it; the exit code.
pub(super) async fn run(
    task: FilesTask,
    places: &FileSystems,
    signals: &mut Signals,
) -> Result<u8, Failure> {
    let mut shell = Shell::new(places);
    match interruptible(signals, shell.run(task)).await {
        ControlFlow::Continue(Ok(())) => {}
        ControlFlow::Continue(Err(error)) => {
            shell.puts.end().await;
            return Err(error);
        }
        ControlFlow::Break(signal) => {
            shell.puts.end().await;
            return Ok(128u8.saturating_add(signal));
        }
    }
    print(Text::Lines(shell.lines)).await?;
    Ok(shell.code)
}

pub(super) struct Shell<'a> {
    pub(super) places: &'a FileSystems,
    pub(super) code: u8,
    pub(super) lines: Vec<String>,
    pub(super) puts: Puts,
}

impl<'a> Shell<'a> {
    pub(super) fn new(places: &'a FileSystems) -> Self {
        Self {
            places,
            code: 0,
            lines: Vec::new(),
            puts: Puts::default(),
        }
    }
}

impl Shell<'_> {
    pub(super) async fn run(&mut self, task: FilesTask) -> Result<(), Failure> {
        match task {
            FilesTask::List { paths, is_deep } => {
                for found in self.found("ls", &paths, false).await? {
                    let listed = self.list(&found, is_deep).await;
                    self.go_on("ls", listed)?;
                }
            }
            FilesTask::MakeFolder { paths, is_deep } => {
                for path in &paths {
                    let made = self.make_folder(path, is_deep).await;
                    self.go_on("mkdir", made)?;
                }
            }
            FilesTask::Put { from, to, replaces } => {
                match from.as_slice() {
                    [input] if input == "-" => self.put_input(&to, replaces).await?,
                    from => {
                        if from.len() > 1 && !self.takes_several(&to).await? {
                            return Ok(());
                        }
                        for from in from {
                            let put = self.put(from, &to, replaces).await;
                            self.go_on("put", put)?;
                        }
                    }
                }
                self.settle(None).await?;
            }
            FilesTask::Append { from, to } => {
                let appended = self.append(&from, &to).await;
                self.go_on("appendToFile", appended)?;
            }
            FilesTask::Get { from, to, replaces } => {
                let all = self.found("get", &from, false).await?;
                if self.takes_here(all.len(), &to) {
                    for found in all {
                        let got = self.get(&found, PathBuf::from(&to), replaces).await;
                        self.go_on("get", got)?;
                    }
                }
            }
            FilesTask::Print { paths, unpacks } => {
                let command = if unpacks { "text" } else { "cat" };
                for found in self.found(command, &paths, false).await? {
                    let printed = self.print(&found, command, unpacks).await;
                    self.go_on(command, printed)?;
                }
            }
            FilesTask::Remove {
                paths,
                is_deep,
                is_calm,
                is_final,
            } => {
                for found in self.found("rm", &paths, is_calm).await? {
                    match found.status.is_folder && !is_deep {
                        true => {
                            let shown = found.shown(&found.place.path);
                            self.failed("rm", &shown, "Is a directory");
                        }
                        false => {
                            let removed = self.remove(&found, is_final).await;
                            self.go_on("rm", removed)?;
                        }
                    }
                }
            }
            FilesTask::RemoveFolder { paths } => {
                for found in self.found("rmdir", &paths, false).await? {
                    let removed = self.remove_folder(&found).await;
                    self.go_on("rmdir", removed)?;
                }
            }
            FilesTask::Count { paths } => {
                for found in self.found("count", &paths, false).await? {
                    let counted = self.count(&found).await;
                    self.go_on("count", counted)?;
                }
            }
            FilesTask::Touch { paths } => {
                for path in &paths {
                    let touched = self.touch(path).await;
                    self.go_on("touchz", touched)?;
                }
            }
            FilesTask::Test { what, path } => {
                let tested = self.test(what, &path).await;
                self.go_on("test", tested)?;
            }
            FilesTask::Used { paths, is_sum } => {
                for found in self.found("du", &paths, false).await? {
                    let used = self.used(&found, is_sum).await;
                    self.go_on("du", used)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn place(&self, name: &str) -> Result<(Location, Arc<Storage>), Failure> {
        let place = self.places.find(name)?;
        let storage = self.places.storage(&place.address)?;
        Ok((place, storage))
    }

    /// What these paths and patterns name; of one that names nothing it is said so, unless `is_calm`.
    pub(super) async fn found(
        &mut self,
        command: &str,
        paths: &[String],
        is_calm: bool,
    ) -> Result<Vec<FoundPath>, Failure> {
        let mut all = Vec::new();
        for name in paths {
            let (place, storage) = self.place(name)?;
            let origin = origin(name).to_owned();
            let before = all.len();
            let matched = match matching(&storage, &place.path).await {
                Ok(matched) => matched,
                Err(error) => {
                    self.go_on(command, Err(error))?;
                    continue;
                }
            };
            for status in matched {
                all.push(FoundPath {
                    storage: Arc::clone(&storage),
                    place: Location {
                        path: status.path.clone(),
                        ..place.clone()
                    },
                    status,
                    origin: origin.clone(),
                });
            }
            if all.len() == before && !is_calm {
                self.failed(command, name, "No such file or directory");
            }
        }
        Ok(all)
    }

    async fn list(&mut self, found: &FoundPath, is_deep: bool) -> Result<(), Failure> {
        if !found.status.is_folder {
            self.lines.push(line(found, &found.status));
            return Ok(());
        }
        let mut entries = found.storage.list(&found.status.path, MOST).await?;
        entries.sort_by(|one, other| one.path.cmp(&other.path));
        if !is_deep && !entries.is_empty() {
            // Of one, too.
            self.lines.push(format!("Found {} items", entries.len()));
        }
        entries.reverse();
        while let Some(entry) = entries.pop() {
            self.lines.push(line(found, &entry));
            if is_deep && entry.is_folder {
                match found.storage.list(&entry.path, MOST).await {
                    Ok(mut below) => {
                        below.sort_by(|one, other| other.path.cmp(&one.path));
                        entries.extend(below);
                    }
                    Err(error) => self.go_on("ls", Err(error.into()))?,
                }
            }
        }
        Ok(())
    }

    async fn print(
        &mut self,
        found: &FoundPath,
        command: &str,
        unpacks: bool,
    ) -> Result<(), Failure> {
        let path = &found.status.path;
        let is_packed = [".gz", ".bz2", ".deflate", ".zst", ".snappy", ".lz4"]
            .iter()
            .any(|end| path.ends_with(end));
        if found.status.is_folder {
            self.failed(command, &found.shown(path), "Is a directory");
            return Ok(());
        }
        if unpacks && is_packed {
            let why = "it is compressed, and -cat prints it as it is";
            self.failed(command, &found.shown(path), why);
            return Ok(());
        }
        let mut reader = read(self.places, &found.place, 0, found.status.size).await?;
        loop {
            let piece = reader.next().await?;
            if piece.is_empty() {
                return Ok(());
            }
            print(Text::Whole(piece.to_vec())).await?;
        }
    }

    async fn make_folder(&mut self, name: &str, is_deep: bool) -> Result<(), Failure> {
        let (place, storage) = self.place(name)?;
        let there = storage.stat(&place.path).await;
        match there {
            Ok(Some(there)) if !there.is_folder => self.failed("mkdir", name, "Is not a directory"),
            Ok(Some(_)) if is_deep => {}
            Ok(Some(_)) => self.failed("mkdir", name, "File exists"),
            Ok(None) | Err(_) => match folder_above(&storage, &place.path).await? {
                Above::File(path) => self.no_folder("mkdir", &path),
                Above::Nothing(path) if !is_deep => {
                    let url = place.address.url(&path);
                    self.failed("mkdir", &url, "No such file or directory");
                }
                Above::Nothing(_) | Above::Folder => storage.make_folder(&place.path).await?,
            },
        }
        Ok(())
    }

    async fn touch(&mut self, name: &str) -> Result<(), Failure> {
        let (place, storage) = self.place(name)?;
        match storage.stat(&place.path).await? {
            None => match folder_above(&storage, &place.path).await? {
                Above::Nothing(_) if !is_at_home(name) => {
                    self.no_place("touchz", name, &place.url());
                }
                Above::File(path) => self.no_folder("touchz", &path),
                Above::Nothing(_) | Above::Folder => {
                    storage.write(&place.path, Vec::new()).await?;
                }
            },
            Some(there) if there.is_folder => self.failed("touchz", name, "Is a directory"),
            Some(there) if there.size > 0 => self.failed("touchz", name, "Not a zero-length file"),
            Some(_) => {}
        }
        Ok(())
    }

    async fn test(&mut self, what: char, path: &str) -> Result<(), Failure> {
        let (place, storage) = self.place(path)?;
        let there = storage.stat(&place.path).await?;
        let is_so = there.is_some_and(|status| match what {
            'd' => status.is_folder,
            'f' => !status.is_folder,
            // Of a folder, too: it has no bytes.
            'z' => status.size == 0,
            _ => true,
        });
        self.code = if is_so { 0 } else { FAILED };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use storage::{Address, Storage};

    use super::{Above, folder_above};

    #[tokio::test]
    async fn what_lies_above_a_path_is_a_folder_a_file_or_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().to_str().unwrap();
        std::fs::write(folder.path().join("file"), "x").unwrap();
        let storage = Storage::open(&Address::Shared).unwrap();
        let above = async |path: &str| folder_above(&storage, path).await.unwrap();
        assert!(matches!(above(&format!("{top}/new")).await, Above::Folder));
        assert!(matches!(above("/").await, Above::Folder));
        for below in ["file/x", "file/x/y"] {
            let Above::File(file) = above(&format!("{top}/{below}")).await else {
                panic!("{below}");
            };
            assert_eq!(file, format!("{top}/file"));
        }
        let Above::Nothing(missing) = above(&format!("{top}/a/b/c")).await else {
            panic!("there is something");
        };
        assert_eq!(missing, format!("{top}/a/b"));
    }
}
