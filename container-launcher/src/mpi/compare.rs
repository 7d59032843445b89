//! Which files of a program the node has at the paths that they have on the client.
//!
//! Asked before any rank of a run is started: where one node has another file, all nodes run the copy.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use job::wire::file_compared::Is;
use job::wire::{CompareFiles, ComparedFile, FileCompared, FilesCompared};
use nix::unistd::{AccessFlags, access, geteuid};
use tokio::time::timeout;

use crate::program;

/// For all files of one order. A file system that does not answer is as good as one without the file.
const PATIENCE: Duration = Duration::from_secs(20);

/// Looks at the files of an order.
pub(super) async fn compare(order: CompareFiles) -> FilesCompared {
    let run = order.run;
    let count = order.files.len();
    // A large one takes a moment, and one on a file system that hangs takes for ever.
    let looked = tokio::task::spawn_blocking(move || order.files.iter().map(look).collect());
    let files = match timeout(PATIENCE, looked).await {
        Ok(Ok(files)) => files,
        Ok(Err(_)) => vec![unusable("it cannot be looked at"); count],
        Err(_) => {
            let late = format!(
                "its file system does not answer within {} s",
                PATIENCE.as_secs()
            );
            vec![unusable(&late); count]
        }
    };
    FilesCompared { run, files }
}

fn look(wanted: &ComparedFile) -> FileCompared {
    let path = Path::new(&wanted.path);
    let executable = access(path, AccessFlags::X_OK).is_ok();
    let found = program::digest_of(PathBuf::from(path));
    let compared = compared(found, executable, &wanted.digest);
    match compared.is() {
        Is::Same if is_open(path) => {
            unusable("others may put another file there before it is started")
        }
        Is::Same | Is::Absent | Is::Other | Is::Unusable => compared,
    }
}

/// Whether others may put a file of theirs in the place of this one, by its own path or by the one that links lead to.
fn is_open(path: &Path) -> bool {
    let paths = [Some(path.to_path_buf()), path.canonicalize().ok()];
    let own = geteuid().as_raw();
    paths.into_iter().flatten().any(|path| {
        let levels = path.ancestors().map(|level| {
            let there = level.metadata().ok()?;
            Some(PathLevel {
                mode: there.mode(),
                owner: there.uid(),
            })
        });
        let levels: Option<Vec<PathLevel>> = levels.collect();
        levels.is_none_or(|levels| may_be_replaced(&levels, own))
    })
}

/// A file or a folder above it.
#[derive(Clone, Copy, Debug)]
struct PathLevel {
    mode: u32,
    owner: u32,
}

/// The file is the first of `levels`, and each is followed by the folder that it is in. In a folder that everybody may
/// write to, only what belongs to root or to the user stays as it is, and only where the folder is sticky.
fn may_be_replaced(levels: &[PathLevel], own: u32) -> bool {
    const BY_OTHERS: u32 = 0o002;
    const STICKY: u32 = 0o1000;
    let is_written = levels
        .first()
        .is_some_and(|file| file.mode & BY_OTHERS != 0);
    let is_moved = levels
        .iter()
        .zip(levels.iter().skip(1))
        .any(|(inner, folder)| {
            let is_safe = folder.mode & STICKY != 0 && [0, own].contains(&inner.owner);
            folder.mode & BY_OTHERS != 0 && !is_safe
        });
    is_written || is_moved
}

/// What a file is whose digest was `found`, and which may be executed or not.
fn compared(found: io::Result<String>, executable: bool, wanted: &str) -> FileCompared {
    match found {
        Ok(found) if found == *wanted && executable => FileCompared::default(),
        Ok(found) if found == *wanted => unusable("it is not executable"),
        Ok(found) => FileCompared {
            is: Is::Other.into(),
            found: format!("its SHA-256 is {found}"),
        },
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            FileCompared {
                is: Is::Absent.into(),
                found: String::new(),
            }
        }
        Err(error) => unusable(&format!("it cannot be read: {error}")),
    }
}

fn unusable(found: &str) -> FileCompared {
    FileCompared {
        is: Is::Unusable.into(),
        found: found.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_is_the_same_by_its_contents_alone() {
        let error = |kind| Err(io::Error::from(kind));
        for (found, executable, is, words) in [
            (Ok("ab"), true, Is::Same, ""),
            (Ok("ab"), false, Is::Unusable, "not executable"),
            (Ok("cd"), true, Is::Other, "its SHA-256 is cd"),
            (error(io::ErrorKind::NotFound), false, Is::Absent, ""),
            (error(io::ErrorKind::NotADirectory), false, Is::Absent, ""),
            (
                error(io::ErrorKind::PermissionDenied),
                false,
                Is::Unusable,
                "cannot be read",
            ),
        ] {
            let compared = compared(found.map(str::to_owned), executable, "ab");
            assert_eq!(compared.is(), is);
            assert!(compared.found.contains(words), "{compared:?}");
        }
    }

    #[test]
    fn what_others_may_replace_is_not_run_where_it_lies() {
        let level = |mode, owner| PathLevel { mode, owner };
        let (mine, roots, other) = (1000, 0, 7);
        for (levels, replaced) in [
            (
                vec![level(0o755, mine), level(0o755, mine), level(0o755, roots)],
                false,
            ),
            // Installed by an administrator who is not root.
            (
                vec![
                    level(0o755, other),
                    level(0o755, other),
                    level(0o755, roots),
                ],
                false,
            ),
            // Mine, roots and another's in /tmp.
            (
                vec![level(0o755, mine), level(0o700, mine), level(0o1777, roots)],
                false,
            ),
            (vec![level(0o755, roots), level(0o1777, roots)], false),
            (
                vec![
                    level(0o755, mine),
                    level(0o755, other),
                    level(0o1777, roots),
                ],
                true,
            ),
            (
                vec![level(0o755, mine), level(0o777, mine), level(0o755, roots)],
                true,
            ),
            (vec![level(0o757, mine), level(0o755, mine)], true),
        ] {
            assert_eq!(may_be_replaced(&levels, mine), replaced, "{levels:?}");
        }
    }

    #[tokio::test]
    async fn each_file_of_an_order_has_its_answer() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (name, text, mode) in [
            ("p", "one", 0o755),
            ("q", "two", 0o755),
            ("r", "one", 0o644),
        ] {
            std::fs::write(at(name), text).unwrap();
            std::fs::set_permissions(at(name), std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let digest = program::digest_of(at("p")).unwrap();
        let names = ["p", "q", "r", "none", "p/none", "."];
        let file = |name: &str| ComparedFile {
            path: at(name).display().to_string(),
            digest: digest.clone(),
        };
        let order = CompareFiles {
            run: 7,
            files: names.map(file).into(),
        };
        let answer = compare(order).await;
        let all: Vec<Is> = answer.files.iter().map(FileCompared::is).collect();
        assert_eq!(answer.run, 7);
        assert_eq!(
            all,
            [
                Is::Same,
                Is::Other,
                Is::Unusable,
                Is::Absent,
                Is::Absent,
                Is::Unusable
            ]
        );
    }
}
