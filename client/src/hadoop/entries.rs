//! What the paths of `gerbil hadoop fs` name, and how `-ls` shows it.

use std::sync::Arc;

use gantt::date;
use gerbil_task::pattern;
use mapreduce_client::places::Location;
use storage::{Status, Storage};

use crate::failure::Failure;

/// Most entries of a folder, with all below it.
pub(super) const MOST: usize = 1_000_000;

/// A path as it was typed, and where it leads.
pub(super) struct FoundPath {
    pub(super) storage: Arc<Storage>,
    pub(super) place: Location,
    pub(super) status: Status,
    /// What stands before paths of this file system where one was typed with its name.
    pub(super) origin: String,
}

impl FoundPath {
    pub(super) fn shown(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }
}

/// What is there of a path whose parts may be patterns, in the order of the names.
pub(super) async fn matching(storage: &Storage, path: &str) -> Result<Vec<Status>, Failure> {
    if !pattern::is_pattern(path) {
        return Ok(storage.stat(path).await?.into_iter().collect());
    }
    let mut all = Vec::new();
    for path in pattern::braces(path).unwrap_or_else(|_odd| vec![path.to_owned()]) {
        let mut at = vec!["/".to_owned()];
        for part in path.split('/').filter(|part| !part.is_empty()) {
            let mut next = Vec::new();
            for folder in &at {
                let entries = match storage.stat(folder).await? {
                    Some(there) if there.is_folder => storage.list(folder, MOST).await?,
                    Some(_) | None => Vec::new(),
                };
                let named = entries
                    .into_iter()
                    .filter(|entry| pattern::matches(part, entry.name()));
                next.extend(named.map(|entry| entry.path));
            }
            at = next;
        }
        for path in at {
            all.extend(storage.stat(&path).await?);
        }
    }
    all.sort_by(|one, other| one.path.cmp(&other.path));
    all.dedup_by(|one, other| one.path == other.path);
    Ok(all)
}

/// What a path was typed with in front: `hdfs://host:9000`, or nothing.
pub(super) fn origin(name: &str) -> &str {
    let Some((scheme, rest)) = name.split_once("://") else {
        return "";
    };
    let authority = rest.find('/').unwrap_or(rest.len());
    name.get(..scheme.len() + 3 + authority).unwrap_or_default()
}

/// Whether a name can only be a folder's, which nobody makes for a file.
pub(super) fn is_folders(name: &str) -> bool {
    name == "." || name.ends_with('/') || name.ends_with("/.")
}

/// Whether a name lies in the home folder itself. That is made where it is not there, which Hadoop's shell leaves to
/// whoever looks after the cluster.
pub(super) fn is_at_home(name: &str) -> bool {
    name != "." && !name.contains('/')
}

/// A line of `-ls`: permissions, copies and group, which are not known here, owner, bytes, when it was changed, path.
pub(super) fn line(found: &FoundPath, entry: &Status) -> String {
    let letters = ['r', 'w', 'x'];
    let may = (0..9).map(|bit| match entry.mode & (0o400 >> bit) {
        0 => '-',
        _ => letters[bit % 3],
    });
    let may: String = may.collect();
    let kind = if entry.is_folder { 'd' } else { '-' };
    let changed = date(u64::try_from(entry.modified_ms).unwrap_or(0));
    // Without seconds, as there.
    let changed = changed.get(..16).unwrap_or(&changed);
    let (owner, size, path) = (&entry.owner, entry.size, found.shown(&entry.path));
    format!("{kind}{may}   - {owner} - {size:>10} {changed} {path}")
}

#[cfg(test)]
mod tests {
    use super::{is_at_home, is_folders, origin};

    #[test]
    fn names_say_what_must_be_there_before() {
        for (name, wanted) in [
            (".", (true, false)),
            ("/a/", (true, false)),
            ("/a/.", (true, false)),
            ("/a", (false, false)),
            ("a/b", (false, false)),
            ("a", (false, true)),
        ] {
            assert_eq!((is_folders(name), is_at_home(name)), wanted, "{name}");
        }
    }

    #[test]
    fn paths_are_shown_with_what_they_were_typed_with() {
        for (typed, shown) in [
            ("hdfs:///out", "hdfs://"),
            ("hdfs://n:9000/out/*", "hdfs://n:9000"),
            ("hdfs://n:9000", "hdfs://n:9000"),
            ("/out", ""),
            ("out", ""),
        ] {
            assert_eq!(origin(typed), shown, "{typed}");
        }
    }
}
