//! Which files inputs name: several, lists with commas, patterns, folders, as Hadoop's `FileInputFormat`.

use std::collections::BTreeSet;

use gerbil_task::inputs::{Folders, MAP_FILE_DATA, as_part, is_hidden, is_map_file, paths};
use gerbil_task::pattern::{braces, is_pattern, matches, unescaped};
use gerbil_task::settings::RECURSIVE;
use proto_hadoop::{FileBlocks, ListingEntry, NameNodeClient};
use storage::{Address, Status, Storage, StorageError};

use crate::error::MapReduceError;
use crate::places::{FileSystems, Location};

/// Files and folders that one input may have: each is remembered, and told to the driver.
const MOST: usize = 1_000_000;

/// A file of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFile {
    /// The file system that has it, and its path there.
    pub place: Location,
    /// Length, bytes.
    pub length: u64,
    /// Where it lies, if that was told when it was listed.
    pub blocks: Option<FileBlocks>,
}

/// What a folder has.
struct FolderEntry {
    path: String,
    /// Length, bytes.
    size: u64,
    is_folder: bool,
    blocks: Option<FileBlocks>,
}

impl FolderEntry {
    /// Its last part.
    fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

impl From<Status> for FolderEntry {
    fn from(status: Status) -> Self {
        Self {
            size: status.size,
            is_folder: status.is_folder,
            path: status.path,
            blocks: None,
        }
    }
}

impl From<ListingEntry> for FolderEntry {
    fn from(listed: ListingEntry) -> Self {
        match listed {
            ListingEntry::Folder(path) => Self {
                path,
                size: 0,
                is_folder: true,
                blocks: None,
            },
            ListingEntry::File(file) => Self {
                path: file.path.clone(),
                size: file.size,
                is_folder: false,
                blocks: Some(file),
            },
        }
    }
}

/// The files that `inputs` name, in the order of the inputs and, within each, of their names.
///
/// # Errors
/// One is empty; there are none of a name; a folder is inside of a folder, and neither is read; the file system
/// refuses.
pub async fn files(
    places: &FileSystems,
    inputs: &[String],
    folders: Folders,
) -> Result<Vec<InputFile>, MapReduceError> {
    let mut found = Vec::new();
    for input in paths(inputs)? {
        let place = places.find(input)?;
        let storage = places.storage(&place.address)?;
        let name_node = places.name_node(&place.address);
        let looked = Looked {
            storage: &storage,
            name_node: name_node.as_deref(),
            address: &place.address,
            folders,
        };
        if !looked.named(input, &place.path, &mut found).await? {
            return Err(absent(inputs, input, &place));
        }
    }
    Ok(found)
}

/// The files of a folder, by name, without those in folders below it; or the file of that name.
///
/// # Errors
/// There is none.
pub async fn list(places: &FileSystems, name: &str) -> Result<Vec<InputFile>, MapReduceError> {
    let place = places.find(name)?;
    let storage = places.storage(&place.address)?;
    let Some(status) = storage.stat(&place.path).await? else {
        return Err(absent(&[], name, &place));
    };
    let of = |status: Status| found(&place.address, status.into());
    if !status.is_folder {
        return of(status).map(|file| vec![file]);
    }
    let entries = storage.list(&place.path, MOST).await?.into_iter();
    let files = entries.filter(|entry| !entry.is_folder && !is_hidden(entry.name()));
    files.map(of).collect()
}

/// There is nothing of this name, a part of one of the `inputs`; perhaps there is on this machine.
fn absent(inputs: &[String], input: &str, place: &Location) -> MapReduceError {
    let mut more = String::new();
    if is_pattern(&place.path) {
        more.push_str(" for this pattern");
    }
    more.push_str(&as_part(inputs, input));
    let is_here = matches!(place.address, Address::Hdfs { .. })
        && !input.contains(':')
        && std::path::Path::new(input).exists();
    if is_here {
        more.push_str(&format!(
            "; {input} is a file of this machine: bring it there with hdfs dfs -put {input}, or, if all nodes have \
             mounted it, write file: and its whole path"
        ));
    }
    MapReduceError::Absent {
        url: place.url(),
        more,
    }
}

fn found(address: &Address, entry: FolderEntry) -> Result<InputFile, MapReduceError> {
    // What stands in a listing for bytes that are no text.
    let is_unsure = *address == Address::Shared && entry.path.contains(char::REPLACEMENT_CHARACTER);
    if is_unsure && !std::path::Path::new(&entry.path).exists() {
        return Err(MapReduceError::Asked(format!(
            "{}: this name is not UTF-8, and no task can be told of it: rename the file, or begin its name with _",
            address.url(&entry.path)
        )));
    }
    Ok(InputFile {
        length: entry.size,
        place: Location {
            address: address.clone(),
            path: entry.path,
        },
        blocks: entry.blocks,
    })
}

/// One file system that is looked at.
struct Looked<'a> {
    storage: &'a Storage,
    /// Tells with what a folder has where its files lie, by the same calls.
    name_node: Option<&'a NameNodeClient>,
    address: &'a Address,
    folders: Folders,
}

impl Looked<'_> {
    /// Adds the files that an input, whose whole path is this one, stands for: those that it describes, else those of just
    /// this name. False: there is nothing.
    async fn named(
        &self,
        given: &str,
        input: &str,
        into: &mut Vec<InputFile>,
    ) -> Result<bool, MapReduceError> {
        if !is_pattern(input) {
            let name = unescaped(input);
            return Ok(self.exact(&name, into).await?
                || (name != input && self.exact(input, into).await?));
        }
        let described = match braces(input) {
            Ok(patterns) => self.described(&patterns).await?,
            Err(error) => {
                return match self.exact(input, into).await? {
                    true => Ok(true),
                    false => Err(error.of(given).into()),
                };
            }
        };
        if described.is_empty() {
            return self.exact(input, into).await;
        }
        for status in described {
            self.take(status.into(), into).await?;
        }
        Ok(true)
    }

    /// Adds the file of a name, or the files of the folder of that name. False: there is nothing.
    async fn exact(&self, name: &str, into: &mut Vec<InputFile>) -> Result<bool, MapReduceError> {
        if self.folder(name, into).await? {
            return Ok(true);
        }
        match self.storage.stat(name).await? {
            Some(status) => self.take(status.into(), into).await.map(|()| true),
            None => Ok(false),
        }
    }

    /// Adds the files of a folder, if it is the name of one, which most inputs are, or a file that a NameNode lists: it
    /// costs that one call.
    async fn folder(&self, name: &str, into: &mut Vec<InputFile>) -> Result<bool, MapReduceError> {
        match self.list(name).await {
            // A NameNode lists a file as itself.
            Ok(all) if all.iter().any(|entry| entry.path == name) => {
                let Some(itself) = all.into_iter().find(|entry| entry.blocks.is_some()) else {
                    return Ok(false);
                };
                into.push(found(self.address, itself)?);
                Ok(true)
            }
            Ok(all) => self.descend(name, counted(all), into).await.map(|()| true),
            Err(StorageError::Absent { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// What a folder has: where the NameNode does not say, or not all of it, as the storage says, or why not.
    async fn list(&self, folder: &str) -> Result<Vec<FolderEntry>, StorageError> {
        if let Some(client) = self.name_node
            && let Ok(Some(told)) = client.list(folder, MOST).await
            && told.len() < MOST
        {
            return Ok(told.into_iter().map(FolderEntry::from).collect());
        }
        let all = self.storage.list(folder, MOST).await?;
        Ok(all.into_iter().map(FolderEntry::from).collect())
    }

    /// What patterns without braces stand for, by path. Each folder of a pattern is listed once.
    async fn described(&self, patterns: &[String]) -> Result<Vec<Status>, MapReduceError> {
        let (mut all, mut seen) = (Vec::new(), BTreeSet::new());
        for pattern in patterns {
            for status in self.matching(pattern).await? {
                if seen.insert(status.path.clone()) {
                    all.push(status);
                }
            }
        }
        sort::by(&mut all, |one, other| one.path.cmp(&other.path));
        Ok(all)
    }

    async fn matching(&self, pattern: &str) -> Result<Vec<Status>, MapReduceError> {
        let parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty()).collect();
        let mut here = vec![String::new()];
        let mut last = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            let is_last = number + 1 == parts.len();
            let mut next = Vec::new();
            for folder in here {
                if !is_pattern(part) {
                    let path = format!("{folder}/{}", unescaped(part));
                    match is_last {
                        true => last.extend(self.storage.stat(&path).await?),
                        false => next.push(path),
                    }
                    continue;
                }
                let folder = match folder.as_str() {
                    "" => "/",
                    folder => folder,
                };
                // A name that was put together may be none, or a file's.
                if !self
                    .storage
                    .stat(folder)
                    .await?
                    .is_some_and(|it| it.is_folder)
                {
                    continue;
                }
                for entry in self.storage.list(folder, MOST).await? {
                    let name = entry.name();
                    // Hidden files are left out, and hidden folders are gone through.
                    if (is_last && is_hidden(name)) || !matches(part, name) {
                        continue;
                    }
                    match is_last {
                        true => last.push(entry),
                        false if entry.is_folder => next.push(entry.path),
                        false => {}
                    }
                }
            }
            here = next;
        }
        Ok(last)
    }

    /// Adds a file, or the files of a folder, which was named.
    async fn take(
        &self,
        named: FolderEntry,
        into: &mut Vec<InputFile>,
    ) -> Result<(), MapReduceError> {
        if !named.is_folder {
            into.push(found(self.address, named)?);
            return Ok(());
        }
        let open = self.entries(&named.path).await?;
        self.descend(&named.path, open, into).await
    }

    /// Adds the files of a folder that has these entries.
    async fn descend(
        &self,
        folder: &str,
        mut open: Vec<FolderEntry>,
        into: &mut Vec<InputFile>,
    ) -> Result<(), MapReduceError> {
        self.keep_data(&mut open);
        // Those that come next are last; a folder's files stand where its name does.
        while let Some(entry) = open.pop() {
            if !entry.is_folder {
                into.push(found(self.address, entry)?);
                if into.len() > MOST {
                    return Err(MapReduceError::Asked(format!(
                        "{} has more than {MOST} files; pack them",
                        self.storage.url(folder)
                    )));
                }
                continue;
            }
            let mut inside = self.entries(&entry.path).await?;
            if !self.keep_data(&mut inside) && !self.folders.recursive {
                return Err(MapReduceError::Asked(format!(
                    "{} is a folder inside of an input folder: -D {RECURSIVE}=true reads those, too",
                    self.storage.url(&entry.path)
                )));
            }
            open.extend(inside);
        }
        Ok(())
    }

    /// Leaves the data alone of a folder that is a MapFile; whether it is one.
    fn keep_data(&self, entries: &mut Vec<FolderEntry>) -> bool {
        let is_map_file = self.folders.map_files
            && is_map_file(entries.iter().map(FolderEntry::name))
            && entries.iter().all(|entry| !entry.is_folder);
        if is_map_file {
            entries.retain(|entry| entry.name() == MAP_FILE_DATA);
        }
        is_map_file
    }

    /// What a folder has that counts, the last name first.
    async fn entries(&self, folder: &str) -> Result<Vec<FolderEntry>, MapReduceError> {
        Ok(counted(self.list(folder).await?))
    }
}

/// Those that are no secret of their makers, the last name first.
fn counted(mut entries: Vec<FolderEntry>) -> Vec<FolderEntry> {
    entries.retain(|entry| !is_hidden(entry.name()));
    entries.reverse();
    entries
}

#[cfg(test)]
#[path = "../../../container-launcher/mapreduce/src/local/paths/listings.rs"]
mod listings;

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;
    use std::sync::Arc;

    use gerbil_task::inputs::Folders;
    use job::exit::Exit;
    use proto_hadoop::conf::Configuration;

    use super::listings::{check, listings, make};
    use super::{files, list};
    use crate::error::MapReduceError;
    use crate::{Cluster, places::FileSystems};

    fn places() -> FileSystems {
        let cluster = Cluster {
            configuration: Configuration::from_xml("<configuration/>", &|_| None).unwrap(),
            user: "alice".into(),
        };
        FileSystems::new(Arc::new(cluster))
    }

    #[tokio::test]
    async fn inputs_are_what_hadoop_takes() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        make(root);
        let places = places();
        let at = |text: &str| format!("file:{}/{text}", root.display());
        let named = async |inputs: &[String], folders| {
            let found = files(&places, inputs, folders).await?;
            let names = found.iter().map(|file| {
                let path = std::path::Path::new(&file.place.path);
                path.strip_prefix(root).unwrap().display().to_string()
            });
            Ok::<_, MapReduceError>(names.collect::<Vec<_>>())
        };
        for root in [
            format!("file:{}", root.display()),
            root.display().to_string(),
        ] {
            for listing in listings(&root) {
                let found = named(&listing.inputs, listing.folders).await;
                if let Err(error) = &found {
                    assert_eq!(error.exit(), Exit::Usage, "{error}");
                }
                check(&listing, found.map_err(|error| error.to_string()));
            }
        }
        let recursive = Folders {
            recursive: true,
            ..Folders::default()
        };
        let all = named(&[at("in")], recursive).await.unwrap();
        assert_eq!(all, ["in/a", "in/b", "in/deep/c"]);
        let refused = named(&[at("in")], Folders::default())
            .await
            .unwrap_err()
            .to_string();
        assert!(refused.contains("input.dir.recursive=true"), "{refused}");
        let name = std::ffi::OsStr::from_bytes(b"k\xf6ln");
        std::fs::write(root.join("in").join(name), "x").unwrap();
        for input in ["in", "in/k*"] {
            let refused = named(&[at(input)], recursive)
                .await
                .unwrap_err()
                .to_string();
            assert!(refused.contains("is not UTF-8"), "{refused}");
        }
        std::fs::remove_file(root.join("in").join(name)).unwrap();
        let listed = list(&places, &at("in")).await.unwrap();
        let listed: Vec<u64> = listed.iter().map(|file| file.length).collect();
        assert_eq!(listed, [4, 4]);
    }
}
