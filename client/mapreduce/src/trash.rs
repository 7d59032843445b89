//! What users are rid of goes to their trash, as Hadoop's shell puts it there: `.Trash/Current` in their home folder, which HDFS
//! empties, with the path that it had. Where HDFS keeps no trash (`fs.trash.interval` 0) it is removed.

use storage::{Address, Readers, Storage, StorageError, parent};

use crate::error::MapReduceError;
use crate::places::{FileSystems, Location};

/// How often a name in the trash is tried that somebody else may take.
const TRIES: u32 = 5;
/// In minutes; 0, Hadoop's default: there is no trash.
const INTERVAL: &str = "fs.trash.interval";

/// What becomes of what goes to the user's trash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trash {
    /// HDFS empties it.
    Emptied,
    /// Nobody empties it: it is a folder of an operating system.
    NeverEmptied,
    /// There is none: what would go there is removed.
    Off,
}

/// What has become of something.
#[derive(Debug, PartialEq, Eq)]
pub enum Gone {
    /// It is in the trash, under this address.
    To(String),
    /// It is no more.
    Removed,
}

impl FileSystems {
    /// What becomes of a folder of this file system that somebody is rid of, as Hadoop's shell decides it: by what the
    /// NameNode does, else by the settings here.
    pub(crate) async fn trash(&self, address: &Address) -> Trash {
        let Some(name_node) = self.name_node(address) else {
            return Trash::NeverEmptied;
        };
        match name_node.trash_minutes().await {
            Ok(0) if self.keeps_no_trash() => Trash::Off,
            // What a NameNode does not say is no reason to lose anything.
            Ok(_) | Err(_) => Trash::Emptied,
        }
    }

    /// Whether the settings here ask for no trash.
    fn keeps_no_trash(&self) -> bool {
        let here = self.hadoop(INTERVAL).unwrap_or_default();
        here.is_empty() || here.parse::<f64>().is_ok_and(|minutes| minutes <= 0.0)
    }

    /// What Hadoop's `-rm` does to a path: it goes to the trash where there is one, and out of the trash for good. A folder of
    /// an operating system has a trash only where the settings ask for it. `None`: nothing is there.
    ///
    /// # Errors
    /// The path is the root, or the trash is in it; as [`Storage::rename`].
    pub async fn discard(&self, place: &Location) -> Result<Option<Gone>, MapReduceError> {
        let kept = match self.name_node(&place.address) {
            None if self.keeps_no_trash() => Trash::Off,
            None | Some(_) => self.trash(&place.address).await,
        };
        let storage = self.storage(&place.address)?;
        discard(&storage, kept, self.home(&place.address), place).await
    }
}

/// The same, of a user with that home folder.
async fn discard(
    storage: &Storage,
    kept: Trash,
    home: Option<String>,
    place: &Location,
) -> Result<Option<Gone>, MapReduceError> {
    let refused = |why: &str| Err(MapReduceError::Asked(format!("{} {why}", place.url())));
    if place.path.trim_end_matches('/').is_empty() {
        return refused("is a whole file system, which is not removed");
    }
    if kept != Trash::Off {
        let Some(home) = home else {
            return refused(
                "is where you have no home folder, and so no trash: -skipTrash removes it",
            );
        };
        let trash = format!("{home}/.Trash");
        // What is in the trash, and the trash itself, are removed.
        if !is_in(&place.path, &trash) {
            if is_in(&trash, &place.path) {
                return refused(
                    "cannot go to your trash, which lies in it: -skipTrash removes both",
                );
            }
            let put = put_away(storage, &trash, place).await?;
            return Ok(put.map(|path| Gone::To(place.address.url(&path))));
        }
    }
    let was_there = storage.remove_found(&place.path).await?;
    Ok(was_there.then_some(Gone::Removed))
}

/// Renames it into that trash, under its own name, or with the time behind it, in milliseconds since 1970, as Hadoop's
/// shell does it; its path there. `None`: nothing is there.
///
/// # Errors
/// As [`Storage::rename`]; other names are taken each time.
pub(crate) async fn put_away(
    storage: &Storage,
    trash: &str,
    old: &Location,
) -> Result<Option<String>, MapReduceError> {
    if storage.stat(&old.path).await?.is_none() {
        return Ok(None);
    }
    let path = format!("{trash}/Current{}", old.path);
    let folder = parent(&path);
    storage.make_folder_for(folder, Readers::Own).await?;
    let mut to = path.clone();
    for _ in 0..TRIES {
        // A folder that is renamed to another would lie in that one.
        if storage.stat(&to).await?.is_none() {
            match storage.rename(&old.path, &to).await {
                Ok(()) => return Ok(Some(to)),
                Err(StorageError::Exists { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        to = format!("{path}{}", now_ms());
    }
    Err(MapReduceError::Asked(format!(
        "{} is taken again and again",
        old.address.url(&path)
    )))
}

/// Whether a path is a folder, or in it.
pub(crate) fn is_in(path: &str, folder: &str) -> bool {
    let rest = path.strip_prefix(folder.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Since 1970.
pub(crate) fn now_ms() -> i64 {
    follow::timing::now_us() / 1000
}

#[cfg(test)]
mod tests {
    use std::fs;

    use storage::{Address, Storage};

    use super::{Gone, Trash, discard, is_in};
    use crate::places::Location;

    #[tokio::test]
    async fn what_is_removed_goes_to_the_trash_and_out_of_it_for_good() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().to_str().unwrap();
        let storage = Storage::open(&Address::Shared).unwrap();
        let at = |path: &str| Location {
            address: Address::Shared,
            path: format!("{home}{path}"),
        };
        let rid = async |kept, path: &str| {
            discard(&storage, kept, Some(home.to_owned()), &at(path)).await
        };
        let make = |text: &str| {
            fs::create_dir_all(folder.path().join("out")).unwrap();
            fs::write(folder.path().join("out/part"), text).unwrap();
        };

        make("one");
        let gone = rid(Trash::Emptied, "/out").await.unwrap();
        let first = at(&format!("/.Trash/Current{home}/out"));
        assert_eq!(gone, Some(Gone::To(first.url())));
        let kept = fs::read_to_string(format!("{}/part", first.path)).unwrap();
        assert_eq!(kept, "one");
        assert_eq!(rid(Trash::Emptied, "/out").await.unwrap(), None);

        // The name is taken there.
        make("two");
        let Some(Gone::To(second)) = rid(Trash::NeverEmptied, "/out").await.unwrap() else {
            panic!("it is not in the trash");
        };
        assert!(second.starts_with(&first.url()) && second != first.url());
        assert!(fs::exists(&first.path).unwrap());

        make("three");
        let gone = rid(Trash::Off, "/out").await.unwrap();
        assert_eq!(gone, Some(Gone::Removed));
        let root = Location {
            path: "/".to_owned(),
            ..at("")
        };
        for (place, why) in [(at(""), "lies in it"), (root, "whole file system")] {
            let refused = discard(&storage, Trash::Emptied, Some(home.to_owned()), &place).await;
            let refused = refused.unwrap_err().to_string();
            assert!(refused.contains(why), "{refused}");
        }
        let in_trash = rid(Trash::Emptied, "/.Trash").await.unwrap();
        assert_eq!(in_trash, Some(Gone::Removed));
        assert!(!fs::exists(&first.path).unwrap());
    }

    #[test]
    fn a_name_that_begins_alike_is_not_in_a_folder() {
        assert!(is_in("/a/b", "/a") && is_in("/a", "/a") && is_in("/a", "/"));
        assert!(!is_in("/ab", "/a") && !is_in("/", "/a"));
    }
}
