//! Removes what nobody uses any more from the cache.
//!
//! Use is what clients note ([`Storage::mark_used`]): once when a file is published and then once
//! a day. A file without such a note is never removed, for then nothing is known about its use (HDFS
//! with `dfs.namenode.accesstime.precision` 0). The limit is far longer than a job's life; a job that
//! is older and starts on a node that never had the file would fail there.

use job::history::{self, SUFFIX};
use job::recovered;
use storage::{Status, Storage};

use super::plan::SUFFIXES;
use super::upload::TEMPORARY;

/// A day, ms.
const DAY_MS: i64 = 24 * 3_600_000;
/// Unused for so long: gone.
const UNUSED_MS: i64 = 30 * DAY_MS;
/// An upload that did not end in this time never will.
const UNFINISHED_MS: i64 = DAY_MS;
/// What became of a job is kept for so long.
const HISTORY_MS: i64 = 7 * DAY_MS;
/// Removals of one run; the next run goes on.
const AT_ONCE: usize = 50;
/// Files that one run looks at.
const LOOKED_AT: usize = 100_000;

/// Removes old, unused files of ours; `now_ms` is the file system's own time ([`super::clock`]). Failures
/// are left for another run.
pub async fn collect(storage: &Storage, cache: &str, now_ms: i64) {
    let Ok(entries) = storage.list_some(cache, LOOKED_AT).await else {
        return;
    };
    let old = entries.iter().filter(|entry| is_unused(entry, now_ms));
    for entry in old.take(AT_ONCE) {
        if storage.remove(&entry.path).await.is_err() {
            return;
        }
    }
}

/// Removes what became of jobs that ended long ago.
pub async fn forget(storage: &Storage, history: &str, now_ms: i64) {
    let Ok(entries) = storage.list_some(history, LOOKED_AT).await else {
        return;
    };
    let old = entries.iter().filter(|entry| is_history(entry, now_ms));
    for entry in old.take(AT_ONCE) {
        if storage.remove(&entry.path).await.is_err() {
            return;
        }
    }
}

/// Removes records of jobs whose application was ended by YARN, long ago, before it could do so.
pub async fn forget_records(storage: &Storage, commits: &str, now_ms: i64) {
    let Ok(entries) = storage.list_some(commits, LOOKED_AT).await else {
        return;
    };
    let old = entries.iter().filter(|entry| is_record(entry, now_ms));
    for entry in old.take(AT_ONCE) {
        if storage.remove(&entry.path).await.is_err() {
            return;
        }
    }
}

/// The folder of what became of jobs, in the staging folder.
pub const HISTORY: &str = history::FOLDER;
/// The folder of records of jobs that commit.
pub const COMMITS: &str = recovered::FOLDER;

/// Whether what lies in `folder`, one of the staging folder, has a name that this program makes there; an upload that may
/// still be under way is none yet.
#[must_use]
pub fn is_made_by_us(folder: &str, entry: &Status, now_ms: i64) -> bool {
    match folder {
        HISTORY => is_of_history(entry),
        COMMITS => is_of_commits(entry),
        _ => is_cached(entry) || is_unfinished(entry, now_ms),
    }
}

/// Whether an upload may still be under way: its job needs what lies beside it, too.
#[must_use]
pub fn is_under_way(entry: &Status, now_ms: i64) -> bool {
    is_upload(entry) && !is_unfinished(entry, now_ms)
}

fn is_of_commits(entry: &Status) -> bool {
    entry.is_folder && entry.name().starts_with("application_")
}

fn is_record(entry: &Status, now_ms: i64) -> bool {
    let ours = is_of_commits(entry);
    ours && now_ms.saturating_sub(entry.modified_ms) > UNUSED_MS
}

fn is_of_history(entry: &Status) -> bool {
    let ours = entry.name().starts_with("application_") && entry.name().ends_with(SUFFIX);
    ours && !entry.is_folder
}

fn is_history(entry: &Status, now_ms: i64) -> bool {
    is_of_history(entry) && now_ms.saturating_sub(entry.modified_ms) > HISTORY_MS
}

/// Only names that this program makes are looked at.
fn is_unused(entry: &Status, now_ms: i64) -> bool {
    let is_old = |used: i64| now_ms.saturating_sub(used) > UNUSED_MS;
    is_unfinished(entry, now_ms) || (is_cached(entry) && entry.used_ms.is_some_and(is_old))
}

fn is_upload(entry: &Status) -> bool {
    !entry.is_folder && entry.name().starts_with(TEMPORARY)
}

/// An upload that was broken off.
fn is_unfinished(entry: &Status, now_ms: i64) -> bool {
    is_upload(entry) && now_ms.saturating_sub(entry.modified_ms) > UNFINISHED_MS
}

/// A file under the digest of its contents.
fn is_cached(entry: &Status) -> bool {
    let mut suffixes = SUFFIXES.iter();
    let digest = suffixes.find_map(|suffix| entry.name().strip_suffix(suffix));
    let digest = digest.unwrap_or(entry.name());
    !entry.is_folder && digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use storage::Owner;

    use super::*;

    fn entry(name: &str, modified_ms: i64, used_ms: Option<i64>) -> Status {
        Status {
            path: format!("/cache/{name}"),
            size: 1,
            modified_ms,
            used_ms,
            is_folder: false,
            owner: Owner::Named("alice".into()),
            is_ours: true,
            mode: 0o600,
        }
    }

    #[test]
    fn only_files_known_to_be_unused_go() {
        let now = 100 * DAY_MS;
        let ours = "0a".repeat(32);
        let gone = |entry: &Status| is_unused(entry, now);
        assert!(gone(&entry(&ours, DAY_MS, Some(69 * DAY_MS))));
        assert!(gone(&entry(
            &format!("{ours}.tar"),
            DAY_MS,
            Some(69 * DAY_MS)
        )));
        assert!(!gone(&entry(&ours, DAY_MS, Some(71 * DAY_MS))));
        assert!(!gone(&entry(&ours, DAY_MS, None)));
        assert!(!gone(&entry("notes.txt", DAY_MS, Some(2 * DAY_MS))));
        assert!(gone(&entry(".uploading-x", 98 * DAY_MS, None)));
        assert!(!gone(&entry(".uploading-x", 100 * DAY_MS - 1, None)));
        let folder = Status {
            is_folder: true,
            ..entry(&ours, DAY_MS, Some(2 * DAY_MS))
        };
        assert!(!gone(&folder));
    }

    #[test]
    fn a_name_is_ours_in_its_own_folder_alone() {
        let now = 100 * DAY_MS;
        let of = |folder: &str, entry: &Status| is_made_by_us(folder, entry, now);
        let digest = entry(&"0a".repeat(32), now, None);
        assert!(of("cache", &digest) && of("own", &digest) && !of(HISTORY, &digest));
        assert!(!of("cache", &entry("notes.txt", DAY_MS, None)));
        assert!(!of("cache", &entry(".uploading-x", now, None)));
        assert!(of("cache", &entry(".uploading-x", DAY_MS, None)));
        let history = entry(&format!("application_1_0001{SUFFIX}"), now, None);
        assert!(of(HISTORY, &history) && !of(COMMITS, &history) && !of("cache", &history));
        let commit = Status {
            is_folder: true,
            ..entry("application_1_0001", now, None)
        };
        assert!(of(COMMITS, &commit) && !of(HISTORY, &commit));
    }

    #[test]
    fn records_of_an_application_go_after_a_month() {
        let now = 100 * DAY_MS;
        let folder = |name: &str, modified_ms: i64| Status {
            is_folder: true,
            ..entry(name, modified_ms, None)
        };
        let name = "application_1700000000000_0042";
        assert!(is_record(&folder(name, 69 * DAY_MS), now));
        assert!(!is_record(&folder(name, 71 * DAY_MS), now));
        assert!(!is_record(&folder("notes", DAY_MS), now));
        assert!(!is_record(&entry(name, DAY_MS, None), now));
    }

    #[test]
    fn what_became_of_a_job_is_forgotten_after_a_week() {
        let now = 100 * DAY_MS;
        let name = "application_1700000000000_0042_7.json";
        assert!(is_history(&entry(name, 92 * DAY_MS, None), now));
        assert!(!is_history(&entry(name, 93 * DAY_MS, None), now));
        assert!(!is_history(&entry("notes.json", DAY_MS, None), now));
    }
}
