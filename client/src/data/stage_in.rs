//! `--stage-in`: files of the cluster's file system that YARN brings into every container.

use std::collections::{BTreeMap, BTreeSet};

use job::{Staged, StagedKind};
use staging::link::{program_link, refusal};
use storage::{Status, StorageError};

use super::{DataError, Located, failed};

/// Files that all `--stage-in` of a job may bring: each is told to every NodeManager, and stands in
/// the job's description.
const FILES_MAX: usize = 1000;
const OPTION: &str = "--stage-in";

/// Looks at everything that is to come in, and lists the files.
///
/// # Errors
/// Something is not there, cannot be read, is too much or has an impossible name.
pub(crate) async fn bring(wanted: &[(Located, String)]) -> Result<Vec<Staged>, DataError> {
    let mut all = Vec::new();
    for (place, name) in wanted {
        let storage = place.open(OPTION)?;
        let url = place.url();
        let found = storage.stat(&place.path).await;
        let Some(found) = found.map_err(|error| failed(OPTION, error))? else {
            return Err(DataError::NothingToStageIn { url });
        };
        if !found.is_folder {
            all.push(staged(place, name.clone(), &found)?);
            continue;
        }
        let files = storage
            .walk(&place.path, FILES_MAX.saturating_sub(all.len()))
            .await;
        let files = files.map_err(|error| match error {
            StorageError::TooMany { .. } => DataError::TooManyFiles {
                url: url.clone(),
                most: FILES_MAX,
            },
            other => failed(OPTION, other),
        })?;
        if files.is_empty() {
            return Err(DataError::EmptyFolder { url });
        }
        for file in &files {
            let rest = file.path.strip_prefix(&place.path).unwrap_or(&file.path);
            all.push(staged(place, format!("{name}{rest}"), file)?);
        }
    }
    Ok(all)
}

fn staged(place: &Located, link: String, found: &Status) -> Result<Staged, DataError> {
    let url = place.address.url(&found.path);
    // Of folders, YARN's script does not even quote the names.
    let (folders, last) = link.rsplit_once('/').unwrap_or(("", &link));
    let folders = folders.split('/').filter(|part| !part.is_empty());
    let mut odd = folders.filter(|part| program_link(part) != *part);
    if let Some(part) = odd.next().or_else(|| refusal(last).map(|_why| last)) {
        let part = part.to_owned();
        return Err(DataError::BadName { url, link, part });
    }
    Ok(Staged {
        link,
        url,
        size: found.size,
        modified_ms: found.modified_ms,
        kind: StagedKind::File,
    })
}

/// Puts `incoming` beside what is `staged`.
///
/// # Errors
/// Two would have one name, one two names, or one would be a file and a folder.
pub(crate) fn merge(staged: &mut Vec<Staged>, incoming: Vec<Staged>) -> Result<(), DataError> {
    let mut files: BTreeSet<String> = sort::set(staged.iter().map(|file| file.link.clone()));
    let mut folders: BTreeSet<String> = BTreeSet::new();
    let mut links: BTreeMap<String, String> = BTreeMap::new();
    for file in incoming {
        // A NodeManager makes one link of a file, under the name that it was told last.
        if let Some(link) = links.insert(file.url.clone(), file.link.clone())
            && link != file.link
        {
            return Err(DataError::TwoNames {
                url: file.url,
                first: link,
                second: file.link,
            });
        }
        let above = |link: &str| -> Vec<String> {
            let ends = link
                .match_indices('/')
                .map(|(end, _)| link[..end].to_owned());
            ends.collect()
        };
        let above = above(&file.link);
        let taken = files.contains(&file.link)
            || folders.contains(&file.link)
            || above.iter().any(|folder| files.contains(folder));
        if taken {
            return Err(DataError::NameTaken {
                url: file.url,
                link: file.link,
            });
        }
        folders.extend(above);
        files.insert(file.link.clone());
        staged.push(file);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use storage::Address;

    use super::*;

    fn place(path: &std::path::Path) -> Located {
        Located {
            address: Address::Shared,
            path: path.to_str().unwrap().to_owned(),
        }
    }

    #[tokio::test]
    async fn a_folder_comes_with_all_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(deep.join("x"), "12").unwrap();
        std::fs::write(folder.path().join("y"), "1").unwrap();
        let found = bring(&[(place(folder.path()), "in".into())]).await.unwrap();
        let names: Vec<_> = found.iter().map(|f| (f.link.as_str(), f.size)).collect();
        assert_eq!(names, [("in/a/b/x", 2), ("in/y", 1)]);
        let words = |answer: Result<Vec<Staged>, DataError>| answer.unwrap_err().to_string();
        let none = bring(&[(place(&folder.path().join("z")), "z".into())]).await;
        assert!(words(none).contains("there is no file:"));
        std::fs::write(folder.path().join("a$b"), "").unwrap();
        let odd = bring(&[(place(folder.path()), "in".into())]).await;
        assert!(words(odd).contains("the name a$b"));
    }

    #[test]
    fn no_two_files_have_one_name() {
        let file = |link: &str| Staged {
            link: link.into(),
            url: format!("hdfs://h:1/{link}"),
            size: 1,
            modified_ms: 1,
            kind: StagedKind::File,
        };
        let merged = |own: &[&str], more: &[&str]| {
            let mut own = own.iter().map(|link| file(link)).collect();
            merge(&mut own, more.iter().map(|link| file(link)).collect()).map(|()| own.len())
        };
        assert_eq!(merged(&["cpi"], &["in/a", "in/b", "c"]).unwrap(), 4);
        for (own, more) in [
            (&["cpi"][..], &["cpi"][..]),
            (&[], &["a", "a/b"]),
            (&[], &["a/b", "a"]),
            (&["a"], &["a/b/c"]),
        ] {
            assert!(merged(own, more).is_err(), "{own:?} {more:?}");
        }
        let second_name = Staged {
            link: "b".into(),
            ..file("a")
        };
        let twice = merge(&mut Vec::new(), vec![file("a"), second_name]);
        let sentence = twice.unwrap_err().to_string();
        assert!(sentence.contains("as a and as b"), "{sentence}");
    }
}
